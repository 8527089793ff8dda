//! Questions to a database: its tables, a sentence as SQL (`grammar`), the rows of a statement, rows as a paragraph (`analysis`).
//!
//! Four tools that read and never write. What they answer is computed, never guessed: the same words give the same answer,
//! and what is not understood is refused. Only where the operator names a model is that one asked instead.

pub mod analysis;
pub mod grammar;

mod analyze_results;
mod execute_sql;
#[cfg(test)]
mod fakes;
mod generate_sql;
mod get_schema;
mod readable;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use gateway_core::names::NameError;
use gateway_core::ports::{Clock, Model, ModelError, ReadOnlyDatabase, StoreError};
use gateway_core::sql::SqlReader;
use serde_json::{Map, Value};

use crate::builtin::{BuiltinServer, BuiltinTool, Ready, ToolFailure};

pub const NAMESPACE: &str = "supabase";
/// How the four tools are governed where the operator's files do not say.
pub const MANIFESTS: &str = include_str!("supabase/manifests.yaml");

/// The grammars in force: the lists they read by may change while the gateway runs.
pub type CurrentSql = Arc<dyn Fn() -> Arc<dyn SqlReader> + Send + Sync>;

pub struct Ports {
    pub database: Arc<dyn ReadOnlyDatabase>,
    pub sql: CurrentSql,
    /// `None`: grammar and summary are computed here, and nothing is asked of anybody.
    pub model: Option<Arc<dyn Model>>,
    pub clock: Arc<dyn Clock>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// `None`: any table. An empty list: none.
    pub allowed_tables: Option<Vec<String>>,
    /// Rows of one answer, whatever is asked for.
    pub max_rows: usize,
    /// The longest that a query may take.
    pub timeout: Duration,
}

/// What the four share.
struct Shared {
    ports: Ports,
    settings: Settings,
}

pub fn server(ports: Ports, settings: Settings) -> Result<BuiltinServer, NameError> {
    let asked = Asked(Arc::clone(&ports.database));
    let shared = Arc::new(Shared { ports, settings });
    let tools: Vec<Box<dyn BuiltinTool>> = vec![
        Box::new(get_schema::GetSchema::new(Arc::clone(&shared))),
        Box::new(generate_sql::GenerateSql::new(Arc::clone(&shared))),
        Box::new(execute_sql::ExecuteSql::new(Arc::clone(&shared))),
        Box::new(analyze_results::AnalyzeResults::new(shared)),
    ];
    let instructions = "Reads a database and never writes to it. Look at the schema, turn a question into SQL, run it, then \
                        let the rows be summed up.";
    Ok(BuiltinServer::new(NAMESPACE, "portreeve-supabase", Some(instructions), tools)?.depending_on(asked))
}

struct Asked(Arc<dyn ReadOnlyDatabase>);

#[async_trait]
impl Ready for Asked {
    async fn ready(&self) -> Result<(), StoreError> {
        self.0.ping().await
    }
}

/// What the database says of a statement is the caller's business; why it cannot be reached is not.
fn failure(error: StoreError) -> ToolFailure {
    match error {
        StoreError::Unavailable(cause) => {
            tracing::warn!(error = %cause, "the database behind {NAMESPACE} cannot be read");
            ToolFailure::new("the database cannot be reached right now, try again")
        }
        other => ToolFailure::new(other.to_string()),
    }
}

fn not_answered(error: &ModelError) -> ToolFailure {
    let cause = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
    tracing::warn!(error = %error, cause, "the model endpoint was of no use");
    ToolFailure::new(error.to_string())
}

/// Text the schema already asked for.
fn text<'a>(arguments: &'a Map<String, Value>, name: &str) -> &'a str {
    arguments.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn number(arguments: &Map<String, Value>, name: &str) -> Option<u64> {
    arguments.get(name).and_then(Value::as_u64)
}

/// The tables a caller names; none named is none left out.
fn named(arguments: &Map<String, Value>) -> Vec<&str> {
    arguments.get("tables").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}
