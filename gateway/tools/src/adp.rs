//! The Agent Decision Protocol as tools: who agents are, what they may decide, and the chain of what they did decide.
//!
//! Each tool is a file. They govern the gateway, so no mode gate stands before them and no automatic trace behind them;
//! whom a tool serves is checked in the tool.

mod add_policy;
mod authorize;
mod classify;
mod evaluate_policy;
#[cfg(test)]
mod fakes;
mod log_trace;
mod register_agent;
mod resources;
mod validate;
mod verify_chain;

use std::sync::Arc;

use gateway_core::classification::{Autonomy, DecisionType, Reversibility, Risk};
use gateway_core::matrix::Matrix;
use gateway_core::names::NameError;
use gateway_core::ports::{AgentRecord, AgentStatus, AuditBuffer, Clock, Ledger, PolicyStore, StoreError, TenantStore};
use gateway_core::{AgentId, Principal, TenantId};
use serde_json::{Value, json};

use crate::builtin::{BuiltinServer, BuiltinTool, ToolFailure};

pub use resources::SCHEMES;

pub const NAMESPACE: &str = "adp";

const INSTRUCTIONS: &str = "Classify a decision with adp_classify, ask adp_authorize whether you may take it, and write it down \
with adp_log_trace. Ask adp_evaluate_policy whether the organization's policies are kept. Each trace is hashed onto the one \
before; adp_verify_chain checks that nothing was changed. Read adp://specs/{name} for how all of this is meant.";

/// 32 fresh random bytes.
pub type Random = Arc<dyn Fn() -> [u8; 32] + Send + Sync>;

/// Asked at every call, because policies change while the gateway runs.
pub type CurrentMatrix = Arc<dyn Fn() -> Arc<Matrix> + Send + Sync>;

/// What the tools need of the world.
#[derive(Clone)]
pub struct Ports {
    pub tenants: Arc<dyn TenantStore>,
    pub audit: Arc<dyn AuditBuffer>,
    pub ledger: Arc<dyn Ledger>,
    pub policies: Arc<dyn PolicyStore>,
    pub clock: Arc<dyn Clock>,
    pub random: Random,
    /// The matrix in force right now.
    pub matrix: CurrentMatrix,
}

pub fn server(ports: Ports) -> Result<BuiltinServer, NameError> {
    let Ports { tenants, policies, ledger, matrix, .. } = ports.clone();
    let books = resources::Books { tenants, policies, ledger, matrix };
    Ok(BuiltinServer::new(NAMESPACE, "portreeve-adp", Some(INSTRUCTIONS), tools(ports))?.with_resources(books))
}

fn tools(ports: Ports) -> Vec<Box<dyn BuiltinTool>> {
    let Ports { tenants, audit, ledger, policies, clock, random, matrix } = ports;
    vec![
        Box::new(register_agent::RegisterAgent::new(Arc::clone(&tenants), random)),
        Box::new(classify::Classify::new()),
        Box::new(authorize::Authorize::new(Arc::clone(&tenants), matrix)),
        Box::new(log_trace::LogTrace::new(Arc::clone(&tenants), Arc::clone(&audit), Arc::clone(&clock))),
        Box::new(evaluate_policy::EvaluatePolicy::new(Arc::clone(&tenants), Arc::clone(&policies))),
        Box::new(validate::Validate::new()),
        Box::new(add_policy::AddPolicy::new(policies, audit, clock)),
        Box::new(verify_chain::VerifyChain::new(tenants, ledger)),
    ]
}

/// The same words for an agent that is unknown, another tenant's or suspended: nobody learns which.
const NOT_FOUND: &str = "Agent not found or inactive";

async fn registered(store: &dyn TenantStore, caller: &Principal, agent: &str) -> Result<AgentRecord, ToolFailure> {
    let (Some(tenant), Ok(agent)) = (caller.tenant, agent.parse::<AgentId>()) else {
        return Err(ToolFailure::new(NOT_FOUND));
    };
    store.agent(tenant, &agent).await.map_err(|error| match error {
        StoreError::NotFound(_) => ToolFailure::new(NOT_FOUND),
        other => unavailable(&other),
    })
}

