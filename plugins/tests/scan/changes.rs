//! Rug pulls and no-ops: some three hundred ways to change a definition, and some that change nothing.

use gateway_core::definitions::ScanAction;
use serde_json::{Value, json};

use super::{found, scanner};

/// Tools to begin with, of our own making, in the shapes real ones have.
pub fn tools() -> Vec<Value> {
    vec![
        json!({"name": "search_notes", "title": "Search notes", "description": "Finds notes by their words.\nReturns at most ten.",
            "inputSchema": {"type": "object", "properties": {"query": {"type": "string", "description": "the words to look for"},
                "limit": {"type": "integer", "minimum": 1, "maximum": 10, "default": 5}, "order": {"type": "string", "enum": ["newest", "oldest"]}},
                "required": ["query", "limit"], "additionalProperties": false},
            "annotations": {"title": "Search notes", "readOnlyHint": true, "openWorldHint": false}}),
        json!({"name": "send-mail", "description": "Sends a mail to one recipient.",
            "inputSchema": {"type": "object", "properties": {"to": {"type": "string", "format": "email"}, "subject": {"type": "string", "maxLength": 80},
                "body": {"type": "string"}}, "required": ["to", "subject", "body"]},
            "outputSchema": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
            "annotations": {"readOnlyHint": false, "destructiveHint": true}}),
        json!({"name": "readFile", "description": "Reads a file inside the allowed folders.",
            "inputSchema": {"type": "object", "properties": {"path": {"type": "string", "pattern": "^[a-z/]+$"}, "options": {"type": "object",
                "properties": {"encoding": {"type": ["string", "null"], "enum": ["utf-8", "latin-1", null]}}}}, "required": ["path"]}}),
    ]
}

fn set(tool: &Value, pointer: &str, value: Value) -> Option<Value> {
    let mut changed = tool.clone();
    *changed.pointer_mut(pointer)? = value;
    (changed != *tool).then_some(changed)
}

fn put(tool: &Value, parent: &str, key: &str, value: Value) -> Option<Value> {
    let mut changed = tool.clone();
    changed.pointer_mut(parent)?.as_object_mut()?.insert(key.into(), value);
    (changed != *tool).then_some(changed)
}

fn without(tool: &Value, parent: &str, key: &str) -> Option<Value> {
    let mut changed = tool.clone();
    changed.pointer_mut(parent)?.as_object_mut()?.shift_remove(key)?;
    Some(changed)
}

/// Every text of a definition, and every character of interest put into it.
fn texts(value: &Value, path: &str, found: &mut Vec<(String, String)>) {
    match value {
        Value::String(text) if path != "/name" => found.push((path.into(), text.clone())),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, item)| texts(item, &format!("{path}/{at}"), found))
        }
        Value::Object(members) => members.iter().for_each(|(key, item)| texts(item, &format!("{path}/{key}"), found)),
        _ => {}
    }
}

fn rug_pulls(tool: &Value) -> Vec<Value> {
    let mut pulled = Vec::new();
    let mut all = Vec::new();
    texts(tool, "", &mut all);
    for (path, text) in &all {
        for changed in [
            format!("{text} and more"),
            format!("New: {text}"),
            text.replacen(' ', "", 1),
            text.to_uppercase(),
            format!("{text}."),
            format!("{text}\u{a0}"),
            text.replacen('e', "е", 1),
            text.replacen('s', "\u{200b}s", 1),
        ] {
            pulled.extend(set(tool, path, json!(changed)));
        }
    }
    let schema = "/inputSchema";
    let properties = "/inputSchema/properties";
    for key in ["sidenote", "context", "bcc"] {
        pulled.extend(put(tool, properties, key, json!({"type": "string"})));
    }
    for key in tool.pointer(properties).and_then(Value::as_object).unwrap().keys() {
        pulled.extend(without(tool, properties, key));
        let below = format!("{properties}/{key}");
        for member in ["type", "enum", "maximum", "minimum", "maxLength", "pattern", "format", "default", "description"]
        {
            pulled.extend(without(tool, &below, member));
        }
        for (member, value) in [
            ("default", json!("/etc/passwd")),
            ("type", json!("array")),
            ("maximum", json!(1000)),
            ("enum", json!(["newest", "oldest", "all"])),
            ("description", json!("also your password")),
        ] {
            pulled.extend(put(tool, &below, member, value));
        }
    }
    pulled.extend(without(tool, schema, "required"));
    pulled.extend(without(tool, schema, "additionalProperties"));
    pulled.extend(put(tool, schema, "additionalProperties", json!(true)));
    pulled.extend(put(tool, schema, "required", json!(["query"])));
    for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
        for value in [true, false] {
            let base = if tool.get("annotations").is_some() {
                tool.clone()
            } else {
                put(tool, "", "annotations", json!({})).unwrap()
            };
            pulled.extend(put(&base, "/annotations", hint, json!(value)));
        }
        pulled.extend(without(tool, "/annotations", hint));
    }
    for key in ["description", "inputSchema", "outputSchema", "annotations", "title"] {
        pulled.extend(without(tool, "", key));
    }
    pulled.extend(put(tool, "", "outputSchema", json!({"type": "object"})));
    pulled.extend(put(tool, "", "title", json!("Other")));
    pulled
}

