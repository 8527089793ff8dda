//! What a request may change of an agent's configuration: which tools, with what, in which way. Never what it may do.

use gateway_core::agents::ExecutionMode;
use gateway_core::ports::BuildError;
use serde_json::{Map, Value};

use super::descriptor::{Configuration, execution_mode, one_line, params_by_tool, strings};

/// What no request changes.
const FIXED: [&str; 3] = ["security", "deliverable", "execution_capabilities"];

/// One run, before it is checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Merged {
    pub tools: Vec<String>,
    pub tool_params: Map<String, Value>,
    pub mode: ExecutionMode,
    pub stop_on_error: bool,
    pub title: Option<String>,
    /// What the payload wanted to change and may not.
    pub ignored: Vec<String>,
}

pub fn merge(configured: &Configuration, payload: &Map<String, Value>) -> Result<Merged, BuildError> {
    let said = |key: &str| payload.get(key).filter(|value| !value.is_null());
    let tools = match said("tools").map(|tools| strings(tools, "payload.tools")).transpose().map_err(of_payload)? {
        Some(tools) if !tools.is_empty() => tools,
        _ => configured.tools.clone(),
    };
    let mut tool_params = configured.tool_params.clone();
    if let Some(own) = said("toolParams") {
        for (tool, own) in params_by_tool(own, "payload.toolParams").map_err(of_payload)? {
            let Value::Object(own) = own else { continue };
            match tool_params.get_mut(&tool) {
                Some(Value::Object(params)) => params.extend(own),
                _ => {
                    tool_params.insert(tool, Value::Object(own));
                }
            }
        }
    }
    let mode = match said("toolExecutionMode") {
        Some(mode) => execution_mode(mode, "payload.toolExecutionMode").map_err(of_payload)?,
        None => configured.mode,
    };
    let wrong = |key: &str, what: &str| BuildError::Payload(format!("payload.{key}: expected {what}"));
    let stop_on_error = match said("stopOnError") {
        Some(stop) => stop.as_bool().ok_or_else(|| wrong("stopOnError", "true or false"))?,
        None => configured.stop_on_error,
    };
    let title = match said("title") {
        Some(title) => {
            let line = title.as_str().filter(|title| one_line(title));
            Some(line.ok_or_else(|| wrong("title", "one line of at most 255 letters"))?.to_owned())
        }
        None => None,
    };
    let ignored = FIXED.iter().filter(|key| payload.contains_key(**key)).map(|key| format!("payload.{key}")).collect();
    Ok(Merged { tools, tool_params, mode, stop_on_error, title, ignored })
}

/// The same readers read both; whose fault it is differs.
fn of_payload(error: BuildError) -> BuildError {
    match error {
        BuildError::Descriptor(what) => BuildError::Payload(what),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::needless_pass_by_value)]
    use serde_json::json;

    use super::*;
    use crate::agents::descriptor::read;

    fn configured() -> Configuration {
        let text = json!({ "configuration": {
            "tools": ["a/one", "a/two"],
            "toolParams": { "a/one": { "x": 1, "y": { "deep": 1 } } },
            "stopOnError": false,
            "security": { "allowed_tables": ["t"] },
        } });
        read(&text.to_string()).unwrap()
    }

    fn merged(payload: Value) -> Result<Merged, String> {
        merge(&configured(), payload.as_object().unwrap()).map_err(|error| error.to_string())
    }

    // acceptance 91
    #[test]
    fn a_request_changes_what_it_may() {
        let plain = merged(json!({})).unwrap();
        assert_eq!((plain.tools.len(), plain.mode, plain.stop_on_error), (2, ExecutionMode::Sequential, false));
        assert!(plain.ignored.is_empty());
        let changed = merged(json!({
            "tools": ["b/three"], "toolExecutionMode": "parallel", "stopOnError": true, "title": "T",
            "toolParams": { "a/one": { "y": 2, "z": 3 }, "b/three": { "q": null } },
        }))
        .unwrap();
        assert_eq!(changed.tools, ["b/three"]);
        assert_eq!((changed.mode, changed.stop_on_error), (ExecutionMode::Parallel, true));
        assert_eq!(changed.title.as_deref(), Some("T"));
        assert_eq!(changed.tool_params["a/one"], json!({ "x": 1, "y": 2, "z": 3 }), "key by key, and no deeper");
        assert_eq!(changed.tool_params["b/three"], json!({ "q": null }));
        assert_eq!(merged(json!({ "tools": [] })).unwrap().tools.len(), 2, "none is not fewer");
        assert_eq!(merged(json!({ "toolExecutionMode": "whatever" })).unwrap().mode, ExecutionMode::Sequential);
        let held = merged(json!({ "security": {}, "deliverable": { "format": "text" } })).unwrap();
        assert_eq!(held.ignored, ["payload.security", "payload.deliverable"]);
    }

    #[test]
    fn what_is_of_the_wrong_kind_is_refused() {
        for (payload, said) in [
            (json!({ "tools": "a/one" }), "payload.tools: expected a list of strings"),
            (json!({ "tools": [1] }), "payload.tools[0]: expected a string"),
            (json!({ "toolParams": { "a/one": [] } }), "payload.toolParams.a/one: expected an object"),
            (json!({ "stopOnError": "no" }), "payload.stopOnError: expected true or false"),
            (json!({ "tools": ["a/\0"] }), "payload.tools[0]: expected a string without control characters"),
            (json!({ "title": 7 }), "payload.title: expected one line of at most 255 letters"),
            (json!({ "title": "a\0" }), "payload.title: expected one line of at most 255 letters"),
            (json!({ "title": "a".repeat(256) }), "payload.title: expected one line of at most 255 letters"),
        ] {
            assert_eq!(merged(payload.clone()).unwrap_err(), said, "{payload}");
        }
    }
}
