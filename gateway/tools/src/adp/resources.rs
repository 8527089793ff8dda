//! What can be read about the gateway's governance: the registry, the policies, the newest traces, the matrix in force, and
//! how all of it is meant (`specs`). Always the caller's own tenant.

mod specs;

use std::sync::Arc;

use async_trait::async_trait;
use gateway_core::matrix::{Authorization, Matrix};
use gateway_core::ports::{AgentPolicyRow, AgentRecord, Ledger, PolicyStore, TenantStore};
use gateway_core::trace::Trace;
use gateway_core::{Autonomy, DecisionType, Principal, Risk, TenantId};
use serde_json::{Map, Value, json};

use super::{CurrentMatrix, unavailable};
use crate::builtin::{BuiltinResources, Contents, ResourceSpec, Unread};

pub const SCHEMES: &[&str] = &["adp"];

const JSON: &str = "application/json";
const MARKDOWN: &str = "text/markdown";
/// As many traces as the seed calls recent.
const RECENT: i64 = 100;

pub(super) struct Books {
    pub(super) tenants: Arc<dyn TenantStore>,
    pub(super) policies: Arc<dyn PolicyStore>,
    pub(super) ledger: Arc<dyn Ledger>,
    pub(super) matrix: CurrentMatrix,
}

#[async_trait]
impl BuiltinResources for Books {
    fn list(&self) -> Vec<ResourceSpec> {
        vec![
            spec("adp://registry", "registry", "Registered agents", "Every agent of this organization.", JSON),
            spec(
                "adp://policies",
                "policies",
                "Active policies",
                "The organization's governance policies in use.",
                JSON,
            ),
            spec(
                "adp://traces",
                "traces",
                "Recent traces",
                "The 100 newest traces of the organization, newest first.",
                JSON,
            ),
            spec(
                "adp://matrix",
                "matrix",
                "Authorization matrix",
                "What each autonomy level may decide, and what no cell overrides.",
                JSON,
            ),
        ]
    }

    fn templates(&self) -> Vec<ResourceSpec> {
        let names: Vec<_> = specs::ALL.iter().map(|(name, _)| *name).collect();
        let about = format!("How the protocol is meant here: {}.", names.join(", "));
        vec![spec("adp://specs/{name}", "specs", "Specifications", &about, MARKDOWN)]
    }

    async fn read(&self, caller: &Principal, uri: &str) -> Result<Contents, Unread> {
        let document = match uri {
            "adp://registry" => json!({ "agents": self.agents(caller.tenant).await? }),
            "adp://policies" => json!({ "policies": self.rules(caller.tenant).await? }),
            "adp://traces" => json!({ "traces": self.traces(caller.tenant).await? }),
            "adp://matrix" => matrix(&(self.matrix)()),
            other => {
                let name = other.strip_prefix("adp://specs/").ok_or(Unread::NotThere)?;
                let text = specs::named(name).ok_or(Unread::NotThere)?;
                return Ok(Contents { mime_type: MARKDOWN, text: text.into() });
            }
        };
        Ok(Contents { mime_type: JSON, text: document.to_string() })
    }
}

/// Whoever has no tenant has no rows: there is nothing to ask for.
impl Books {
    async fn agents(&self, tenant: Option<TenantId>) -> Result<Vec<Value>, Unread> {
        let Some(tenant) = tenant else { return Ok(Vec::new()) };
        let records = self.tenants.agents(tenant).await.map_err(|error| Unread::Failed(unavailable(&error)))?;
        Ok(records.iter().map(agent).collect())
    }

    async fn rules(&self, tenant: Option<TenantId>) -> Result<Vec<Value>, Unread> {
        let Some(tenant) = tenant else { return Ok(Vec::new()) };
        let rows = self.policies.agent_policies(tenant).await.map_err(|error| Unread::Failed(unavailable(&error)))?;
        Ok(rows.iter().filter(|row| row.is_active).map(policy).collect())
    }

    async fn traces(&self, tenant: Option<TenantId>) -> Result<Vec<Value>, Unread> {
        let Some(tenant) = tenant else { return Ok(Vec::new()) };
        let traces = self.ledger.newest(tenant, RECENT).await.map_err(|error| Unread::Failed(unavailable(&error)))?;
        Ok(traces.iter().map(|one| trace(tenant, one)).collect())
    }
}

fn spec(uri: &str, name: &str, title: &str, description: &str, mime_type: &'static str) -> ResourceSpec {
    ResourceSpec { uri: uri.into(), name: name.into(), title: title.into(), description: description.into(), mime_type }
}

/// The registry's fourteen columns, under their own names.
fn agent(record: &AgentRecord) -> Value {
    json!({
        "id": record.id,
        "organization_id": record.tenant,
        "agent_id": record.agent.agent_id,
        "name": record.agent.name,
        "description": record.agent.description,
        "autonomy_level": record.agent.autonomy,
        "allowed_types": record.agent.allowed_types,
        "max_risk": record.agent.max_risk,
        "owner_name": record.agent.owner_name,
        "owner_email": record.agent.owner_email,
        "status": record.status,
        "metadata": record.metadata,
        "created_at": record.created_at,
        "updated_at": record.updated_at,
    })
}

fn policy(row: &AgentPolicyRow) -> Value {
    json!({
        "id": row.id,
        "organization_id": row.tenant,
        "policy_id": row.policy_id,
        "name": row.name,
        "category": row.category,
        "severity": row.severity,
        "rule": row.rule,
        "regulatory_mapping": row.regulatory_mapping,
        "active": row.is_active,
        "mode": row.mode,
        "created_at": row.created_at,
    })
}

/// All that was hashed, its hash and its place; `created_at` is the hashed time under its column's name.
fn trace(tenant: TenantId, trace: &Trace) -> Value {
    let mut row = json!(trace);
    if let Some(fields) = row.as_object_mut() {
        fields.insert("organization_id".into(), json!(tenant));
        fields.insert("created_at".into(), json!(trace.event.timestamp));
    }
    row
}

fn matrix(matrix: &Matrix) -> Value {
    let row = |level: &Autonomy| -> Map<String, Value> {
        let cell = |kind: &DecisionType| (kind.to_string(), json!(matrix.cell(*level, *kind)));
        DecisionType::ALL.iter().map(cell).collect()
    };
    let rows: Map<String, Value> =
        Autonomy::ALL.iter().map(|level| (level.to_string(), Value::Object(row(level)))).collect();
    json!({
        "matrix": rows,
        "overrides": [
            {
                "when": { "decision_type": [DecisionType::D4] },
                "at_least": Authorization::ApprovalRequired,
                "reason": "D4 self-modification always requires human approval",
            },
            {
                "when": { "risk_level": [Risk::R3, Risk::R4] },
                "at_least": Authorization::ApprovalRequired,
                "reason": "Risk R3 or R4 triggers mandatory escalation",
            },
        ],
    })
}

#[cfg(test)]
mod tests;
