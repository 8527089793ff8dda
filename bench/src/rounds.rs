//! The measurement: warm up, choose the rate, then every round measures every payload through every target, in another order each time.
//!
//! Interleaving is what makes the ratios hold on a machine that others use too: a busy minute is shared by all targets of a round.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::cli::Options;
use crate::content::Payload;
use crate::error::{Context, Result};
use crate::load::run;
use crate::plan::{Outcome, Pace, Plan};
use crate::proc::{Memory, cpu, machine, memory, settle};
use crate::stage::{Stage, Target};
use crate::stats::Latency;

/// The fixed rate, as a share of what the slowest target can do: far from saturation for everybody.
const RATE_SHARE: f64 = 0.3;
const LONG_STREAM: u32 = 10_000;
/// Large enough that keeping what passed would show: 40 MiB of it.
const LONG_EVENT: usize = 4096;

#[derive(Debug, Serialize)]
pub struct Sample {
    pub round: u32,
    pub payload: String,
    pub target: String,
    pub per_second: f64,
    /// CPU of the proxy for one request, work it does afterwards included; none for the direct call.
    pub cpu_us: Option<f64>,
    pub store_cpu_us: Option<f64>,
    pub upstream_cpu_us: f64,
    pub single: Latency,
    pub fixed: Latency,
    pub fixed_cpu_us: Option<f64>,
    /// Share of the machine that went to processes which are none of ours while this was measured.
    pub strangers: f64,
    pub memory: Option<Memory>,
}

#[derive(Debug, Serialize)]
pub struct LongStream {
    pub target: String,
    pub events: u32,
    pub millis: f64,
    pub before: Memory,
    pub after: Memory,
}

#[derive(Debug, Default, Serialize)]
pub struct Measured {
    pub samples: Vec<Sample>,
    /// Requests per second of the fixed rate, by payload.
    pub rates: BTreeMap<String, f64>,
    pub long_streams: Vec<LongStream>,
    /// After all rounds, by target.
    pub memory: BTreeMap<String, Memory>,
    pub requests: u64,
    pub errors: u64,
    pub complaints: Vec<String>,
}

pub fn measure(stage: &Stage, options: &Options) -> Result<Measured> {
    let mut measured = Measured::default();
    let payloads = options.payloads();
    for payload in &payloads {
        let rate = warm_up(stage, *payload, options, &mut measured)?;
        measured.rates.insert(payload.label(), rate);
    }
    for round in 0..options.rounds() {
        for payload in &payloads {
            for step in 0..stage.targets.len() {
                let place = (step + round as usize) % stage.targets.len();
                let Some(target) = stage.targets.get(place) else {
                    continue;
                };
                let round_of = format!("round {}/{}", round + 1, options.rounds());
                progress(&round_of, *payload, &target.name);
                let sample = sample(stage, target, *payload, round, options, &mut measured)?;
                measured.samples.push(sample);
            }
        }
    }
    for target in &stage.targets {
        if let Some(pid) = target.pid {
            measured.memory.insert(target.name.clone(), memory(pid)?);
            if payloads.iter().any(|payload| matches!(payload, Payload::Stream { .. })) {
                let long = long_stream(target, pid, options, &mut measured)?;
                measured.long_streams.push(long);
            }
        }
    }
    Ok(measured)
}

/// One line that moves on, for somebody who watches.
fn progress(phase: &str, payload: Payload, target: &str) {
    if std::io::stderr().is_terminal() {
        eprint!("\r{phase:<12} {:<7} {target:<24}\r", payload.label());
    }
}

/// A first closed loop through everybody: caches and connections are warm afterwards, and the slowest sets the rate.
fn warm_up(stage: &Stage, payload: Payload, options: &Options, measured: &mut Measured) -> Result<f64> {
    let time = (options.time() / 2).max(Duration::from_millis(300));
    let mut slowest = f64::INFINITY;
    for target in &stage.targets {
        progress("warm-up", payload, &target.name);
        let plan = Plan { payload, connections: options.connections, pace: Pace::Closed, time, limit: u64::MAX };
        let outcome = attempt(target, plan, measured)?;
        slowest = slowest.min(outcome.per_second());
        if let Some(pid) = target.pid {
            settle(pid)?;
        }
    }
    Ok((slowest * RATE_SHARE).max(1.0).floor())
}

