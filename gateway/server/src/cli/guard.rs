//! `guard`: the gateway's guards alone, over lines of JSON. One line in, one line out, in order.

mod dlp;
mod sql;
mod tools;

use std::io::{BufRead, BufWriter, Write};

use clap::Subcommand;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Failure, Place};

#[derive(Debug, Subcommand)]
pub enum GuardVerb {
    /// Reads tool definitions and says which of them should not be accepted as they are
    Tools(tools::ToolsArgs),
    /// Reads SQL and says what it would do and whether a reading tool may
    Sql(sql::SqlArgs),
    /// Reads texts and gives them back without personal data and secrets
    Dlp(dlp::DlpArgs),
}

pub fn run(verb: &GuardVerb) -> Result<(), Failure> {
    match verb {
        GuardVerb::Tools(args) => tools::run(args),
        GuardVerb::Sql(args) => sql::run(args),
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

/// Who asks and what, or who asks and why it cannot be read.
fn question<T: DeserializeOwned>(line: &[u8]) -> Result<(Value, T), (Value, String)> {
    let document: Value =
        serde_json::from_slice(line).map_err(|error| (Value::Null, format!("the line is no JSON: {error}")))?;
    let id = document.get("id").cloned().unwrap_or_default();
    match serde_json::from_value(document) {
        Ok(asked) => Ok((id, asked)),
        Err(error) => Err((id, error.to_string())),
    }
}
