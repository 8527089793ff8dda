//! The shipped detectors against their own samples, against disguises, and against documents nobody wrote by hand.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod corpus;
mod cut;
mod disguises;
mod documents;
mod edges;
mod hostile;
mod samples;
mod shipped;
mod template;
