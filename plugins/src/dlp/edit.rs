//! The texts of a message that comes in many pieces, and other texts in their place.

use gateway_protocol::Reply;
use serde_json::Value;

/// Texts shorter than a stream may hold back are looked at across messages; so many of each.
const MOST_TEXTS: usize = 32;

/// Every text below `params`, by its JSON pointer. Who reports progress, and on what, are not texts.
pub(super) fn texts(reply: &Reply) -> Vec<(String, String)> {
    let mut found = Vec::new();
    if let Ok(value) = serde_json::from_slice::<Value>(reply.raw())
        && let Some(params) = value.get("params")
    {
        walk(params, "/params", &mut found);
    }
    found
}

fn walk(value: &Value, at: &str, found: &mut Vec<(String, String)>) {
    const NAMES: [&str; 7] = ["_meta", "progressToken", "requestId", "taskId", "level", "uri", "mimeType"];
    if found.len() >= MOST_TEXTS {
        return;
    }
    match value {
        Value::String(text) => found.push((at.to_owned(), text.clone())),
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                walk(item, &format!("{at}/{place}"), found);
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                if at != "/params" || !NAMES.contains(&key.as_str()) {
                    walk(member, &format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), found);
                }
            }
        }
        _ => {}
    }
}

/// The same message with these texts.
pub(super) fn with_texts(reply: &Reply, edits: &[(String, String)]) -> Reply {
    let Ok(mut value) = serde_json::from_slice::<Value>(reply.raw()) else { return reply.clone() };
    for (pointer, text) in edits {
        if let Some(place) = value.pointer_mut(pointer) {
            *place = Value::from(text.as_str());
        }
    }
    reply.edited(value.to_string().into())
}
