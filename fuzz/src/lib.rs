//! Malformed input in large numbers, on stable Rust: what the outside world can send to the parts that read it.
//!
//! `targets` says what must hold for any bytes, `mutate` makes bytes that are nearly right, `driver` brings the two together.
//! There is no instrumentation: a target tells how it took an input, and inputs that were taken in a new way are mutated further.

pub mod driver;
pub mod mutate;
pub mod random;
pub mod targets;

pub use driver::{Failure, Plan, Report, run};
pub use targets::{TARGETS, Target};
