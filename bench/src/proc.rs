//! What a process and its children used, from `/proc`: CPU time, resident memory now and at its peak.
//!
//! nginx is a master and its workers, Postgres a process per connection, so everything is summed over the tree. Time of children that
//! have ended counts through their parent. Memory shared between the processes of a tree is counted once per process.

use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::error::{Context, Result, check_interrupt};

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Memory {
    pub rss_kib: u64,
    pub peak_kib: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    parent: u32,
    /// User and system time in clock ticks: its own, and that of children it has waited for.
    ticks: u64,
}

/// CPU time of the tree under `root` so far. The kernel gives it in ticks of 10 ms, so measure over seconds.
pub fn cpu(root: u32) -> Result<Duration> {
    let ticks: u64 = tree(root)?.iter().map(|(_, stat)| stat.ticks).sum();
    Ok(ticks_to_time(ticks))
}

fn ticks_to_time(ticks: u64) -> Duration {
    let per_second = rustix::param::clock_ticks_per_second().max(1);
    Duration::from_micros(ticks * 1_000_000 / per_second)
}

/// CPU time of everything on this machine so far, time a hypervisor took away included.
pub fn machine() -> Result<Duration> {
    let text = fs::read_to_string("/proc/stat").context(|| "read /proc/stat".into())?;
    let ticks = parse_machine(&text).context(|| "/proc/stat has no line `cpu`".into())?;
    Ok(ticks_to_time(ticks))
}

pub fn memory(root: u32) -> Result<Memory> {
    let mut sum = Memory::default();
    for (pid, _) in tree(root)? {
        // A child may end between the listing and here.
        let Ok(status) = fs::read_to_string(format!("/proc/{pid}/status")) else {
            continue;
        };
        sum.rss_kib += field_kib(&status, "VmRSS:");
        sum.peak_kib += field_kib(&status, "VmHWM:");
    }
    Ok(sum)
}

/// Waits until the tree has stopped working on what it was given: writing its audit, say. That work belongs to the requests.
pub fn settle(root: u32) -> Result<()> {
    let start = Instant::now();
    let mut before = cpu(root)?;
    while start.elapsed() < Duration::from_secs(3) {
        check_interrupt()?;
        std::thread::sleep(Duration::from_millis(100));
        let now = cpu(root)?;
        if now.saturating_sub(before) <= Duration::from_millis(10) {
            return Ok(());
        }
        before = now;
    }
    Ok(())
}

/// The process and all its descendants that are alive.
fn tree(root: u32) -> Result<Vec<(u32, Stat)>> {
    let own = read_stat(root).context(|| format!("process {root} is gone"))?;
    let mut children: HashMap<u32, Vec<(u32, Stat)>> = HashMap::new();
    for entry in fs::read_dir("/proc").context(|| "list /proc".into())?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if let Some(stat) = read_stat(pid) {
            children.entry(stat.parent).or_default().push((pid, stat));
        }
    }
    let mut found = vec![(root, own)];
    let mut waiting = vec![root];
    while let Some(parent) = waiting.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            found.push(child);
            waiting.push(child.0);
        }
    }
    Ok(found)
}

fn read_stat(pid: u32) -> Option<Stat> {
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The name in parentheses may hold anything, so fields are counted from the last one: state, ppid, ..., utime, stime, cutime, cstime.
fn parse_stat(text: &str) -> Option<Stat> {
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace().skip(1);
    let parent = fields.next()?.parse().ok()?;
    let times: Vec<u64> = fields.skip(9).take(4).filter_map(|field| field.parse().ok()).collect();
    (times.len() == 4).then(|| Stat { parent, ticks: times.iter().sum() })
}

/// user, nice, system, then idle and iowait, which are not work, then irq, softirq, steal.
fn parse_machine(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let fields = line.split_ascii_whitespace().take(8).enumerate();
    Some(fields.filter(|(at, _)| *at != 3 && *at != 4).filter_map(|(_, field)| field.parse::<u64>().ok()).sum())
}

fn field_kib(status: &str, name: &str) -> u64 {
    let value = status.lines().find_map(|line| line.strip_prefix(name));
    value.and_then(|value| value.split_ascii_whitespace().next()).and_then(|value| value.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn reads_a_stat_line_whatever_the_name() {
        let rest = "S 7 1 1 0 -1 4194560 100 0 0 0 11 22 3 4 20 0 1 0 5 6 7";
        for name in ["nginx", "a) R 1 (b", "tmux: server"] {
            assert_eq!(parse_stat(&format!("42 ({name}) {rest}")), Some(Stat { parent: 7, ticks: 40 }), "{name}");
        }
        assert_eq!(parse_stat("42 (x"), None);
    }

    #[test]
    fn idle_time_is_not_work() {
        let text = "cpu  1 2 3 1000 2000 4 5 6 70 80\ncpu0 1 1 1 1 1 1 1 1 1 1\n";
        assert_eq!(parse_machine(text), Some(21));
        assert_eq!(parse_machine("intr 1"), None);
    }

    #[test]
    fn sees_itself_and_its_children() {
        let own = std::process::id();
        let mut child = std::process::Command::new("sleep").arg("5").spawn().unwrap();
        let found = tree(own).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        for pid in [own, child.id()] {
            assert!(found.iter().any(|(seen, _)| *seen == pid), "{pid}");
        }
        assert!(memory(own).unwrap().rss_kib > 0);
        assert!(cpu(u32::MAX).is_err());
    }
}
