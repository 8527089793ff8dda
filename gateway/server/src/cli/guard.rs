//! `guard`: the gateway's guards alone, over lines of JSON. One line in, one line out, in order.

mod dlp;
mod sql;
mod tools;

use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};

use clap::Subcommand;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Failure, Place};

/// How much is read in one go.
const AT_ONCE: usize = 64 * 1024;

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
    let asked = BufReader::with_capacity(AT_ONCE, io::stdin().lock());
    Ok(answered(asked, BufWriter::new(io::stdout().lock()), judge)?)
}

/// Answers leave before the next line is waited for: whoever asks line by line hears at once, and a file is not written out
/// line by line.
fn answered<R: Read>(mut asked: BufReader<R>, mut out: impl Write, judge: impl Fn(&[u8]) -> Value) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        if !asked.buffer().contains(&b'\n') {
            out.flush()?;
        }
        line.clear();
        if asked.read_until(b'\n', &mut line)? == 0 {
            return out.flush();
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        serde_json::to_writer(&mut out, &judge(line.strip_suffix(b"\n").unwrap_or(&line))).map_err(io::Error::from)?;
        out.write_all(b"\n")?;
    }
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::cell::RefCell;

    use serde_json::json;

    use super::*;

    /// What happened, in order.
    struct Told<'a>(&'a RefCell<Vec<String>>);

    impl Write for Told<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().push(String::from_utf8_lossy(bytes).into_owned());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Gives one piece each time it is asked.
    struct Pieces<'a>(Vec<&'static str>, &'a RefCell<Vec<String>>);

    impl Read for Pieces<'_> {
        fn read(&mut self, mut into: &mut [u8]) -> io::Result<usize> {
            self.1.borrow_mut().push("asked".into());
            if self.0.is_empty() {
                return Ok(0);
            }
            let piece = self.0.remove(0);
            into.write_all(piece.as_bytes())?;
            Ok(piece.len())
        }
    }

    #[test]
    fn an_answer_leaves_before_the_next_line_is_waited_for() {
        for (pieces, expected) in [
            (vec!["1\n", "2\n"], vec!["asked", "1\n", "asked", "2\n", "asked"]),
            // What lies ready is answered together; half a line is not ready.
            (vec!["1\n2\n\n3\n", "4"], vec!["asked", "1\n2\n3\n", "asked", "asked", "4\n", "asked"]),
            (vec!["1\n2", "3\n"], vec!["asked", "1\n", "asked", "23\n", "asked"]),
        ] {
            let told = RefCell::new(Vec::new());
            let asked = BufReader::new(Pieces(pieces.clone(), &told));
            let out = BufWriter::new(Told(&told));
            answered(asked, out, |line| serde_json::from_slice(line).unwrap_or(json!("?"))).unwrap();
            assert_eq!(*told.borrow(), expected, "{pieces:?}");
        }
    }
}
