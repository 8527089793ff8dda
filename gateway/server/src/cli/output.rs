//! How answers look: one JSON document, or small aligned tables with colour where a terminal shows it.

use std::io::{self, ErrorKind, IsTerminal, Write};

use serde::Serialize;

use super::Failure;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    Green,
    Red,
    Yellow,
}

/// Where one verb's answer goes.
pub struct Output {
    json: bool,
}

impl Output {
    pub fn new(json: bool) -> Self {
        Self { json }
    }

    /// The same answer in the form that was asked for.
    pub fn answer(&self, document: &impl Serialize, human: impl FnOnce() -> String) -> Result<(), Failure> {
        if !self.json {
            return print(&human());
        }
        let text = serde_json::to_string_pretty(document).map_err(|error| Failure::of(&error))?;
        print(&text)
    }

    /// Several lines of `name  value`.
    pub fn fields(&self, document: &impl Serialize, fields: &[(&str, &str)], note: &str) -> Result<(), Failure> {
        self.answer(document, || {
            let rows = fields.iter().map(|(name, value)| vec![(*name).to_owned(), (*value).to_owned()]).collect();
            let lines = columns(rows);
            if note.is_empty() { lines } else { format!("{lines}\n\n{note}") }
        })
    }

    /// A table, or a sentence when it would be empty.
    pub fn table(
        &self,
        document: &impl Serialize,
        head: &[&str],
        rows: Vec<Vec<String>>,
        empty: &str,
    ) -> Result<(), Failure> {
        self.answer(document, || {
            if rows.is_empty() {
                return empty.to_owned();
            }
            let head = head.iter().map(|name| (*name).to_owned()).collect();
            columns(std::iter::once(head).chain(rows).collect())
        })
    }
}

/// One text and a line end. A reader that has seen enough (`| head -1`) is no failure.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// A word in colour, if standard output is a terminal and nobody asked for none.
pub fn painted(colour: Colour, text: &str) -> String {
    paint(colour, text, io::stdout().is_terminal())
}

pub fn painted_for_errors(colour: Colour, text: &str) -> String {
    paint(colour, text, io::stderr().is_terminal())
}

fn paint(colour: Colour, text: &str, terminal: bool) -> String {
    if !terminal || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) {
        return text.to_owned();
    }
    let code = match colour {
        Colour::Green => 32,
        Colour::Red => 31,
        Colour::Yellow => 33,
    };
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}

/// Rows with their cells under each other, two spaces apart.
fn columns(rows: Vec<Vec<String>>) -> String {
    let mut widths: Vec<usize> = Vec::new();
    for row in &rows {
        for (place, cell) in row.iter().enumerate() {
            let width = shown_width(cell);
            match widths.get_mut(place) {
                Some(widest) => *widest = width.max(*widest),
                None => widths.push(width),
            }
        }
    }
    let line = |row: Vec<String>| {
        let cells =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell}{}", " ".repeat(width - shown_width(cell))));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.into_iter().map(line).collect::<Vec<_>>().join("\n")
}

/// What a terminal shows of a cell: colours take no room.
fn shown_width(cell: &str) -> usize {
    let mut width = 0;
    let mut escaped = false;
    for c in cell.chars() {
        match (escaped, c) {
            (false, '\u{1b}') => escaped = true,
            (true, 'm') => escaped = false,
            (true, _) => {}
            (false, _) => width += 1,
        }
    }
    width
}

/// A text from a store or an upstream, fit for one line of a terminal or a comment: nothing in it moves the cursor, ends
/// the line or turns the direction of reading.
pub fn plain(text: &str) -> String {
    let turns =
        |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
    text.chars().map(|c| if c.is_control() || turns(c) { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_stand_under_each_other() {
        let row = |cells: [&str; 3]| cells.map(String::from).to_vec();
        let shown = columns(vec![
            row(["id", "state", ""]),
            row(["long-one", "ok", "x"]),
            row(["a", "\u{1b}[32mé\u{1b}[0m", "y"]),
        ]);
        assert_eq!(shown, "id        state\nlong-one  ok     x\na         \u{1b}[32mé\u{1b}[0m      y");
        assert_eq!(columns(Vec::new()), "");
    }

    #[test]
    fn colour_is_for_terminals() {
        assert_eq!(paint(Colour::Red, "no", false), "no");
        assert_eq!(plain("a\u{1b}[2Jb\n"), "a [2Jb ");
    }
}
