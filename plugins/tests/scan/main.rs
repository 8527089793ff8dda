//! The scanner against definitions written for it: what must be caught, and what must not.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod actions;
mod benign;
mod changes;
mod disguises;
mod honest;
mod learned;
mod measure;
mod poisonings;
mod samples;

use gateway_core::definitions::{Accepted, Finding, ScanAction, Scanner, verdict};
use gateway_plugins::scan::{DefinitionScanner, WrittenScan};
use serde_json::{Value, json};

pub fn shipped() -> WrittenScan {
    serde_saphyr::from_str(include_str!("../../../policies/scan.yaml")).unwrap()
}

pub fn scanner() -> DefinitionScanner {
    DefinitionScanner::new(&shipped()).unwrap_or_else(|problems| panic!("{problems:#?}"))
}

/// A tool of nobody in particular with this description.
pub fn saying(description: &str) -> Value {
    json!({"name": "lookup_weather", "description": description, "inputSchema": {"type": "object", "properties": {"city": {"type": "string", "description": "the city"}}}})
}

pub fn found(scanner: &DefinitionScanner, tool: &Value, accepted: &[(&str, &Value)]) -> (ScanAction, Vec<Finding>) {
    let accepted: Vec<_> = accepted.iter().map(|(server, definition)| Accepted { server, definition }).collect();
    let findings = scanner.scan("notes", tool, &accepted);
    (verdict(&findings), findings)
}
