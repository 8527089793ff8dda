//! What runs tool agents: reads their descriptors, merges what a request may change, and checks everything before anything runs.
//!
//! Nothing here opens a connection or judges a call: tools are reached through the gateway like anybody else reaches them.

pub mod chain;
pub mod descriptor;
pub mod format;
pub mod interpolate;
pub mod merge;
pub mod validate;
