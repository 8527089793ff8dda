//! Questions a server has for its client: in the legacy era requests on the stream, in the modern era an `input_required` result
//! that ends the round and is answered by asking again.

use serde_json::{Map, Value, json};

use super::{Greeting, sampling, with_meta};
use crate::message::{Id, Request};
use crate::revision::{Revision, meta};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InputKind {
    Elicitation,
    Sampling,
    Roots,
}

/// One question under the key its answer will carry.
pub type Input = (String, InputKind, Option<Map<String, Value>>);

#[derive(Debug, Clone, PartialEq)]
pub struct InputRequired {
    /// May be empty: then the server only wants to be asked again.
    pub inputs: Vec<Input>,
    /// Opaque, to be given back as it came.
    pub state: Option<String>,
}

impl InputKind {
    pub const ALL: [Self; 3] = [Self::Elicitation, Self::Sampling, Self::Roots];

    pub fn of(method: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.method() == method)
    }

    pub const fn method(self) -> &'static str {
        match self {
            Self::Elicitation => "elicitation/create",
            Self::Sampling => "sampling/createMessage",
            Self::Roots => "roots/list",
        }
    }

    /// The client capability that allows the question.
    pub const fn capability(self) -> &'static str {
        match self {
            Self::Elicitation => "elicitation",
            Self::Sampling => "sampling",
            Self::Roots => "roots",
        }
    }

    pub fn declared_in(self, capabilities: &Map<String, Value>) -> bool {
        capabilities.get(self.capability()).is_some_and(Value::is_object)
    }

    /// Whether a client with these capabilities may be asked exactly this: a form, a page to visit and a model that may use tools
    /// are declared apart.
    pub fn may_ask(self, params: Option<&Map<String, Value>>, capabilities: &Map<String, Value>) -> bool {
        let Some(declared) = capabilities.get(self.capability()).and_then(Value::as_object) else {
            return false;
        };
        let param = |name: &str| params.and_then(|params| params.get(name));
        match self {
            Self::Elicitation if param("mode").and_then(Value::as_str) == Some("url") => declared.contains_key("url"),
            // Forms came first, so declaring nothing in particular declares them.
            Self::Elicitation => declared.contains_key("form") || !declared.contains_key("url"),
            Self::Sampling => {
                let tools = param("tools").and_then(Value::as_array).is_some_and(|tools| !tools.is_empty());
                !tools || declared.contains_key("tools")
            }
            Self::Roots => true,
        }
    }

    /// Whether this has the shape of an answer to such a question.
    pub fn is_answered_by(self, answer: &Value) -> bool {
        let has = |key: &str, fits: fn(&Value) -> bool| answer.get(key).is_some_and(fits);
        match self {
            Self::Elicitation => {
                let action = answer.get("action").and_then(Value::as_str);
                matches!(action, Some("accept" | "decline" | "cancel"))
                    && answer.get("content").is_none_or(|content| content.is_object() || content.is_null())
            }
            Self::Sampling => {
                has("role", Value::is_string)
                    && has("model", Value::is_string)
                    && has("content", |content| {
                        content.is_object()
                            || content.as_array().is_some_and(|blocks| blocks.iter().all(Value::is_object))
                    })
            }
            Self::Roots => has("roots", Value::is_array),
        }
    }
}

/// The methods during which a server may ask (2026-07-28 names these three).
pub fn may_ask(method: &str) -> bool {
    matches!(method, "tools/call" | "prompts/get" | "resources/read")
}

/// The questions of a modern result. `None` if it has none, or one of a kind that nobody here could pass on.
pub fn input_required(result: &Value) -> Option<InputRequired> {
    if result.get("resultType")?.as_str()? != "input_required" {
        return None;
    }
    let inputs = match result.get("inputRequests") {
        None => Vec::new(),
        Some(asked) => asked.as_object()?.iter().map(|(key, asked)| input(key, asked)).collect::<Option<_>>()?,
    };
    let state = result.get("requestState").and_then(Value::as_str).map(str::to_owned);
    Some(InputRequired { inputs, state })
}

fn input(key: &str, asked: &Value) -> Option<Input> {
    let kind = InputKind::of(asked.get("method")?.as_str()?)?;
    let params = match asked.get("params") {
        None => None,
        Some(params) => Some(params.as_object()?.clone()),
    };
    Some((key.to_owned(), kind, params))
}

