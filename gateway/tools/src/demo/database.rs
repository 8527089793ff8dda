//! The demo's database server, shaped like the tools of a hosted Postgres: tables, queries, migrations.
//!
//! Queries go to a connection that cannot write. A migration is kept as text and never run, and its answer says so.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use gateway_core::names::NameError;
use gateway_core::ports::{ReadLimits, ReadOnlyDatabase, StoreError};
use serde_json::{Map, Value, json};

use super::{over, room_for_one_more, text};
use crate::builtin::{BuiltinServer, BuiltinTool, Called, ToolFailure, ToolSpec, annotations};

/// More rows than a model can use.
const MAX_ROWS: usize = 500;
const LIMITS: ReadLimits =
    ReadLimits { max_rows: MAX_ROWS, timeout: Duration::from_secs(5), max_bytes: 4 * 1024 * 1024 };

pub fn server(readable: Arc<dyn ReadOnlyDatabase>) -> Result<BuiltinServer, NameError> {
    let migrations = Arc::new(Mutex::new(Vec::new()));
    let tools: Vec<Box<dyn BuiltinTool>> = vec![
        Box::new(ListTables { spec: list_tables_spec(), readable: Arc::clone(&readable) }),
        Box::new(ExecuteSql { spec: execute_sql_spec(), readable }),
        over(&migrations, apply_migration_spec(), record_migration),
    ];
    let instructions = "A small database of invented business data. Look at the tables before you query them.";
    BuiltinServer::new("database", "portreeve-demo-database", Some(instructions), tools)
}

struct ListTables {
    spec: ToolSpec,
    readable: Arc<dyn ReadOnlyDatabase>,
}

#[async_trait]
impl BuiltinTool for ListTables {
    fn definition(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, _: Called<'_>, _: &Map<String, Value>) -> Result<Value, ToolFailure> {
        let tables = self.readable.tables().await.map_err(failure)?;
        Ok(json!({ "tables": tables }))
    }
}

struct ExecuteSql {
    spec: ToolSpec,
    readable: Arc<dyn ReadOnlyDatabase>,
}

#[async_trait]
impl BuiltinTool for ExecuteSql {
    fn definition(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, _: Called<'_>, arguments: &Map<String, Value>) -> Result<Value, ToolFailure> {
        let found = self.readable.query(text(arguments, "query"), LIMITS).await.map_err(failure)?;
        Ok(json!({
            "columns": found.columns,
            "row_count": found.rows.len(),
            "rows": found.rows,
            "truncated": found.truncated,
        }))
    }
}

/// What the database says of a query is the caller's business; why it cannot be reached is not.
fn failure(error: StoreError) -> ToolFailure {
    match error {
        StoreError::Unavailable(cause) => {
            tracing::warn!(error = %cause, "the demo database cannot be read");
            ToolFailure::new("the database cannot be reached right now, try again")
        }
        other => ToolFailure::new(other.to_string()),
    }
}

struct Migration {
    name: String,
    query: String,
}

fn record_migration(kept: &mut Vec<Migration>, arguments: &Map<String, Value>) -> Result<Value, ToolFailure> {
    room_for_one_more(kept, "migrations")?;
    let (name, query) = (text(arguments, "name"), text(arguments, "query"));
    if let Some(earlier) = kept.iter().find(|migration| migration.name == name) {
        let same = if earlier.query == query { "with the same text" } else { "with another text" };
        return Err(ToolFailure::new(format!("Invalid name: migration `{name}` is recorded already, {same}")));
    }
    kept.push(Migration { name: name.into(), query: query.into() });
    Ok(json!({
        "name": name,
        "recorded": true,
        "applied": false,
        "recorded_migrations": kept.len(),
        "note": "This demo keeps the text of a migration and does not run it.",
    }))
}

fn list_tables_spec() -> ToolSpec {
    ToolSpec {
        name: "list_tables".into(),
        title: "List tables".into(),
        description: "Lists the tables of the database with their columns and types.".into(),
        input_schema: json!({ "type": "object", "properties": {} }),
        output_schema: Some(json!({
            "type": "object",
            "properties": { "tables": { "type": "array", "items": { "type": "object" } } },
            "required": ["tables"],
        })),
        annotations: annotations::reads(),
    }
}

