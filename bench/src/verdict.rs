//! The targets Portreeve is held to, and whether this run met them. What was not measured is neither.

use std::fmt::Write;

use serde::Serialize;

use crate::report::ratio;
use crate::rounds::Measured;
use crate::stage::{NGINX, SQLITE};
use crate::stats::Spread;

const RSS_LIMIT_MIB: f64 = 100.0;
/// A tenth of the 40 MiB that pass in the long stream; what was kept of it would be more.
const GROWTH_LIMIT_MIB: f64 = 4.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Met,
    Missed,
    NotMeasured,
}

#[derive(Debug, Serialize)]
pub struct Goal {
    pub what: String,
    pub limit: f64,
    pub aim: Option<f64>,
    pub found: Option<Spread>,
    pub verdict: Verdict,
}

pub fn goals(measured: &Measured) -> Vec<Goal> {
    let cpu = |payload| ratio(measured, payload, SQLITE, NGINX, |sample| sample.cpu_us);
    let after_rounds = measured.memory.get(SQLITE).map(|memory| memory.rss_kib);
    let after_stream = measured.long_streams.iter().find(|long| long.target == SQLITE).map(|long| long.after.rss_kib);
    let grown = measured.long_streams.iter().find(|long| long.target == SQLITE);
    let grown = grown.map(|long| (long.after.rss_kib as f64 - long.before.rss_kib as f64).max(0.0) / 1024.0);
    let resident = after_rounds.max(after_stream).map(|kib| kib as f64 / 1024.0);
    vec![
        goal("CPU per request, 200 B, x nginx", 3.0, Some(2.0), cpu("200b")),
        goal("CPU per request, 4 KiB, x nginx", 3.0, Some(2.0), cpu("4k")),
        goal("CPU per 500-event stream, x nginx", 1.5, None, cpu("stream")),
        goal("resident memory after the run, MiB", RSS_LIMIT_MIB, None, resident.and_then(|mib| Spread::of([mib]))),
        goal("growth over a 10,000-event stream, MiB", GROWTH_LIMIT_MIB, None, grown.and_then(|mib| Spread::of([mib]))),
    ]
}

fn goal(what: &str, limit: f64, aim: Option<f64>, found: Option<Spread>) -> Goal {
    let verdict = match found {
        None => Verdict::NotMeasured,
        Some(found) if found.median <= limit => Verdict::Met,
        Some(_) => Verdict::Missed,
    };
    Goal { what: what.into(), limit, aim, found, verdict }
}

pub fn show(goals: &[Goal]) -> String {
    let mut out = format!("\ntargets ({SQLITE})\n");
    for goal in goals {
        let aim = goal.aim.map(|aim| format!(", aim {aim}")).unwrap_or_default();
        let found = goal.found.map(|found| format!("  {}", found.show(2))).unwrap_or_default();
        let reached = goal.aim.zip(goal.found).is_some_and(|(aim, found)| found.median <= aim);
        let verdict = match goal.verdict {
            Verdict::Met if reached => "met, and the aim",
            Verdict::Met => "met",
            Verdict::Missed => "MISSED",
            Verdict::NotMeasured => "NOT MEASURED",
        };
        let _ = writeln!(out, "  {:<36} at most {}{aim}:{found}  {verdict}", goal.what, goal.limit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_met_missed_or_not_measured() {
        for (found, expected) in
            [(None, Verdict::NotMeasured), (Some(3.0), Verdict::Met), (Some(3.01), Verdict::Missed)]
        {
            let spread = found.and_then(|found| Spread::of([found]));
            assert_eq!(goal("x", 3.0, None, spread).verdict, expected, "{found:?}");
        }
        assert!(goals(&Measured::default()).iter().all(|goal| goal.verdict == Verdict::NotMeasured));
    }
}
