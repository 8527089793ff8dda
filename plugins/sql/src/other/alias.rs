//! Statements that need no semicolon before them. To the parser, and to most servers, the last word of
//! `select a from t shutdown` is another name for `t`; to some it is a statement of its own.

use sqlparser::tokenizer::Token;

use super::{acts, word};

/// Words behind which a value or a name begins: what follows is no alias, and no statement either.
const OPENS: [&str; 45] = [
    "ALL",
    "AND",
    "ANY",
    "AS",
    "ASYMMETRIC",
    "BETWEEN",
    "BY",
    "CASE",
    "CROSS",
    "DISTINCT",
    "DIV",
    "ELSE",
    "ESCAPE",
    "EXCEPT",
    "EXPLAIN",
    "FOR",
    "FROM",
    "FULL",
    "HAVING",
    "ILIKE",
    "IN",
    "INNER",
    "INTERSECT",
    "INTERVAL",
    "IS",
    "JOIN",
    "LATERAL",
    "LEFT",
    "LIKE",
    "LIMIT",
    "NATURAL",
    "NOT",
    "OFFSET",
    "ON",
    "OR",
    "OVER",
    "RECURSIVE",
    "RIGHT",
    "SELECT",
    "THEN",
    "UNION",
    "USING",
    "WHEN",
    "WHERE",
    "WITH",
];

/// A word of statements where an alias stands without AS.
pub fn that_acts(written: &[Token]) -> Option<String> {
    written.windows(2).enumerate().find_map(|(place, pair)| {
        let [before, here] = pair else { return None };
        let found = word(here).filter(|found| acts::begins_another(found))?;
        let next = written.get(place + 2).and_then(word).unwrap_or_default();
        let of_a_read = match found.as_str() {
            "END" => true,
            "FETCH" => next == "FIRST" || next == "NEXT",
            _ => false,
        };
        (!of_a_read && ends_something(before)).then_some(found)
    })
}

/// Whether a value or a name may end here.
pub fn ends_something(token: &Token) -> bool {
    match token {
        Token::Word(_) => word(token).is_none_or(|word| !OPENS.contains(&word.as_str())),
        Token::RParen
        | Token::Number(..)
        | Token::SingleQuotedString(_)
        | Token::DoubleQuotedString(_)
        | Token::NationalStringLiteral(_)
        | Token::HexStringLiteral(_)
        | Token::Placeholder(_)
        | Token::Mul => true,
        _ => false,
    }
}

pub fn told(word: &str) -> String {
    format!(
        "`{word}` may be a statement of its own, which not every database reads alike: put AS before it, or quotes around it"
    )
}
