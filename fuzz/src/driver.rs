//! Feeds mutated seeds to a target until it breaks a promise or its time is over.
//!
//! Each case depends on the seed and on what the cases before it found, never on the clock, so the same seed and number of cases
//! are the same run. The input at work is kept in a file when asked for: a stack that overflows ends the process before anybody
//! could write it down.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::mutate::mutate;
use crate::random::Random;
use crate::targets::Target;

/// Inputs that were taken in a new way are kept up to here; beyond it one of them is replaced.
const POOL: usize = 4096;

pub struct Plan<'a> {
    pub seed: u64,
    /// Whichever comes first ends the run.
    pub cases: u64,
    pub time: Duration,
    /// Where the input at work is written.
    pub trail: Option<&'a Path>,
}

#[derive(Debug)]
pub struct Report {
    pub cases: u64,
    /// Ways in which inputs were taken.
    pub ways: usize,
    pub failure: Option<Failure>,
}

#[derive(Debug)]
pub struct Failure {
    pub input: Vec<u8>,
    pub reason: String,
}

/// The seeds a target starts from, in the order of their names.
pub fn seeds(target: &Target) -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.seeds);
    let mut files = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    files.sort();
    files.into_iter().map(|file| fs::read(&file).map(|bytes| (file, bytes))).collect()
}

pub fn run(target: &Target, plan: &Plan<'_>) -> io::Result<Report> {
    let started = Instant::now();
    let mut trail = plan.trail.map(File::create).transpose()?;
    let mut random = Random::new(plan.seed);
    let mut ways = HashSet::new();
    let mut report = Report { cases: 0, ways: 0, failure: None };
    let mut pool: Vec<Vec<u8>> = seeds(target)?.into_iter().map(|(_, bytes)| bytes).collect();
    // First the seeds as they are: found crashes are kept among them.
    let mut waiting: Vec<Vec<u8>> = pool.iter().rev().cloned().collect();
    while report.cases < plan.cases && (!report.cases.is_multiple_of(64) || started.elapsed() < plan.time) {
        let input = waiting.pop().unwrap_or_else(|| {
            let chosen = pool.get(random.below(pool.len())).cloned().unwrap_or_default();
            mutate(&mut random, &chosen, &pool)
        });
        if let Some(trail) = &mut trail {
            trail.seek(SeekFrom::Start(0))?;
            trail.set_len(0)?;
            trail.write_all(&input)?;
        }
        report.cases += 1;
        match case(target, &input) {
            Ok(how) if ways.insert(how) => keep(&mut random, &mut pool, input),
            Ok(_) => {}
            Err(reason) => {
                report.failure = Some(Failure { input: smallest(target, input), reason });
                break;
            }
        }
    }
    report.ways = ways.len();
    if let Some(path) = plan.trail {
        fs::remove_file(path)?;
    }
    Ok(report)
}

/// One input; a panic is a broken promise like any other.
pub fn case(target: &Target, input: &[u8]) -> Result<u64, String> {
    catch_unwind(AssertUnwindSafe(|| (target.check)(input))).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        Err(format!("panic: {}", said.unwrap_or("without a word")))
    })
}

fn keep(random: &mut Random, pool: &mut Vec<Vec<u8>>, input: Vec<u8>) {
    if pool.len() < POOL {
        pool.push(input);
        return;
    }
    let place = random.below(pool.len());
    if let Some(old) = pool.get_mut(place) {
        *old = input;
    }
}

/// Cuts away what the failure does not need: ever smaller stretches, as long as it still fails.
fn smallest(target: &Target, mut input: Vec<u8>) -> Vec<u8> {
    let mut length = input.len() / 2;
    while length > 0 {
        let mut start = 0;
        while start < input.len() {
            let mut shorter = input.clone();
            shorter.drain(start..(start + length).min(input.len()));
            if case(target, &shorter).is_err() {
                input = shorter;
            } else {
                start += length;
            }
        }
        length /= 2;
    }
    input
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    fn plan(cases: u64) -> Plan<'static> {
        Plan { seed: 1, cases, time: Duration::MAX, trail: None }
    }

    #[test]
    fn a_broken_promise_is_found_and_made_small() {
        fn fragile(input: &[u8]) -> Result<u64, String> {
            assert!(!input.contains(&0xff), "found");
            Ok(input.len() as u64 % 8)
        }
        let target = Target { name: "fragile", seeds: "messages", check: fragile };
        let report = run(&target, &plan(100_000)).unwrap();
        let failure = report.failure.unwrap();
        assert_eq!((failure.input.as_slice(), failure.reason.as_str()), (&[0xff][..], "panic: found"));
    }

    #[test]
    fn the_same_seed_is_the_same_run() {
        let target = crate::TARGETS.into_iter().next().unwrap();
        let (one, two) = (run(&target, &plan(500)).unwrap(), run(&target, &plan(500)).unwrap());
        assert_eq!((one.cases, one.ways), (two.cases, two.ways));
        assert!(one.failure.is_none() && one.ways > 10, "{one:?}");
    }
}
