//! What the configuration says of the built-in servers that need something of the world.

use std::path::PathBuf;
use std::time::Duration;

use super::Secret;

/// The built-in `supabase` server: there when it has all that it needs, and nowhere to be seen otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Supabase {
    /// Variables of the environment that would complete it.
    Lacks(Vec<String>),
    Complete(Box<SupabaseConfig>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SupabaseConfig {
    pub backend: Backend,
    /// `None`: any table.
    pub allowed_tables: Option<Vec<String>>,
    pub max_rows: usize,
    pub timeout: Duration,
}

/// Where the rows are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Backend {
    Sqlite(PathBuf),
    Postgres {
        url: Secret,
        role: Option<String>,
        schemas: Vec<String>,
    },
    /// Supabase's REST API: a function there runs the statement.
    Rest {
        url: String,
        key: Secret,
        function: String,
        argument: String,
        schemas: Vec<String>,
    },
}

/// A language model that the operator named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Llm {
    pub endpoint: String,
    pub model: String,
    pub key: Option<Secret>,
    pub timeout: Duration,
}
