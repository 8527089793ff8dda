//! The Decision Gate: scenarios whose stages open on evidence, runs that remember every decision, and packs of files that
//! prove it to somebody else.
//!
//! Everything here is a function of its arguments: no clock, no files, no waiting, no ports. Times are the caller's,
//! evidence is handed in, and what a step changed is handed out to be stored. Who fetches and who stores is elsewhere.

pub mod binding;
pub mod compare;
pub mod contracts;
mod counting;
mod decimal;
pub mod digest;
pub mod dispatch;
pub mod engine;
pub mod evidence;
pub mod ids;
pub mod logic;
pub mod moments;
pub mod payload;
pub mod policies;
mod read;
pub mod records;
pub mod refusal;
pub mod requests;
pub mod requirement;
mod route;
pub mod run;
pub mod runpack;
pub mod scenario;
pub mod shelf;
pub mod spec;
pub mod state;
#[cfg(test)]
mod tests;
pub mod time;
pub mod verify;

pub use compare::{Comparator, compare};
pub use digest::Digest;
pub use ids::{Correlation, Id, TenantText};
pub use logic::Tri;
pub use refusal::{Fault, FaultCode, Refusal};
pub use run::{Head, Logs, RunStatus};
pub use scenario::Scenario;
pub use spec::Spec;
pub use state::RunState;
pub use time::GateTime;

/// What one log, and so one file of a pack, may hold.
pub const LOG_BYTES: u64 = 16 * 1024 * 1024;
/// A run is not a queue: whoever needs more triggers starts another.
pub const TRIGGERS: u64 = 10_000;
pub const EVIDENCE_BYTES: u64 = 1024 * 1024;
pub const PAYLOAD_BYTES: u64 = 2 * 1024 * 1024;
pub const SPEC_BYTES: u64 = 1024 * 1024;
/// How many operators may stand around a predicate.
pub const DEPTH: usize = 32;
pub const TARGETS: usize = 100;
