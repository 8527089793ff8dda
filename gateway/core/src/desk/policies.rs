//! Tenants' policies: written, looked at, given another worth, taken away.
//!
//! What cannot be read is refused here, before it is a row: a row that cannot be followed would refuse every call once it is
//! enforced. Every change is in the tenant's operators' chain.

use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use super::{Desk, DeskError, Note, Who, own};
use crate::digest;
use crate::names::TenantId;
use crate::ports::{AccessRow, AgentPolicyRow, NewAccessPolicy, NewAgentPolicy, PolicyKind, RuleType, StoreError};
use crate::rules::{AgentPolicy, WrittenPolicy};
use crate::verdict::PolicyMode;

/// More policies than this are not looked through by anybody.
pub const MOST_POLICIES: usize = 1000;

/// One policy as people see it, whichever table it stands in.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PolicyLine {
    pub kind: PolicyKind,
    pub id: Uuid,
    /// Its `policy_id`, or an access policy's name.
    pub policy: String,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<String>,
    pub mode: PolicyMode,
    pub active: bool,
    /// Everybody's, and not this tenant's to change.
    pub global: bool,
    pub rule: Value,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub regulatory_mapping: Vec<String>,
    /// Why it cannot be followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broken: Option<String>,
}

#[derive(Serialize)]
struct Told<'a> {
    act: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<PolicyMode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<PolicyMode>,
    by: &'a str,
    kind: PolicyKind,
    policy: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule_hash: Option<String>,
}

impl Desk {
    /// The tenant's own and everybody's, those that were taken out of force too.
    pub async fn policies_of(&self, who: &Who, tenant: TenantId) -> Result<Vec<PolicyLine>, DeskError> {
        own(who, tenant)?;
        let mut lines: Vec<_> = self.policies.agent_policies(tenant).await?.into_iter().map(agent_line).collect();
        let access = self.policies.access_policies(tenant).await?;
        lines.extend(access.into_iter().map(|row| self.access_line(row)));
        Ok(lines)
    }

    /// Starts in shadow, whatever it would like.
    pub async fn add_agent_policy(
        &self,
        who: &Who,
        tenant: TenantId,
        policy: &WrittenPolicy,
    ) -> Result<PolicyLine, DeskError> {
        own(who, tenant)?;
        starts_in_shadow(policy.mode)?;
        if policy.id.is_some() {
            return Err(DeskError::Invalid("id: is given when the policy is stored; leave it out".into()));
        }
        AgentPolicy::compile(policy).map_err(|error| DeskError::Invalid(error.to_string()))?;
        if self.policies.agent_policies(tenant).await?.len() >= MOST_POLICIES {
            return Err(DeskError::Conflict(format!("there are {MOST_POLICIES} policies already; remove some first")));
        }
        let new = NewAgentPolicy {
            policy_id: policy.policy_id.clone(),
            name: policy.name.clone(),
            category: policy.category.clone(),
            severity: policy.severity,
            rule: policy.rule.clone(),
            regulatory_mapping: policy.regulatory_mapping.clone(),
        };
        let id = self.policies.add_agent_policy(tenant, &new).await.map_err(|error| match error {
            StoreError::Exists(_) => DeskError::Conflict("Policy ID already exists".into()),
            other => other.into(),
        })?;
        let line = self.line(who, tenant, id).await?;
        self.tell_policy(who, tenant, &line, "added", (None, Some(PolicyMode::Shadow))).await?;
        Ok(line)
    }

    pub async fn add_access_policy(
        &self,
        who: &Who,
        tenant: TenantId,
        policy: &NewAccessPolicy,
    ) -> Result<PolicyLine, DeskError> {
        own(who, tenant)?;
        if policy.name.trim().is_empty() || policy.name.chars().count() > 255 {
            return Err(DeskError::Invalid("name: must have 1 to 255 letters".into()));
        }
        if policy.rule_definition.get("mode").is_some() {
            starts_in_shadow(
                policy.rule_definition.get("mode").and_then(Value::as_str).and_then(|mode| mode.parse().ok()),
            )?;
        }
        self.in_force().0.policies().access.check(policy).map_err(DeskError::Invalid)?;
        let rows = self.policies.access_policies(tenant).await?;
        if rows.iter().any(|row| row.tenant == Some(tenant) && row.name == policy.name) {
            return Err(DeskError::Conflict(format!("an access policy `{}` already exists", policy.name)));
        }
        if rows.len() >= MOST_POLICIES {
            return Err(DeskError::Conflict(format!("there are {MOST_POLICIES} policies already; remove some first")));
        }
        let id = self.policies.add_access_policy(tenant, policy).await?;
        let line = self.line(who, tenant, id).await?;
        self.tell_policy(who, tenant, &line, "added", (None, Some(PolicyMode::Shadow))).await?;
        Ok(line)
    }

