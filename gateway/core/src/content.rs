//! What was found inside a call on its way through the chain.

use crate::sql::SqlSeen;

#[derive(Debug, Clone, Default)]
pub struct Content {
    /// The arguments that are SQL, each read once: judges look here, and do not read again.
    pub sql: Vec<SqlSeen>,
}
