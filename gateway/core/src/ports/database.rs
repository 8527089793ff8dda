//! Databases that tools may read, and the model that may be asked instead of a grammar.

use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::StoreError;
use crate::BoxError;
use crate::policies::Dialect;

/// One table of a database that tools may read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableInfo {
    /// `None` where the engine has none, or where it is the first of the search path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    pub name: String,
    pub columns: Vec<ColumnInfo>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnInfo {
    pub name: String,
    pub data_type: String,
    pub nullable: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rows {
    pub columns: Vec<String>,
    /// Each row as an object.
    pub rows: Vec<Value>,
    /// More rows matched than were asked for.
    pub truncated: bool,
}

/// How much one query may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadLimits {
    pub max_rows: usize,
    pub timeout: Duration,
    /// Of the rows as JSON; what would go beyond is left out, and the rows count as cut.
    pub max_bytes: usize,
}

/// A database opened for reading only: the connection itself cannot write, whatever the text says.
#[async_trait]
pub trait ReadOnlyDatabase: Send + Sync {
    /// Whose SQL it speaks.
    fn dialect(&self) -> Dialect;
    /// Whether it answers now.
    async fn ping(&self) -> Result<(), StoreError>;
    async fn tables(&self) -> Result<Vec<TableInfo>, StoreError>;
    /// Whether the statement could run; nothing is read.
    async fn explain(&self, sql: &str) -> Result<(), StoreError>;
    async fn query(&self, sql: &str, limits: ReadLimits) -> Result<Rows, StoreError>;
}

#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    #[error("the model endpoint did not answer")]
    Unavailable(#[source] BoxError),
    #[error("the model endpoint answered with something that is no completion")]
    Unreadable,
}

/// A language model behind an HTTP endpoint that the operator named. Without one, nothing is assumed.
#[async_trait]
pub trait Model: Send + Sync {
    async fn complete(&self, system: &str, user: &str) -> Result<String, ModelError>;
}
