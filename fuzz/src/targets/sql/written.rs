//! Statements that act, from the corpus in which each is labelled by the database that ran it.

use std::sync::OnceLock;

use gateway_sql::{Ask, Dialect, Guard, Rule};
use serde_json::Value;

const WRITES: &str = include_str!("../../../../tests/corpora/sql/writes.sql");
const MYSQL: &str = include_str!("../../../../tests/corpora/sql/mysql.jsonl");
const SQLITE: &str = include_str!("../../../../tests/corpora/sql/sqlite.jsonl");

/// Those of a dialect; of nobody's, those of all.
pub fn acts(guard: &Guard, dialect: Dialect) -> Result<&'static [String], String> {
    static ACTS: [OnceLock<Result<Vec<String>, String>>; 4] = [const { OnceLock::new() }; 4];
    let place = Dialect::ALL.iter().position(|known| *known == dialect).unwrap_or_default();
    let made = ACTS.get(place).map(|acts| acts.get_or_init(|| known(guard, dialect)));
    made.ok_or("no such dialect")?.as_deref().map_err(Clone::clone)
}

fn known(guard: &Guard, dialect: Dialect) -> Result<Vec<String>, String> {
    let acts = match dialect {
        Dialect::Postgres => lines(),
        Dialect::Mysql => labelled(MYSQL)?,
        Dialect::Sqlite => labelled(SQLITE)?,
        Dialect::Generic => [lines(), labelled(MYSQL)?, labelled(SQLITE)?].concat(),
    };
    let refused = |act: &String| guard.read_anew(act, &Ask::of(dialect)).refused;
    // What acts on one database may read on all others; the corpora's own tests say what passes alone.
    if let Some(act) = acts.iter().find(|act| dialect != Dialect::Generic && refused(act).is_none()) {
        return Err(format!("{dialect}: `{act}` acts, and passes"));
    }
    // Where its quotes end depends on the server, and beside another text it may be one that no such server understands.
    let sure = |act: &String| refused(act).is_some_and(|refusal| refusal.rule != Rule::Ambiguous);
    Ok(acts.into_iter().filter(sure).collect())
}

fn lines() -> Vec<String> {
    let lines = WRITES.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("--"));
    lines.map(|line| line.replace("\\n", "\n").replace("\\t", "\t")).collect()
}

fn labelled(text: &str) -> Result<Vec<String>, String> {
    let mut acts = Vec::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let text = |member: &str| line.get(member).and_then(Value::as_str);
        if let (Some("acts"), Some(sql)) = (text("label"), text("sql")) {
            acts.push(sql.to_owned());
        }
    }
    Ok(acts)
}
