//! Statements that are no reads, by the word they begin with.

use crate::verdict::denied_operation;
use crate::{Class, Kind};

/// What a statement that begins with this word does; `None` for reads, and for what nobody knows.
pub fn act(word: &str) -> Option<(Class, Kind)> {
    let found = match word {
        "INSERT" | "UPDATE" | "MERGE" | "UPSERT" | "REPLACE" | "CREATE" | "COPY" | "COMMENT" | "REFRESH" | "LOAD"
        | "IMPORT" => (Class::Write, Kind::Writes),
        "DELETE" | "DROP" | "TRUNCATE" | "ALTER" | "GRANT" | "REVOKE" | "VACUUM" | "REINDEX" | "RENAME"
        | "REASSIGN" | "PURGE" | "OPTIMIZE" | "REPAIR" | "INSTALL" | "UNINSTALL" => (Class::Write, Kind::Destroys),
        // Another file is another database: to open one is no writing of rows.
        "ATTACH" | "DETACH" => (Class::SideEffect, Kind::Unknown),
        "CALL" | "DO" | "EXECUTE" | "EXEC" | "PREPARE" | "DEALLOCATE" | "SET" | "RESET" | "PRAGMA" | "BEGIN"
        | "START" | "COMMIT" | "END" | "ROLLBACK" | "ABORT" | "SAVEPOINT" | "RELEASE" | "LOCK" | "UNLOCK"
        | "HANDLER" | "FLUSH" | "KILL" | "USE" | "ANALYZE" | "ANALYSE" | "CHECK" | "CHECKSUM" | "CACHE"
        | "SHUTDOWN" | "RESTART" | "XA" | "SIGNAL" | "RESIGNAL" | "GET" | "CHANGE" | "STOP" | "BINLOG" | "BACKUP"
        | "RESTORE" | "NOTIFY" | "LISTEN" | "UNLISTEN" | "DECLARE" | "FETCH" | "OPEN" | "CLOSE" | "MOVE"
        | "DISCARD" | "CLUSTER" | "CHECKPOINT" | "HELP" | "RAISE" | "IF" | "WHILE" | "CASE" | "LOOP" | "REPEAT"
        | "GO" | "DELIMITER" => (Class::SideEffect, Kind::Unknown),
        _ => return None,
    };
    Some(found)
}

/// What a statement that begins with these words does: of some words, the ones behind them say.
pub fn of_words<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<(Class, Kind)> {
    let first = words.next()?;
    let found = act(first)?;
    let behind: Vec<&str> = words.take(8).collect();
    match first {
        "ALTER" if behind.first() == Some(&"SYSTEM") => Some((Class::SideEffect, Kind::Unknown)),
        "CREATE" => {
            let thing = behind.iter().find(|word| PLAIN.contains(word) || LASTING.contains(word));
            match thing {
                Some(thing) if PLAIN.contains(thing) => Some(found),
                _ => Some((found.0, Kind::Destroys)),
            }
        }
        _ => Some(found),
    }
}

/// What is created and then only there.
const PLAIN: [&str; 6] = ["TABLE", "INDEX", "VIEW", "SCHEMA", "DATABASE", "SEQUENCE"];
/// What is created and then acts by itself, or lets somebody act.
const LASTING: [&str; 12] = [
    "TRIGGER",
    "USER",
    "ROLE",
    "FUNCTION",
    "PROCEDURE",
    "EVENT",
    "SERVER",
    "EXTENSION",
    "POLICY",
    "RULE",
    "AGGREGATE",
    "PACKAGE",
];

/// Words that end a statement where one may end without a semicolon, and begin the next: to some servers
/// `select a from t shutdown` is two.
pub fn begins_another(word: &str) -> bool {
    let alone =
        ["RECONFIGURE", "REVERT", "RETURN", "BREAK", "CONTINUE", "THROW", "DENY", "PRINT", "WAITFOR", "DBCC", "BULK"];
    act(word).is_some() || alone.contains(&word)
}

/// Why it is refused.
pub fn told(word: &str) -> String {
    match word {
        "DROP" | "TRUNCATE" | "ALTER" | "DELETE" | "UPDATE" => denied_operation(word),
        _ => format!("Operation '{word}' is not allowed in read-only mode: only reads are (SELECT, WITH, VALUES)"),
    }
}
