//! One message of every kind, as full as its revision allows.

use gateway_protocol::era::InputKind;
use gateway_protocol::revision::meta;
use gateway_protocol::{Revision, RpcError};
use serde_json::{Value, json};

/// Since when a notification is known: all along, or only in the modern era.
pub const LEGACY: &str = "legacy";
pub const MODERN: &str = "modern";

pub fn implementation() -> Value {
    json!({
        "name": "someone", "version": "1.2", "title": "Someone", "description": "does things", "websiteUrl": "https://a.example/",
        "icons": icons(),
    })
}

fn icons() -> Value {
    json!([{ "src": "https://a.example/i.png", "mimeType": "image/png", "sizes": ["48x48"], "theme": "dark" }])
}

fn annotations() -> Value {
    json!({ "audience": ["user"], "priority": 0.5, "lastModified": "2025-01-12T15:00:58Z" })
}

pub fn client_capabilities() -> Value {
    json!({
        "elicitation": { "form": {}, "url": {} }, "sampling": { "context": {}, "tools": {} }, "roots": {},
        "experimental": { "x": { "y": true } }, "extensions": { "io.modelcontextprotocol/tasks": {} },
    })
}

fn server_capabilities() -> Value {
    json!({
        "completions": {}, "experimental": { "x": {} }, "logging": {}, "prompts": { "listChanged": true },
        "resources": { "listChanged": true, "subscribe": true }, "tools": { "listChanged": true },
    })
}

pub fn discover_result() -> Value {
    let mut capabilities = server_capabilities();
    capabilities["extensions"] = json!({ "io.modelcontextprotocol/tasks": {} });
    json!({
        "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": capabilities, "ttlMs": 1000,
        "cacheScope": "public", "instructions": "be kind", "_meta": { meta::SERVER_INFO: implementation() },
    })
}

pub fn initialize_result() -> Value {
    let mut capabilities = server_capabilities();
    capabilities["tasks"] = json!({ "list": {}, "requests": { "tools": { "call": {} } } });
    json!({
        "protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": implementation(),
        "instructions": "be kind", "_meta": { "example.com/k": 1 },
    })
}

/// Requests that every revision knows: method, definition, params.
pub fn requests() -> Vec<(&'static str, &'static str, Value)> {
    let vendor = json!({ "example.com/k": 1 });
    vec![
        ("tools/list", "ListToolsRequest", json!(null)),
        ("tools/list", "ListToolsRequest", json!({ "cursor": "", "_meta": vendor })),
        ("tools/call", "CallToolRequest", json!({ "name": "t", "arguments": { "a": [1, null, { "b": 1.5 }] } })),
        ("tools/call", "CallToolRequest", json!({ "name": "t", "_meta": vendor })),
        ("prompts/list", "ListPromptsRequest", json!({ "cursor": "c" })),
        ("prompts/get", "GetPromptRequest", json!({ "name": "p", "arguments": { "a": "b" } })),
        ("resources/list", "ListResourcesRequest", json!(null)),
        ("resources/templates/list", "ListResourceTemplatesRequest", json!(null)),
        ("resources/read", "ReadResourceRequest", json!({ "uri": "file:///a" })),
        (
            "completion/complete",
            "CompleteRequest",
            json!({ "ref": { "type": "ref/prompt", "name": "p" }, "argument": { "name": "a", "value": "b" } }),
        ),
        (
            "completion/complete",
            "CompleteRequest",
            json!({ "ref": { "type": "ref/resource", "uri": "file:///{a}" }, "argument": { "name": "a", "value": "" } }),
        ),
    ]
}

fn blocks() -> Value {
    json!([
        { "type": "text", "text": "hello", "annotations": annotations(), "_meta": { "v": 1 } },
        { "type": "image", "data": "AAAA", "mimeType": "image/png", "_meta": { "v": 1 } },
        { "type": "audio", "data": "AAAA", "mimeType": "audio/wav", "annotations": annotations() },
        {
            "type": "resource_link", "name": "a", "uri": "file:///a", "title": "A", "description": "d", "mimeType": "text/plain",
            "size": 3, "icons": icons(), "annotations": annotations(), "_meta": { "v": 1 },
        },
        {
            "type": "resource", "annotations": annotations(), "_meta": { "v": 1 },
            "resource": { "uri": "file:///a", "text": "t", "mimeType": "text/plain", "_meta": { "v": 1 } },
        },
        { "type": "resource", "resource": { "uri": "file:///a", "blob": "AAAA", "_meta": { "v": 1 } } },
    ])
}

