//! A database that tools may read and nothing else.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::StoreError;

/// One table of a database that tools may read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableInfo {
    /// `None` where the engine has no schemas, or it is the one that names are looked up in first.
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

/// A database opened for reading only: the connection itself cannot write, whatever the text says.
#[async_trait]
pub trait ReadOnlyDatabase: Send + Sync {
    async fn tables(&self) -> Result<Vec<TableInfo>, StoreError>;
    async fn query(&self, sql: &str, max_rows: usize) -> Result<Rows, StoreError>;
}
