//! Prints the clues of every passage of the definitions that come in, a line each: what `plugins/training/learn.py` learns from.

use std::error::Error;
use std::io::{self, BufRead, Write};

use gateway_plugins::scan::DefinitionScanner;
use serde_json::Value;

const RULES: &str = include_str!("../../policies/scan.yaml");

fn main() -> Result<(), Box<dyn Error>> {
    let scanner = DefinitionScanner::new(&serde_saphyr::from_str(RULES)?)
        .map_err(|problems| io::Error::other(format!("{problems:?}")))?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        let row: Value = serde_json::from_str(&line?)?;
        let tool = row.get("tool").unwrap_or(&Value::Null);
        writeln!(out, "{}", serde_json::to_string(&scanner.clues(tool))?)?;
    }
    Ok(out.flush()?)
}
