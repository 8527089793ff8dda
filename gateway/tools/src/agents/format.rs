//! The document that a run leaves behind, written piece by piece while it goes on, and never larger than it may be.

use gateway_core::agents::Format;
use serde_json::{Value, json};

/// How much a document may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Of one result.
    pub result_bytes: usize,
    /// Of all of them together.
    pub document_bytes: usize,
}

/// `{tool, success, result | error}` of each tool that was attempted, in their order.
#[derive(Debug)]
pub struct Document {
    format: Format,
    bounds: Bounds,
    content: String,
    entries: Vec<Value>,
    successful: u32,
    failed: u32,
    omitted: u32,
}

impl Document {
    pub fn new(format: Format, bounds: Bounds) -> Self {
        let content = if format == Format::Markdown { "# Tool Execution Results\n".to_owned() } else { String::new() };
        Self { format, bounds, content, entries: Vec::new(), successful: 0, failed: 0, omitted: 0 }
    }

    pub fn push(&mut self, tool: &str, outcome: Result<Value, String>) {
        match &outcome {
            Ok(_) => self.successful += 1,
            Err(_) => self.failed += 1,
        }
        let mut piece = self.written(tool, &outcome);
        let mut outcome = outcome;
        let bytes = match &outcome {
            Ok(result) => result.to_string().len(),
            Err(error) => error.len(),
        };
        let full = self.content.len().saturating_add(piece.len()) > self.bounds.document_bytes;
        if bytes > self.bounds.result_bytes || full {
            // Whoever reads it knows that there was something, and how much.
            outcome = match outcome {
                Ok(_) => Ok(json!({ "omitted": bytes })),
                Err(_) => Err(format!("an error of {bytes} bytes, left out here")),
            };
            self.omitted += 1;
            piece = self.written(tool, &outcome);
        }
        self.content.push_str(&piece);
        self.entries.push(entry(tool, &outcome));
    }

    pub fn successful(&self) -> u32 {
        self.successful
    }

    pub fn failed(&self) -> u32 {
        self.failed
    }

    pub fn omitted(&self) -> u32 {
        self.omitted
    }

    /// The whole text, and its entries as they are in it.
    pub fn finish(mut self) -> (String, Vec<Value>) {
        if self.format == Format::Json {
            self.content.push_str(if self.entries.is_empty() { "[]" } else { "\n]" });
        }
        (self.content, self.entries)
    }

    fn written(&self, tool: &str, outcome: &Result<Value, String>) -> String {
        let first = self.entries.is_empty();
        match self.format {
            Format::Json => {
                let pretty = pretty(&entry(tool, outcome));
                let mut piece = if first { "[".to_owned() } else { ",".to_owned() };
                // No string of JSON goes over a line's end, so lines can be moved to the right.
                for line in pretty.lines() {
                    piece.push_str("\n  ");
                    piece.push_str(line);
                }
                piece
            }
            Format::Markdown => {
                let tool = plain(tool);
                match outcome {
                    Ok(result) => {
                        let (result, status) = (pretty(result), "**Status:** Success");
                        let fence = fence(&result);
                        format!("\n## {tool}\n\n{status}\n\n{fence}json\n{result}\n{fence}\n")
                    }
                    Err(error) => format!("\n## {tool}\n\n**Status:** Failed\n\n**Error:** {}\n", plain(error)),
                }
            }
            Format::Text => {
                let (between, tool) = (if first { "" } else { "\n\n" }, plain(tool));
                match outcome {
                    Ok(Value::String(text)) => format!("{between}{tool}: SUCCESS\n{}", plain(text)),
                    Ok(result) => format!("{between}{tool}: SUCCESS\n{}", pretty(result)),
                    Err(error) => format!("{between}{tool}: FAILED - {}", plain(error)),
                }
            }
        }
    }
}

fn entry(tool: &str, outcome: &Result<Value, String>) -> Value {
    match outcome {
        Ok(result) => json!({ "tool": tool, "success": true, "result": result }),
        Err(error) => json!({ "tool": tool, "success": false, "error": error }),
    }
}

/// Two spaces; in JSON a NUL is written as an escape.
fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// No database keeps a NUL in a text.
fn plain(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// Longer than any run of backticks inside.
fn fence(text: &str) -> String {
    let longest = text.split(|c: char| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;

    const WIDE: Bounds = Bounds { result_bytes: 1000, document_bytes: 10_000 };

    fn written(format: Format) -> String {
        let mut document = Document::new(format, WIDE);
        document.push("a/one", Ok(json!({ "n": [1, { "x": "a\nb" }] })));
        document.push("a/two", Err("it broke".into()));
        document.push("a/three", Ok(json!("plain")));
        document.finish().0
    }

    // acceptance 95
    #[test]
    fn three_formats() {
        let entries = json!([
            { "tool": "a/one", "success": true, "result": { "n": [1, { "x": "a\nb" }] } },
            { "tool": "a/two", "success": false, "error": "it broke" },
            { "tool": "a/three", "success": true, "result": "plain" },
        ]);
        assert_eq!(written(Format::Json), serde_json::to_string_pretty(&entries).unwrap());
        assert_eq!(
            written(Format::Text),
            "a/one: SUCCESS\n{\n  \"n\": [\n    1,\n    {\n      \"x\": \"a\\nb\"\n    }\n  ]\n}\n\na/two: FAILED - it broke\n\na/three: SUCCESS\nplain"
        );
        let markdown = written(Format::Markdown);
        assert!(markdown.starts_with("# Tool Execution Results\n\n## a/one\n\n**Status:** Success\n\n```json\n{\n"));
        assert!(markdown.contains("\n## a/two\n\n**Status:** Failed\n\n**Error:** it broke\n\n## a/three\n"));
        assert!(markdown.ends_with("```json\n\"plain\"\n```\n"));
        for (format, empty) in
            [(Format::Json, "[]"), (Format::Text, ""), (Format::Markdown, "# Tool Execution Results\n")]
        {
            assert_eq!(Document::new(format, WIDE).finish().0, empty);
        }
    }

    #[test]
    fn a_fence_holds_what_is_inside_and_nul_is_not_kept() {
        assert_eq!((fence("no").as_str(), fence("a ``` b ```` c").as_str()), ("```", "`````"));
        let mut document = Document::new(Format::Text, WIDE);
        document.push("a/b", Err("x\0y".into()));
        assert_eq!(document.finish().0, "a/b: FAILED - x\u{fffd}y");
    }

    #[test]
    fn what_is_too_large_is_left_out_and_counted() {
        let bounds = Bounds { result_bytes: 100, document_bytes: 400 };
        let mut document = Document::new(Format::Json, bounds);
        document.push("a/large", Ok(json!("x".repeat(200))));
        for _ in 0..10 {
            document.push("a/small", Ok(json!("y".repeat(60))));
        }
        document.push("a/failed", Err("z".repeat(101)));
        assert_eq!((document.successful(), document.failed()), (11, 1));
        assert!(document.omitted() > 5);
        let (content, entries) = document.finish();
        assert_eq!(entries[0]["result"], json!({ "omitted": 202 }));
        assert_eq!(entries[11]["error"], "an error of 101 bytes, left out here");
        assert_eq!(serde_json::from_str::<Value>(&content).unwrap(), json!(entries));
        assert!(content.len() < 1500, "{}", content.len());
    }
}
