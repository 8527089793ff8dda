//! What a member's resources are called on the aggregated route: `portreeve://namespace/` and the member's own URI, as it is.
//!
//! That is a URI again, tells whose it is without a table, and keeps the expressions of a template. A built-in family has a
//! scheme of its own and keeps it; whoever else uses that scheme is wrapped like everybody.

use gateway_core::Namespace;
use gateway_protocol::{Message, Outcome, Reply};
use memchr::memmem;
use serde_json::Value;

const SCHEME: &str = "portreeve://";

/// Whose words these are.
#[derive(Debug, Clone)]
pub(super) struct Speaker {
    pub(super) namespace: Namespace,
    /// The schemes that are this member's own.
    pub(super) schemes: &'static [&'static str],
}

impl Speaker {
    pub(super) fn outward(&self, uri: &str) -> String {
        if self.keeps(uri) { uri.into() } else { format!("{SCHEME}{}/{uri}", self.namespace) }
    }

    /// The member's own URI, if this is one of its resources.
    pub(super) fn inward<'a>(&self, listed: &'a str) -> Option<&'a str> {
        if self.keeps(listed) {
            return Some(listed);
        }
        inward(listed).filter(|(namespace, _)| *namespace == self.namespace.as_str()).map(|(_, uri)| uri)
    }

    pub(super) fn keeps(&self, uri: &str) -> bool {
        !self.schemes.is_empty()
            && uri.split_once("://").is_some_and(|(scheme, rest)| !rest.is_empty() && self.schemes.contains(&scheme))
    }
}

/// Whose resource it is, and its URI there.
fn inward(listed: &str) -> Option<(&str, &str)> {
    let (namespace, uri) = listed.strip_prefix(SCHEME)?.split_once('/')?;
    (!uri.is_empty()).then_some((namespace, uri))
}

