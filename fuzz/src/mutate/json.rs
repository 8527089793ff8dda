//! Changes that keep a text JSON, or nearly: the ones parsers are known to disagree about.

use std::ops::Range;

use super::spans::{Member, spans};
use crate::random::Random;

/// Keys that mean something to MCP, and keys that some parser takes for them.
const KEYS: [&str; 44] = [
    "jsonrpc",
    "id",
    "method",
    "params",
    "result",
    "error",
    "_meta",
    "name",
    "Name",
    "na\u{6d}e",
    "arguments",
    "Params",
    "METHOD",
    "uri",
    "cursor",
    "task",
    "taskId",
    "requestState",
    "inputResponses",
    "inputRequests",
    "resultType",
    "isError",
    "content",
    "structuredContent",
    "type",
    "tools",
    "inputSchema",
    "properties",
    "x-mcp-header",
    "progressToken",
    "capabilities",
    "protocolVersion",
    "notifications",
    "resourceSubscriptions",
    "mode",
    "requestedSchema",
    "\\u006eame",
    "taſk",
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientCapabilities",
    "io.modelcontextprotocol/logLevel",
    "io.modelcontextprotocol/subscriptionId",
    "messages",
    "roots",
];

const NUMBERS: [&str; 20] = [
    "0",
    "-0",
    "-0.0",
    "1",
    "9007199254740993",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775808",
    "-9223372036854775809",
    "1e308",
    "1e309",
    "-1e999",
    "1e-999",
    "0.1e1",
    "1.0",
    "4.9e-324",
    "01",
    "1.",
    ".5",
    "123456789012345678901234567890123456789012345678901234567890",
];

const WORDS: [&str; 28] = [
    "null",
    "true",
    "false",
    "{}",
    "[]",
    "\"\"",
    "\"2.0\"",
    "\"tools/call\"",
    "\"tools/list\"",
    "\"prompts/get\"",
    "\"resources/read\"",
    "\"completion/complete\"",
    "\"notifications/progress\"",
    "\"initialize\"",
    "\"server/discover\"",
    "\"input_required\"",
    "\"complete\"",
    "\"task\"",
    "\"object\"",
    "\"text\"",
    "\"url\"",
    "\"elicitation/create\"",
    "\"sampling/createMessage\"",
    "\"roots/list\"",
    "\"2026-07-28\"",
    "\"2024-11-05\"",
    "\"accept\"",
    "\"string\"",
];

/// What a string can hold that is read in more than one way.
const ESCAPES: [&str; 14] = [
    "\\ud83d",
    "\\ude00",
    "\\ud83d\\ude00",
    "\\ude00\\ud83d",
    "\\u0000",
    "\\u000a",
    "\\n",
    "\\r",
    "\\/",
    "\\x41",
    "\\u00",
    "\u{7f}",
    "\u{2028}",
    "\u{1}",
];

/// One change of the text; as it came if there is nothing to change.
pub fn change(random: &mut Random, text: &[u8], other: &[u8]) -> Vec<u8> {
    let found = spans(text);
    let value = found.values.get(random.below(found.values.len())).cloned();
    let member = found.members.get(random.below(found.members.len())).cloned();
    match (random.below(9), value, member) {
        (0 | 1, _, Some(member)) => doubled(random, text, &member),
        (2, _, Some(member)) => {
            let key = random.pick(&KEYS).unwrap_or_default();
            replaced(text, &member.key, format!("\"{key}\"").as_bytes())
        }
        (3, Some(value), _) => replaced(text, &value, random.pick(&NUMBERS).unwrap_or_default().as_bytes()),
        (4, Some(value), _) => replaced(text, &value, random.pick(&WORDS).unwrap_or_default().as_bytes()),
        (5, Some(value), _) => nested(random, text, &value),
        (6, Some(value), _) => escaped(random, text, &value),
        (7, Some(value), _) => {
            let lent = spans(other).values;
            let lent = lent.get(random.below(lent.len())).cloned().unwrap_or_default();
            replaced(text, &value, other.get(lent).unwrap_or_default())
        }
        // Another value of the same text: a string where an object was, an object within itself.
        (_, Some(value), _) => {
            let lent = found.values.get(random.below(found.values.len())).cloned().unwrap_or_default();
            replaced(text, &value, text.get(lent).unwrap_or_default())
        }
        _ => text.to_vec(),
    }
}

fn replaced(text: &[u8], place: &Range<usize>, by: &[u8]) -> Vec<u8> {
    let before = text.get(..place.start).unwrap_or_default();
    let after = text.get(place.end..).unwrap_or_default();
    [before, by, after].concat()
}

/// The member once more, perhaps under a key that differs only in case or in how it is written.
fn doubled(random: &mut Random, text: &[u8], member: &Member) -> Vec<u8> {
    let mut key = text.get(member.key.clone()).unwrap_or_default().to_vec();
    let letter = random.below(key.len());
    match random.below(4) {
        0 => {}
        1 => key.make_ascii_uppercase(),
        2 => {
            if let Some(byte) = key.get_mut(letter).filter(|byte| byte.is_ascii_alphabetic()) {
                *byte ^= 0x20;
            }
        }
        _ => {
            if let Some(byte) = key.get(letter).copied().filter(u8::is_ascii_alphabetic) {
                key = replaced(&key, &(letter..letter + 1), format!("\\u{byte:04x}").as_bytes());
            }
        }
    }
    let value = if random.one_in(2) {
        text.get(member.value.clone()).unwrap_or_default()
    } else {
        random.pick(&WORDS).unwrap_or_default().as_bytes()
    };
    let again = [b",", key.as_slice(), b":", value].concat();
    replaced(text, &(member.value.end..member.value.end), &again)
}

/// The value inside many others: about the depth that is allowed, or far beyond it.
fn nested(random: &mut Random, text: &[u8], value: &Range<usize>) -> Vec<u8> {
    let depth = match random.below(4) {
        0 => 1,
        1 => 120 + random.below(16),
        2 => 500 + random.below(24),
        _ => 5000,
    };
    let (open, close) = if random.one_in(2) { ("[", "]") } else { ("{\"a\":", "}") };
    let inner = text.get(value.clone()).unwrap_or_default();
    let deep = [open.repeat(depth).as_bytes(), inner, close.repeat(depth).as_bytes()].concat();
    replaced(text, value, &deep)
}

fn escaped(random: &mut Random, text: &[u8], value: &Range<usize>) -> Vec<u8> {
    let escape = random.pick(&ESCAPES).unwrap_or_default();
    if text.get(value.start) == Some(&b'"') && value.len() > 1 {
        let inside = value.start + 1;
        return replaced(text, &(inside..inside), escape.as_bytes());
    }
    replaced(text, value, format!("\"{escape}\"").as_bytes())
}
