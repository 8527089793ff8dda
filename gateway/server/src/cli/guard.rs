//! `guard`: the gateway's guards alone, over lines of JSON. One line in, one line out, in order.

mod dlp;
mod tools;

use std::io::{BufRead, BufWriter, Write};

use clap::Subcommand;
use serde_json::Value;

use super::{Failure, Place};

#[derive(Debug, Subcommand)]
pub enum GuardVerb {
    /// Reads tool definitions and says which of them should not be accepted as they are
    Tools(tools::ToolsArgs),
    /// Reads texts and gives them back without personal data and secrets
    Dlp(dlp::DlpArgs),
}

pub fn run(verb: &GuardVerb) -> Result<(), Failure> {
    match verb {
        GuardVerb::Tools(args) => tools::run(args),
        GuardVerb::Dlp(args) => dlp::run(args),
    }
}

/// Every line that is not empty, and its answer.
fn lines(judge: impl Fn(&[u8]) -> Value) -> Result<(), Failure> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().split(b'\n') {
        let line = line?;
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        serde_json::to_writer(&mut out, &judge(&line)).map_err(std::io::Error::from)?;
        out.write_all(b"\n")?;
    }
    out.flush()?;
    Ok(())
}
