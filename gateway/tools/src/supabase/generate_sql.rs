//! `generate-sql`: a question becomes one SELECT, by the grammar, or by the operator's model where there is one.
//!
//! Neither is trusted: what was written is read by the guard and explained by the database before anybody sees it. One never
//! stands in for the other: a question that cannot be translated is an error.

use std::sync::Arc;

use async_trait::async_trait;
use gateway_core::policies::Dialect;
use gateway_core::ports::{Model, StoreError, TableInfo};
use serde_json::{Map, Value, json};

use super::grammar::{self, Question, Translated, Untranslatable};
use super::readable::Readable;
use super::{Shared, failure, named, not_answered, number, text};
use crate::builtin::{BuiltinTool, Called, ToolFailure, ToolSpec, annotations};

const USUAL_ROWS: u64 = 100;
const MOST_ROWS: u64 = 1_000;
const LONGEST: usize = 2_000;
/// What a model is told of a database, at most.
const MOST_SCHEMA: usize = 64 * 1024;

pub(super) struct GenerateSql {
    spec: ToolSpec,
    shared: Arc<Shared>,
}

impl GenerateSql {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { spec: spec(), shared }
    }
}

#[async_trait]
impl BuiltinTool for GenerateSql {
    fn definition(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, call: Called<'_>, arguments: &Map<String, Value>) -> Result<Value, ToolFailure> {
        let (ports, question) = (&self.shared.ports, text(arguments, "query"));
        if question.chars().count() > LONGEST {
            return Err(untranslatable(format!("the question is longer than {LONGEST} characters")));
        }
        let max_rows = u32::try_from(number(arguments, "max_rows").unwrap_or(USUAL_ROWS)).unwrap_or(u32::MAX);
        let readable = Readable::of(&self.shared, call);
        let tables = ports.database.tables().await.map_err(failure)?;
        let tables = readable.chosen(tables, &named(arguments))?;
        let dialect = ports.database.dialect();
        let made = match &ports.model {
            Some(model) => self.by_model(&**model, question, &tables, max_rows).await?,
            None => {
                let now = ports.clock.now();
                let question = Question { text: question, tables: &tables, max_rows, now, dialect };
                grammar::translate(question).map_err(|error| ToolFailure::new(error.to_string()))?
            }
        };
        let reader = (ports.sql)();
        let mut read = readable.checked(&*reader, dialect, &made.sql)?;
        if dialect != Dialect::Postgres {
            // As the chain will read it when it comes back to be run.
            read = readable.checked(&*reader, Dialect::Postgres, &made.sql)?;
        }
        ports.database.explain(&made.sql).await.map_err(|error| match error {
            StoreError::Invalid(said) => untranslatable(format!("the database would not run it: {said}")),
            other => failure(other),
        })?;
        let tables_used = if made.tables_used.is_empty() { read.tables } else { made.tables_used };
        let mut answer = json!({
            "sql": made.sql,
            "explanation": made.explanation,
            "tables_used": tables_used,
            "max_rows": made.max_rows,
        });
        if let Some(answer) = answer.as_object_mut().filter(|_| ports.model.is_some()) {
            answer.insert("by".into(), "model".into());
        }
        Ok(answer)
    }
}

impl GenerateSql {
    async fn by_model(
        &self,
        model: &dyn Model,
        question: &str,
        tables: &[TableInfo],
        max_rows: u32,
    ) -> Result<Translated, ToolFailure> {
        if tables.is_empty() {
            return Err(untranslatable("there is no table that may be read".into()));
        }
        let engine = self.shared.ports.database.dialect();
        let system = format!(
            "Write one {engine} SELECT that answers the question, over these tables and no others. Name every column, give it \
             LIMIT {max_rows} or less, and answer with the SQL alone.\n\n{}",
            described(tables)
        );
        let said = model.complete(&system, question).await.map_err(|error| not_answered(&error))?;
        let sql = statement(&said).ok_or_else(|| untranslatable("the model answered with something else".into()))?;
        let explanation = "Written by the configured model; it was read and explained before it was given back.".into();
        Ok(Translated { sql, explanation, tables_used: Vec::new(), max_rows })
    }
}

fn untranslatable(reason: String) -> ToolFailure {
    ToolFailure::new(Untranslatable(reason).to_string())
}

fn described(tables: &[TableInfo]) -> String {
    let mut text = String::new();
    for table in tables {
        let columns: Vec<String> =
            table.columns.iter().map(|column| format!("{} {}", column.name, column.data_type)).collect();
        let schema = table.schema.as_ref().map(|schema| format!("{schema}.")).unwrap_or_default();
        let line = format!("{schema}{} ({})\n", table.name, columns.join(", "));
        if text.len() + line.len() > MOST_SCHEMA {
            break;
        }
        text.push_str(&line);
    }
    text
}

/// The only fenced block of an answer, or the whole of it. Several blocks leave open which one is meant.
fn statement(said: &str) -> Option<String> {
    let pieces: Vec<&str> = said.split("```").collect();
    let sql = match pieces.as_slice() {
        [whole] => *whole,
        [_, block, _] => match block.split_once('\n') {
            Some((language, rest)) if language.trim().chars().all(char::is_alphanumeric) => rest,
            _ => *block,
        },
        _ => return None,
    };
    let sql = sql.trim().trim_end_matches(|end: char| end == ';' || end.is_whitespace());
    (!sql.is_empty()).then(|| sql.to_owned())
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "generate-sql".into(),
        title: "Generate SQL".into(),
        description:
            "Turns a question such as `top 10 conversations by date` into one SELECT over the tables that may be \
                      read. What it does not understand it says."
                .into(),
        input_schema: json!({
            "type": "object",
            "properties": {
                "query": { "type": "string", "minLength": 1, "description": "The question." },
                "tables": { "type": "array", "items": { "type": "string", "minLength": 1 }, "description": "Only over these." },
                "max_rows": { "type": "integer", "minimum": 1, "maximum": MOST_ROWS, "default": USUAL_ROWS },
            },
            "required": ["query"],
        }),
        output_schema: Some(json!({
            "type": "object",
            "properties": {
                "sql": { "type": "string" },
                "explanation": { "type": "string" },
                "tables_used": { "type": "array", "items": { "type": "string" } },
                "max_rows": { "type": "integer" },
                "by": { "type": "string", "description": "`model` where one wrote it." },
            },
            "required": ["sql", "explanation", "tables_used", "max_rows"],
        })),
        annotations: annotations::reads(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_found_in_what_a_model_says() {
        for (said, expected) in [
            ("select 1;", Some("select 1")),
            ("Here it is:\n```sql\nselect 1;\n```\nDone.", Some("select 1")),
            ("```\nselect 1\n```", Some("select 1")),
            ("```select 1```", Some("select 1")),
            ("```sql\nselect 1\n``` or ```sql\nselect 2\n```", None),
            ("```sql\nselect 1", None),
            ("  ", None),
        ] {
            assert_eq!(statement(said).as_deref(), expected, "{said}");
        }
    }
}
