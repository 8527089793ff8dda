//! Statements that only tell of the database, read by their words: `PRAGMA table_info(t)`, `SHOW TABLES`.

use sqlparser::tokenizer::Token;

use super::{acts, word};
use crate::{Ask, Class, Dialect, DialectList, Kind, Read, Rule, Show};

/// What may follow `SHOW`; all of it only tells.
const SHOWN: [&str; 30] = [
    "CHARACTER",
    "CHARSET",
    "COLLATION",
    "COLUMNS",
    "COUNT",
    "CREATE",
    "DATABASES",
    "ENGINE",
    "ENGINES",
    "ERRORS",
    "EVENTS",
    "EXTENDED",
    "FIELDS",
    "FULL",
    "FUNCTION",
    "GLOBAL",
    "GRANTS",
    "INDEX",
    "INDEXES",
    "KEYS",
    "OPEN",
    "PLUGINS",
    "PRIVILEGES",
    "PROCEDURE",
    "PROCESSLIST",
    "SCHEMAS",
    "SESSION",
    "STATUS",
    "TABLE",
    "TABLES",
];
const SHOWN_TOO: [&str; 8] =
    ["TRIGGERS", "VARIABLES", "WARNINGS", "STORAGE", "REPLICA", "REPLICAS", "SLAVE", "PROFILES"];

/// `None`: it is something else.
pub fn read(written: &[Token], ask: &Ask<'_>, list: &DialectList) -> Option<Read> {
    match word(written.first()?)?.as_str() {
        "PRAGMA" => Some(pragma(written.get(1..)?, ask, list)),
        "SHOW" => Some(show(written.get(1..)?, ask, list)),
        _ => None,
    }
}

fn told() -> Read {
    let (tables, operations) = (Vec::new(), Vec::new());
    Read { class: Class::Read, kind: Kind::Reads, refused: None, beyond_writing: None, tables, operations }
}

/// Those that exist as functions in FROM have no effect; of them the listed may be asked as a statement, without a value to set.
fn pragma(written: &[Token], ask: &Ask<'_>, list: &DialectList) -> Read {
    let refused = |rule, reason: String| Read::refused(Class::SideEffect, Kind::Unknown, rule, reason);
    let bare = |token: &Token| match token {
        Token::Word(word) => Some(word.value.to_ascii_lowercase()),
        _ => None,
    };
    let plain = |token: &Token| matches!(token, Token::Word(_) | Token::SingleQuotedString(_) | Token::Number(..));
    let name = match written {
        [name] => bare(name).map(|name| (name, 0)),
        [name, Token::LParen, value, Token::RParen] if plain(value) => bare(name).map(|name| (name, 1)),
        [_, Token::Period, name] => bare(name).map(|name| (name, 0)),
        [_, Token::Period, name, Token::LParen, value, Token::RParen] if plain(value) => {
            bare(name).map(|name| (name, 1))
        }
        _ => None,
    };
    // With a value, some would set what they tell without.
    let known = name.is_some_and(|(name, values)| list.has_table_function_of(&format!("pragma_{name}"), values));
    if ask.dialect != Dialect::Sqlite || !known {
        return refused(Rule::Statement, acts::told("PRAGMA"));
    }
    if ask.tables.is_some() {
        return refused(Rule::Catalogue, "what tells of the database itself is not listed".into());
    }
    told()
}

fn show(written: &[Token], ask: &Ask<'_>, list: &DialectList) -> Read {
    let what = written.first().and_then(word).unwrap_or_default();
    let known = SHOWN.contains(&what.as_str()) || SHOWN_TOO.contains(&what.as_str());
    // Nothing is called and nothing is asked inside.
    let calls = written.iter().any(|token| matches!(token, Token::LParen | Token::RParen));
    let into = written.iter().filter_map(word).any(|word| word == "INTO" || word == "OUTFILE");
    if list.show == Show::Deny || !known || calls || into {
        return Read::refused(Class::SideEffect, Kind::Unknown, Rule::Statement, acts::told("SHOW"));
    }
    if ask.tables.is_some() {
        let reason = "what tells of the database itself is not listed";
        return Read::refused(Class::Read, Kind::Reads, Rule::Catalogue, reason);
    }
    told()
}
