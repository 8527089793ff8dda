//! The tables people read, from the samples. Ratios are taken within a round and only then reduced to a median.

use std::fmt::Write;

use crate::cli::PAYLOADS;
use crate::rounds::{Measured, Sample};
use crate::stage::{DIRECT, NGINX, Stage};
use crate::stats::Spread;

pub fn tables(stage: &Stage, measured: &Measured) -> String {
    let mut out = String::new();
    for note in &stage.notes {
        let _ = writeln!(out, "{note}");
    }
    for (payload, rate) in in_order(measured) {
        let _ = writeln!(out, "\n{}", title(&payload, rate));
        let mut rows = vec![
            [
                "target",
                "req/s",
                "of direct",
                "of nginx",
                "CPU us/req",
                "x nginx",
                "1 conn p50",
                "of direct",
                "x nginx",
                "p99",
                "x nginx",
                "at rate p50",
                "x nginx",
                "p99",
                "x nginx",
                "CPU us/req",
                "RSS MiB",
                "x nginx",
            ]
            .map(String::from)
            .to_vec(),
        ];
        rows.extend(stage.targets.iter().map(|target| row(measured, &payload, &target.name)));
        for (name, why) in &stage.not_measured {
            rows.push(vec![name.clone(), format!("NOT MEASURED ({why})")]);
        }
        out += &aligned(&rows);
    }
    out += &memory(measured);
    out += &strangers(measured);
    out
}

fn in_order(measured: &Measured) -> Vec<(String, f64)> {
    PAYLOADS.iter().filter_map(|name| Some(((*name).into(), *measured.rates.get(*name)?))).collect()
}

fn title(payload: &str, rate: f64) -> String {
    let what = match payload {
        "200b" => "JSON answer, 200 B of text",
        "4k" => "JSON answer, 4 KiB of text",
        "64k" => "JSON answer, 64 KiB of text",
        "stream" => "event stream, 500 events of about 200 B (a request is a whole stream)",
        "stream-4k" => "event stream, 100 events of about 4 KiB (a request is a whole stream)",
        _ => "event stream, 20 events of about 64 KiB (a request is a whole stream)",
    };
    format!("{what}; fixed rate {rate}/s; latencies in us; median (min..max) over rounds")
}

fn row(measured: &Measured, payload: &str, target: &str) -> Vec<String> {
    let show = |spread: Option<Spread>, digits| spread.map_or_else(|| "-".into(), |spread| spread.show(digits));
    let middle = |spread: Option<Spread>| spread.map_or_else(|| "-".into(), |spread| format!("{:.0}", spread.median));
    let all = |value: fn(&Sample) -> Option<f64>| over_rounds(measured, payload, target, value);
    let against = |base: &str, value: fn(&Sample) -> Option<f64>| {
        if target == base { "1".into() } else { show(ratio(measured, payload, target, base, value), 2) }
    };
    // The middle alone: a row has many of these.
    let times = |base: &str, value: fn(&Sample) -> Option<f64>| {
        let found = ratio(measured, payload, target, base, value).filter(|_| target != base);
        found.map_or_else(|| "-".into(), |spread| format!("{:.2}", spread.median))
    };
    vec![
        target.into(),
        show(all(|sample| Some(sample.per_second)), 0),
        against(DIRECT, |sample| Some(sample.per_second)),
        against(NGINX, |sample| Some(sample.per_second)),
        show(all(|sample| sample.cpu_us), 1),
        against(NGINX, |sample| sample.cpu_us),
        middle(all(|sample| Some(sample.single.p50_us))),
        times(DIRECT, |sample| Some(sample.single.p50_us)),
        times(NGINX, |sample| Some(sample.single.p50_us)),
        middle(all(|sample| Some(sample.single.p99_us))),
        times(NGINX, |sample| Some(sample.single.p99_us)),
        middle(all(|sample| Some(sample.fixed.p50_us))),
        times(NGINX, |sample| Some(sample.fixed.p50_us)),
        middle(all(|sample| Some(sample.fixed.p99_us))),
        times(NGINX, |sample| Some(sample.fixed.p99_us)),
        show(all(|sample| sample.fixed_cpu_us), 1),
        all(resident).map_or_else(|| "-".into(), |spread| format!("{:.1}", spread.median)),
        times(NGINX, resident),
    ]
}

fn resident(sample: &Sample) -> Option<f64> {
    sample.memory.map(|memory| memory.rss_kib as f64 / 1024.0)
}

