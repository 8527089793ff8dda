//! Statements that are no reads, by the word they begin with.

use crate::verdict::denied_operation;
use crate::{Class, Kind};

/// What a statement that begins with this word does; `None` for reads, and for what nobody knows.
pub fn act(word: &str) -> Option<(Class, Kind)> {
    let found = match word {
        "INSERT" | "UPDATE" | "MERGE" | "UPSERT" | "REPLACE" | "CREATE" | "COPY" | "COMMENT" | "REFRESH" | "LOAD"
        | "IMPORT" => (Class::Write, Kind::Writes),
        "DELETE" | "DROP" | "TRUNCATE" | "ALTER" | "GRANT" | "REVOKE" | "ATTACH" | "DETACH" | "VACUUM" | "REINDEX"
        | "RENAME" | "REASSIGN" | "PURGE" | "OPTIMIZE" | "REPAIR" | "INSTALL" | "UNINSTALL" => {
            (Class::Write, Kind::Destroys)
        }
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

/// Why it is refused.
pub fn told(word: &str) -> String {
    match word {
        "DROP" | "TRUNCATE" | "ALTER" | "DELETE" | "UPDATE" => denied_operation(word),
        _ => format!("Operation '{word}' is not allowed in read-only mode: only reads are (SELECT, WITH, VALUES)"),
    }
}
