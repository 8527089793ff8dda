//! What modules are shown of a call: made once for all of them, and of it no more than they ask for.

use gateway_core::live::TenantFacts;
use gateway_core::{Exchange, access};
use regorus::Value;
use serde::Deserialize;

/// Arguments beyond this are not handed to modules.
const MAX_ARGUMENTS: usize = 256 * 1024;
const ARGUMENTS: &str = "arguments";

/// Which parts of the document some module may look at. To make the others is most of the work of showing a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Reads {
    parts: [bool; access::PARTS.len()],
    arguments: bool,
}

impl Reads {
    const ALL: Self = Self { parts: [true; access::PARTS.len()], arguments: true };

    /// What a module of this text can see. Whoever mentions `input` other than as `input.part` may look at all of it;
    /// comments and texts count too, which costs a little work and hides nothing.
    pub fn of(text: &str) -> Self {
        let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_';
        let mut reads = Self::default();
        for (at, word) in text.match_indices("input") {
            let before = text.get(..at).and_then(|front| front.chars().next_back());
            let after = text.get(at + word.len()..).unwrap_or_default();
            if before.is_some_and(is_letter) || after.starts_with(is_letter) {
                continue;
            }
            let Some(behind) = after.strip_prefix('.') else { return Self::ALL };
            match behind.find(|letter| !is_letter(letter)).map_or(behind, |end| behind.get(..end).unwrap_or_default()) {
                // What stands on the next line, or in another alphabet.
                "" => return Self::ALL,
                ARGUMENTS => reads.arguments = true,
                part => {
                    let known = access::PARTS.iter().zip(&mut reads.parts).find(|(name, _)| **name == part);
                    known.into_iter().for_each(|(_, read)| *read = true);
                }
            }
        }
        reads
    }

    pub fn add(&mut self, other: Self) {
        self.parts.iter_mut().zip(other.parts).for_each(|(read, too)| *read |= too);
        self.arguments |= other.arguments;
    }
}

pub(super) fn input(exchange: &Exchange, tenant: &TenantFacts, reads: Reads) -> Result<Value, String> {
    let mut shown = Value::new_object();
    let parts = shown.as_object_mut().map_err(|_| "the policy failed".to_owned())?;
    let mut show = |name: &str, value: &serde_json::Value| match Value::deserialize(value) {
        Ok(value) => {
            parts.insert(name.into(), value);
            Ok(())
        }
        Err(_) => Err("the policy failed: the call cannot be shown to it".to_owned()),
    };
    for (name, _) in access::PARTS.iter().zip(reads.parts).filter(|(_, read)| *read) {
        show(name, &access::part(exchange, tenant, name))?;
    }
    match exchange.arguments() {
        Some(arguments) if weight(arguments) > MAX_ARGUMENTS => {
            return Err(format!("the arguments are larger than {MAX_ARGUMENTS} bytes, so no rule can judge them"));
        }
        Some(arguments) if reads.arguments => show(ARGUMENTS, arguments)?,
        None if reads.arguments => show(ARGUMENTS, &serde_json::json!({}))?,
        _ => {}
    }
    Ok(shown)
}

/// About what the text of it would be, without writing it.
fn weight(value: &serde_json::Value) -> usize {
    match value {
        serde_json::Value::String(text) => text.len() + 2,
        serde_json::Value::Array(list) => list.iter().map(weight).sum::<usize>() + list.len() + 2,
        serde_json::Value::Object(parts) => {
            parts.iter().map(|(key, value)| key.len() + 4 + weight(value)).sum::<usize>() + 2
        }
        _ => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<&'static str> {
        let reads = Reads::of(text);
        let parts = access::PARTS.iter().zip(reads.parts).filter(|(_, read)| *read).map(|(name, _)| *name);
        parts.chain(reads.arguments.then_some(ARGUMENTS)).collect()
    }

    #[test]
    fn what_is_not_mentioned_is_not_shown_and_what_may_be_is() {
        let all: Vec<_> = access::PARTS.into_iter().chain([ARGUMENTS]).collect();
        for (text, expected) in [
            ("deny if input.tool.name == \"x\"", vec!["tool"]),
            ("deny if input.arguments.at > input.at.hour", vec!["at", "arguments"]),
            ("deny if my_input > inputs.principal", vec![]),
            ("deny if input.other", vec![]),
            ("deny if input.toolbox", vec![]),
            ("import input.principal as who", vec!["principal"]),
            ("deny if data.x with input.method as 3", vec!["method"]),
            ("deny if input[\"tool\"]", all.clone()),
            ("deny if input [part]", all.clone()),
            ("import input as call", all.clone()),
            ("deny if count(input) > 3", all.clone()),
            ("deny if input.\n tool", all.clone()),
            ("deny if x == input", all.clone()),
            ("deny if { walk(input, [path, _]) }", all),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }
}
