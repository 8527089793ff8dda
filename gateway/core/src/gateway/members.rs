//! Which upstream a message at the aggregated door is for, where it names a prompt or a resource instead of a tool.

use gateway_protocol::Message;
use serde_json::{Map, Value};

use crate::exchange::{Ask, Route};
use crate::names::Namespace;
use crate::ports::ExecutionEngine;

/// Finds the member and puts the name it knows into the message: what is judged is what is sent. What names nobody goes to
/// nobody, and the door itself says so.
pub(super) fn member(route: &Route, ask: &mut Ask, engine: &dyn ExecutionEngine) -> Option<Namespace> {
    let (Route::All, Ask::Message(Message::Request(request))) = (route, ask) else {
        return None;
    };
    let (slot, named) = slot(&request.method, request.params.as_mut()?)?;
    let listed = slot.as_str()?;
    let (member, own) = match named {
        Named::Prompt => engine.resolve_prompt(listed)?,
        Named::Resource => engine.resolve_uri(listed)?,
    };
    *slot = Value::String(own);
    Some(member)
}

enum Named {
    Prompt,
    Resource,
}

/// Where a message has the name that says whose it is.
fn slot<'a>(method: &str, params: &'a mut Map<String, Value>) -> Option<(&'a mut Value, Named)> {
    match method {
        "prompts/get" => Some((params.get_mut("name")?, Named::Prompt)),
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => {
            Some((params.get_mut("uri")?, Named::Resource))
        }
        "completion/complete" => {
            let reference = params.get_mut("ref")?;
            match reference.get("type")?.as_str()? {
                "ref/prompt" => Some((reference.get_mut("name")?, Named::Prompt)),
                "ref/resource" => Some((reference.get_mut("uri")?, Named::Resource)),
                _ => None,
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::names::ToolName;
    use crate::ports::Upstream;

    struct Library;

    impl ExecutionEngine for Library {
        fn upstream(&self, _route: &Route) -> Option<Arc<dyn Upstream>> {
            None
        }

        fn namespaces(&self) -> Vec<Namespace> {
            Vec::new()
        }

        fn resolve(&self, _listed: &str) -> Option<ToolName> {
            None
        }

        fn resolve_prompt(&self, listed: &str) -> Option<(Namespace, String)> {
            Some(("books".parse().unwrap(), listed.strip_prefix("books__")?.into()))
        }

        fn resolve_uri(&self, listed: &str) -> Option<(Namespace, String)> {
            Some(("books".parse().unwrap(), listed.strip_prefix("portreeve://books/")?.into()))
        }
    }

    fn ask(method: &str, params: &Value) -> Ask {
        Ask::Message(Message::request(7, method, params.as_object().cloned()))
    }

    fn params(ask: &Ask) -> Value {
        let Ask::Message(message) = ask else { panic!("a message") };
        Value::Object(message.params().unwrap().clone())
    }

    #[test]
    fn what_names_a_member_goes_there_under_its_own_name() {
        let uri = "portreeve://books/file:///a";
        for (method, given, sent) in [
            (
                "prompts/get",
                json!({ "name": "books__sum", "arguments": {} }),
                json!({ "name": "sum", "arguments": {} }),
            ),
            ("resources/read", json!({ "uri": uri }), json!({ "uri": "file:///a" })),
            ("resources/subscribe", json!({ "uri": uri }), json!({ "uri": "file:///a" })),
            ("resources/unsubscribe", json!({ "uri": uri }), json!({ "uri": "file:///a" })),
            (
                "completion/complete",
                json!({ "ref": { "type": "ref/prompt", "name": "books__sum" }, "argument": { "name": "x" } }),
                json!({ "ref": { "type": "ref/prompt", "name": "sum" }, "argument": { "name": "x" } }),
            ),
            (
                "completion/complete",
                json!({ "ref": { "type": "ref/resource", "uri": "portreeve://books/b://{id}" } }),
                json!({ "ref": { "type": "ref/resource", "uri": "b://{id}" } }),
            ),
        ] {
            let mut all = ask(method, &given);
            let found = member(&Route::All, &mut all, &Library);
            assert_eq!((found, params(&all)), (Some("books".parse().unwrap()), sent), "{method}");
            let mut one = ask(method, &given);
            let found = member(&Route::One("books".parse().unwrap()), &mut one, &Library);
            assert_eq!((found, params(&one)), (None, given), "at its own door an upstream has its own names");
        }
    }

    #[test]
    fn what_names_nobody_is_left_alone() {
        for (method, given) in [
            ("prompts/get", json!({ "name": "sum" })),
            ("prompts/get", json!({ "name": 7 })),
            ("resources/read", json!({ "uri": "file:///a" })),
            ("resources/read", json!({})),
            ("completion/complete", json!({ "ref": { "type": "ref/prompt", "name": "sum" } })),
            ("completion/complete", json!({ "ref": { "type": "other", "name": "books__sum" } })),
            ("tools/call", json!({ "name": "books__sum" })),
            ("prompts/list", json!({ "name": "books__sum" })),
        ] {
            let mut all = ask(method, &given);
            assert_eq!(member(&Route::All, &mut all, &Library), None, "{method}");
            assert_eq!(params(&all), given);
        }
    }
}
