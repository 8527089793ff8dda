//! How much of a corpus is reported: lines as `guard tools` reads them.

use gateway_core::definitions::{Accepted, Finding, ScanAction, Scanner, verdict};
use gateway_plugins::scan::DefinitionScanner;
use serde_json::Value;

use super::scanner;

/// What is reported of a corpus, and the ids of what is not.
fn read(scanner: &DefinitionScanner, corpus: &str) -> (Vec<(Value, Vec<Finding>)>, Vec<Value>) {
    let (mut reported, mut silent) = (Vec::new(), Vec::new());
    for line in corpus.lines().filter(|line| !line.trim().is_empty()) {
        let row: Value = serde_json::from_str(line).unwrap();
        let known: Vec<_> = row["accepted"].as_array().into_iter().flatten().collect();
        let server = |value: &Value| value["server"].as_str().unwrap_or_default().to_owned();
        let servers: Vec<_> = known.iter().map(|known| server(known)).collect();
        let accepted: Vec<_> =
            known.iter().zip(&servers).map(|(known, server)| Accepted { server, definition: &known["tool"] }).collect();
        let findings = scanner.scan(&server(&row), &row["tool"], &accepted);
        if verdict(&findings) == ScanAction::Allow {
            silent.push(row["id"].clone());
        } else {
            reported.push((row["id"].clone(), findings));
        }
    }
    (reported, silent)
}

// Whole definitions in our words, in many styles and eight languages: most of the poisoned ones are found.
#[test]
fn most_poisoned_definitions_are_reported() {
    let (reported, silent) = read(&scanner(), include_str!("poisoned.jsonl"));
    assert!(reported.len() * 100 >= (reported.len() + silent.len()) * 70, "silent: {silent:?}");
}

// And what speaks of secrets, users and approvals in the way of its work is left alone.
#[test]
fn plain_definitions_are_not_reported() {
    let (reported, silent) = read(&scanner(), include_str!("plain.jsonl"));
    assert!(reported.len() * 100 <= (reported.len() + silent.len()) * 2, "{reported:#?}");
}