fn sample(
    stage: &Stage,
    target: &Target,
    payload: Payload,
    round: u32,
    options: &Options,
    measured: &mut Measured,
) -> Result<Sample> {
    let closed =
        Plan { payload, connections: options.connections, pace: Pace::Closed, time: options.time(), limit: u64::MAX };
    let (outcome, used) = with_cpu(stage, target, closed, measured)?;
    let single = Plan { connections: 1, time: options.time() / 2, ..closed };
    let alone = attempt(target, single, measured)?;
    let rate = measured.rates.get(&payload.label()).copied().unwrap_or(1.0);
    let paced = Plan { pace: Pace::Fixed { interval: Duration::from_secs_f64(1.0 / rate) }, ..closed };
    let (steady, used_steady) = with_cpu(stage, target, paced, measured)?;
    Ok(Sample {
        round,
        payload: payload.label(),
        target: target.name.clone(),
        per_second: outcome.per_second(),
        cpu_us: used.proxy,
        store_cpu_us: used.store,
        upstream_cpu_us: used.upstream,
        single: Latency::of(alone.latencies_ns),
        fixed: Latency::of(steady.latencies_ns),
        fixed_cpu_us: used_steady.proxy,
        strangers: f64::midpoint(used.strangers, used_steady.strangers),
        memory: target.pid.map(memory).transpose()?,
    })
}

/// CPU time so far of everybody who takes part, and of the whole machine.
struct Clocks {
    at: Instant,
    proxy: Option<Duration>,
    store: Option<Duration>,
    upstream: Duration,
    /// This process and all it started, and the peer if it is one.
    ours: Duration,
    machine: Duration,
}

impl Clocks {
    fn read(stage: &Stage, target: &Target) -> Result<Self> {
        let proxy = target.pid.map(cpu).transpose()?;
        let peer = if target.peer { proxy } else { None };
        Ok(Self {
            at: Instant::now(),
            proxy,
            store: target.store_pid.map(cpu).transpose()?,
            upstream: cpu(stage.upstream_pid)?,
            ours: cpu(std::process::id())? + peer.unwrap_or_default(),
            machine: machine()?,
        })
    }

    fn since(&self, before: &Self, requests: u64) -> Used {
        let each =
            |now: Duration, then: Duration| now.saturating_sub(then).as_secs_f64() * 1e6 / requests.max(1) as f64;
        let cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
        let all = self.machine.saturating_sub(before.machine);
        let strangers = all.saturating_sub(self.ours.saturating_sub(before.ours));
        let passed = self.at.duration_since(before.at).as_secs_f64() * cores;
        Used {
            proxy: self.proxy.zip(before.proxy).map(|(now, then)| each(now, then)),
            store: self.store.zip(before.store).map(|(now, then)| each(now, then)),
            upstream: each(self.upstream, before.upstream),
            strangers: strangers.as_secs_f64() / passed.max(1e-9),
        }
    }
}

/// Microseconds per request, and the strangers' share of the machine.
struct Used {
    proxy: Option<f64>,
    store: Option<f64>,
    upstream: f64,
    strangers: f64,
}

fn with_cpu(stage: &Stage, target: &Target, plan: Plan, measured: &mut Measured) -> Result<(Outcome, Used)> {
    let before = Clocks::read(stage, target)?;
    let outcome = attempt(target, plan, measured)?;
    for pid in [target.pid, target.store_pid].into_iter().flatten() {
        settle(pid).context(|| target.name.clone())?;
    }
    let used = Clocks::read(stage, target)?.since(&before, outcome.done);
    Ok((outcome, used))
}

fn attempt(target: &Target, plan: Plan, measured: &mut Measured) -> Result<Outcome> {
    let outcome = run(&target.endpoint, plan).context(|| target.name.clone())?;
    measured.requests += outcome.done;
    measured.errors += outcome.errors;
    for what in &outcome.samples {
        if measured.complaints.len() < 20 {
            measured.complaints.push(format!("{} {}: {what}", target.name, plan.payload.label()));
        }
    }
    Ok(outcome)
}

/// One stream far longer than any buffer: does what was sent stay in memory?
fn long_stream(target: &Target, pid: u32, options: &Options, measured: &mut Measured) -> Result<LongStream> {
    settle(pid)?;
    let before = memory(pid)?;
    let payload = Payload::Stream { events: LONG_STREAM, size: LONG_EVENT, burst: options.burst };
    let plan = Plan { payload, connections: 1, pace: Pace::Closed, time: Duration::from_secs(60), limit: 1 };
    let outcome = attempt(target, plan, measured)?;
    let millis = outcome.elapsed.as_secs_f64() * 1e3;
    Ok(LongStream { target: target.name.clone(), events: LONG_STREAM, millis, before, after: memory(pid)? })
}