fn execute_sql_spec() -> ToolSpec {
    ToolSpec {
        name: "execute_sql".into(),
        title: "Run a query".into(),
        description: format!("Runs one SELECT and gives at most {MAX_ROWS} rows. The connection cannot write."),
        input_schema: json!({
            "type": "object",
            "properties": { "query": { "type": "string", "minLength": 1, "description": "One SQL statement." } },
            "required": ["query"],
        }),
        output_schema: Some(json!({
            "type": "object",
            "properties": {
                "columns": { "type": "array", "items": { "type": "string" } },
                "row_count": { "type": "integer" },
                "rows": { "type": "array", "items": { "type": "object" } },
                "truncated": { "type": "boolean", "description": "True when more rows matched." },
            },
            "required": ["columns", "row_count", "rows", "truncated"],
        })),
        annotations: annotations::reads(),
    }
}

fn apply_migration_spec() -> ToolSpec {
    ToolSpec {
        name: "apply_migration".into(),
        title: "Apply a migration".into(),
        description: "Takes a schema change. In this demo its text is recorded in memory and not run.".into(),
        input_schema: json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "minLength": 1, "description": "In snake_case." },
                "query": { "type": "string", "minLength": 1, "description": "The DDL." },
            },
            "required": ["name", "query"],
        }),
        output_schema: Some(json!({
            "type": "object",
            "properties": {
                "name": { "type": "string" },
                "recorded": { "type": "boolean" },
                "applied": { "type": "boolean" },
                "recorded_migrations": { "type": "integer" },
                "note": { "type": "string" },
            },
            "required": ["name", "recorded", "applied", "recorded_migrations", "note"],
        })),
        annotations: annotations::alters(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use gateway_core::policies::Dialect;
    use gateway_core::ports::{Rows, TableInfo};

    use super::*;
    use crate::demo::testing::call;

    struct OneTable;

    #[async_trait]
    impl ReadOnlyDatabase for OneTable {
        fn dialect(&self) -> Dialect {
            Dialect::Sqlite
        }

        async fn ping(&self) -> Result<(), StoreError> {
            Ok(())
        }

        async fn explain(&self, _: &str) -> Result<(), StoreError> {
            Ok(())
        }

        async fn tables(&self) -> Result<Vec<TableInfo>, StoreError> {
            Ok(vec![TableInfo { schema: None, name: "orders".into(), columns: Vec::new() }])
        }

        async fn query(&self, sql: &str, limits: ReadLimits) -> Result<Rows, StoreError> {
            assert_eq!(limits, LIMITS);
            match sql {
                "select 1 as one" => {
                    Ok(Rows { columns: vec!["one".into()], rows: vec![json!({ "one": 1 })], truncated: false })
                }
                "away" => Err(StoreError::Unavailable("password=secret".into())),
                _ => Err(StoreError::Invalid("attempt to write a readonly database".into())),
            }
        }
    }

    #[tokio::test]
    async fn queries_read_and_errors_do_not_leak() {
        let server = server(Arc::new(OneTable)).unwrap();
        assert_eq!(call(&server, "list_tables", json!({})).await.unwrap()["tables"][0]["name"], "orders");
        for (query, expected) in [
            (
                json!("select 1 as one"),
                Ok(json!({ "columns": ["one"], "row_count": 1, "rows": [{ "one": 1 }], "truncated": false })),
            ),
            (json!("drop table orders"), Err("attempt to write a readonly database")),
            (json!("away"), Err("the database cannot be reached right now, try again")),
            (json!(""), Err("Invalid query: must not be empty")),
            (json!(7), Err("Invalid query: expected string")),
        ] {
            let answer = call(&server, "execute_sql", json!({ "query": query })).await;
            assert_eq!(answer, expected.map_err(String::from), "{query}");
        }
    }

    #[tokio::test]
    async fn a_migration_is_written_down_and_not_run() {
        let server = server(Arc::new(OneTable)).unwrap();
        let migration = json!({ "name": "add_note", "query": "alter table orders add note text" });
        let answer = call(&server, "apply_migration", migration.clone()).await.unwrap();
        assert_eq!(
            (&answer["recorded"], &answer["applied"], &answer["recorded_migrations"]),
            (&json!(true), &json!(false), &json!(1))
        );
        let again = call(&server, "apply_migration", migration).await.unwrap_err();
        assert_eq!(again, "Invalid name: migration `add_note` is recorded already, with the same text");
        assert_eq!(
            call(&server, "apply_migration", json!({ "name": "x" })).await,
            Err("Missing required fields: query".into())
        );
    }
}
