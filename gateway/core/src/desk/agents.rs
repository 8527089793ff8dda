//! Tool agents as people write them, run them and read what they made.
//!
//! A record is checked for its form here; whether it makes sense is found when it is run. Administrators see what is their
//! tenant's; an agent sees the runs that it started or that act as it.

use std::collections::BTreeSet;

use serde_json::json;
use uuid::Uuid;

use super::{Desk, DeskError, Note, Who};
use crate::agents::{Deliverable, NewToolAgent, Task, ToolAgent};
use crate::identity::{Credential, Vouched};
use crate::names::{AgentId, TenantId};
use crate::ports::{Actor, StoreError, Tenant};

/// A tenant with more tool agents than this has made a mistake.
pub const MOST_TOOL_AGENTS: usize = 500;
const LONGEST_NAME: usize = 255;
const LONGEST_YAML: usize = 256 * 1024;
const LARGEST_DOCUMENT: usize = 256 * 1024;
/// The most that a list shows.
const LONGEST_LIST: i64 = 200;
/// How far back an agent's own runs are looked for.
const REMEMBERED: i64 = 1000;

/// Who asks about tool agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asker {
    /// Whoever administers: sees the tenant's.
    Desk(Who),
    /// One of the tenant's agents: sees its own.
    Agent { tenant: TenantId, agent: AgentId },
}

impl Asker {
    fn tenant(&self) -> Option<TenantId> {
        match self {
            Self::Desk(who) => who.tenant(),
            Self::Agent { tenant, .. } => Some(*tenant),
        }
    }

    fn may_see(&self, task: &Task) -> bool {
        match self {
            Self::Desk(who) => who.may_see(Some(task.tenant)),
            Self::Agent { tenant, agent } => {
                task.tenant == *tenant && (task.acts_as == *agent || task.started_by == format!("agent:{agent}"))
            }
        }
    }
}

/// Lets a run act as the tool agent's own agent, for somebody who administers it and has no key that may call tools. Who that
/// agent is and whether it is active is asked anew for each call.
pub fn stand_in(who: &Who, tool_agent: &ToolAgent) -> Result<Actor, DeskError> {
    if !who.may_see(Some(tool_agent.tenant)) {
        return Err(DeskError::NotFound(format!("Agent '{}'", tool_agent.path())));
    }
    let Some(agent) = tool_agent.acts_as.clone() else {
        return Err(DeskError::Conflict("Agent not found or inactive".into()));
    };
    let credential = Credential::Vouched(Vouched::new(tool_agent.tenant, agent.clone()));
    Ok(Actor { credential, acts_as: agent, started_by: who.written() })
}

impl Desk {
    /// Adds or replaces by slug. True: it is new. `acts_as`: whom its runs act as, where an administrator starts them.
    pub async fn put_tool_agent(
        &self,
        who: &Who,
        new: &NewToolAgent,
        acts_as: Option<&AgentId>,
    ) -> Result<(ToolAgent, bool), DeskError> {
        sound(new)?;
        let tenant = self.organization(who.tenant(), &new.organization_slug).await?.id;
        self.room_for(tenant, new).await?;
        let (after, before) = self.agents.put(tenant, new, acts_as, self.clock.now()).await.map_err(missing)?;
        let same = before.as_ref().is_some_and(|before| before.agent == *new && before.acts_as == after.acts_as);
        if !same {
            let act = if before.is_some() { "changed" } else { "added" };
            let context = json!({
                "act": act, "by": who.written(), "tool_agent": new.slug, "acts_as": after.acts_as,
                "before": before.as_ref().map(|before| before.agent.digest()), "after": new.digest(),
            });
            self.write_down(Note::new(Some(tenant), format!("tool agent {} {act}", new.slug)), &context).await?;
        }
        Ok((after, before.is_none()))
    }

    /// Every tool agent of a tenant.
    pub async fn tool_agents(&self, who: &Who, tenant: TenantId) -> Result<Vec<ToolAgent>, DeskError> {
        super::own(who, tenant)?;
        Ok(self.agents.list(tenant).await?)
    }

    /// `organization`: the tenant's name or id.
    pub async fn tool_agent(&self, asker: &Asker, organization: &str, slug: &str) -> Result<ToolAgent, DeskError> {
        let tenant = self.organization(asker.tenant(), organization).await?.id;
        self.agents.get(tenant, slug).await.map_err(|error| match error {
            StoreError::NotFound(_) => DeskError::NotFound(format!("Agent '{organization}/{slug}'")),
            other => other.into(),
        })
    }

