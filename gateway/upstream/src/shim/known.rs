//! The tools that were listed through here, and which of their arguments must be repeated in headers.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use gateway_protocol::headers::{Mirrored, derive_mirrored, mirrored};
use gateway_protocol::{Message, revision::meta};
use serde_json::{Map, Value};

#[derive(Default)]
pub(super) struct Known(Mutex<HashMap<String, Vec<Mirrored>>>);

impl Known {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Vec<Mirrored>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of the tools in an answer to `tools/list`.
    pub(super) fn learn(&self, answer: &[u8]) {
        let answer: Value = serde_json::from_slice(answer).unwrap_or_default();
        let tools = answer.pointer("/result/tools").and_then(Value::as_array);
        for tool in tools.into_iter().flatten() {
            if let Some(name) = tool.get("name").and_then(Value::as_str) {
                self.lock().insert(name.to_owned(), mirrored(tool));
            }
        }
    }

    pub(super) fn knows(&self, tool: &str) -> bool {
        self.lock().contains_key(tool)
    }

    pub(super) fn mirrors(&self, tool: &str) -> bool {
        self.lock().get(tool).is_some_and(|mirrored| !mirrored.is_empty())
    }

    pub(super) fn headers(&self, said: &Message) -> Vec<(String, String)> {
        let Some(params) = said.params().filter(|_| said.method() == Some("tools/call")) else {
            return Vec::new();
        };
        let known = self.lock();
        let mirrored = params.get("name").and_then(Value::as_str).and_then(|name| known.get(name));
        mirrored.map(|mirrored| derive_mirrored(mirrored, params.get("arguments"))).unwrap_or_default()
    }
}

/// Asks for the tools in the name of whoever made this call, under an id that is not the client's.
pub(super) fn list_question(call: &Message) -> Message {
    let mut own = Map::new();
    for key in [meta::PROTOCOL_VERSION, meta::CLIENT_CAPABILITIES, meta::CLIENT_INFO] {
        own.extend(call.meta().and_then(|given| Some((key.to_owned(), given.get(key)?.clone()))));
    }
    let params = Map::from_iter([("_meta".to_owned(), Value::Object(own))]);
    Message::request("portreeve-stdio-list", "tools/list", Some(params))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_listed_is_mirrored() {
        let known = Known::default();
        let schema =
            json!({ "type": "object", "properties": { "region": { "type": "string", "x-mcp-header": "Region" } } });
        let listed = json!({ "jsonrpc": "2.0", "id": 1, "result": { "tools": [{ "name": "t", "inputSchema": schema }, { "name": "u" }] } });
        let params = json!({ "name": "t", "arguments": { "region": "eu" } });
        let call = Message::request(1, "tools/call", params.as_object().cloned());
        assert!(known.headers(&call).is_empty(), "not yet known");
        known.learn(listed.to_string().as_bytes());
        assert_eq!(known.headers(&call), [("Mcp-Param-Region".to_owned(), "eu".to_owned())]);
        assert!(known.mirrors("t") && !known.mirrors("u") && known.knows("u") && !known.knows("v"));
    }
}
