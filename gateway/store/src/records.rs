//! Agents and keys between their rows and the gateway's types, the same for both engines.

use gateway_core::identity::{Principal, PrincipalKind};
use gateway_core::ports::{AgentRecord, AgentStatus, KeyOwner, NewAgent, Registrar, StoreError};
use gateway_core::reach::{KeyScopes, Reach};
use gateway_core::{AgentId, Autonomy, BoxError, DecisionType, Risk, TenantId};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use uuid::Uuid;

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
    pub status: Option<String>,
    pub metadata: Option<Value>,
    pub created_at: Option<String>,
    pub updated_at: Option<String>,
}

impl AgentRow {
    pub fn record(self) -> Result<AgentRecord, BoxError> {
        let metadata = self.metadata.unwrap_or_else(|| json!({}));
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
                roles: roles(&metadata),
                registered_by: registrar(&metadata),
            },
            status: status(self.status.as_deref()),
            metadata,
            created_at: self.created_at.unwrap_or_default(),
            updated_at: self.updated_at.unwrap_or_default(),
        })
    }
}

/// What stands in `metadata.roles`; whatever is not a list of names there names nothing.
fn roles(metadata: &Value) -> Vec<String> {
    let listed = metadata.get("roles").and_then(Value::as_array);
    listed.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// What stands in `metadata.registered_by`.
fn registrar(metadata: &Value) -> Option<Registrar> {
    Registrar::deserialize(metadata.get("registered_by")?).ok()
}

/// The metadata of a new agent.
pub(crate) fn metadata_of(agent: &NewAgent) -> Value {
    let mut metadata = Map::new();
    if !agent.roles.is_empty() {
        metadata.insert("roles".into(), json!(agent.roles));
    }
    if let Some(registrar) = &agent.registered_by {
        metadata.insert("registered_by".into(), json!(registrar));
    }
    Value::Object(metadata)
}

/// One name is the gateway's own: its chain holds what operators did, and an agent of that name would write into it.
pub(crate) fn not_reserved(agent: &AgentId) -> Result<(), StoreError> {
    match agent.is_reserved() {
        true => Err(StoreError::Invalid(format!("`{agent}` is the gateway's own name: choose another agent id"))),
        false => Ok(()),
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
        reach: Reach::Whole,
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
    let KeyScopes { admin, reach, roles, words } = KeyScopes::stored(scopes);
    let principal = Principal {
        kind: if admin { PrincipalKind::Admin } else { PrincipalKind::Agent },
        tenant: tenant.map(TenantId),
        agent: format!("key-{key_id}").parse::<AgentId>()?,
        autonomy: Autonomy::A1,
        allowed_types: Vec::new(),
        max_risk: Risk::R1,
        scopes: words,
        reach,
        roles,
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