/// The reply with its URIs as the client must know them; `None` if it names none.
pub(super) fn renamed(whose: &Speaker, reply: &Reply) -> Option<Reply> {
    // Most replies have none, and those are not taken apart.
    memmem::find(reply.raw(), br#""uri""#)?;
    let mut message = reply.message().ok()?;
    let changed = match &mut message {
        Message::Response(response) => match &mut response.outcome {
            Outcome::Result(result) => in_result(whose, result),
            Outcome::Error(_) => false,
        },
        Message::Notification(notification) if notification.method == "notifications/resources/updated" => {
            let uri = notification.params.as_mut().and_then(|params| params.get_mut("uri"));
            uri.is_some_and(|uri| rename(whose, uri))
        }
        _ => false,
    };
    changed.then(|| Reply::from_message(&message))
}

/// What is read, what a tool links to, what a prompt brings along.
fn in_result(whose: &Speaker, result: &mut Value) -> bool {
    let mut changed = false;
    for entry in items(result.get_mut("contents")) {
        changed |= entry.get_mut("uri").is_some_and(|uri| rename(whose, uri));
    }
    changed |= in_content(whose, result.get_mut("content"));
    for message in items(result.get_mut("messages")) {
        changed |= in_content(whose, message.get_mut("content"));
    }
    changed
}

fn in_content(whose: &Speaker, content: Option<&mut Value>) -> bool {
    let mut changed = false;
    for block in items(content) {
        let uri = match block.get("type").and_then(Value::as_str) {
            Some("resource_link") => block.get_mut("uri"),
            Some("resource") => block.get_mut("resource").and_then(|resource| resource.get_mut("uri")),
            _ => None,
        };
        changed |= uri.is_some_and(|uri| rename(whose, uri));
    }
    changed
}

/// The members of an array, or the one thing that stands in its place.
fn items(value: Option<&mut Value>) -> &mut [Value] {
    match value {
        Some(Value::Array(items)) => items,
        Some(one) => std::slice::from_mut(one),
        None => &mut [],
    }
}

fn rename(whose: &Speaker, uri: &mut Value) -> bool {
    let Value::String(text) = uri else { return false };
    if whose.keeps(text) {
        return false;
    }
    *text = whose.outward(text);
    true
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use serde_json::json;

    use super::*;
    use crate::testing::{parsed, space, tree};

    fn crm() -> Speaker {
        Speaker { namespace: space("crm"), schemes: &[] }
    }

    #[test]
    fn a_family_keeps_its_own_scheme_and_nobody_elses() {
        let adp = Speaker { namespace: space("adp"), schemes: &["adp"] };
        for (uri, out) in [
            ("adp://registry", "adp://registry"),
            ("adp://specs/{name}", "adp://specs/{name}"),
            ("adp://", "portreeve://adp/adp://"),
            ("file:///a", "portreeve://adp/file:///a"),
            ("adpx://registry", "portreeve://adp/adpx://registry"),
        ] {
            assert_eq!(adp.outward(uri), out);
            assert_eq!(adp.inward(out), Some(uri));
        }
        assert_eq!(crm().outward("adp://registry"), "portreeve://crm/adp://registry", "a claim is not a right");
        assert_eq!(crm().inward("adp://registry"), None);
        assert_eq!(adp.inward("portreeve://crm/adp://registry"), None);
        let read = json!({ "contents": [{ "uri": "adp://matrix", "text": "x" }] });
        assert!(renamed(&adp, &Reply::from_message(&Message::result(1.into(), read))).is_none());
    }

    #[test]
    fn a_uri_comes_back_as_it_went() {
        for uri in ["file:///a/b", "notes://{id}/x{?y,z}", "portreeve://other/file:///a", "plain", "/", "x:%20#f"] {
            let out = crm().outward(uri);
            assert!(out.starts_with("portreeve://crm/"));
            assert_eq!(inward(&out), Some(("crm", uri)));
            assert_eq!(crm().inward(&out), Some(uri));
        }
        for strange in ["file:///a", "portreeve://", "portreeve://crm", "portreeve://crm/", "PORTREEVE://crm/a"] {
            assert_eq!(inward(strange), None, "{strange}");
        }
    }

    #[test]
    fn uris_of_replies_are_named_outward_and_nothing_else_is() {
        let (own, out) = ("file:///a", "portreeve://crm/file:///a");
        for (result, expected) in [
            (
                json!({ "contents": [{ "uri": own, "text": own }] }),
                json!({ "contents": [{ "uri": out, "text": own }] }),
            ),
            (
                json!({ "content": [{ "type": "resource_link", "uri": own }, { "type": "text", "text": "x", "uri": own }] }),
                json!({ "content": [{ "type": "resource_link", "uri": out }, { "type": "text", "text": "x", "uri": own }] }),
            ),
            (
                json!({ "messages": [{ "content": { "type": "resource", "resource": { "uri": own } } }], "uri": own }),
                json!({ "messages": [{ "content": { "type": "resource", "resource": { "uri": out } } }], "uri": own }),
            ),
            (json!({ "structuredContent": { "uri": own }, "content": [] }), Value::Null),
            (json!({ "content": [{ "type": "text", "text": "no" }] }), Value::Null),
        ] {
            let reply = Reply::from_message(&Message::result(1.into(), result.clone()));
            let found = renamed(&crm(), &reply).map(|reply| tree(&reply)["result"].clone());
            assert_eq!(found.unwrap_or_default(), expected, "{result}");
        }
        for (method, renames) in [("notifications/resources/updated", true), ("notifications/progress", false)] {
            let news = json!({ "jsonrpc": "2.0", "method": method, "params": { "uri": own } });
            let found = renamed(&crm(), &Reply::from_message(&parsed(&news)));
            assert_eq!(
                found.map(|reply| tree(&reply)["params"]["uri"].clone()),
                renames.then(|| json!(out)),
                "{method}"
            );
        }
    }
}
