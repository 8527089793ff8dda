//! What was found inside a call on its way through the chain.

mod found;
mod recorder;

pub use found::{Action, Direction, Finding, Found};
pub use recorder::{PlainRecorder, Recorder};

#[derive(Debug, Clone, Default)]
pub struct Content {
    /// Personal data and secrets in what was asked.
    pub found: Found,
}
