//! `gate.file`: the gate's settings in a file of their own, so that whoever keeps scenarios need not touch the rest.

use std::io::Read as _;
use std::path::Path;

use serde_json::Value;

use super::document::parse;
use super::environment::{Lookup, fill};
use super::problem::Problems;

/// Nobody writes more by hand.
const LARGEST: u64 = 1 << 20;

/// Puts what the file says where it would stand without it. Each key stands in one of the two places.
pub fn taken_in(tree: &mut Value, base: &Path, lookup: Lookup<'_>, problems: &mut Problems) {
    let Some(gate) = tree.get_mut("gate").and_then(Value::as_object_mut) else {
        return;
    };
    let Some(named) = gate.get("file").and_then(Value::as_str) else {
        return;
    };
    let file = base.join(named);
    let text = match text(&file) {
        Ok(text) => text,
        Err(what) => return problems.unreadable("gate.file", format!("`{}`: {what}", file.display())),
    };
    let mut own = Problems::of(file.display().to_string());
    let found = parse(&text, &mut own).map(|mut settings| {
        fill(&mut settings, lookup, &mut own);
        settings
    });
    let told = own.into_found();
    for problem in &told {
        problems.unreadable("gate.file", problem.to_string());
    }
    let Some(Value::Object(settings)) = found.filter(|_| told.is_empty()) else {
        if told.is_empty() {
            problems.unreadable("gate.file", format!("`{}`: expected keys with values", file.display()));
        }
        return;
    };
    for (key, value) in settings {
        if gate.contains_key(&key) {
            problems.say(format!("gate.{key}"), format!("stands in `{}` as well", file.display()));
        } else {
            gate.insert(key, value);
        }
    }
}

fn text(file: &Path) -> Result<String, String> {
    let mut text = String::new();
    let opened = std::fs::File::open(file).map_err(|error| format!("cannot be read: {error}"))?;
    let read =
        opened.take(LARGEST + 1).read_to_string(&mut text).map_err(|error| format!("cannot be read: {error}"))?;
    if read as u64 > LARGEST { Err("is larger than 1 MiB".into()) } else { Ok(text) }
}
