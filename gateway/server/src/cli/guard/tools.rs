//! `guard tools`: which definitions should not be accepted as they are.

use clap::Args;
use gateway_core::definitions::{Accepted, ScanAction, Scanner, verdict};
use gateway_plugins::scan::{DefinitionScanner, UNREADABLE};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Failure, Place, lines, question};
use crate::policy_files::load_policies;

#[derive(Debug, Args)]
pub struct ToolsArgs {
    #[command(flatten)]
    place: Place,
}

#[derive(Deserialize)]
struct Asked {
    #[serde(default)]
    server: String,
    tool: Value,
    #[serde(default)]
    accepted: Vec<Known>,
}

#[derive(Deserialize)]
struct Known {
    #[serde(default)]
    server: String,
    tool: Value,
}

pub fn run(args: &ToolsArgs) -> Result<(), Failure> {
    let loaded = load_policies(args.place.config()?.policies.as_deref())?;
    let scanner = loaded.scanning.scanner().map_err(|problems| Failure::new(format!("{problems:?}")))?;
    lines(|line| judged(&scanner, line))
}

/// One bad line is answered like any other, and the next one is read.
fn judged(scanner: &DefinitionScanner, line: &[u8]) -> Value {
    let unreadable = |id: Value, what: String| {
        let finding = json!({"rule": UNREADABLE, "path": "", "message": what});
        json!({"id": id, "verdict": ScanAction::Block, "findings": [finding]})
    };
    let (id, asked) = match question::<Asked>(line) {
        Ok(question) => question,
        Err((id, what)) => return unreadable(id, what),
    };
    let accepted: Vec<_> =
        asked.accepted.iter().map(|known| Accepted { server: &known.server, definition: &known.tool }).collect();
    let findings = scanner.scan(&asked.server, &asked.tool, &accepted);
    let shown: Vec<_> = findings
        .iter()
        .map(|finding| json!({"rule": finding.rule, "path": finding.path, "message": finding.message}))
        .collect();
    json!({"id": id, "verdict": verdict(&findings), "findings": shown})
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;

    #[test]
    fn a_line_is_judged_and_a_bad_one_is_blocked() {
        let scanner = load_policies(None).unwrap().scanning.scanner().unwrap();
        let tool = json!({"name": "search", "description": "Finds notes.", "inputSchema": {"type": "object"}});
        let changed =
            json!({"name": "search", "description": "Finds\u{200b} notes.", "inputSchema": {"type": "object"}});
        let line = |tool: &Value, accepted: Value| {
            json!({"id": 7, "server": "notes", "tool": tool, "accepted": accepted}).to_string()
        };
        for (line, id, verdict, rule) in [
            (line(&tool, json!([])), json!(7), "allow", None),
            (line(&tool, json!([{"server": "notes", "tool": tool}])), json!(7), "allow", None),
            (line(&changed, json!([{"server": "notes", "tool": tool}])), json!(7), "block", Some("drift")),
            (line(&changed, json!([])), json!(7), "block", Some("hidden_characters")),
            ("{".into(), Value::Null, "block", Some("unreadable")),
            (r#"{"id": "x"}"#.into(), json!("x"), "block", Some("unreadable")),
        ] {
            let answer = judged(&scanner, line.as_bytes());
            assert_eq!((&answer["id"], answer["verdict"].as_str()), (&id, Some(verdict)), "{line}");
            assert_eq!(answer["findings"][0]["rule"].as_str(), rule, "{line}");
        }
    }
}