    /// Who a run of this tool agent acts as when this caller starts it: an agent as itself, others as the tool agent's own.
    pub async fn actor(
        &self,
        asker: &Asker,
        organization: &str,
        slug: &str,
        credential: &Credential,
    ) -> Result<(TenantId, Actor), DeskError> {
        let found = self.tool_agent(asker, organization, slug).await?;
        let actor = match asker {
            Asker::Desk(who) => stand_in(who, &found)?,
            Asker::Agent { agent, .. } => {
                Actor { credential: credential.clone(), acts_as: agent.clone(), started_by: format!("agent:{agent}") }
            }
        };
        Ok((found.tenant, actor))
    }

    /// The newest first.
    pub async fn tool_tasks(
        &self,
        asker: &Asker,
        organization: &str,
        slug: &str,
        limit: i64,
    ) -> Result<Vec<Task>, DeskError> {
        let tenant = self.organization(asker.tenant(), organization).await?.id;
        let (limit, now) = (limit.clamp(1, LONGEST_LIST), self.clock.now());
        let looked_at = if matches!(asker, Asker::Desk(_)) { limit } else { REMEMBERED };
        let mut tasks = self.agents.tasks(tenant, Some(slug), looked_at).await?;
        tasks.retain(|task| asker.may_see(task));
        tasks.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(tasks.into_iter().map(|task| task.at(now)).collect())
    }

    pub async fn tool_task(&self, asker: &Asker, organization: &str, slug: &str, id: Uuid) -> Result<Task, DeskError> {
        let tenant = self.organization(asker.tenant(), organization).await?.id;
        let task = self.agents.task(tenant, id).await.map_err(missing)?;
        match asker.may_see(&task) && task.agent_slug.as_str() == slug {
            true => Ok(task.at(self.clock.now())),
            false => Err(DeskError::NotFound(format!("task `{id}`"))),
        }
    }

    /// The newest version of each, without what it says.
    pub async fn deliverables(
        &self,
        asker: &Asker,
        tenant: TenantId,
        slug: Option<&str>,
        limit: i64,
    ) -> Result<Vec<Deliverable>, DeskError> {
        sees(asker, tenant)?;
        let limit = limit.clamp(1, LONGEST_LIST);
        if matches!(asker, Asker::Desk(_)) {
            return Ok(self.agents.deliverables(tenant, slug, limit).await?);
        }
        let tasks = self.agents.tasks(tenant, slug, REMEMBERED).await?;
        let own: BTreeSet<Uuid> = tasks.iter().filter(|task| asker.may_see(task)).map(|task| task.id).collect();
        let mut found = self.agents.deliverables(tenant, slug, REMEMBERED).await?;
        found.retain(|one| own.contains(&one.task_id));
        found.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(found)
    }

    pub async fn deliverable(
        &self,
        asker: &Asker,
        tenant: TenantId,
        id: Uuid,
        version: Option<i32>,
    ) -> Result<Deliverable, DeskError> {
        sees(asker, tenant)?;
        let unknown = || DeskError::NotFound(format!("Deliverable '{id}'"));
        let found = self.agents.deliverable(tenant, id, version).await.map_err(|error| match error {
            StoreError::NotFound(_) => unknown(),
            other => other.into(),
        })?;
        let task = self.agents.task(tenant, found.task_id).await.map_err(missing)?;
        match asker.may_see(&task) {
            true => Ok(found),
            false => Err(unknown()),
        }
    }

    /// What is another's does not exist.
    async fn organization(&self, own: Option<TenantId>, name: &str) -> Result<Tenant, DeskError> {
        match self.tenants.tenant(name).await {
            Ok(found) if own.is_none_or(|own| own == found.id) => Ok(found),
            Ok(_) | Err(StoreError::NotFound(_)) => Err(DeskError::NotFound(format!("organization `{name}`"))),
            Err(error) => Err(error.into()),
        }
    }

    async fn room_for(&self, tenant: TenantId, new: &NewToolAgent) -> Result<(), DeskError> {
        let there = self.agents.list(tenant).await?;
        if there.len() < MOST_TOOL_AGENTS || there.iter().any(|one| one.agent.slug == new.slug) {
            return Ok(());
        }
        Err(DeskError::Invalid(format!("slug: the organization has {MOST_TOOL_AGENTS} tool agents already")))
    }
}

fn sees(asker: &Asker, tenant: TenantId) -> Result<(), DeskError> {
    match asker.tenant().is_none_or(|own| own == tenant) {
        true => Ok(()),
        false => Err(DeskError::NotFound(format!("tenant `{tenant}`"))),
    }
}

fn missing(error: StoreError) -> DeskError {
    match error {
        StoreError::NotFound(what) => DeskError::NotFound(what),
        StoreError::Invalid(what) => DeskError::Invalid(what),
        other => other.into(),
    }
}

