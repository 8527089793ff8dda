//! A short run of every target, the same each time: the seeds as they are, then a fixed number of their mutations.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::thread;
use std::time::Duration;

use portreeve_fuzz::{Plan, TARGETS, driver, run};

/// A few seconds for all of them, without optimisation.
const CASES: u64 = 1_500;
/// Reading with every detector takes its time.
const FEWER: u64 = 200;

#[test]
fn no_target_breaks_a_promise() {
    let runs: Vec<_> = TARGETS
        .into_iter()
        .map(|target| {
            let cases = if target.name.starts_with("dlp") { FEWER } else { CASES };
            let plan = Plan { seed: 20_261_116, cases, time: Duration::MAX, trail: None };
            (target.name, cases, thread::spawn(move || run(&target, &plan)))
        })
        .collect();
    for (name, cases, run) in runs {
        let report = run.join().unwrap().unwrap();
        if let Some(failure) = report.failure {
            panic!("{name}: {}\n{:?}", failure.reason, String::from_utf8_lossy(&failure.input));
        }
        assert_eq!(report.cases, cases, "{name}");
        assert!(report.ways > 5, "{name} takes everything alike: its seeds no longer reach it");
    }
}

#[test]
fn every_target_has_seeds_that_it_can_read() {
    for target in TARGETS {
        let seeds = driver::seeds(&target).unwrap();
        assert!(seeds.len() >= 3, "{}", target.name);
        for (file, bytes) in seeds {
            assert!(driver::case(&target, &bytes).is_ok(), "{}: {}", target.name, file.display());
        }
    }
}
