//! `portreeve-fuzz [TARGET] [--seconds N] [--seed S]`. Exit 0 nothing found, 1 a broken promise (its input is in a file), 2 wrong
//! usage.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Parser;
use portreeve_fuzz::{Failure, Plan, Report, TARGETS, Target, driver};

/// As small as a worker thread's: what recurses too deep must show here.
const STACK: usize = 2 << 20;
/// No input may keep a reader busy this long.
const LONGEST_CASE: Duration = Duration::from_secs(20);

/// Mutates the seeds in `corpus` and checks what must hold for any input.
#[derive(Parser)]
struct Options {
    /// One of the targets; all of them, one after the other, if none is named.
    target: Option<String>,
    /// How long each target runs.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Brings a run back; drawn from the clock if not given.
    #[arg(long)]
    seed: Option<u64>,
    /// Checks this one file instead.
    #[arg(long, requires = "target")]
    input: Option<PathBuf>,
    /// Where failing inputs are written.
    #[arg(long, default_value = "target/fuzz")]
    out: PathBuf,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let named = |target: &Target| options.target.as_deref().is_none_or(|name| name == target.name);
    let chosen: Vec<Target> = TARGETS.into_iter().filter(named).collect();
    if chosen.is_empty() {
        let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
        eprintln!("no such target; there are {}", names.join(", "));
        return ExitCode::from(2);
    }
    let seed = options.seed.unwrap_or_else(clock);
    let found = chosen.iter().map(|target| match &options.input {
        Some(file) => one(target, file),
        None => many(target, seed, &options),
    });
    // All of them run, whatever the first ones found.
    let good = found.fold(true, |good, found| good & found);
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn clock() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.as_secs() ^ u64::from(now.subsec_nanos())
}

fn one(target: &Target, file: &Path) -> bool {
    let checked = fs::read(file).map_err(|error| error.to_string()).and_then(|bytes| driver::case(target, &bytes));
    let verdict = checked.as_ref().map_or_else(String::as_str, |_| "nothing found");
    println!("{}: {}: {verdict}", target.name, file.display());
    checked.is_ok()
}

fn many(target: &Target, seed: u64, options: &Options) -> bool {
    println!("{}: seed {seed}, {} s", target.name, options.seconds);
    let trail = options.out.join(format!("{}.running", target.name));
    match watched(*target, seed, options, &trail) {
        Ok(Report { cases, ways, failure: None }) => {
            println!("{}: {cases} cases, taken in {ways} ways, nothing found", target.name);
            true
        }
        Ok(Report { cases, failure: Some(failure), .. }) => {
            println!("{}: case {cases}: {}", target.name, failure.reason);
            report(target, seed, options, &failure);
            false
        }
        Err(reason) => {
            println!("{}: {reason}; the input at work is in {}", target.name, trail.display());
            false
        }
    }
}

/// Runs the target on a thread of its own and waits; an input that never ends is found by its silence.
fn watched(target: Target, seed: u64, options: &Options, trail: &Path) -> Result<Report, String> {
    fs::create_dir_all(&options.out).map_err(|error| format!("{}: {error}", options.out.display()))?;
    let (tell, told) = mpsc::channel();
    let time = Duration::from_secs(options.seconds);
    let path = trail.to_path_buf();
    let work = move || {
        let plan = Plan { seed, cases: u64::MAX, time, trail: Some(&path) };
        // Nobody listens any more if it took too long.
        let _ = tell.send(driver::run(&target, &plan));
    };
    thread::Builder::new().stack_size(STACK).spawn(work).map_err(|error| error.to_string())?;
    let report = told.recv_timeout(time + LONGEST_CASE).map_err(|_| "an input takes too long".to_owned())?;
    report.map_err(|error| error.to_string())
}

fn report(target: &Target, seed: u64, options: &Options, failure: &Failure) {
    let file = options.out.join(format!("{}-{seed}", target.name));
    match fs::write(&file, &failure.input) {
        Ok(()) => println!("{}: its input is in {}", target.name, file.display()),
        Err(error) => println!("{}: {error}; its input is {:?}", target.name, failure.input),
    }
}