/// A modern result that asks these questions, which legacy requests asked before.
pub fn asking(inputs: impl IntoIterator<Item = Input>, state: Option<&str>, server: &Greeting) -> Value {
    let asked: Map<String, Value> = inputs
        .into_iter()
        .map(|(key, kind, params)| {
            let mut asked = json!({ "method": kind.method() });
            if let (Some(params), Value::Object(asked)) = (params.map(modern_params), &mut asked) {
                asked.insert("params".into(), Value::Object(params));
            }
            (key, asked)
        })
        .collect();
    let mut result = Map::from_iter([("resultType".to_owned(), "input_required".into())]);
    if !asked.is_empty() {
        result.insert("inputRequests".into(), Value::Object(asked));
    }
    if let Some(state) = state {
        result.insert("requestState".into(), state.into());
    }
    server.sign(&mut result);
    Value::Object(result)
}

/// Without what only a request on a stream has: a task to run in, a token to report to, an id to be completed under.
fn modern_params(mut params: Map<String, Value>) -> Map<String, Value> {
    params.shift_remove("task");
    params.shift_remove("elicitationId");
    with_meta(&mut params, |given| {
        given.shift_remove(meta::PROGRESS_TOKEN);
    });
    params
}

/// A modern server's question as a request to a legacy client. `None` if that revision has no words for it.
pub fn question(kind: InputKind, params: Option<&Map<String, Value>>, id: Id, to: Revision) -> Option<Request> {
    let params = match kind {
        InputKind::Elicitation => Some(elicitation(params?, &id, to)?),
        InputKind::Sampling => Some(sampling::question(params?, to)?),
        InputKind::Roots => {
            let given = params.and_then(|params| params.get("_meta")).filter(|given| given.is_object());
            given.map(|given| Map::from_iter([("_meta".to_owned(), given.clone())]))
        }
    };
    Some(Request { id, method: kind.method().into(), params })
}

fn elicitation(params: &Map<String, Value>, id: &Id, to: Revision) -> Option<Map<String, Value>> {
    params.get("message")?.as_str()?;
    let mut params = params.clone();
    match params.get("mode").map(Value::as_str) {
        // Before 2025-11-25 there was one mode and no word for it.
        None | Some(Some("form")) if to >= Revision::V2025_06_18 => {
            let schema = params.get("requestedSchema")?.as_object()?;
            if to < Revision::V2025_11_25 {
                let schema = simple_form(schema)?;
                params.insert("requestedSchema".into(), Value::Object(schema));
                params.shift_remove("mode");
            }
        }
        Some(Some("url")) if to >= Revision::V2025_11_25 => {
            params.get("url")?.as_str()?;
            // A modern question has no id of its own; the request's is unique.
            if !to.is_modern() && !params.get("elicitationId").is_some_and(Value::is_string) {
                params.insert("elicitationId".into(), id.to_string().into());
            }
        }
        _ => return None,
    }
    Some(params)
}

/// A form as 2025-06-18 knows it: titled choices are written with `enumNames`, defaults only for yes or no, no lists. A form that
/// insists on a list cannot be asked.
fn simple_form(schema: &Map<String, Value>) -> Option<Map<String, Value>> {
    let mut simple = schema.clone();
    simple.shift_remove("$schema");
    let fields = simple.get("properties")?.as_object()?;
    let needed = |name: &str| {
        let required = schema.get("required").and_then(Value::as_array);
        required.is_some_and(|required| required.iter().any(|field| field == name))
    };
    let mut kept = Map::new();
    for (name, field) in fields {
        let field = field.as_object()?;
        match field.get("type").and_then(Value::as_str) {
            Some("boolean") => drop(kept.insert(name.clone(), Value::Object(field.clone()))),
            Some("string" | "number" | "integer") => {
                kept.insert(name.clone(), Value::Object(simple_field(field.clone())?));
            }
            _ if needed(name) => return None,
            _ => {}
        }
    }
    if kept.is_empty() && !fields.is_empty() {
        return None;
    }
    simple.insert("properties".into(), Value::Object(kept));
    Some(simple)
}

fn simple_field(mut field: Map<String, Value>) -> Option<Map<String, Value>> {
    field.shift_remove("default");
    if let Some(choices) = field.shift_remove("oneOf") {
        let part = |name: &str| -> Option<Value> {
            choices.as_array()?.iter().map(|choice| choice.get(name).cloned().filter(Value::is_string)).collect()
        };
        field.insert("enum".into(), part("const")?);
        field.insert("enumNames".into(), part("title")?);
    }
    Some(field)
}

#[cfg(test)]
mod tests;
