//! What a run of the load generator is asked for, and what it gives back.

use std::time::Duration;

use crate::content::Payload;

#[derive(Clone, Copy, Debug)]
pub enum Pace {
    Closed,
    Fixed { interval: Duration },
}

#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub payload: Payload,
    pub connections: usize,
    pub pace: Pace,
    pub time: Duration,
    /// Stop after so many requests, however much time is left.
    pub limit: u64,
}

#[derive(Debug, Default)]
pub struct Outcome {
    pub done: u64,
    pub errors: u64,
    /// The first few, in words.
    pub samples: Vec<String>,
    /// From the first request to the last answer.
    pub elapsed: Duration,
    pub latencies_ns: Vec<u64>,
}

impl Outcome {
    pub fn per_second(&self) -> f64 {
        self.done as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }
}
