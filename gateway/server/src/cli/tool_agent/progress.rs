//! One line a tool on standard error: on a terminal it is there while the tool runs, elsewhere once it has ended.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use gateway_core::ports::{Progress, Told};

use crate::cli::output::{Colour, painted_for_errors, plain};

/// Letters of an error that fit a line.
const LONGEST: usize = 160;

pub struct Teller {
    terminal: bool,
    under_way: Mutex<BTreeMap<u32, (String, Instant)>>,
}

impl Teller {
    pub fn start(heading: &str) -> Told {
        let teller = Self { terminal: io::stderr().is_terminal(), under_way: Mutex::default() };
        say(&format!("{}\n", plain(heading)));
        Box::new(move |progress| teller.tell(progress))
    }

    fn tell(&self, progress: Progress) {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        match progress {
            Progress::Started { step, of, tool } => {
                let head = format!("  {step}/{of} {}", plain(&tool));
                // Of several at once none has a line of its own to come back to.
                if self.terminal && under_way.is_empty() {
                    say(&format!("\r{head} ..."));
                }
                under_way.insert(step, (head, Instant::now()));
            }
            Progress::Ended { step, success, error } => {
                let Some((head, since)) = under_way.remove(&step) else { return };
                let before = if self.terminal { "\r\u{1b}[K" } else { "" };
                say(&format!("{before}{}\n", line(&head, success, error.as_deref(), since.elapsed())));
            }
        }
    }
}

fn line(head: &str, success: bool, error: Option<&str>, took: Duration) -> String {
    if success {
        return format!("{head:<36} {}  {} ms", painted_for_errors(Colour::Green, "ok"), took.as_millis());
    }
    let error = plain(error.unwrap_or("it failed"));
    let short: String = error.chars().take(LONGEST).collect();
    let more = if short.len() < error.len() { "..." } else { "" };
    format!("{head:<36} {}: {short}{more}", painted_for_errors(Colour::Red, "failed"))
}

/// Nobody stops a run because nobody reads along.
fn say(text: &str) {
    let mut out = io::stderr().lock();
    let _ = write!(out, "{text}").and_then(|()| out.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_has_one_line() {
        let took = Duration::from_millis(12);
        assert_eq!(line("  2/4 crm/find", true, None, took), format!("{:<36} ok  12 ms", "  2/4 crm/find"));
        let long = "x".repeat(200);
        let told = line("  1/1 crm/find", false, Some(&format!("a\u{1b}[2J\n{long}")), took);
        assert!(told.contains("failed: a [2J x") && told.ends_with("x...") && !told.contains('\n'), "{told}");
    }
}
