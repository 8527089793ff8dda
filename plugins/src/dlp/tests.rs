//! The mutator over messages of every kind, with an address, a card and a social security number to look for.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod rows;
mod streams;
