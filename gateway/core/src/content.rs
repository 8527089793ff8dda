//! What was found inside a call on its way through the chain.

mod found;
mod recorder;

pub use found::{Action, Direction, Finding, Found};
pub use recorder::{PlainRecorder, Recorder};

use crate::sql::SqlSeen;

#[derive(Debug, Clone, Default)]
pub struct Content {
    /// The arguments that are SQL, each read once: judges look here, and do not read again.
    pub sql: Vec<SqlSeen>,
    /// Personal data and secrets in what was asked.
    pub found: Found,
}