async fn active(store: &dyn TenantStore, caller: &Principal, agent: &str) -> Result<AgentRecord, ToolFailure> {
    let record = registered(store, caller, agent).await?;
    match record.status {
        AgentStatus::Active => Ok(record),
        AgentStatus::Suspended | AgentStatus::Revoked => Err(ToolFailure::new(NOT_FOUND)),
    }
}

/// The tenant whose administrator asks.
fn administered(caller: &Principal) -> Result<TenantId, ToolFailure> {
    match caller.tenant {
        Some(tenant) if caller.is_admin() => Ok(tenant),
        _ => Err(ToolFailure::new("adp_register_agent needs an administrator's key")),
    }
}

/// The adapter's error is for the log; the caller learns that it was not its fault.
fn unavailable(error: &(dyn std::error::Error + 'static)) -> ToolFailure {
    let cause = error.source().map(ToString::to_string).unwrap_or_default();
    tracing::warn!(error = %error, cause, "an adp tool could not reach its store");
    ToolFailure::new("the registry cannot be reached right now: nothing was done, try again")
}

fn field<'a>(arguments: &'a serde_json::Map<String, Value>, name: &str) -> Option<&'a str> {
    arguments.get(name).and_then(Value::as_str)
}

/// A value of one of the scales, read where the schema has already named the wrong ones.
fn on_scale<T: std::str::FromStr<Err: std::fmt::Display>>(name: &str, text: &str) -> Result<T, ToolFailure> {
    text.parse().map_err(|error| ToolFailure::new(format!("Invalid {name}: {error}")))
}

fn missing(name: &str) -> ToolFailure {
    ToolFailure::new(format!("Missing required fields: {name}"))
}

fn agent_id_schema() -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": 255, "description": "The agent's id inside its tenant." })
}

fn autonomy_schema() -> Value {
    let names: Vec<_> = Autonomy::ALL.iter().map(|level| level.as_str()).collect();
    let text = "A1 informational, A2 advisory, A3 co-piloted, A4 supervised, A5 autonomous.";
    json!({ "type": "string", "enum": names, "description": text })
}

fn decision_type_schema() -> Value {
    let names: Vec<_> = DecisionType::ALL.iter().map(|kind| kind.as_str()).collect();
    let text = "D1 operational, D2 tactical, D3 strategic, D4 self-modification.";
    json!({ "type": "string", "enum": names, "description": text })
}

fn risk_schema() -> Value {
    let names: Vec<_> = Risk::ALL.iter().map(|risk| risk.as_str()).collect();
    json!({ "type": "string", "enum": names, "description": "R1 low, R2 moderate, R3 high, R4 critical." })
}

fn reversibility_schema() -> Value {
    let names: Vec<_> = Reversibility::ALL.iter().map(|class| class.as_str()).collect();
    json!({ "type": "string", "enum": names, "description": "How far the decision can be taken back." })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::adp::fakes::Registry;

    // acceptance 6: exactly these eight, in the seed's order, each with an object schema.
    #[test]
    fn the_tools_keep_the_seeds_names() {
        let server = server(Registry::default().ports()).unwrap();
        let expected = [
            "adp_register_agent",
            "adp_classify",
            "adp_authorize",
            "adp_log_trace",
            "adp_evaluate_policy",
            "adp_validate",
            "adp_add_policy",
            "adp_verify_chain",
        ];
        assert_eq!(server.tool_names().collect::<Vec<_>>(), expected);
        for tool in tools(Registry::default().ports()) {
            assert_eq!(tool.definition().input_schema.get("type"), Some(&json!("object")));
            assert_eq!(
                tool.definition().output_schema.as_ref().and_then(|schema| schema.get("type")),
                Some(&json!("object"))
            );
        }
    }
}
