//! `guard sql`: what statements would do, and whether a tool that reads may send them.

use clap::Args;
use gateway_core::policies::Dialect;
use gateway_core::sql::{SqlAsk, SqlClass, SqlReader};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Failure, Place, lines, question};
use crate::policy_files::load_policies;

#[derive(Debug, Args)]
pub struct SqlArgs {
    #[command(flatten)]
    place: Place,
    /// Whose SQL it is, where a line does not say: postgres, sqlite, mysql or generic
    #[arg(long, default_value = "postgres")]
    dialect: Dialect,
    /// The only tables that may be read, with commas between them
    #[arg(long, value_delimiter = ',')]
    allow_tables: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Asked {
    sql: String,
    #[serde(default)]
    dialect: Option<Dialect>,
}

pub fn run(args: &SqlArgs) -> Result<(), Failure> {
    let loaded = load_policies(args.place.config()?.policies.as_deref())?;
    lines(|line| judged(loaded.policies.sql.as_ref(), args.dialect, args.allow_tables.as_deref(), line))
}

/// One bad line is answered like any other, and the next one is read.
fn judged(reader: &dyn SqlReader, usual: Dialect, tables: Option<&[String]>, line: &[u8]) -> Value {
    let unreadable = |id: Value, what: String| json!({"id": id, "verdict": "deny", "class": SqlClass::Invalid, "reason": what, "tables": []});
    let (id, asked) = match question::<Asked>(line) {
        Ok(question) => question,
        Err((id, what)) => return unreadable(id, what),
    };
    let dialect = Some(asked.dialect.unwrap_or(usual));
    let read = reader.read(&asked.sql, &SqlAsk { dialect, tables, ..SqlAsk::default() });
    let verdict = if read.refused.is_none() { "allow" } else { "deny" };
    let reason = read.refused.map(|refused| refused.reason);
    json!({"id": id, "verdict": verdict, "class": read.class, "reason": reason, "tables": read.tables})
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;

    #[test]
    fn a_line_is_read_in_its_own_dialect_and_a_bad_one_is_denied() {
        let reader = load_policies(None).unwrap().policies.sql;
        let tables = ["notes".to_owned()];
        for (line, tables, expected) in [
            (
                r#"{"id": 1, "sql": "select * from notes"}"#,
                None,
                json!({"id": 1, "verdict": "allow", "class": "read", "reason": null, "tables": ["notes"]}),
            ),
            (
                r#"{"id": "a", "sql": "select `a` from notes", "dialect": "mysql"}"#,
                Some(&tables[..]),
                json!({"id": "a", "verdict": "allow", "class": "read", "reason": null, "tables": ["notes"]}),
            ),
            (
                r#"{"id": 2, "sql": "select * from secrets", "dialect": "sqlite"}"#,
                Some(&tables[..]),
                json!({"id": 2, "verdict": "deny", "class": "read", "reason": "`secrets` is not one of the listed tables", "tables": ["secrets"]}),
            ),
        ] {
            assert_eq!(judged(reader.as_ref(), Dialect::Postgres, tables, line.as_bytes()), expected, "{line}");
        }
        for (line, id) in [
            ("{", Value::Null),
            (r#"{"id": 3}"#, json!(3)),
            (r#"{"id": 4, "sql": 7}"#, json!(4)),
            (r#"{"id": 5, "sql": "select 1", "dialect": "oracle"}"#, json!(5)),
            (r#"{"id": 6, "sql": "drop table t"}"#, json!(6)),
        ] {
            let answer = judged(reader.as_ref(), Dialect::Postgres, None, line.as_bytes());
            assert_eq!((&answer["id"], &answer["verdict"]), (&id, &json!("deny")), "{line}");
            assert!(answer["reason"].is_string() && answer["tables"].is_array(), "{line}");
        }
    }
}
