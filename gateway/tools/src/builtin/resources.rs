//! What a built-in server lets be read: its resources, their templates, and how each revision wants to hear of them.

use async_trait::async_trait;
use gateway_core::Principal;
use gateway_protocol::{Request, Revision, RpcError, code};
use serde_json::{Map, Value, json};

use super::ToolFailure;

/// Before the stateless era a missing resource had a code of its own.
const NOT_FOUND_BEFORE: i64 = -32002;

#[async_trait]
pub trait BuiltinResources: Send + Sync {
    fn list(&self) -> Vec<ResourceSpec>;
    fn templates(&self) -> Vec<ResourceSpec>;
    async fn read(&self, caller: &Principal, uri: &str) -> Result<Contents, Unread>;
}

/// A resource, or a template of many: then the URI holds an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceSpec {
    pub uri: String,
    pub name: String,
    pub title: String,
    pub description: String,
    pub mime_type: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    pub mime_type: &'static str,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unread {
    /// There is no such resource for this caller.
    NotThere,
    /// There is, and it cannot be read now: in words for the caller.
    Failed(ToolFailure),
}

impl ResourceSpec {
    fn listed(&self, place: &str, revision: Revision) -> Value {
        let mut entry = Map::from_iter([(place.to_owned(), json!(self.uri)), ("name".to_owned(), json!(self.name))]);
        if revision >= Revision::V2025_06_18 {
            entry.insert("title".into(), json!(self.title));
        }
        entry.insert("description".into(), json!(self.description));
        entry.insert("mimeType".into(), json!(self.mime_type));
        Value::Object(entry)
    }
}

/// Everything fits on one page, so no cursor is ever one of ours.
pub(super) fn listed(
    key: &str,
    place: &str,
    specs: &[ResourceSpec],
    request: &Request,
    revision: Revision,
) -> Result<Map<String, Value>, RpcError> {
    if request.params.as_ref().is_some_and(|params| params.contains_key("cursor")) {
        return Err(RpcError::new(code::INVALID_PARAMS, "Invalid cursor"));
    }
    let entries = specs.iter().map(|spec| spec.listed(place, revision)).collect();
    Ok(Map::from_iter([(key.to_owned(), Value::Array(entries))]))
}

pub(super) async fn read(
    resources: &dyn BuiltinResources,
    caller: &Principal,
    request: &Request,
    revision: Revision,
) -> Result<Map<String, Value>, RpcError> {
    let uri = request.params.as_ref().and_then(|params| params.get("uri")).and_then(Value::as_str);
    let uri = uri.ok_or_else(|| RpcError::new(code::INVALID_PARAMS, "`uri` must be a string"))?;
    let contents = resources.read(caller, uri).await.map_err(|unread| refused(&unread, uri, revision))?;
    let entry = json!({ "uri": uri, "mimeType": contents.mime_type, "text": contents.text });
    Ok(Map::from_iter([("contents".to_owned(), json!([entry]))]))
}

fn refused(unread: &Unread, uri: &str, revision: Revision) -> RpcError {
    let (code, message) = match unread {
        Unread::NotThere if revision.is_modern() => (code::INVALID_PARAMS, "Resource not found".to_owned()),
        Unread::NotThere => (NOT_FOUND_BEFORE, "Resource not found".to_owned()),
        Unread::Failed(failure) => (code::INTERNAL, failure.to_string()),
    };
    RpcError::new(code, message).with_data(json!({ "uri": uri }))
}
