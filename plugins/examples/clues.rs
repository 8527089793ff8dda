//! Prints the clues of every passage of the definitions that come in, a line each: what `plugins/training/learn.py` learns from.

use std::io::{self, BufRead, Write};

use gateway_plugins::scan::clues_of;
use serde_json::Value;

fn main() -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        let row: Value = serde_json::from_str(&line?)?;
        let tool = row.get("tool").unwrap_or(&Value::Null);
        writeln!(out, "{}", serde_json::to_string(&clues_of(tool))?)?;
    }
    out.flush()
}
