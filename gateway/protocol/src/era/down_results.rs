//! What a modern upstream returns, for a legacy client.

use serde_json::{Map, Value};

use super::{known, with_meta};
use crate::error::{RpcError, code};
use crate::message::Notification;
use crate::revision::{Revision, meta};

/// The result as `to` writes it: without what came later, and what cannot be left out said in older words.
pub fn result(method: &str, mut result: Value, to: Revision) -> Value {
    let Value::Object(members) = &mut result else {
        return result;
    };
    for name in ["resultType", "ttlMs", "cacheScope"] {
        members.shift_remove(name);
    }
    without_modern_meta(members);
    match method {
        "tools/call" => tool_result(members, to),
        "tools/list" => known::each(members, "tools", |tool| known::tool(tool, to)),
        "prompts/list" => known::each(members, "prompts", |prompt| known::prompt(prompt, to)),
        "prompts/get" => known::each(members, "messages", |message| {
            if let Some(content) = message.get_mut("content") {
                known::content(content, to);
            }
        }),
        "resources/list" => known::each(members, "resources", |resource| known::resource(resource, to)),
        "resources/templates/list" => {
            known::each(members, "resourceTemplates", |template| known::resource(template, to));
        }
        "resources/read" => known::each(members, "contents", |contents| known::contents(contents, to)),
        _ => {}
    }
    result
}

fn tool_result(members: &mut Map<String, Value>, to: Revision) {
    for block in members.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten() {
        known::content(block, to);
    }
    let fits = |structured: &Value| to >= Revision::V2025_06_18 && structured.is_object();
    if members.get("structuredContent").is_none_or(fits) {
        return;
    }
    let structured = members.shift_remove("structuredContent").unwrap_or_default();
    // Servers should say the same as text. One that did not has said nothing yet.
    if let Some(Value::Array(content)) = members.get_mut("content")
        && content.is_empty()
    {
        content.push(known::text(&structured.to_string()));
    }
}

/// An error as a legacy session has it. The codes about versions, headers and capabilities describe what passed between the
/// gateway and its upstream; to the client they are a failure behind it, not a reason to negotiate anew.
pub fn error(error: RpcError) -> RpcError {
    match error.code {
        code::HEADER_MISMATCH | code::MISSING_CAPABILITY | code::UNSUPPORTED_VERSION => {
            RpcError { code: code::INTERNAL, ..error }
        }
        _ => error,
    }
}

/// `None` for what a legacy client has no use for: news of a subscription's own life, and of tasks that do not cross.
pub fn notification(mut notification: Notification, to: Revision) -> Option<Notification> {
    match notification.method.as_str() {
        // A modern server cancels only subscriptions, and those are the gateway's.
        "notifications/subscriptions/acknowledged" | "notifications/cancelled" | "notifications/tasks" => return None,
        method if method.starts_with("notifications/tasks/") => return None,
        _ => {}
    }
    if let Some(params) = &mut notification.params {
        without_modern_meta(params);
        if notification.method == "notifications/progress" && to < Revision::V2025_03_26 {
            params.shift_remove("message");
        }
    }
    // The list_changed notifications have no other params.
    notification.params = notification.params.filter(|params| !params.is_empty());
    Some(notification)
}

fn without_modern_meta(members: &mut Map<String, Value>) {
    with_meta(members, |given| {
        given.shift_remove(meta::SERVER_INFO);
        given.shift_remove(meta::SUBSCRIPTION_ID);
    });
}
