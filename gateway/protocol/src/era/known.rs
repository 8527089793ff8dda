//! What each legacy revision knows of the things a server lists and returns, and how the rest is said to it.
//!
//! The tables name the members that came later than 2024-11-05. A member that no revision knows is a vendor's and stays.

use serde_json::{Map, Value, json};

use crate::revision::Revision;

type Since = &'static [(&'static str, Revision)];

const IMPLEMENTATION: Since = &[
    ("title", Revision::V2025_06_18),
    ("icons", Revision::V2025_11_25),
    ("websiteUrl", Revision::V2025_11_25),
    ("description", Revision::V2025_11_25),
];
/// Tools, prompts, resources, templates, and links to resources.
const ENTRY: Since =
    &[("title", Revision::V2025_06_18), ("_meta", Revision::V2025_06_18), ("icons", Revision::V2025_11_25)];
const TOOL: Since = &[("annotations", Revision::V2025_03_26), ("outputSchema", Revision::V2025_06_18)];
const PROMPT_ARGUMENT: Since = &[("title", Revision::V2025_06_18)];
/// Blocks of content and the contents of resources.
const CONTENT: Since = &[("_meta", Revision::V2025_06_18)];
const ANNOTATIONS: Since = &[("lastModified", Revision::V2025_06_18)];

fn leave_out(members: &mut Map<String, Value>, table: Since, to: Revision) {
    for (name, since) in table {
        if to < *since {
            members.shift_remove(*name);
        }
    }
}

/// Every object in the array `members[key]`.
pub(super) fn each(members: &mut Map<String, Value>, key: &str, change: impl FnMut(&mut Map<String, Value>)) {
    let items = members.get_mut(key).and_then(Value::as_array_mut);
    items.into_iter().flatten().filter_map(Value::as_object_mut).for_each(change);
}

/// `clientInfo` or `serverInfo`. The schema insists on a name and a version; where they are missing the gateway, which speaks
/// for that peer, gives its own.
pub(super) fn implementation(given: &Value, to: Revision) -> Value {
    if !is_implementation(given) {
        return json!({ "name": "portreeve", "version": env!("CARGO_PKG_VERSION") });
    }
    let mut given = given.clone();
    if let Value::Object(members) = &mut given {
        leave_out(members, IMPLEMENTATION, to);
    }
    given
}

pub(super) fn is_implementation(given: &Value) -> bool {
    ["name", "version"].iter().all(|key| given.get(key).is_some_and(Value::is_string))
}

/// Of these capabilities the ones named, where they are objects as the schemas want them.
pub(super) fn capabilities(given: &Map<String, Value>, names: &[&str]) -> Map<String, Value> {
    let kept = given.iter().filter(|(name, value)| names.contains(&name.as_str()) && value.is_object());
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

pub(super) fn tool(members: &mut Map<String, Value>, to: Revision) {
    entry(members, to);
    leave_out(members, TOOL, to);
    // Says whether the tool may run as a task, which does not cross eras.
    members.shift_remove("execution");
    let is_object = |schema: &Value| schema.get("type").and_then(Value::as_str) == Some("object");
    if !to.is_modern() && members.get("outputSchema").is_some_and(|schema| !is_object(schema)) {
        members.shift_remove("outputSchema");
    }
    if !to.is_modern() {
        for name in ["inputSchema", "outputSchema"] {
            if let Some(properties) = members.get_mut(name).and_then(|schema| schema.get_mut("properties")) {
                spell_out_booleans(properties);
            }
        }
    }
}

/// `true` and `false` are schemas too, but the legacy revisions want each property's schema to be an object.
fn spell_out_booleans(properties: &mut Value) {
    for schema in properties.as_object_mut().into_iter().flat_map(Map::values_mut) {
        match schema {
            Value::Bool(true) => *schema = json!({}),
            Value::Bool(false) => *schema = json!({ "not": {} }),
            _ => {}
        }
    }
}

pub(super) fn prompt(members: &mut Map<String, Value>, to: Revision) {
    entry(members, to);
    each(members, "arguments", |argument| leave_out(argument, PROMPT_ARGUMENT, to));
}

/// A resource or a template.
pub(super) fn resource(members: &mut Map<String, Value>, to: Revision) {
    entry(members, to);
    annotations(members, to);
}

pub(super) fn contents(members: &mut Map<String, Value>, to: Revision) {
    leave_out(members, CONTENT, to);
}

fn entry(members: &mut Map<String, Value>, to: Revision) {
    leave_out(members, ENTRY, to);
}

fn annotations(members: &mut Map<String, Value>, to: Revision) {
    if let Some(Value::Object(annotations)) = members.get_mut("annotations") {
        leave_out(annotations, ANNOTATIONS, to);
    }
}

/// A block of content. A kind the revision does not know becomes text that says what was there.
pub(super) fn content(block: &mut Value, to: Revision) {
    let Value::Object(members) = block else {
        return;
    };
    match members.get("type").and_then(Value::as_str) {
        Some("resource_link") if to < Revision::V2025_06_18 => {
            *block = text(&link_as_text(members));
            return;
        }
        Some("audio") if to < Revision::V2025_03_26 => {
            *block = text(&audio_as_text(members));
            return;
        }
        Some("resource_link") => entry(members, to),
        Some("resource") => {
            if let Some(Value::Object(resource)) = members.get_mut("resource") {
                contents(resource, to);
            }
        }
        _ => {}
    }
    leave_out(members, CONTENT, to);
    annotations(members, to);
}

pub(super) fn text(said: &str) -> Value {
    json!({ "type": "text", "text": said })
}

fn link_as_text(link: &Map<String, Value>) -> String {
    let uri = link.get("uri").and_then(Value::as_str).unwrap_or_default();
    match link.get("name").and_then(Value::as_str) {
        Some(name) if !name.is_empty() && name != uri => format!("{name}: {uri}"),
        _ => uri.to_owned(),
    }
}

fn audio_as_text(audio: &Map<String, Value>) -> String {
    let kind = audio.get("mimeType").and_then(Value::as_str).unwrap_or("audio");
    format!("[{kind} left out: the protocol version of this session has no audio]")
}
