//! The Decision Gate as tools: scenarios whose stages open on evidence, their runs, and the packs that prove them.
//!
//! Each tool is a file. What a run does next is the engine's in core; `keeper` fetches, asks and stores around it. Runs are
//! found by the caller's tenant alone, so another's is told in the words of one that never was.

mod define;
mod export;
#[cfg(test)]
mod fakes;
mod keeper;
mod next;
mod query;
mod queue;
mod schema;
mod start;
mod status;
mod submit;
#[cfg(test)]
mod tests;
mod trigger;
mod verify;

use std::collections::BTreeMap;
use std::sync::Arc;

use gateway_core::Principal;
use gateway_core::evidence::EvidenceDesk;
use gateway_core::gate::dispatch::DispatchRules;
use gateway_core::gate::shelf::ShelfError;
use gateway_core::gate::{Fault, Id, Refusal, Scenario};
use gateway_core::names::NameError;
use gateway_core::ports::{GateStore, RunpackShelves, StoreError, TenantStore};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::builtin::{BuiltinServer, BuiltinTool, Called, ToolFailure, run_checked};
use keeper::Gatekeeper;

pub const NAMESPACE: &str = "gate";

const INSTRUCTIONS: &str = "Register a scenario with scenario_define, start a run of it with scenario_start, and ask scenario_next \
(or scenario_trigger, for schedulers and outside events) whether its current stage opens. A hold names the gates that are not \
met; repeat with a new trigger_id once the evidence is there. scenario_status only looks, scenario_submit adds an artifact. \
runpack_export writes a run as files that anybody can check; runpack_verify checks them.";

/// Asked at every call, because the configuration changes while the gateway runs.
pub type CurrentSettings = Arc<dyn Fn() -> Arc<GateSettings> + Send + Sync>;

/// What an operator decides.
pub struct GateSettings {
    /// Who is asked, and how far each is believed.
    pub evidence: EvidenceDesk,
    /// Which packets may go to whom.
    pub dispatch: DispatchRules,
    pub shelves: Arc<dyn RunpackShelves>,
    /// The operator's own scenarios, by their ids: nobody may define another in their place.
    pub files: BTreeMap<String, Arc<Scenario>>,
}

/// What the tools need of the world.
#[derive(Clone)]
pub struct Ports {
    pub runs: Arc<dyn GateStore>,
    pub tenants: Arc<dyn TenantStore>,
    pub settings: CurrentSettings,
}

pub fn server(ports: Ports) -> Result<BuiltinServer, NameError> {
    BuiltinServer::new(NAMESPACE, "portreeve-gate", Some(INSTRUCTIONS), tools(ports))
}

/// One of the tools by its name, for whoever is no MCP client: the command line says the same things with the same words.
pub async fn call(
    server: &BuiltinServer,
    tool: &str,
    caller: &Principal,
    arguments: &Map<String, Value>,
) -> Result<Value, ToolFailure> {
    match server.tool_named(tool) {
        Some(tool) => run_checked(tool, Called::by(caller), arguments).await,
        None => Err(ToolFailure::new(format!("not_found: tool `{tool}`"))),
    }
}

fn tools(ports: Ports) -> Vec<Box<dyn BuiltinTool>> {
    let keeper = Arc::new(Gatekeeper::new(ports));
    let its = || Arc::clone(&keeper);
    vec![
        Box::new(define::Define::new(its())),
        Box::new(start::Start::new(its())),
        Box::new(status::Status::new(its())),
        Box::new(next::Next::new(its())),
        Box::new(submit::Submit::new(its())),
        Box::new(trigger::Trigger::new(its())),
        Box::new(query::Query::new(its())),
        Box::new(export::Export::new(its())),
        Box::new(verify::Verify::new(its())),
    ]
}

impl From<Refusal> for ToolFailure {
    fn from(refusal: Refusal) -> Self {
        Self::new(refusal.to_string())
    }
}

/// A foreign run, one of another scenario and one that never was.
fn unknown(scenario: &Id, run: &Id) -> ToolFailure {
    Refusal::NotFound { scenario: scenario.to_string(), run: run.to_string() }.into()
}

fn invalid(faults: &[Fault]) -> ToolFailure {
    let told: Vec<String> = faults.iter().map(Fault::to_string).collect();
    ToolFailure::new(format!("invalid: {}", told.join("; ")))
}

/// The adapter's error is for the log; the caller learns that it was not its fault.
fn failed(error: StoreError) -> ToolFailure {
    match error {
        StoreError::Exists(what) => ToolFailure::new(format!("conflict: {what} already exists")),
        StoreError::NotFound(what) => ToolFailure::new(format!("not_found: {what}")),
        StoreError::Invalid(what) => ToolFailure::new(format!("invalid: {what}")),
        StoreError::Unavailable(cause) => {
            tracing::warn!(error = %cause, "a gate tool could not reach its store");
            ToolFailure::new("unavailable: the store cannot be reached right now: nothing was done, try again")
        }
    }
}

fn unshelved(field: &str, error: &ShelfError) -> ToolFailure {
    ToolFailure::new(match error {
        ShelfError::Missing => format!("not_found: {field} names no directory"),
        ShelfError::Outside => {
            format!("forbidden_path: {field} must name a directory below one of the gateway's `gate.runpacks`")
        }
        ShelfError::TooLarge(most) => format!("too_large: a file below {field} has more than {most} bytes"),
        ShelfError::Failed(words) => format!("runpack: {field}: {words}"),
    })
}

fn argument<'a>(arguments: &'a Map<String, Value>, name: &str) -> &'a Value {
    arguments.get(name).unwrap_or(&Value::Null)
}

/// A field of the call itself. Those inside `spec`, `request` and the like have readers of their own.
fn typed<T: DeserializeOwned>(arguments: &Map<String, Value>, name: &str) -> Result<T, ToolFailure> {
    T::deserialize(argument(arguments, name)).map_err(|error| ToolFailure::new(format!("invalid: {name}: {error}")))
}

fn written(value: &impl serde::Serialize) -> Result<Value, ToolFailure> {
    serde_json::to_value(value).map_err(|error| ToolFailure::new(format!("invalid: cannot be written: {error}")))
}
