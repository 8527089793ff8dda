//! An MCP server that runs inside the gateway, behind the same port as every other upstream.
//!
//! It is stateless and speaks every revision by itself; `answer` holds the methods, `spec` what a tool says of itself,
//! `check` what its arguments must look like, `resources` what can be read. What the tools do is theirs.

mod answer;
mod check;
mod resources;
mod spec;
#[cfg(test)]
mod tests;

use async_trait::async_trait;
use gateway_core::agents::RunStep;
use gateway_core::names::NameError;
use gateway_core::ports::{Answered, StoreError, Upstream, UpstreamError};
use gateway_core::{Ask, Exchange, Namespace, Permit, Principal};
use gateway_protocol::{Message, Revision, RpcError, code};
use serde_json::{Map, Value};

pub use resources::{BuiltinResources, Contents, ResourceSpec, Unread};
pub use spec::{ToolSpec, annotations};

/// One tool. Its arguments have passed its own input schema before it runs.
#[async_trait]
pub trait BuiltinTool: Send + Sync {
    fn definition(&self) -> &ToolSpec;
    /// The structured result, an object. A failure is told to the model as a tool error.
    async fn run(&self, call: Called<'_>, arguments: &Map<String, Value>) -> Result<Value, ToolFailure>;
}

/// What a tool knows of its call beside the arguments.
#[derive(Debug, Clone, Copy)]
pub struct Called<'a> {
    pub caller: &'a Principal,
    /// The run of a tool agent that it is a step of; never a caller's own word.
    pub run: Option<&'a RunStep>,
}

impl<'a> Called<'a> {
    /// Outside any run.
    pub fn by(caller: &'a Principal) -> Self {
        Self { caller, run: None }
    }
}

/// Whether what stands behind a server's tools answers now.
#[async_trait]
pub trait Ready: Send + Sync {
    async fn ready(&self) -> Result<(), StoreError>;
}

/// Why a tool did not do it, in words for the caller: never an adapter's own error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolFailure(String);

impl ToolFailure {
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

pub struct BuiltinServer {
    namespace: Namespace,
    name: String,
    instructions: Option<String>,
    tools: Vec<Box<dyn BuiltinTool>>,
    resources: Option<Box<dyn BuiltinResources>>,
    ready: Option<Box<dyn Ready>>,
}

impl BuiltinServer {
    pub fn new(
        namespace: &str,
        server_name: &str,
        instructions: Option<&str>,
        tools: Vec<Box<dyn BuiltinTool>>,
    ) -> Result<Self, NameError> {
        Ok(Self {
            namespace: namespace.parse()?,
            name: server_name.into(),
            instructions: instructions.map(Into::into),
            tools,
            resources: None,
            ready: None,
        })
    }

    #[must_use]
    pub fn with_resources(self, resources: impl BuiltinResources + 'static) -> Self {
        Self { resources: Some(Box::new(resources)), ..self }
    }

    /// Asked before a run begins.
    #[must_use]
    pub fn depending_on(self, ready: impl Ready + 'static) -> Self {
        Self { ready: Some(Box::new(ready)), ..self }
    }

    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// The tools' own names, in the order they are listed.
    pub fn tool_names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|tool| tool.definition().name.as_str())
    }

    pub(crate) fn tool_named(&self, name: &str) -> Option<&dyn BuiltinTool> {
        self.tools.iter().find(|tool| tool.definition().name == name).map(AsRef::as_ref)
    }
}

#[async_trait]
impl Upstream for BuiltinServer {
    async fn call(&self, permit: &Permit) -> Result<Answered, UpstreamError> {
        let exchange = permit.exchange();
        let message = match &exchange.ask {
            Ask::Message(message) => message,
            // There is no session to end and nothing to listen to.
            Ask::Listen { .. } | Ask::EndSession => return Ok(Answered::nothing(405)),
        };
        let Message::Request(request) = message else {
            return Ok(Answered::nothing(202));
        };
        let revision = spoken(exchange, message);
        let (status, reply) = match self.answer(exchange, request, revision).await {
            Ok(result) => (200, Message::result(request.id.clone(), result)),
            Err(error) => (error_status(&error, revision), Message::error(Some(request.id.clone()), error)),
        };
        Ok(Answered::one(status, &reply))
    }

    async fn available(&self) -> Result<(), UpstreamError> {
        let Some(ready) = &self.ready else { return Ok(()) };
        ready.ready().await.map_err(|error| UpstreamError::Unreachable(self.namespace.clone(), error.into()))
    }
}

/// What the client said last counts first; a client that never said anything is one of the revision before the header.
fn spoken(exchange: &Exchange, message: &Message) -> Revision {
    let described = || {
        let version = message.meta()?.get(gateway_protocol::revision::meta::PROTOCOL_VERSION)?;
        version.as_str()?.parse().ok()
    };
    // A handshake is a legacy client's, whatever revision it wishes for, unless it describes itself as a modern one.
    if message.method() == Some(answer::INITIALIZE) {
        return described().unwrap_or(Revision::LATEST_LEGACY);
    }
    let negotiated = || exchange.session.as_ref()?.revision();
    // Only modern clients know this method, so that asking it is saying so.
    let asked = || (message.method() == Some(answer::DISCOVER)).then_some(Revision::LATEST);
    exchange.revision.or_else(described).or_else(negotiated).or_else(asked).unwrap_or(Revision::V2025_03_26)
}

/// In a legacy session 404 would mean that the session is gone.
fn error_status(error: &RpcError, revision: Revision) -> u16 {
    if error.code == code::METHOD_NOT_FOUND && revision.is_modern() { 404 } else { 200 }
}

/// Checks the arguments against the tool's own schema, then runs it.
pub(crate) async fn run_checked(
    tool: &dyn BuiltinTool,
    call: Called<'_>,
    arguments: &Map<String, Value>,
) -> Result<Value, ToolFailure> {
    check::arguments(&tool.definition().input_schema, arguments)?;
    tool.run(call, arguments).await
}
