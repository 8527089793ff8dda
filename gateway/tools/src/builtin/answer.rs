//! The methods of a built-in server, each answered in the shape of the revision that asks.

use gateway_core::Exchange;
use gateway_protocol::revision::meta;
use gateway_protocol::{Request, Revision, RpcError, code};
use serde_json::{Map, Value, json};

use super::{BuiltinResources, BuiltinServer, BuiltinTool, Called, ToolFailure, resources, run_checked};

pub(super) const DISCOVER: &str = "server/discover";
pub(super) const INITIALIZE: &str = "initialize";

/// Tools on one page of a list.
const PAGE: usize = 500;

impl BuiltinServer {
    pub(super) async fn answer(
        &self,
        exchange: &Exchange,
        request: &Request,
        revision: Revision,
    ) -> Result<Value, RpcError> {
        let modern = revision.is_modern();
        let result = match request.method.as_str() {
            DISCOVER if modern => self.discover(),
            INITIALIZE if !modern => self.initialize(request),
            "ping" if !modern => Map::new(),
            "tools/list" => self.list(request, revision)?,
            "tools/call" => self.call_tool(exchange, request, revision).await?,
            method => match &self.resources {
                Some(resources) => library(&**resources, exchange, request, revision).await?,
                None => return Err(unknown(method)),
            },
        };
        Ok(Value::Object(if modern { self.completed(result) } else { result }))
    }

    fn initialize(&self, request: &Request) -> Map<String, Value> {
        let wished = request.params.as_ref().and_then(|params| params.get("protocolVersion")).and_then(Value::as_str);
        let known = wished.and_then(|text| text.parse::<Revision>().ok()).filter(|revision| !revision.is_modern());
        let mut result = Map::new();
        result.insert("protocolVersion".into(), json!(known.unwrap_or(Revision::LATEST_LEGACY)));
        result.insert("capabilities".into(), self.capabilities());
        result.insert("serverInfo".into(), self.info());
        self.instruct(&mut result);
        result
    }

    fn discover(&self) -> Map<String, Value> {
        let mut result = Map::new();
        result.insert("supportedVersions".into(), json!(Revision::ALL));
        result.insert("capabilities".into(), self.capabilities());
        self.instruct(&mut result);
        private(&mut result);
        result
    }

    fn list(&self, request: &Request, revision: Revision) -> Result<Map<String, Value>, RpcError> {
        let start = match request.params.as_ref().and_then(|params| params.get("cursor")) {
            None => 0,
            Some(cursor) => self.place(cursor).ok_or_else(|| RpcError::new(code::INVALID_PARAMS, "Invalid cursor"))?,
        };
        let page = self.tools.iter().skip(start).take(PAGE);
        let tools: Vec<Value> = page.map(|tool| tool.definition().listed(revision)).collect();
        let mut result = Map::new();
        result.insert("tools".into(), Value::Array(tools));
        if start + PAGE < self.tools.len() {
            result.insert("nextCursor".into(), json!(format!("from-{}", start + PAGE)));
        }
        if revision.is_modern() {
            private(&mut result);
        }
        Ok(result)
    }

    /// Only what we gave out is a cursor: the start of a page after the first.
    fn place(&self, cursor: &Value) -> Option<usize> {
        let digits = cursor.as_str()?.strip_prefix("from-")?;
        let start: usize = digits.parse().ok()?;
        let ours = start > 0 && start.is_multiple_of(PAGE) && start < self.tools.len() && digits == start.to_string();
        ours.then_some(start)
    }

    async fn call_tool(
        &self,
        exchange: &Exchange,
        request: &Request,
        revision: Revision,
    ) -> Result<Map<String, Value>, RpcError> {
        let invalid = |message: String| RpcError::new(code::INVALID_PARAMS, message);
        let named = request.tool_name().ok_or_else(|| invalid("`name` must be a string".into()))?;
        let tool = self.judged(exchange).ok_or_else(|| invalid(format!("Unknown tool: {named}")))?;
        let none = Map::new();
        let arguments = match request.params.as_ref().and_then(|params| params.get("arguments")) {
            None => &none,
            Some(Value::Object(arguments)) => arguments,
            Some(_) => return Err(invalid("`arguments` must be an object".into())),
        };
        let call = Called { caller: &exchange.principal, run: exchange.run.as_deref() };
        Ok(match run_checked(tool, call, arguments).await {
            Ok(value) => returned(value, revision),
            Err(failure) => failed(&failure),
        })
    }

    /// What runs is what was judged, whichever form of its name the client used.
    fn judged(&self, exchange: &Exchange) -> Option<&dyn BuiltinTool> {
        let name = &exchange.tool()?.name;
        (name.namespace() == self.namespace.as_str()).then(|| self.tool_named(name.tool()))?
    }

    fn completed(&self, mut result: Map<String, Value>) -> Map<String, Value> {
        result.insert("resultType".into(), json!("complete"));
        result.insert("_meta".into(), json!({ meta::SERVER_INFO: self.info() }));
        result
    }

    fn capabilities(&self) -> Value {
        if self.resources.is_some() { json!({ "tools": {}, "resources": {} }) } else { json!({ "tools": {} }) }
    }

    fn instruct(&self, result: &mut Map<String, Value>) {
        if let Some(text) = &self.instructions {
            result.insert("instructions".into(), json!(text));
        }
    }

    fn info(&self) -> Value {
        json!({ "name": self.name, "version": env!("CARGO_PKG_VERSION") })
    }
}

/// The methods of a server that has something to read.
async fn library(
    resources: &dyn BuiltinResources,
    exchange: &Exchange,
    request: &Request,
    revision: Revision,
) -> Result<Map<String, Value>, RpcError> {
    let mut result = match request.method.as_str() {
        "resources/list" => resources::listed("resources", "uri", &resources.list(), request, revision)?,
        "resources/templates/list" => {
            resources::listed("resourceTemplates", "uriTemplate", &resources.templates(), request, revision)?
        }
        "resources/read" => resources::read(resources, &exchange.principal, request, revision).await?,
        method => return Err(unknown(method)),
    };
    if revision.is_modern() {
        private(&mut result);
    }
    Ok(result)
}

fn unknown(method: &str) -> RpcError {
    RpcError::new(code::METHOD_NOT_FOUND, format!("Method not found: {method}"))
}

/// Nothing to keep: what a caller may see changes with the policies.
fn private(result: &mut Map<String, Value>) {
    result.insert("ttlMs".into(), json!(0));
    result.insert("cacheScope".into(), json!("private"));
}

fn returned(value: Value, revision: Revision) -> Map<String, Value> {
    let mut result = Map::new();
    result.insert("content".into(), text(&value.to_string()));
    if revision >= Revision::V2025_06_18 && value.is_object() {
        result.insert("structuredContent".into(), value);
    }
    result
}

fn failed(failure: &ToolFailure) -> Map<String, Value> {
    let mut result = Map::new();
    result.insert("content".into(), text(&failure.to_string()));
    result.insert("isError".into(), json!(true));
    result
}

fn text(text: &str) -> Value {
    json!([{ "type": "text", "text": text }])
}
