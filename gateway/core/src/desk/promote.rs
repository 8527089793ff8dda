//! How an agent earns the next mode.
