//! Recorded calls under other rules.
