//! The texts of a message that comes in many pieces, and other texts in their place.

use gateway_protocol::Reply;
use serde_json::Value;

/// So many texts of a message are looked at across messages; of more, the first ones.
pub(super) const MOST_TEXTS: usize = 256;

/// Every text below `params`, by its JSON pointer. Who reports progress, and on what, are not texts.
pub(super) fn texts(reply: &Reply) -> Vec<(String, String)> {
    let mut found = Vec::new();
    if let Ok(value) = serde_json::from_slice::<Value>(reply.raw())
        && let Some(params) = value.get("params")
    {
        walk(params, &mut "/params".to_owned(), &mut found);
    }
    found
}

fn walk(value: &Value, at: &mut String, found: &mut Vec<(String, String)>) {
    const NAMES: [&str; 7] = ["_meta", "progressToken", "requestId", "taskId", "level", "uri", "mimeType"];
    if found.len() >= MOST_TEXTS {
        return;
    }
    let (own, top) = (at.len(), at == "/params");
    match value {
        Value::String(text) => found.push((at.clone(), text.clone())),
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                at.push_str(&format!("/{place}"));
                walk(item, at, found);
                at.truncate(own);
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                if !top || !NAMES.contains(&key.as_str()) {
                    at.push('/');
                    at.push_str(&key.replace('~', "~0").replace('/', "~1"));
                    walk(member, at, found);
                    at.truncate(own);
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
