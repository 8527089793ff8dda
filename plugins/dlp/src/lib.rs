//! Finds personal data and secrets in text and JSON, and takes them out.
//!
//! Text in, hits and redacted bytes out: this crate knows neither the chain nor MCP. What is looked for is data
//! ([`WrittenDetector`], `policies/dlp`), what is done about it is the caller's choice ([`Actions`]), and which parts of a document
//! are nobody's to read is too ([`Paths`]). A mask is a function of (key, rule, value) and of nothing else, so that a retry, the
//! serialised twin of a structure and another node all show the same.
//!
//! A message goes through two passes. `spots` reads raw bytes once, with one table and one automaton of literals, and for most
//! messages that is all. What it points at is decoded, folded and read in every way it may be meant (`detectors/look.rs`), and what
//! is found is cut out of the raw bytes (`redaction`), so that everything else stays byte for byte.

mod action;
mod alike;
mod apart;
mod aside;
mod check;
mod cuts;
mod detectors;
mod dump;
mod encoded;
mod escapes;
mod fold;
mod mapped;
mod markup;
mod mask;
mod material;
mod open_key;
mod paths;
mod redaction;
mod seam;
mod spots;
mod written;

pub use action::{Action, Actions, Blocked, Count, Counts, Severity};
pub use check::Check;
pub use detectors::{Detectors, Hit, Problem, Rule, UNREAD, View};
pub use open_key::{OpenKey, Rest};
pub use paths::{Care, Paths};
pub use redaction::{Redaction, Taken, UNREADABLE};
pub use seam::{LONGEST_TAIL, Seam};
pub use written::{Boundary, ContextWords, Dictionary, Keep, Sample, WrittenDetector};
