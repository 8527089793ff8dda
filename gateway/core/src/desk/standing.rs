//! Stopping agents, tools, upstreams and tenants, and letting them go on.
//!
//! The row comes first and the trace second: whoever pulls the switch wants it pulled. A trace's id is derived from the row,
//! so that pulling it once more writes what is missing and doubles nothing.

use serde::Serialize;
use uuid::Uuid;

use super::{Desk, DeskError, Note, Who};
use crate::classification::{Classification, DecisionType, Reversibility, Risk};
use crate::digest;
use crate::live::{Suspension, SuspensionKind};
use crate::names::{AgentId, Namespace, TenantId, ToolName, TraceId};
use crate::ports::{NewSuspension, StoreError};

/// Letters of a reason.
pub const LONGEST_REASON: usize = 500;

/// What is to be stopped, or to go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub kind: SuspensionKind,
    /// As a person writes it: an agent's id, `namespace/tool`, a namespace, a tenant's name or id.
    pub subject: String,
    /// `None`: wherever it is. An administrator's is always its own.
    pub tenant: Option<TenantId>,
}

#[derive(Serialize)]
struct Told<'a> {
    act: &'static str,
    by: &'a str,
    kind: SuspensionKind,
    subject: &'a str,
    suspension: Uuid,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<TenantId>,
}

impl Desk {
    /// Refuses everything that the target asks or is asked, on every node, until it is restored.
    pub async fn suspend(&self, who: &Who, target: Target, reason: Option<String>) -> Result<Suspension, DeskError> {
        if reason.as_ref().is_some_and(|reason| reason.chars().count() > LONGEST_REASON) {
            return Err(DeskError::Invalid(format!("a reason has at most {LONGEST_REASON} letters")));
        }
        let target = self.known(who, target).await?;
        let Target { kind, subject, tenant } = target.clone();
        let new = NewSuspension { id: self.clock.fresh_id(), tenant, kind, subject, reason, by: who.written() };
        let id = self.standing.suspend(&new).await?;
        let standing = self.standing.suspensions(tenant).await?.into_iter().find(|one| one.id == id);
        // Restored by somebody else in between: it was stopped, and the trace says so.
        let stopped = standing.unwrap_or(Suspension {
            id,
            tenant,
            kind,
            subject: new.subject.clone(),
            reason: new.reason.clone(),
            by: new.by.clone(),
            since: self.clock.now().to_string(),
        });
        self.tell("suspended", &stopped, &stopped.by, stopped.reason.as_deref()).await?;
        if id != new.id {
            return Err(DeskError::Conflict(format!(
                "{} {} is suspended already, since {}",
                kind, new.subject, stopped.since
            )));
        }
        Ok(stopped)
    }

    /// Ends one suspension.
    pub async fn restore(&self, who: &Who, id: Uuid) -> Result<Suspension, DeskError> {
        let found = self.standing.suspensions(who.tenant()).await?.into_iter().find(|one| one.id == id);
        let Some(found) = found else {
            return Err(DeskError::NotFound(format!("suspension `{id}`")));
        };
        // Whoever runs the gateway may have stopped what a tenant's administrators would rather see going.
        let operators = found.by.starts_with("operator:");
        if operators && !matches!(who, Who::Operator(_)) {
            let what =
                format!("{} {} was suspended by an operator, who alone can restore it", found.kind, found.subject);
            return Err(DeskError::Forbidden(what));
        }
        let by = who.written();
        let lifted = self.standing.lift(id, &by).await.map_err(|error| match error {
            StoreError::NotFound(what) => DeskError::NotFound(what),
            other => other.into(),
        })?;
        self.tell("restored", &lifted, &by, None).await?;
        Ok(lifted)
    }

    /// The same, by what was stopped.
    pub async fn restore_target(&self, who: &Who, target: Target) -> Result<Suspension, DeskError> {
        let Target { kind, subject, tenant } = self.known(who, target).await?;
        let standing = self.standing.suspensions(who.tenant()).await?;
        let found = standing.iter().find(|one| (one.kind, &one.subject, one.tenant) == (kind, &subject, tenant));
        match found {
            Some(found) => self.restore(who, found.id).await,
            None => Err(DeskError::NotFound(format!("a suspension of {kind} {subject}"))),
        }
    }

