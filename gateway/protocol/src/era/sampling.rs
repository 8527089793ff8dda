//! `sampling/createMessage` for clients of each legacy revision.
//!
//! Before 2025-11-25 a message had one block and there were no tools. What cannot be said without losing part of the
//! conversation is not asked: an answer to half a question is worse than none.

use serde_json::{Map, Value};

use super::known;
use crate::revision::Revision;

pub(super) fn question(params: &Map<String, Value>, to: Revision) -> Option<Map<String, Value>> {
    params.get("maxTokens")?.as_i64()?;
    params.get("messages")?.as_array()?;
    let mut params = params.clone();
    if to < Revision::V2025_11_25 {
        if params.shift_remove("tools").as_ref().and_then(Value::as_array).is_some_and(|tools| !tools.is_empty()) {
            return None;
        }
        params.shift_remove("toolChoice");
    }
    known::each(&mut params, "tools", |tool| known::tool(tool, to));
    for message in params.get_mut("messages").and_then(Value::as_array_mut).into_iter().flatten() {
        let message = message.as_object_mut()?;
        if to < Revision::V2025_11_25 {
            message.shift_remove("_meta");
            let content = one_block(message.get("content")?)?;
            message.insert("content".into(), content);
        }
        message.get_mut("content").map(|content| in_words_of(content, to))??;
    }
    Some(params)
}

/// The content as one block: a list of one, or texts that can be put together.
fn one_block(content: &Value) -> Option<Value> {
    let Some(blocks) = content.as_array() else {
        return Some(content.clone());
    };
    if let [block] = blocks.as_slice() {
        return Some(block.clone());
    }
    let texts: Option<Vec<&str>> = blocks.iter().map(text_of).collect();
    texts.filter(|texts| !texts.is_empty()).map(|texts| known::text(&texts.join("\n\n")))
}

fn text_of(block: &Value) -> Option<&str> {
    block.get("text").filter(|_| kind(block) == Some("text"))?.as_str()
}

fn kind(block: &Value) -> Option<&str> {
    block.get("type")?.as_str()
}

/// `None` if a block cannot be said in that revision.
fn in_words_of(content: &mut Value, to: Revision) -> Option<()> {
    let blocks = match content {
        Value::Array(blocks) => blocks.as_mut_slice(),
        block => std::slice::from_mut(block),
    };
    for block in blocks {
        match kind(block)? {
            "tool_use" | "tool_result" if to < Revision::V2025_11_25 => return None,
            "audio" if to < Revision::V2025_03_26 => return None,
            "tool_result" => tool_result(block, to),
            _ => known::content(block, to),
        }
    }
    Some(())
}

fn tool_result(block: &mut Value, to: Revision) {
    let Value::Object(members) = block else {
        return;
    };
    if !to.is_modern() && members.get("structuredContent").is_some_and(|content| !content.is_object()) {
        members.shift_remove("structuredContent");
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use Revision::{V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25};
    use serde_json::json;

    use super::*;

    fn asked(content: &Value, to: Revision) -> Option<Value> {
        let params =
            json!({ "maxTokens": 5, "messages": [{ "role": "user", "content": content, "_meta": { "v": 1 } }] });
        let asked = question(params.as_object().unwrap(), to)?;
        assert_eq!(asked["messages"][0].get("_meta").is_some(), to >= V2025_11_25, "came with 2025-11-25");
        Some(asked["messages"][0]["content"].clone())
    }

    #[test]
    fn a_message_has_one_block_before_lists_of_blocks() {
        let text = |said: &str| json!({ "type": "text", "text": said });
        let image = json!({ "type": "image", "data": "", "mimeType": "image/png" });
        let audio = json!({ "type": "audio", "data": "", "mimeType": "audio/wav" });
        let tool_use = json!({ "type": "tool_use", "id": "1", "name": "t", "input": {} });
        for (content, to, expected) in [
            (text("a"), V2024_11_05, Some(text("a"))),
            (json!([text("a")]), V2024_11_05, Some(text("a"))),
            (json!([text("a"), text("b")]), V2025_06_18, Some(text("a\n\nb"))),
            (json!([text("a"), text("b")]), V2025_11_25, Some(json!([text("a"), text("b")]))),
            (json!([text("a"), image]), V2025_06_18, None),
            (json!([]), V2025_06_18, None),
            (json!([image]), V2025_06_18, Some(image.clone())),
            (audio.clone(), V2024_11_05, None),
            (audio.clone(), V2025_03_26, Some(audio)),
            (tool_use.clone(), V2025_06_18, None),
            (tool_use.clone(), V2025_11_25, Some(tool_use)),
            (json!("a"), V2025_11_25, None),
        ] {
            assert_eq!(asked(&content, to), expected, "{content} to {to}");
        }
    }

    #[test]
    fn tools_are_offered_only_where_they_are_known() {
        let with =
            |tools: Value| json!({ "maxTokens": 5, "messages": [], "tools": tools, "toolChoice": { "mode": "auto" } });
        let tool = json!({ "name": "t", "inputSchema": { "type": "object", "properties": { "a": true } } });
        let asked = |params: &Value, to| question(params.as_object().unwrap(), to).map(Value::Object);
        assert_eq!(asked(&with(json!([tool])), V2025_06_18), None);
        assert_eq!(asked(&with(json!([])), V2025_06_18), Some(json!({ "maxTokens": 5, "messages": [] })));
        let plain = json!({ "name": "t", "inputSchema": { "type": "object", "properties": { "a": {} } } });
        assert_eq!(asked(&with(json!([tool])), V2025_11_25), Some(with(json!([plain]))));
        assert_eq!(asked(&json!({ "messages": [] }), V2025_11_25), None, "the schema insists on maxTokens");
    }
}
