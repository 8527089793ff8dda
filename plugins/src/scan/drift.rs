//! Is this still the definition that was accepted?

use gateway_core::definitions::{Accepted, diff, hash, visible};
use serde_json::Value;

use super::{DRIFT, Findings};

/// A server may have several accepted forms of one tool; any of them will do.
pub fn compare(server: &str, name: &str, tool: &Value, accepted: &[Accepted<'_>], findings: &mut Findings<'_>) {
    let same = |known: &&Accepted<'_>| {
        known.server == server && known.definition.get("name").and_then(Value::as_str) == Some(name)
    };
    let seen = hash(tool);
    let forms: Vec<_> = accepted.iter().filter(same).collect();
    if forms.iter().any(|known| hash(known.definition) == seen) {
        return;
    }
    let Some(nearest) = forms.iter().map(|known| diff(known.definition, tool)).min_by_key(Vec::len) else { return };
    for change in nearest {
        let (old, new) = (shown(change.old.as_ref()), shown(change.new.as_ref()));
        findings.say(DRIFT, &change.path, format!("changed since it was accepted: {old} is now {new}"));
    }
}

/// Short, and with nothing hidden in it.
fn shown(side: Option<&Value>) -> String {
    const LONGEST: usize = 160;
    let Some(value) = side else { return "nothing".into() };
    let text = visible(&value.to_string());
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text,
    }
}
