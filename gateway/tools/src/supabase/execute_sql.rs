//! `execute-sql`: the rows of one statement that reads.
//!
//! The gateway's chain has read the statement before it came here; it is read again in the grammar of the database itself,
//! because two engines do not always see the same words. Then the database has its own wall.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use gateway_core::ports::ReadLimits;
use serde_json::{Map, Value, json};

use super::readable::Readable;
use super::{Shared, failure, number, text};
use crate::builtin::{BuiltinTool, Called, ToolFailure, ToolSpec, annotations};

const LONGEST: usize = 200_000;
const USUAL_ROWS: u64 = 1_000;
const MOST_ROWS: u64 = 10_000;
const MOST_SECONDS: u64 = 60;
const MAX_BYTES: usize = 4 * 1024 * 1024;

pub(super) struct ExecuteSql {
    spec: ToolSpec,
    shared: Arc<Shared>,
}

impl ExecuteSql {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { spec: spec(), shared }
    }

    fn limits(&self, arguments: &Map<String, Value>) -> ReadLimits {
        let settings = &self.shared.settings;
        let rows = number(arguments, "max_rows").unwrap_or(USUAL_ROWS);
        let asked = number(arguments, "timeout").map_or(settings.timeout, Duration::from_secs);
        ReadLimits {
            max_rows: usize::try_from(rows).unwrap_or(usize::MAX).min(settings.max_rows),
            timeout: asked.min(settings.timeout),
            max_bytes: MAX_BYTES,
        }
    }
}

#[async_trait]
impl BuiltinTool for ExecuteSql {
    fn definition(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, call: Called<'_>, arguments: &Map<String, Value>) -> Result<Value, ToolFailure> {
        let (ports, sql) = (&self.shared.ports, text(arguments, "sql"));
        if sql.len() > LONGEST {
            return Err(ToolFailure::new(format!("Invalid sql: must be at most {LONGEST} bytes long")));
        }
        // It may stand inside another statement at the database, where an end of its own would be in the way.
        let sql = sql.trim_end_matches(|end: char| end == ';' || end.is_whitespace());
        Readable::of(&self.shared, call).checked(&*(ports.sql)(), ports.database.dialect(), sql)?;
        let began = ports.clock.now();
        let found = ports.database.query(sql, self.limits(arguments)).await.map_err(failure)?;
        let took = ports.clock.now().duration_since(began).as_millis();
        Ok(json!({
            "data": found.rows,
            "row_count": found.rows.len(),
            "execution_time_ms": u64::try_from(took).unwrap_or_default(),
            "columns": found.columns,
            "sql_executed": sql,
            "truncated": found.truncated,
        }))
    }
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "execute-sql".into(),
        title: "Execute SQL".into(),
        description: "Runs one statement that reads and gives its rows. Nothing can be written.".into(),
        input_schema: json!({
            "type": "object",
            "properties": {
                "sql": { "type": "string", "minLength": 1, "description": "One SELECT, WITH or VALUES." },
                "max_rows": { "type": "integer", "minimum": 1, "maximum": MOST_ROWS, "default": USUAL_ROWS },
                "timeout": { "type": "integer", "minimum": 1, "maximum": MOST_SECONDS, "description": "In seconds." },
            },
            "required": ["sql"],
        }),
        output_schema: Some(json!({
            "type": "object",
            "properties": {
                "data": {
                    "type": "array",
                    "items": { "type": "object" },
                    "description": "Of columns with the same name the last is shown.",
                },
                "row_count": { "type": "integer" },
                "execution_time_ms": { "type": "integer" },
                "columns": { "type": "array", "items": { "type": "string" } },
                "sql_executed": { "type": "string" },
                "truncated": { "type": "boolean", "description": "True when more rows matched." },
            },
            "required": ["data", "row_count", "execution_time_ms", "columns", "sql_executed", "truncated"],
        })),
        annotations: annotations::reads(),
    }
}
