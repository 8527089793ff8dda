#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use serde_json::json;

use super::*;

fn tool() -> Value {
    json!({
        "name": "search", "title": "Search", "description": "Finds notes by their words.",
        "inputSchema": {"type": "object", "properties": {"query": {"type": ["string", "null"], "description": "the words"},
            "kind": {"enum": ["a", "b"]}, "limit": {"type": "integer", "maximum": 10}}, "required": ["query", "limit"]},
        "annotations": {"readOnlyHint": true},
    })
}

fn with(pointer: &str, value: Value) -> Value {
    let mut changed = tool();
    *changed.pointer_mut(pointer).unwrap() = value;
    changed
}

// What means the same has one hash: order of keys and of sets, blanks in prose, numbers' spelling, what is not pinned.
#[test]
fn what_changes_nothing_changes_no_hash() {
    let reordered = json!({
        "annotations": {"readOnlyHint": true}, "title": " Search ",
        "inputSchema": {"required": ["limit", "query"], "properties": {"limit": {"maximum": 10.0, "type": "integer"},
            "kind": {"enum": ["b", "a"]}, "query": {"description": "the\n  words ", "type": ["null", "string"]}}, "type": "object"},
        "description": "\n  Finds notes\r\n\tby their words.\n", "name": "search",
    });
    assert_eq!(hash(&reordered), hash(&tool()));
    assert!(diff(&tool(), &reordered).is_empty());
    let mut more = tool();
    for (key, value) in [("_meta", json!({"version": 7})), ("icons", json!([])), ("outputSchema", Value::Null)] {
        more.as_object_mut().unwrap().insert(key.into(), value);
    }
    assert_eq!(hash(&more), hash(&tool()));
    let bare = json!({"name": "a", "inputSchema": {"type": "object"}});
    let empty =
        json!({"name": "a", "inputSchema": {"type": "object", "required": []}, "annotations": {}, "description": null});
    assert_eq!(hash(&bare), hash(&empty));
}

#[test]
fn whatever_a_reader_or_a_caller_could_notice_changes_the_hash() {
    for (pointer, value) in [
        ("/name", json!("search ")),
        ("/description", json!("Finds notes by their  words")),
        ("/description", json!("Finds notes by\u{a0}their words.")),
        ("/description", json!("Finds notes\u{200b} by their words.")),
        ("/annotations/readOnlyHint", json!(false)),
        ("/annotations", json!({})),
        ("/inputSchema/properties/kind/enum", json!(["a", "b", "c"])),
        ("/inputSchema/properties/query/description", json!("the words, and your key")),
        ("/inputSchema/properties/limit/maximum", json!(100)),
        ("/inputSchema/required", json!(["query"])),
        ("/inputSchema/properties/query/type", json!("string")),
    ] {
        let changed = with(pointer, value);
        assert_ne!(hash(&changed), hash(&tool()), "{changed}");
        assert!(!diff(&tool(), &changed).is_empty(), "{changed}");
    }
}

#[test]
fn a_difference_names_its_place_and_both_sides() {
    let mut changed = with("/description", json!("Finds all."));
    changed["inputSchema"]["properties"]["a/b"] = json!({"type": "string"});
    let changes = diff(&tool(), &changed);
    assert_eq!(changes.len(), 2);
    let place = |path: &str| changes.iter().find(|change| change.path == path).unwrap();
    assert_eq!(place("/description").new, Some(json!("Finds all.")));
    assert_eq!(place("/inputSchema/properties/a~1b").old, None);
}

#[test]
fn what_an_older_revision_does_not_have_is_no_difference() {
    let mut older = tool();
    for key in ["title", "annotations"] {
        older.as_object_mut().unwrap().shift_remove(key);
    }
    assert_ne!(hash(&older), hash(&tool()));
    assert_eq!(hash(&completed(&older, &tool(), &["title", "annotations"])), hash(&tool()));
}

#[test]
fn hidden_characters_are_shown() {
    assert_eq!(visible("a\u{200B}b"), "a\\u{200B ZERO WIDTH SPACE}b");
    assert_eq!(visible("se\u{430}rch"), "se\\u{0430 CYRILLIC SMALL LETTER A}rch");
    assert_eq!(visible("поиск\nnaïve"), "поиск\\nnaïve");
    assert_eq!(visible("\u{E0041}"), "\\u{E0041 TAG CHARACTER}");
}