    /// What is stopped now: everything for an operator, the tenant's own for an administrator.
    pub async fn suspensions(&self, who: &Who) -> Result<Vec<Suspension>, DeskError> {
        Ok(self.standing.suspensions(who.tenant()).await?)
    }

    /// The target as rows name it. What is misspelt is stopped nowhere, so it is better not to say that it was.
    async fn known(&self, who: &Who, target: Target) -> Result<Target, DeskError> {
        let Target { kind, subject, tenant } = target;
        let tenant = who.tenant().or(tenant);
        let named = |error: &dyn std::fmt::Display| DeskError::Invalid(error.to_string());
        match kind {
            SuspensionKind::Tenant => {
                let found = self.tenants.tenant(&subject).await.map_err(missing)?;
                if !who.may_see(Some(found.id)) {
                    return Err(DeskError::NotFound(format!("tenant `{subject}`")));
                }
                // An operator's stands outside the tenant, so that the tenant's administrators cannot end it.
                return Ok(Target { kind, subject: found.id.to_string(), tenant: who.tenant() });
            }
            SuspensionKind::Tool => drop(subject.parse::<ToolName>().map_err(|error| named(&error))?),
            SuspensionKind::Upstream => drop(subject.parse::<Namespace>().map_err(|error| named(&error))?),
            SuspensionKind::Agent => {
                let agent: AgentId = subject.parse().map_err(|error| named(&error))?;
                // A tenant's key without an agent acts under its own id, which no registry holds.
                if !subject.starts_with("key-") && self.homes(&agent, tenant).await?.is_empty() {
                    return Err(DeskError::NotFound(format!("agent `{agent}`")));
                }
            }
        }
        Ok(Target { kind, subject, tenant })
    }

    /// The tenants that have an agent of this name.
    async fn homes(&self, agent: &AgentId, tenant: Option<TenantId>) -> Result<Vec<TenantId>, DeskError> {
        let all = match tenant {
            Some(tenant) => vec![tenant],
            None => self.tenants.tenants().await?.into_iter().map(|tenant| tenant.id).collect(),
        };
        let mut homes = Vec::new();
        for tenant in all {
            match self.tenants.agent(tenant, agent).await {
                Ok(_) => homes.push(tenant),
                Err(StoreError::NotFound(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(homes)
    }

    /// Into the operators' chain, and into that of every agent it concerns.
    async fn tell(&self, act: &'static str, one: &Suspension, by: &str, reason: Option<&str>) -> Result<(), DeskError> {
        let concerned = match one.kind {
            SuspensionKind::Tenant => one.subject.parse().ok().map(TenantId),
            _ => one.tenant,
        };
        let mut chains = vec![(concerned, AgentId::operators())];
        if one.kind == SuspensionKind::Agent
            && let Ok(agent) = one.subject.parse::<AgentId>()
        {
            let homes = self.homes(&agent, one.tenant).await?;
            chains.extend(homes.into_iter().map(|home| (Some(home), agent.clone())));
        }
        let (subject, suspension) = (one.subject.as_str(), one.id);
        for (tenant, agent) in chains {
            let trace_id = derived(suspension, act, tenant, &agent);
            let note = Note {
                agent,
                trace_id: Some(trace_id),
                // Easily undone, and it stops what others decided.
                classification: Some(Classification::new(DecisionType::D2, Risk::R1, Reversibility::Total)),
                reasoning: reason,
                ..Note::new(tenant, format!("{} {subject} {act}", one.kind))
            };
            self.write_down(note, &Told { act, by, kind: one.kind, subject, suspension, tenant: one.tenant }).await?;
        }
        Ok(())
    }
}

fn missing(error: StoreError) -> DeskError {
    match error {
        StoreError::NotFound(what) => DeskError::NotFound(what),
        other => other.into(),
    }
}

/// The same act in the same chain has the same trace.
fn derived(suspension: Uuid, act: &str, tenant: Option<TenantId>, agent: &AgentId) -> TraceId {
    let tenant = tenant.map(|tenant| tenant.to_string()).unwrap_or_default();
    let digest = digest::hex(format!("{suspension}\n{act}\n{tenant}\n{agent}").as_bytes());
    let id = digest.get(..32).and_then(|digits| Uuid::try_parse(digits).ok());
    TraceId::from_uuid(id.unwrap_or(suspension))
}
