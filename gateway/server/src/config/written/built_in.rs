//! The written forms of what the built-in servers are told.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::numbers::Count;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WrittenBuiltIn {
    /// Reads a database for agents: its schema, questions as SQL, rows, summaries. There once it has a URL.
    pub supabase: WrittenSupabase,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WrittenSupabase {
    /// `postgres://user:password@host/db`, `https://PROJECT.supabase.co` or `sqlite://FILE`. Default: the variable
    /// `SUPABASE_URL`.
    pub url: Option<String>,
    /// The key of the REST API. Default: the first that is set of `SUPABASE_KEY`, `SUPABASE_SERVICE_ROLE_KEY`,
    /// `SUPABASE_SECRET_KEY`, `SUPABASE_ANON_KEY`.
    pub key: Option<String>,
    /// Postgres only: reads as this role. Default `portreeve_reader` where the login may become it, else `pg_read_all_data`,
    /// else the login itself.
    pub role: Option<String>,
    /// Whose tables are shown; not for SQLite. Default `[public]`.
    pub schemas: Option<Vec<String>>,
    /// The tables that may be read, as `table` or `schema.table`. Default: all that the login may.
    pub allowed_tables: Option<Vec<String>>,
    /// Rows of one answer, whatever is asked for. Default 1000.
    pub max_rows: Option<Count>,
    /// The longest that a query may take. Default 30.
    pub timeout_seconds: Option<Count>,
    /// The function behind the REST API that runs a statement, `config/supabase/exec_sql.sql`.
    pub rpc: WrittenRpc,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WrittenRpc {
    /// Default `exec_sql`.
    pub function: Option<String>,
    /// The name of its argument. Default `query`.
    pub argument: Option<String>,
}

/// A model that turns questions into SQL and rows into a summary, in place of the built-in grammar.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WrittenLlm {
    /// Where chat completions are POSTed, `https://`, or `http://` on this machine.
    pub endpoint: String,
    /// What the endpoint calls the model.
    pub model: String,
    /// Sent as a bearer token.
    #[serde(default)]
    pub key: Option<String>,
    /// How long an answer may take. Default 30.
    #[serde(default)]
    pub timeout_seconds: Option<Count>,
}
