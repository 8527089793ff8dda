//! A second look at what is called, by the words alone: whatever the parser made of a text, a name before a parenthesis is a
//! listed function, a word of the grammar, or the name of something with columns.

use sqlparser::tokenizer::Token;

use super::walk::Walk;
use super::word;
use crate::Dialect;

/// Words of the grammar that a parenthesis may follow, in reads.
const GRAMMAR: [&str; 85] = [
    "ALL",
    "AGAINST",
    "AND",
    "ANY",
    "AS",
    "BETWEEN",
    "BY",
    "CASE",
    "CAST",
    "CEIL",
    "COLLATE",
    "COLUMNS",
    "CONFLICT",
    "CONVERT",
    "CROSS",
    "CUBE",
    "DISTINCT",
    "DIV",
    "ELSE",
    "ESCAPE",
    "EXCEPT",
    "EXISTS",
    "EXPLAIN",
    "EXTRACT",
    "FILTER",
    "FLOOR",
    "FORCE",
    "FROM",
    "GLOB",
    "GROUP",
    "HAVING",
    "IGNORE",
    "ILIKE",
    "IN",
    "INDEX",
    "INTERSECT",
    "INTERVAL",
    "IS",
    "JOIN",
    "KEY",
    "LATERAL",
    "LIKE",
    "LIMIT",
    "MATCH",
    "MATERIALIZED",
    "MEMBER",
    "MOD",
    "NOT",
    "OF",
    "OFFSET",
    "ON",
    "OR",
    "OVER",
    "OVERLAY",
    "PARTITION",
    "PLAN",
    "POSITION",
    "RECURSIVE",
    "REGEXP",
    "RLIKE",
    "ROLLUP",
    "ROW",
    "SAFE_CAST",
    "SELECT",
    "SET",
    "SETS",
    "SOME",
    "STRAIGHT_JOIN",
    "SUBSTRING",
    "THEN",
    "TRIM",
    "TRY_CAST",
    "TRY_CONVERT",
    "UNION",
    "UNIQUE",
    "USE",
    "USING",
    "VALUES",
    "WHEN",
    "WHERE",
    "WINDOW",
    "WITH",
    "WITHIN",
    "XOR",
    "BINARY",
];

pub fn look(written: &[Token], walk: &mut Walk<'_>) {
    for (place, pair) in written.windows(2).enumerate() {
        let [Token::Word(called), Token::LParen] = pair else { continue };
        if called.quote_style.is_none() && GRAMMAR.contains(&called.value.to_ascii_uppercase().as_str()) {
            continue;
        }
        let before = before_name(written, place);
        if has_columns(before) || is_defined(before, written.get(place + 1..).unwrap_or_default()) {
            continue;
        }
        let name = called.value.to_ascii_lowercase();
        let shipped = walk.list.has_table_function(&name) || (0..=8).any(|count| walk.list.has_function(&name, count));
        let own = || {
            let ends = |own: &String| own.rsplit('.').next().is_some_and(|last| last.eq_ignore_ascii_case(&name));
            walk.ask.functions.iter().any(ends)
        };
        // SQLite searches a table that is written like a function; only a list says that there is such a table.
        let table = || {
            walk.ask.dialect == Dialect::Sqlite
                && walk.ask.tables.is_some_and(|listed| listed.iter().any(|entry| entry.eq_ignore_ascii_case(&name)))
        };
        if !shipped && !own() && !table() {
            walk.not_listed(&name);
        }
    }
}

/// What stands before a name with all its parts: before `a.b.c`.
fn before_name(written: &[Token], last: usize) -> Option<&Token> {
    let mut place = last;
    while let Some([Token::Word(_), Token::Period]) = place.checked_sub(2).and_then(|from| written.get(from..place)) {
        place -= 2;
    }
    place.checked_sub(1).and_then(|before| written.get(before))
}

/// `... AS name (a, b)`, `(...) name (a, b)`, `table name (a, b)`: no function stands there. A type does, after AS.
fn has_columns(before: Option<&Token>) -> bool {
    match before {
        Some(Token::RParen) => true,
        Some(token @ Token::Word(_)) => {
            word(token).is_none_or(|before| before == "AS" || !GRAMMAR.contains(&before.as_str()))
        }
        _ => false,
    }
}

/// `WITH name (a, b) AS (`
fn is_defined(before: Option<&Token>, columns: &[Token]) -> bool {
    let opens = match before {
        Some(Token::Comma) => true,
        Some(token) => word(token).is_some_and(|word| word == "WITH" || word == "RECURSIVE"),
        None => false,
    };
    if !opens {
        return false;
    }
    let mut after = columns.iter().skip_while(|token| **token != Token::RParen).skip(1);
    let follows = after.next().and_then(word).is_some_and(|word| word == "AS");
    follows
        && after.next().is_some_and(|token| {
            *token == Token::LParen || word(token).is_some_and(|word| word == "NOT" || word == "MATERIALIZED")
        })
}
