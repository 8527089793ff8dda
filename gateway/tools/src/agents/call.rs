//! One call of a run, made like anybody's: through the gateway, in the stateless era, with nothing but a message.

use std::sync::Arc;

use futures::StreamExt;
use gateway_core::agents::RunStep;
use gateway_core::exchange::Route;
use gateway_core::gateway::{Inbound, Verb, Wire};
use gateway_core::lists::ListFilter;
use gateway_core::refusal::AnswerBody;
use gateway_core::{Credential, Gateway, Namespace};
use gateway_protocol::headers::McpHeaders;
use gateway_protocol::sse;
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// How the gateway says that an upstream cannot be reached.
const NOT_AVAILABLE: &str = "MCP server is not available";
const ASKS_BACK: &str = "the tool asks for input, which a tool agent cannot give";

/// What became of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    pub outcome: Result<Value, String>,
    /// A human was asked and has not answered.
    pub approval: Option<Uuid>,
}

/// Who calls, and how much of an answer is read.
pub struct Caller<'a> {
    pub gateway: &'a Arc<Gateway>,
    pub credential: &'a Credential,
    pub reply_bytes: usize,
}

impl Caller<'_> {
    pub async fn call(
        &self,
        namespace: &Namespace,
        tool: &str,
        arguments: Map<String, Value>,
        step: Arc<RunStep>,
    ) -> Ended {
        let id = format!("{}:{}", step.task, step.step);
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta() });
        let reply = self.ask(namespace, &id, "tools/call", params, Some(step)).await;
        ended(namespace, reply)
    }

    /// Whether somebody answers there. A refusal is an answer: what this caller may not see fails as a step.
    pub async fn is_there(&self, namespace: &Namespace) -> bool {
        let reply = self.ask(namespace, "list", "tools/list", json!({ "_meta": meta() }), None).await;
        let said = reply.as_ref().ok().and_then(|reply| reply.pointer("/error/message")).and_then(Value::as_str);
        !said.is_some_and(|said| said.starts_with(NOT_AVAILABLE))
    }

    async fn ask(
        &self,
        namespace: &Namespace,
        id: &str,
        method: &str,
        params: Value,
        run: Option<Arc<RunStep>>,
    ) -> Result<Value, String> {
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let inbound = Inbound {
            route: Route::One(namespace.clone()),
            verb: Verb::Post(message.to_string().into()),
            headers: McpHeaders::default(),
            carried: Vec::new(),
            credential: self.credential.clone(),
            wire: Wire::Messages,
            metadata_url: None,
            filter: ListFilter::default(),
            run,
        };
        let answer = self.gateway.handle(inbound).await;
        let status = answer.status;
        let too_large = || format!("the answer is larger than {} bytes", self.reply_bytes);
        match answer.body {
            AnswerBody::Empty => Err(format!("the gateway answered with status {status}")),
            AnswerBody::Json(bytes) if bytes.len() > self.reply_bytes => Err(too_large()),
            AnswerBody::Json(bytes) => {
                serde_json::from_slice(&bytes).map_err(|_| "the answer could not be read".to_owned())
            }
            AnswerBody::Events(mut frames) => {
                let mut read = 0_usize;
                // Notifications on the way are nobody's here; the reply is what carries our id.
                while let Some(frame) = frames.next().await {
                    let sse::Frame::Event(event) = frame else { continue };
                    read = read.saturating_add(event.data.len());
                    if read > self.reply_bytes {
                        return Err(too_large());
                    }
                    let said: Option<Value> = serde_json::from_slice(&event.data).ok();
                    if let Some(said) = said.filter(|said| said.get("id").and_then(Value::as_str) == Some(id)) {
                        return Ok(said);
                    }
                }
                Err("the answer ended before it was complete".to_owned())
            }
        }
    }
}

fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "portreeve-tool-agent", "version": env!("CARGO_PKG_VERSION") },
    })
}

fn ended(namespace: &Namespace, reply: Result<Value, String>) -> Ended {
    let reply = match reply {
        Ok(reply) => reply,
        Err(error) => return Ended { outcome: Err(error), approval: None },
    };
    if let Some(error) = reply.get("error") {
        let said = error.get("message").and_then(Value::as_str).unwrap_or("the tool failed");
        let said = match said.starts_with(NOT_AVAILABLE) {
            // Why it cannot be reached is for the log.
            true => format!("{NOT_AVAILABLE} (namespace: {namespace})"),
            false => said.to_owned(),
        };
        return Ended { outcome: Err(said), approval: approval(error.get("data")) };
    }
    let Some(result) = reply.get("result") else {
        return Ended { outcome: Err("the answer is neither a result nor an error".into()), approval: None };
    };
    let asked = approval(result.pointer("/_meta/io.portreeve~1decision"));
    if result.get("resultType").and_then(Value::as_str) == Some("input_required") {
        return Ended { outcome: Err(ASKS_BACK.into()), approval: asked };
    }
    let texts = texts(result);
    if result.get("isError") == Some(&Value::Bool(true)) {
        let said = if texts.is_empty() { "the tool failed".to_owned() } else { texts.join("\n") };
        return Ended { outcome: Err(said), approval: asked };
    }
    Ended { outcome: Ok(value(result, &texts)), approval: asked }
}

fn approval(decision: Option<&Value>) -> Option<Uuid> {
    decision?.get("approval_id")?.as_str()?.parse().ok()
}

fn texts(result: &Value) -> Vec<&str> {
    let content = result.get("content").and_then(Value::as_array);
    content.into_iter().flatten().filter_map(|item| item.get("text").and_then(Value::as_str)).collect()
}

/// What is structured, else a text as the JSON it is, else the text; what has no text is given as it came.
fn value(result: &Value, texts: &[&str]) -> Value {
    if let Some(structured) = result.get("structuredContent").filter(|structured| !structured.is_null()) {
        return structured.clone();
    }
    if texts.is_empty() {
        return result.get("content").cloned().unwrap_or(Value::Null);
    }
    let text = texts.join("\n");
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn replies_become_results_or_errors() {
        let namespace: Namespace = "crm".parse().unwrap();
        let text = |text: &str| json!([{ "type": "text", "text": text }]);
        let id = Uuid::from_u128(7);
        let waits = json!({ "io.portreeve/decision": { "decision": "approval_required", "approval_id": id } });
        for (reply, outcome, approval) in [
            (
                json!({ "result": { "structuredContent": { "a": 1 }, "content": text("x") } }),
                Ok(json!({ "a": 1 })),
                None,
            ),
            (json!({ "result": { "content": text("{\"a\": 2}") } }), Ok(json!({ "a": 2 })), None),
            (json!({ "result": { "content": text("plain") } }), Ok(json!("plain")), None),
            (json!({ "result": { "content": [] } }), Ok(json!([])), None),
            (json!({ "result": { "content": text("no"), "isError": true } }), Err("no"), None),
            (json!({ "result": { "content": text("wait"), "isError": true, "_meta": waits } }), Err("wait"), Some(id)),
            (json!({ "result": { "resultType": "input_required" } }), Err(ASKS_BACK), None),
            (
                json!({ "error": { "code": -32603, "message": "MCP server is not available: connection refused" } }),
                Err("MCP server is not available (namespace: crm)"),
                None,
            ),
            (json!({ "error": { "message": "wait", "data": { "approval_id": id } } }), Err("wait"), Some(id)),
            (json!({}), Err("the answer is neither a result nor an error"), None),
        ] {
            let expected = Ended { outcome: outcome.map_err(str::to_owned), approval };
            assert_eq!(ended(&namespace, Ok(reply.clone())), expected, "{reply}");
        }
    }
}