    /// `policy` is its `policy_id`, name or id.
    pub async fn set_policy_mode(
        &self,
        who: &Who,
        tenant: TenantId,
        policy: &str,
        mode: PolicyMode,
    ) -> Result<PolicyLine, DeskError> {
        let found = self.policy_named(who, tenant, policy).await?;
        if let Some(why) = found.broken.as_ref().filter(|_| mode == PolicyMode::Enforce) {
            let what = format!("{policy} cannot be followed, and enforced it would refuse every call: {why}");
            return Err(DeskError::Invalid(what));
        }
        let by = who.written();
        self.policies.set_policy_mode(tenant, found.kind, found.id, mode, &by).await?;
        self.tell_policy(who, tenant, &found, "mode", (Some(found.mode), Some(mode))).await?;
        Ok(PolicyLine { mode, ..found })
    }

    /// An agent policy is kept and no longer heard; an access policy goes.
    pub async fn remove_policy(&self, who: &Who, tenant: TenantId, policy: &str) -> Result<PolicyLine, DeskError> {
        let found = self.policy_named(who, tenant, policy).await?;
        match found.kind {
            PolicyKind::Agent => self.policies.set_agent_policy_active(tenant, found.id, false).await?,
            PolicyKind::Access => self.policies.remove_access_policy(tenant, found.id).await?,
        }
        self.tell_policy(who, tenant, &found, "removed", (Some(found.mode), None)).await?;
        Ok(PolicyLine { active: false, ..found })
    }

    /// One of the tenant's own, by its `policy_id`, name or id.
    pub async fn policy_named(&self, who: &Who, tenant: TenantId, policy: &str) -> Result<PolicyLine, DeskError> {
        let unknown = || DeskError::NotFound(format!("policy `{policy}`"));
        let lines = self.policies_of(who, tenant).await?;
        let mut found = lines.into_iter().filter(|line| line.policy == policy || line.id.to_string() == policy);
        let first = found.find(|line| !line.global);
        let Some(first) = first else { return Err(unknown()) };
        match found.find(|line| !line.global) {
            Some(_) => Err(DeskError::Conflict(format!("there are several policies `{policy}`: name one by its id"))),
            None => Ok(first),
        }
    }

    async fn line(&self, who: &Who, tenant: TenantId, id: Uuid) -> Result<PolicyLine, DeskError> {
        let lines = self.policies_of(who, tenant).await?;
        lines.into_iter().find(|line| line.id == id).ok_or_else(|| DeskError::NotFound(format!("policy `{id}`")))
    }

    fn access_line(&self, row: AccessRow) -> PolicyLine {
        let written = row.rule_definition.get("mode").and_then(Value::as_str).and_then(|mode| mode.parse().ok());
        let mode = row.mode.or(written).unwrap_or(PolicyMode::Enforce);
        let broken = match row.rule_type.parse::<RuleType>() {
            Err(error) => Some(format!("rule_type: {error}")),
            Ok(rule_type) => {
                let rule_definition = row.rule_definition.clone();
                let policy = NewAccessPolicy { name: row.name.clone(), rule_type, rule_definition };
                self.in_force().0.policies().access.check(&policy).err()
            }
        };
        PolicyLine {
            kind: PolicyKind::Access,
            id: row.id,
            policy: row.name.clone(),
            name: row.name,
            category: Some(row.rule_type),
            severity: None,
            mode,
            active: row.is_active,
            global: row.tenant.is_none(),
            rule: row.rule_definition,
            regulatory_mapping: Vec::new(),
            broken,
        }
    }

    async fn tell_policy(
        &self,
        who: &Who,
        tenant: TenantId,
        line: &PolicyLine,
        act: &'static str,
        (before, after): (Option<PolicyMode>, Option<PolicyMode>),
    ) -> Result<(), DeskError> {
        let description = match (act, after) {
            ("mode", Some(mode)) => format!("policy {} set to {mode}", line.policy),
            _ => format!("policy {} {act}", line.policy),
        };
        let rule_hash = serde_json_canonicalizer::to_vec(&line.rule).ok().map(|rule| digest::named(&rule));
        let told = Told { act, after, before, by: &who.written(), kind: line.kind, policy: &line.policy, rule_hash };
        self.write_down(Note::new(Some(tenant), description), &told).await?;
        Ok(())
    }
}

fn starts_in_shadow(mode: Option<PolicyMode>) -> Result<(), DeskError> {
    match mode {
        None | Some(PolicyMode::Shadow) => Ok(()),
        Some(mode) => {
            let what = format!("mode: a new policy starts in shadow; look at what it says, then set it to {mode}");
            Err(DeskError::Invalid(what))
        }
    }
}

fn agent_line(row: AgentPolicyRow) -> PolicyLine {
    let severity = row.severity.as_deref().map(str::parse).transpose();
    let read = severity.map_err(|error| format!("severity: {error}")).and_then(|severity| {
        let written = WrittenPolicy {
            id: Some(row.id),
            policy_id: row.policy_id.clone(),
            name: row.name.clone(),
            category: row.category.clone(),
            severity,
            rule: row.rule.clone(),
            regulatory_mapping: Vec::new(),
            mode: None,
        };
        AgentPolicy::compile(&written).map_err(|error| error.to_string())
    });
    PolicyLine {
        kind: PolicyKind::Agent,
        id: row.id,
        policy: row.policy_id,
        name: row.name,
        category: row.category,
        severity: row.severity,
        mode: row.mode,
        active: row.is_active,
        global: row.tenant.is_none(),
        rule: row.rule,
        regulatory_mapping: row.regulatory_mapping,
        broken: read.err(),
    }
}
