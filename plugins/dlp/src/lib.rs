//! Finds personal data and secrets in text and JSON, and takes them out.
//!
//! Text in, hits and redacted bytes out: this crate knows neither the chain nor MCP. What is looked for is data
//! ([`WrittenDetector`], `policies/dlp`), what is done about it is the caller's choice ([`Actions`]), and which parts of a document
//! are nobody's to read is too ([`Paths`]). A mask is a function of (key, rule, value) and of nothing else, so that a retry, the
//! serialised twin of a structure and another node all show the same.

mod action;
mod check;
mod detectors;
mod paths;
mod redaction;
mod seam;
mod written;

pub use action::{Action, Actions, Blocked, Count, Counts, Severity};
pub use check::Check;
pub use detectors::{Detectors, Hit, Problem, Rule, View};
pub use paths::{Care, Paths};
pub use redaction::Redaction;
pub use seam::Seam;
pub use written::{Boundary, ContextWords, Dictionary, Keep, Sample, WrittenDetector};
