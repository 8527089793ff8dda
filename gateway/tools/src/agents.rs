//! What runs tool agents: reads their descriptors, merges what a request may change, checks everything, and calls.
//!
//! Nothing here opens a connection or judges a call: tools are reached through the gateway like anybody else reaches them.

pub mod call;
pub mod chain;
pub mod descriptor;
pub mod format;
pub mod interpolate;
pub mod merge;
mod plan;
pub mod run;
pub mod validate;

pub use format::Bounds;
pub use run::{CurrentLimits, CutOff, RunLimits, ToolAgentRunner};
