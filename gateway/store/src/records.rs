//! Agents and keys between their rows and the gateway's types, the same for both engines.

use gateway_core::identity::{Principal, PrincipalKind};
use gateway_core::ports::{AgentRecord, AgentStatus, KeyOwner, NewAgent, StoreError};
use gateway_core::{AgentId, Autonomy, BoxError, DecisionType, Risk, TenantId};
use uuid::Uuid;

/// The scope that makes a tenant key an administrator's.
const ADMIN: &str = "admin";

/// An `agent_registry` row as its texts.
pub(crate) struct AgentRow {
    pub id: Uuid,
    pub organization_id: Uuid,
    pub agent_id: String,
    pub name: String,
    pub description: Option<String>,
    pub autonomy_level: String,
    pub allowed_types: Vec<String>,
    pub max_risk: Option<String>,
    pub owner_name: Option<String>,
    pub owner_email: Option<String>,
    /// `metadata`, of which `roles` is ours to read.
    pub metadata: Option<serde_json::Value>,
    pub status: Option<String>,
    pub created_at: Option<String>,
}

impl AgentRow {
    pub fn record(self) -> Result<AgentRecord, BoxError> {
        Ok(AgentRecord {
            id: self.id,
            tenant: TenantId(self.organization_id),
            agent: NewAgent {
                agent_id: self.agent_id.parse()?,
                name: self.name,
                description: self.description,
                autonomy: self.autonomy_level.parse()?,
                allowed_types: self
                    .allowed_types
                    .iter()
                    .map(|kind| kind.parse())
                    .collect::<Result<Vec<DecisionType>, _>>()?,
                // No limit was stored: the smallest one holds.
                max_risk: self.max_risk.map_or(Ok(Risk::R1), |risk| risk.parse())?,
                owner_name: self.owner_name,
                owner_email: self.owner_email,
                roles: roles(self.metadata.as_ref()),
            },
            status: status(self.status.as_deref()),
            created_at: self.created_at.unwrap_or_default(),
        })
    }
}

/// Metadata is anybody's to write: what is not a list of texts gives no role.
fn roles(metadata: Option<&serde_json::Value>) -> Vec<String> {
    let listed = metadata.and_then(|metadata| metadata.get("roles")).and_then(serde_json::Value::as_array);
    listed.into_iter().flatten().filter_map(|role| role.as_str().map(str::to_owned)).collect()
}

/// What is put into `metadata` for these roles; whatever else stands there stays.
pub(crate) fn roles_metadata(roles: &[String]) -> serde_json::Value {
    serde_json::json!({ "roles": roles })
}

/// A new agent's whole `metadata`.
pub(crate) fn first_metadata(agent: &NewAgent) -> serde_json::Value {
    if agent.roles.is_empty() { serde_json::json!({}) } else { roles_metadata(&agent.roles) }
}

/// The operators' chain is nobody's name.
pub(crate) fn not_reserved(agent: &NewAgent) -> Result<(), StoreError> {
    match agent.agent_id.is_reserved() {
        true => Err(StoreError::Invalid(format!("`{}` is the name of the operators' own chain", agent.agent_id))),
        false => Ok(()),
    }
}

/// An update that met no row named an agent that is not there.
pub(crate) fn met(rows: u64, agent: &AgentId) -> Result<(), StoreError> {
    match rows {
        0 => Err(StoreError::NotFound(format!("agent `{agent}`"))),
        _ => Ok(()),
    }
}

/// A status that cannot be read admits nobody.
pub(crate) fn status(text: Option<&str>) -> AgentStatus {
    match text {
        Some("active") => AgentStatus::Active,
        Some("suspended") => AgentStatus::Suspended,
        _ => AgentStatus::Revoked,
    }
}

pub(crate) fn status_text(status: AgentStatus) -> &'static str {
    match status {
        AgentStatus::Active => "active",
        AgentStatus::Suspended => "suspended",
        AgentStatus::Revoked => "revoked",
    }
}

pub(crate) fn type_texts(types: &[DecisionType]) -> Vec<&'static str> {
    types.iter().map(|kind| kind.as_str()).collect()
}

/// Who an agent acts as, whichever key it showed.
pub(crate) fn agent_principal(record: &AgentRecord) -> Principal {
    Principal {
        kind: PrincipalKind::Agent,
        tenant: Some(record.tenant),
        agent: record.agent.agent_id.clone(),
        autonomy: record.agent.autonomy,
        allowed_types: record.agent.allowed_types.clone(),
        max_risk: record.agent.max_risk,
        scopes: Vec::new(),
        scoped: false,
        roles: record.agent.roles.clone(),
        owner: record.agent.owner_email.clone().or_else(|| record.agent.owner_name.clone()),
    }
}

pub(crate) fn agent_key(key_id: Uuid, key_hash: String, revoked: bool, agent: AgentRow) -> Result<KeyOwner, BoxError> {
    let record = agent.record()?;
    let principal = agent_principal(&record);
    Ok(KeyOwner { key_id, key_hash, principal, key_active: !revoked, agent_status: record.status })
}

/// A tenant key is nobody's agent: it acts under its own id, with the lowest autonomy, inside its scopes.
pub(crate) fn tenant_key(
    key_id: Uuid,
    key_hash: String,
    tenant: Option<Uuid>,
    scopes: Vec<String>,
    active: bool,
) -> Result<KeyOwner, BoxError> {
    let admin = scopes.iter().any(|scope| scope == ADMIN);
    let principal = Principal {
        kind: if admin { PrincipalKind::Admin } else { PrincipalKind::Agent },
        tenant: tenant.map(TenantId),
        agent: format!("key-{key_id}").parse::<AgentId>()?,
        autonomy: Autonomy::A1,
        allowed_types: Vec::new(),
        max_risk: Risk::R1,
        scopes,
        scoped: false,
        roles: Vec::new(),
        owner: None,
    };
    // A key without a tenant opens nothing.
    Ok(KeyOwner {
        key_id,
        key_hash,
        principal,
        key_active: active && tenant.is_some(),
        agent_status: AgentStatus::Active,
    })
}
