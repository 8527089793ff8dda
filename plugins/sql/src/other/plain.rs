//! Reads of SQLite and MySQL that the parser has no grammar for, put into words that it has. Only it sees them so: what they do
//! not change is which names stand where, and that is all that is asked of the tree. What is sent is what was written.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::alias::ends_something;
use super::word;
use crate::Dialect;

/// Units of MySQL's that are made of two.
const UNITS: [&str; 11] = [
    "SECOND_MICROSECOND",
    "MINUTE_MICROSECOND",
    "MINUTE_SECOND",
    "HOUR_MICROSECOND",
    "HOUR_SECOND",
    "HOUR_MINUTE",
    "DAY_MICROSECOND",
    "DAY_SECOND",
    "DAY_MINUTE",
    "DAY_HOUR",
    "YEAR_MONTH",
];

/// Words that one of the others has.
const RARE: [&str; 11] =
    ["IS", "ISNULL", "MATERIALIZED", "INDEXED", "EXCLUDE", "MOD", "SOUNDS", "MEMBER", "TABLE", "DESCRIBE", "DESC"];

pub fn words(tokens: Vec<TokenWithSpan>, dialect: Dialect) -> Vec<TokenWithSpan> {
    match dialect {
        Dialect::Sqlite | Dialect::Mysql => {}
        Dialect::Postgres | Dialect::Generic => return tokens,
    }
    // Most texts have none of it, and stay as they are.
    let rare = |token: &TokenWithSpan| {
        matches!(token.token, Token::ShiftLeft | Token::ShiftRight | Token::ExclamationMark)
            || word(&token.token).is_some_and(|word| RARE.contains(&word.as_str()) || UNITS.contains(&word.as_str()))
    };
    if !tokens.iter().any(rare) {
        return tokens;
    }
    let tokens: Vec<_> = tokens.into_iter().filter(|token| !matches!(token.token, Token::Whitespace(_))).collect();
    let mut said: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut place = 0;
    while let Some(token) = tokens.get(place) {
        let behind = |steps: usize| tokens.get(place + steps).map(|token| &token.token);
        let before = |steps: usize| said.len().checked_sub(steps).and_then(|at| said.get(at)).map(|token| &token.token);
        let step = match dialect {
            Dialect::Sqlite => of_sqlite(&token.token, behind, before),
            _ => of_mysql(&token.token, behind, before),
        };
        let (taken, instead) = step.unwrap_or_else(|| (1, vec![token.token.clone()]));
        said.extend(instead.into_iter().map(|said| TokenWithSpan { token: said, span: token.span }));
        place += taken;
    }
    said
}

/// How many tokens are taken, and what is said in their place.
type Step = Option<(usize, Vec<Token>)>;

fn is(token: Option<&Token>, wanted: &str) -> bool {
    token.and_then(word).is_some_and(|word| word == wanted)
}

fn is_one_of(token: Option<&Token>, wanted: &[&str]) -> bool {
    token.and_then(word).is_some_and(|word| wanted.contains(&word.as_str()))
}

fn keyword(word: &str) -> Token {
    Token::make_keyword(word)
}

fn of_sqlite<'t>(
    token: &'t Token,
    behind: impl Fn(usize) -> Option<&'t Token>,
    before: impl Fn(usize) -> Option<&'t Token>,
) -> Step {
    if matches!(token, Token::ShiftLeft | Token::ShiftRight) {
        return Some((1, vec![Token::Plus]));
    }
    match word(token)?.as_str() {
        // Between any two values; what is asked of one value the parser knows.
        "IS" => {
            let own = ["NULL", "TRUE", "FALSE", "DISTINCT", "UNKNOWN", "JSON", "NORMALIZED"];
            let at = if is(behind(1), "NOT") { 2 } else { 1 };
            (!is_one_of(behind(at), &own)).then(|| (1, vec![Token::Eq]))
        }
        "ISNULL" if before(1).is_some_and(ends_something) && behind(1) != Some(&Token::LParen) => {
            Some((1, vec![keyword("IS"), keyword("NULL")]))
        }
        "AS" if is(behind(1), "MATERIALIZED") && behind(2) == Some(&Token::LParen) => Some((2, vec![keyword("AS")])),
        "AS" if is(behind(1), "NOT") && is(behind(2), "MATERIALIZED") && behind(3) == Some(&Token::LParen) => {
            Some((3, vec![keyword("AS")]))
        }
        "INDEXED" if is(behind(1), "BY") && matches!(behind(2), Some(Token::Word(_))) => Some((3, Vec::new())),
        "NOT" if is(behind(1), "INDEXED") => Some((2, Vec::new())),
        "EXCLUDE" if before(1).is_some() => {
            let two = is_one_of(behind(1), &["GROUP", "TIES"]);
            let three =
                (is(behind(1), "NO") && is(behind(2), "OTHERS")) || (is(behind(1), "CURRENT") && is(behind(2), "ROW"));
            let taken = if two { 2 } else { 3 };
            (two || three).then_some(())?;
            (behind(taken) == Some(&Token::RParen)).then(|| (taken, Vec::new()))
        }
        _ => None,
    }
}

fn of_mysql<'t>(
    token: &'t Token,
    behind: impl Fn(usize) -> Option<&'t Token>,
    before: impl Fn(usize) -> Option<&'t Token>,
) -> Step {
    if *token == Token::ExclamationMark {
        return Some((1, vec![keyword("NOT")]));
    }
    match word(token)?.as_str() {
        "MOD" if behind(1) != Some(&Token::LParen) && before(1).is_some_and(ends_something) => {
            Some((1, vec![Token::Mod]))
        }
        "SOUNDS" if is(behind(1), "LIKE") && before(1).is_some_and(ends_something) => Some((1, Vec::new())),
        "MEMBER"
            if is(behind(1), "OF") && behind(2) == Some(&Token::LParen) && before(1).is_some_and(ends_something) =>
        {
            Some((2, vec![Token::Eq]))
        }
        unit if UNITS.contains(&unit) => {
            let of_interval = is(before(2), "INTERVAL");
            let of_extract = before(1) == Some(&Token::LParen) && is(before(2), "EXTRACT") && is(behind(1), "FROM");
            (of_interval || of_extract).then(|| (1, vec![keyword("MINUTE")]))
        }
        "TABLE" if is_first(before(1)) && matches!(behind(1), Some(Token::Word(_))) => {
            Some((1, vec![keyword("SELECT"), Token::Mul, keyword("FROM")]))
        }
        // `DESCRIBE t a`: of one column.
        "DESCRIBE" | "DESC" if is_first(before(1)) => match (behind(1), behind(2), behind(3)) {
            (Some(table @ Token::Word(_)), Some(Token::Word(_)), None | Some(Token::EOF | Token::SemiColon))
                if is_name(table) =>
            {
                Some((3, vec![keyword("DESCRIBE"), table.clone()]))
            }
            _ => None,
        },
        _ => None,
    }
}

fn is_first(before: Option<&Token>) -> bool {
    matches!(before, None | Some(Token::SemiColon))
}

/// Whether it is surely the name of a table.
fn is_name(token: &Token) -> bool {
    matches!(token, Token::Word(name) if name.quote_style.is_some() || name.keyword == Keyword::NoKeyword)
}