fn memory(measured: &Measured) -> String {
    let mut rows = vec![
        ["target", "RSS MiB", "peak MiB", "10,000-event stream: before", "after", "ms"].map(String::from).to_vec(),
    ];
    let mib = |kib: u64| format!("{:.1}", kib as f64 / 1024.0);
    for (target, memory) in &measured.memory {
        let mut row = vec![target.clone(), mib(memory.rss_kib), mib(memory.peak_kib)];
        if let Some(long) = measured.long_streams.iter().find(|long| long.target == *target) {
            row.extend([mib(long.before.rss_kib), mib(long.after.rss_kib), format!("{:.0}", long.millis)]);
        }
        rows.push(row);
    }
    let mut out = format!("\nmemory after all rounds (summed over the processes of a target)\n{}", aligned(&rows));
    for target in measured.memory.keys() {
        let store = over_rounds(measured, "200b", target, |sample| sample.store_cpu_us);
        if let Some(store) = store {
            let _ = writeln!(
                out,
                "{target}: its database server used {} us of CPU per 200 B request beside it",
                store.show(1)
            );
        }
    }
    out
}

/// Ratios bear a busy machine, figures do not: say how busy it was.
fn strangers(measured: &Measured) -> String {
    let Some(share) = Spread::of(measured.samples.iter().map(|sample| sample.strangers * 100.0)) else {
        return String::new();
    };
    let warning = if share.median > 5.0 { "; do not quote these figures" } else { "" };
    format!("other processes used {} % of the machine meanwhile{warning}\n", share.show(0))
}

pub fn over_rounds(
    measured: &Measured,
    payload: &str,
    target: &str,
    value: impl Fn(&Sample) -> Option<f64>,
) -> Option<Spread> {
    let mine = |sample: &&Sample| sample.payload == payload && sample.target == target;
    Spread::of(measured.samples.iter().filter(mine).filter_map(value))
}

/// A target against another one in the same round.
pub fn ratio(
    measured: &Measured,
    payload: &str,
    target: &str,
    base: &str,
    value: impl Fn(&Sample) -> Option<f64>,
) -> Option<Spread> {
    let of = |target: &str, round: u32| {
        let found = measured
            .samples
            .iter()
            .find(|sample| sample.payload == payload && sample.target == target && sample.round == round);
        found.and_then(&value)
    };
    let rounds = measured.samples.iter().map(|sample| sample.round).max()?;
    Spread::of((0..=rounds).filter_map(|round| Some(of(target, round)? / of(base, round).filter(|base| *base > 0.0)?)))
}

fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    // A row that says one thing only does not widen the columns of figures.
    let width = |column: usize| {
        rows.iter().filter(|row| row.len() != 2).filter_map(|row| row.get(column)).map(String::len).max().unwrap_or(0)
    };
    let first = rows.iter().filter_map(|row| row.first()).map(String::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(|column| if column == 0 { first } else { width(column) }).collect();
    let mut out = String::new();
    for row in rows {
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let _ = if column == 0 { write!(out, "  {cell:<width$}") } else { write!(out, "  {cell:>width$}") };
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Latency;

    fn sample(round: u32, target: &str, cpu_us: f64) -> Sample {
        Sample {
            round,
            payload: "200b".into(),
            target: target.into(),
            per_second: 1000.0 / cpu_us,
            cpu_us: Some(cpu_us),
            store_cpu_us: None,
            upstream_cpu_us: 1.0,
            single: Latency::default(),
            fixed: Latency::default(),
            fixed_cpu_us: None,
            strangers: 0.0,
            memory: None,
        }
    }

    #[test]
    fn ratios_are_taken_within_a_round() {
        // The second round is on a machine four times as busy; the ratio stays.
        let samples = vec![sample(0, NGINX, 10.0), sample(0, "p", 20.0), sample(1, "p", 84.0), sample(1, NGINX, 40.0)];
        let measured = Measured { samples, ..Measured::default() };
        let found = ratio(&measured, "200b", "p", NGINX, |sample| sample.cpu_us);
        assert_eq!(found.map(|spread| spread.show(2)), Some("2.05 (2.00..2.10)".into()));
        assert_eq!(ratio(&measured, "4k", "p", NGINX, |sample| sample.cpu_us), None);
        assert_eq!(ratio(&measured, "200b", "p", DIRECT, |sample| sample.cpu_us), None);
    }
}