fn tool() -> Value {
    json!({
        "name": "t", "title": "T", "description": "d", "icons": icons(), "_meta": { "v": 1 },
        "annotations": { "title": "T", "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false },
        "inputSchema": {
            "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
            "properties": { "a": { "type": "string", "x-mcp-header": "A" } }, "required": ["a"],
        },
        "outputSchema": { "type": "object", "properties": { "b": { "type": "integer" } }, "required": ["b"] },
    })
}

/// A tool as only the modern schema allows it: booleans as schemas, an output that is no object.
fn newer_tool() -> Value {
    json!({
        "name": "u", "inputSchema": { "type": "object", "properties": { "any": true, "none": false } },
        "outputSchema": { "type": "array", "items": { "type": "integer" } },
    })
}

fn prompt() -> Value {
    json!({
        "name": "p", "title": "P", "description": "d", "icons": icons(), "_meta": { "v": 1 },
        "arguments": [{ "name": "a", "title": "A", "description": "d", "required": true }],
    })
}

fn resource() -> Value {
    json!({
        "name": "r", "uri": "file:///r", "title": "R", "description": "d", "mimeType": "text/plain", "size": 3, "icons": icons(),
        "annotations": annotations(), "_meta": { "v": 1 },
    })
}

fn template() -> Value {
    json!({
        "name": "r", "uriTemplate": "file:///{r}", "title": "R", "description": "d", "mimeType": "text/plain", "icons": icons(),
        "annotations": annotations(), "_meta": { "v": 1 },
    })
}

/// Complete results of 2025-11-25: method, definition, result.
pub fn legacy_results() -> Vec<(&'static str, &'static str, Value)> {
    let mut task_tool = tool();
    task_tool["execution"] = json!({ "taskSupport": "optional" });
    vec![
        (
            "tools/call",
            "CallToolResult",
            json!({ "content": blocks(), "structuredContent": { "b": 1 }, "isError": false }),
        ),
        ("tools/call", "CallToolResult", json!({ "content": [], "isError": true, "_meta": { "v": 1 } })),
        ("tools/list", "ListToolsResult", json!({ "tools": [task_tool], "nextCursor": "" })),
        ("prompts/list", "ListPromptsResult", json!({ "prompts": [prompt()] })),
        (
            "prompts/get",
            "GetPromptResult",
            json!({
                "description": "d",
                "messages": blocks().as_array().into_iter().flatten().map(|block| json!({ "role": "user", "content": block })).collect::<Vec<_>>(),
            }),
        ),
        ("resources/list", "ListResourcesResult", json!({ "resources": [resource()], "nextCursor": "n" })),
        ("resources/templates/list", "ListResourceTemplatesResult", json!({ "resourceTemplates": [template()] })),
        (
            "resources/read",
            "ReadResourceResult",
            json!({ "contents": [
                { "uri": "file:///a", "text": "t", "mimeType": "text/plain", "_meta": { "v": 1 } }, { "uri": "file:///a", "blob": "AAAA" },
            ] }),
        ),
        (
            "completion/complete",
            "CompleteResult",
            json!({ "completion": { "values": ["a"], "total": 1, "hasMore": false } }),
        ),
    ]
}

/// The same as the modern era writes them, and what only it can write.
pub fn modern_results() -> Vec<(&'static str, &'static str, Value)> {
    let newer = [
        ("tools/call", "CallToolResult", json!({ "content": blocks(), "structuredContent": [1, 2] })),
        ("tools/call", "CallToolResult", json!({ "content": [], "structuredContent": 7 })),
        ("tools/call", "CallToolResult", json!({ "content": [], "structuredContent": null })),
        ("tools/list", "ListToolsResult", json!({ "tools": [tool(), newer_tool()] })),
    ];
    let both = legacy_results().into_iter().filter(|(method, ..)| *method != "tools/list").chain(newer);
    let whole = both.map(|(method, definition, mut result)| {
        result["resultType"] = json!("complete");
        result["_meta"] = json!({ meta::SERVER_INFO: implementation(), "example.com/k": 1 });
        if !matches!(method, "tools/call" | "prompts/get" | "completion/complete") {
            result["ttlMs"] = json!(5);
            result["cacheScope"] = json!("public");
        }
        (method, definition, result)
    });
    whole.collect()
}

/// Method, definition, params, since when.
pub fn notifications() -> Vec<(&'static str, &'static str, Value, &'static str)> {
    vec![
        (
            "notifications/progress",
            "ProgressNotification",
            json!({ "progressToken": "p", "progress": 1, "total": 2, "message": "half" }),
            LEGACY,
        ),
        (
            "notifications/message",
            "LoggingMessageNotification",
            json!({ "level": "warning", "logger": "l", "data": { "a": [1] } }),
            LEGACY,
        ),
        ("notifications/tools/list_changed", "ToolListChangedNotification", json!(null), LEGACY),
        ("notifications/prompts/list_changed", "PromptListChangedNotification", json!({ "_meta": { "v": 1 } }), LEGACY),
        ("notifications/resources/list_changed", "ResourceListChangedNotification", json!(null), LEGACY),
        ("notifications/resources/updated", "ResourceUpdatedNotification", json!({ "uri": "file:///a" }), LEGACY),
        ("notifications/cancelled", "CancelledNotification", json!({ "requestId": 4, "reason": "over" }), MODERN),
    ]
}

fn form() -> Value {
    json!({
        "mode": "form", "message": "who?",
        "requestedSchema": { "type": "object", "required": ["name"], "properties": {
            "name": { "type": "string", "title": "N", "description": "d", "minLength": 1, "maxLength": 9, "format": "email", "default": "a@b.c" },
            "age": { "type": "integer", "minimum": 0, "maximum": 150, "default": 30 },
            "share": { "type": "number", "default": 0.5 },
            "sure": { "type": "boolean", "default": true },
            "plain": { "type": "string", "enum": ["a", "b"], "default": "a" },
            "named": { "type": "string", "enum": ["a"], "enumNames": ["A"] },
            "titled": { "type": "string", "oneOf": [{ "const": "a", "title": "A" }], "default": "a" },
            "several": { "type": "array", "items": { "type": "string", "enum": ["a"] }, "minItems": 1, "default": ["a"] },
            "titled_several": { "type": "array", "items": { "anyOf": [{ "const": "a", "title": "A" }] } },
        } },
    })
}

fn sampling(content: &Value) -> Value {
    json!({
        "messages": [{ "role": "user", "content": content, "_meta": { "v": 1 } }], "maxTokens": 100, "systemPrompt": "s",
        "temperature": 0.5, "stopSequences": ["x"], "includeContext": "none", "metadata": { "k": "v" },
        "modelPreferences": { "hints": [{ "name": "m" }], "costPriority": 0.1, "speedPriority": 1, "intelligencePriority": 0 },
    })
}

/// Kind, definition of the request, params, the first revision that can be asked.
pub fn modern_questions() -> Vec<(InputKind, &'static str, Value, Revision)> {
    use InputKind::{Elicitation, Roots, Sampling};
    let text = json!({ "type": "text", "text": "hi", "annotations": annotations(), "_meta": { "v": 1 } });
    let tool_use = json!({ "type": "tool_use", "id": "1", "name": "t", "input": { "a": 1 } });
    let tool_result = json!({ "type": "tool_result", "toolUseId": "1", "content": blocks(), "structuredContent": [1] });
    let mut with_tools = sampling(&json!([tool_use, tool_result]));
    with_tools["tools"] = json!([tool(), newer_tool()]);
    with_tools["toolChoice"] = json!({ "mode": "auto" });
    let audio = json!({ "type": "audio", "data": "AAAA", "mimeType": "audio/wav" });
    vec![
        (Elicitation, "ElicitRequest", form(), Revision::V2025_06_18),
        (
            Elicitation,
            "ElicitRequest",
            json!({ "mode": "url", "message": "m", "url": "https://a.example/" }),
            Revision::V2025_11_25,
        ),
        (Sampling, "CreateMessageRequest", sampling(&text), Revision::V2024_11_05),
        (Sampling, "CreateMessageRequest", sampling(&json!([text, text])), Revision::V2024_11_05),
        (Sampling, "CreateMessageRequest", sampling(&audio), Revision::V2025_03_26),
        (Sampling, "CreateMessageRequest", with_tools, Revision::V2025_11_25),
        (Roots, "ListRootsRequest", json!({ "_meta": { "v": 1 } }), Revision::V2024_11_05),
    ]
}

/// Kind, definition, params as 2025-11-25 asks.
pub fn legacy_questions() -> Vec<(InputKind, &'static str, Value)> {
    let on_a_stream = |mut params: Value| {
        params["_meta"] = json!({ "progressToken": 1 });
        params["task"] = json!({ "ttl": 5 });
        params
    };
    let url = json!({ "mode": "url", "message": "m", "url": "https://a.example/", "elicitationId": "e" });
    let text = json!({ "type": "text", "text": "hi" });
    vec![
        (InputKind::Elicitation, "ElicitRequest", on_a_stream(form())),
        (InputKind::Elicitation, "ElicitRequest", on_a_stream(url)),
        (InputKind::Sampling, "CreateMessageRequest", on_a_stream(sampling(&json!([text])))),
        (InputKind::Roots, "ListRootsRequest", json!(null)),
    ]
}

pub fn answers() -> Vec<(InputKind, &'static str, Value)> {
    let text = json!({ "type": "text", "text": "hi" });
    let said =
        |content: &Value| json!({ "role": "assistant", "model": "m", "stopReason": "endTurn", "content": content });
    vec![
        (
            InputKind::Elicitation,
            "ElicitResult",
            json!({ "action": "accept", "content": { "a": "b", "n": 1, "l": ["x"], "t": true } }),
        ),
        (InputKind::Elicitation, "ElicitResult", json!({ "action": "decline" })),
        (InputKind::Sampling, "CreateMessageResult", said(&text)),
        (InputKind::Sampling, "CreateMessageResult", said(&json!([text, text]))),
        (
            InputKind::Roots,
            "ListRootsResult",
            json!({ "roots": [{ "uri": "file:///a", "name": "a", "_meta": { "v": 1 } }] }),
        ),
    ]
}

pub fn url_required() -> RpcError {
    let url = json!({ "mode": "url", "message": "m", "url": "https://a.example/", "elicitationId": "e" });
    RpcError::new(-32042, "visit this first").with_data(json!({ "elicitations": [url] }))
}