/// The form of a record: nothing empty that must be there, and nothing without an end. `field: what is wrong`.
fn sound(new: &NewToolAgent) -> Result<(), DeskError> {
    let wrong = |field: &str, what: String| Err(DeskError::Invalid(format!("{field}: {what}")));
    let texts = [
        ("organization_slug", &new.organization_slug),
        ("display_name", &new.display_name),
        ("agent_type", &new.agent_type),
        ("mode_profile", &new.mode_profile),
        ("status", &new.status),
    ];
    for (field, text) in texts {
        if text.trim().is_empty() {
            return wrong(field, "must not be empty".into());
        }
        if text.chars().count() > LONGEST_NAME || text.chars().any(char::is_control) {
            return wrong(field, format!("must be one line of at most {LONGEST_NAME} letters"));
        }
    }
    if new.yaml.len() > LONGEST_YAML {
        return wrong("yaml", format!("must have at most {} KiB", LONGEST_YAML / 1024));
    }
    let documents = [
        ("context", &new.context),
        ("plan_structure", &new.plan_structure),
        ("deliverable_structure", &new.deliverable_structure),
        ("io_schema", &new.io_schema),
        ("config", &new.config),
    ];
    for (field, document) in documents {
        if document.as_ref().is_some_and(|document| document.to_string().len() > LARGEST_DOCUMENT) {
            return wrong(field, format!("must have at most {} KiB", LARGEST_DOCUMENT / 1024));
        }
    }
    for (field, text) in [("description", &new.description), ("version", &new.version)] {
        if text.as_ref().is_some_and(|text| text.len() > LONGEST_YAML) {
            return wrong(field, format!("must have at most {} KiB", LONGEST_YAML / 1024));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::agents::TaskStatus;

    fn new() -> NewToolAgent {
        let written = json!({
            "organization_slug": "demo", "slug": "s", "display_name": "S", "agent_type": "tool", "mode_profile": "m",
            "status": "active", "yaml": "",
        });
        serde_json::from_value(written).unwrap()
    }

    // acceptance 81, acceptance 83: what has no tools can be kept; what is empty or endless cannot.
    #[test]
    fn a_record_is_checked_for_its_form() {
        assert!(sound(&new()).is_ok());
        for (wrong, field) in [
            (NewToolAgent { display_name: " ".into(), ..new() }, "display_name: "),
            (NewToolAgent { status: "a\nb".into(), ..new() }, "status: "),
            (NewToolAgent { agent_type: "x".repeat(256), ..new() }, "agent_type: "),
            (NewToolAgent { yaml: "x".repeat(LONGEST_YAML + 1), ..new() }, "yaml: "),
            (NewToolAgent { config: Some(json!("x".repeat(LARGEST_DOCUMENT))), ..new() }, "config: "),
        ] {
            let said = sound(&wrong).unwrap_err().to_string();
            assert!(said.starts_with(field), "{said}");
        }
    }

    #[test]
    fn an_agent_sees_its_own_runs_and_administrators_their_tenants() {
        let (ours, theirs) = (TenantId(Uuid::from_u128(1)), TenantId(Uuid::from_u128(2)));
        let task = |acts_as: &str, started_by: &str| Task {
            id: Uuid::nil(),
            tenant: ours,
            organization_slug: "demo".into(),
            agent_slug: "s".parse().unwrap(),
            acts_as: acts_as.parse().unwrap(),
            started_by: started_by.into(),
            mode: "build".into(),
            status: TaskStatus::Running,
            conversation_id: None,
            error: None,
            deliverable: None,
            steps: Vec::new(),
            started_at: jiff::Timestamp::UNIX_EPOCH,
            finished_at: None,
            deadline: jiff::Timestamp::UNIX_EPOCH,
        };
        let agent = |tenant| Asker::Agent { tenant, agent: "a-1".parse().unwrap() };
        let administrator =
            |tenant| Asker::Desk(Who::Administrator { tenant, name: "ci".into(), key: "key-1".parse().unwrap() });
        for (asker, task, seen) in [
            (agent(ours), task("a-1", "agent:a-1"), true),
            (agent(ours), task("a-1", "administrator:ci"), true),
            (agent(ours), task("s", "administrator:ci"), false),
            (agent(theirs), task("a-1", "agent:a-1"), false),
            (administrator(ours), task("s", "agent:a-1"), true),
            (administrator(theirs), task("s", "agent:a-1"), false),
        ] {
            assert_eq!(asker.may_see(&task), seen, "{asker:?} {task:?}");
        }
    }
}