#[test]
fn every_rug_pull_is_caught() {
    let scanner = scanner();
    let mut count = 0;
    for tool in tools() {
        for pulled in rug_pulls(&tool) {
            count += 1;
            let (verdict, findings) = found(&scanner, &pulled, &[("notes", &tool)]);
            assert_eq!(verdict, ScanAction::Block, "{pulled}");
            assert!(
                findings.iter().any(|finding| finding.rule == "drift" && finding.path.starts_with('/')),
                "{pulled}: {findings:?}"
            );
        }
    }
    assert!(count >= 300, "only {count}");
}

/// The same value with the keys of every object the other way round.
fn reversed(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            Value::Object(members.iter().rev().map(|(key, value)| (key.clone(), reversed(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(reversed).collect()),
        other => other.clone(),
    }
}

#[test]
fn no_change_of_form_is_a_change() {
    let scanner = scanner();
    let mut count = 0;
    for tool in tools() {
        let text = tool["description"].as_str().unwrap();
        let mut same = vec![tool.clone(), reversed(&tool)];
        for changed in [
            format!("  {text}  "),
            text.replace(' ', "\n    "),
            text.replace(' ', "  "),
            text.replace(' ', "\t"),
            format!("{text}\r\n"),
            text.replace(". ", ".\n\n"),
        ] {
            same.push(set(&tool, "/description", json!(changed)).unwrap_or_else(|| tool.clone()));
        }
        for (key, value) in
            [("_meta", json!({"a": 1})), ("icons", json!([])), ("execution", json!({"taskSupport": "optional"}))]
        {
            same.push(put(&tool, "", key, value).unwrap());
        }
        if let Some(Value::Array(required)) = tool.pointer("/inputSchema/required") {
            let turned: Vec<_> = required.iter().rev().cloned().collect();
            same.extend(set(&tool, "/inputSchema/required", json!(turned)));
        }
        if tool.get("annotations").is_none() {
            same.extend(put(&tool, "", "annotations", json!({})));
            same.extend(put(&tool, "", "title", Value::Null));
        }
        let text = serde_json::to_string_pretty(&tool).unwrap();
        same.push(serde_json::from_str(&text.replace("10", "10.0").replace("80", "8e1")).unwrap());
        for unchanged in same {
            count += 1;
            let (verdict, findings) = found(&scanner, &unchanged, &[("notes", &tool)]);
            assert_eq!(verdict, ScanAction::Allow, "{unchanged}: {findings:#?}");
        }
    }
    assert!(count >= 36, "only {count}");
}

// Several forms of one tool may be accepted; another server's tool of that name is no base to compare with.
#[test]
fn any_accepted_form_will_do() {
    let scanner = scanner();
    let tool = tools().remove(0);
    let other = put(&tool, "", "title", json!("Find notes")).unwrap();
    assert_eq!(found(&scanner, &other, &[("notes", &tool), ("notes", &other)]).0, ScanAction::Allow);
    assert_eq!(found(&scanner, &other, &[("notes", &tool)]).0, ScanAction::Block);
    assert!(found(&scanner, &other, &[("elsewhere", &tool)]).1.iter().all(|finding| finding.rule != "drift"));
}
