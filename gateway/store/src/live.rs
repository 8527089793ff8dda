//! Live rows between their columns and the gateway's types, the same for both engines.
//!
//! A row that cannot be read as what it should be is left out and named in the log: one row made by hand must not keep every
//! node from learning of the next suspension. What is left out classifies nothing, pins nothing and names no caller.

use gateway_core::definitions::Finding;
use gateway_core::live::{Suspension, SuspensionKind};
use gateway_core::ports::{AccessRow, AgentPolicyRow, DlpRow, ManifestRow, PinRow, PinState, StoreError};
use gateway_core::verdict::PolicyMode;
use gateway_core::{BoxError, TenantId};
use serde_json::Value;
use uuid::Uuid;

/// A row of this table, or a line in the log.
pub(crate) fn left_out<T>(table: &str, row: Result<T, BoxError>) -> Option<T> {
    row.inspect_err(|error| {
        tracing::error!(
            error = error.as_ref() as &dyn std::error::Error,
            table,
            "a row cannot be read and is left out"
        );
    })
    .ok()
}

/// The columns of an `agent_policies` row with its mode.
pub(crate) struct PolicyColumns {
    pub id: Uuid,
    pub tenant: Option<Uuid>,
    pub policy_id: String,
    pub name: String,
    pub category: Option<String>,
    pub severity: Option<String>,
    pub rule: Value,
    pub regulatory_mapping: Vec<String>,
    pub mode: Option<String>,
    pub created_at: Option<String>,
}

impl PolicyColumns {
    pub fn row(self) -> Result<AgentPolicyRow, BoxError> {
        Ok(AgentPolicyRow {
            id: self.id,
            tenant: self.tenant.map(TenantId),
            policy_id: self.policy_id,
            name: self.name,
            category: self.category,
            severity: self.severity,
            rule: self.rule,
            regulatory_mapping: self.regulatory_mapping,
            is_active: true,
            mode: mode(self.mode)?.unwrap_or(PolicyMode::Shadow),
            created_at: self.created_at.unwrap_or_default(),
        })
    }
}

/// The columns of a `dlp_config` row that is active.
pub(crate) fn dlp(id: Uuid, tenant: Option<Uuid>, name: String, patterns: Value, severity: Option<String>) -> DlpRow {
    DlpRow { id, tenant: tenant.map(TenantId), name, patterns, severity, is_active: true }
}

/// Of a `dlp_config` row that names none, as the table has it.
pub(crate) const USUAL_SEVERITY: &str = "medium";

pub(crate) fn dlp_gone(config: Uuid) -> StoreError {
    StoreError::NotFound(format!("dlp config `{config}`"))
}

fn mode(text: Option<String>) -> Result<Option<PolicyMode>, BoxError> {
    Ok(text.map(|text| text.parse()).transpose()?)
}

/// The mode that stood in `policy_modes`.
pub(crate) fn read_mode(text: Option<String>) -> Result<Option<PolicyMode>, BoxError> {
    mode(text)
}

/// Who gives a new access policy its first mode.
pub(crate) const BORN_IN: &str = "portreeve";

pub(crate) fn policy_gone(policy: Uuid) -> StoreError {
    StoreError::NotFound(format!("policy `{policy}`"))
}

pub(crate) fn access(
    id: Uuid,
    tenant: Option<Uuid>,
    name: String,
    rule_type: String,
    rule_definition: Value,
    given: Option<String>,
) -> Result<AccessRow, BoxError> {
    let (tenant, mode) = (tenant.map(TenantId), mode(given)?);
    Ok(AccessRow { id, tenant, name, rule_type, rule_definition, is_active: true, mode })
}

/// The columns of a `tool_manifests` row.
pub(crate) struct ManifestColumns {
    pub tenant: Uuid,
    pub tool: String,
    pub manifest: Value,
    pub handling: Option<Value>,
    pub metadata: Option<Value>,
    pub written_by: String,
    pub written_at: String,
}

impl ManifestColumns {
    pub fn row(self) -> Result<ManifestRow, BoxError> {
        Ok(ManifestRow {
            tenant: TenantId(self.tenant),
            tool: self.tool.parse()?,
            manifest: self.manifest,
            handling: self.handling,
            metadata: self.metadata,
            written_by: self.written_by,
            written_at: self.written_at,
        })
    }
}

/// The columns of a `tool_pins` row.
pub(crate) struct PinColumns {
    pub tool: String,
    pub hash: String,
    pub state: String,
    pub definition: Value,
    pub findings: Value,
    pub seen_from: Option<String>,
    pub by: Option<String>,
    pub at: String,
}

impl PinColumns {
    pub fn row(self) -> Result<PinRow, BoxError> {
        Ok(PinRow {
            tool: self.tool.parse()?,
            hash: self.hash,
            // A state that cannot be read is not an accepted one.
            state: if self.state == "accepted" { PinState::Accepted } else { PinState::Quarantined },
            definition: self.definition,
            findings: serde_json::from_value::<Vec<Finding>>(self.findings)?,
            seen_from: self.seen_from,
            by: self.by,
            at: self.at,
        })
    }
}

/// The columns of a `suspensions` row that is not lifted.
pub(crate) struct SuspensionColumns {
    pub id: Uuid,
    pub tenant: Option<Uuid>,
    pub kind: String,
    pub subject: String,
    pub reason: Option<String>,
    pub by: String,
    pub since: String,
}

impl SuspensionColumns {
    pub fn row(self) -> Result<Suspension, BoxError> {
        Ok(Suspension {
            id: self.id,
            tenant: self.tenant.map(TenantId),
            kind: self.kind.parse::<SuspensionKind>()?,
            subject: self.subject,
            reason: self.reason,
            by: self.by,
            since: self.since,
        })
    }
}
