//! What the rows of tool agents have in common on both engines: every column is read as text, in one order.

use gateway_core::agents::{Deliverable, DeliverableVersion, NewToolAgent, Slug, Task, ToolAgent};
use gateway_core::ports::StoreError;
use gateway_core::{AgentId, BoxError, TenantId};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use crate::failure::{not_added, unavailable};

/// The most that one question is answered with.
pub(crate) const LONGEST_LIST: i64 = 1000;

/// How often somebody else may write the same version first.
pub(crate) const VERSION_RACES: usize = 5;

/// Read columns by their place.
type Column<'a> = &'a dyn Fn(usize) -> Result<Option<String>, BoxError>;

#[derive(Debug, thiserror::Error)]
#[error("column {0} is empty")]
struct Empty(usize);

fn filled(column: Column<'_>, at: usize) -> Result<String, BoxError> {
    column(at)?.ok_or_else(|| Empty(at).into())
}

fn json(column: Column<'_>, at: usize) -> Result<Option<Value>, BoxError> {
    Ok(column(at)?.map(|text| serde_json::from_str(&text)).transpose()?)
}

/// `id tenant_id organization_slug slug display_name agent_type mode_profile status yaml description context plan_structure
/// deliverable_structure io_schema config version acts_as created_at updated_at`
pub(crate) fn tool_agent(column: Column<'_>) -> Result<ToolAgent, BoxError> {
    Ok(ToolAgent {
        id: filled(column, 0)?.parse()?,
        tenant: TenantId(filled(column, 1)?.parse()?),
        agent: NewToolAgent {
            organization_slug: filled(column, 2)?,
            slug: filled(column, 3)?.parse::<Slug>()?,
            display_name: filled(column, 4)?,
            agent_type: filled(column, 5)?,
            mode_profile: filled(column, 6)?,
            status: filled(column, 7)?,
            yaml: filled(column, 8)?,
            description: column(9)?,
            context: json(column, 10)?,
            plan_structure: json(column, 11)?,
            deliverable_structure: json(column, 12)?,
            io_schema: json(column, 13)?,
            config: json(column, 14)?,
            version: column(15)?,
        },
        acts_as: column(16)?.map(|agent| agent.parse::<AgentId>()).transpose()?,
        created_at: filled(column, 17)?,
        updated_at: filled(column, 18)?,
    })
}

/// `id tenant_id organization_slug agent_slug acts_as started_by mode status conversation_id error deliverable_id
/// deliverable_version steps started_at deadline finished_at`
pub(crate) fn task(column: Column<'_>) -> Result<Task, BoxError> {
    let deliverable = match (column(10)?, column(11)?) {
        (Some(id), Some(version)) => Some(DeliverableVersion { id: id.parse()?, version: version.parse()? }),
        _ => None,
    };
    Ok(Task {
        id: filled(column, 0)?.parse()?,
        tenant: TenantId(filled(column, 1)?.parse()?),
        organization_slug: filled(column, 2)?,
        agent_slug: filled(column, 3)?.parse()?,
        acts_as: filled(column, 4)?.parse()?,
        started_by: filled(column, 5)?,
        mode: filled(column, 6)?,
        status: filled(column, 7)?.parse()?,
        conversation_id: column(8)?,
        error: column(9)?,
        deliverable,
        steps: serde_json::from_str(&filled(column, 12)?)?,
        started_at: filled(column, 13)?.parse()?,
        deadline: filled(column, 14)?.parse()?,
        finished_at: column(15)?.map(|at| at.parse()).transpose()?,
    })
}

/// `id organization_slug agent_slug title type format content version conversation_id task_id created_at metadata`
pub(crate) fn deliverable(column: Column<'_>) -> Result<Deliverable, BoxError> {
    Ok(Deliverable {
        id: filled(column, 0)?.parse()?,
        organization_slug: filled(column, 1)?,
        agent_slug: filled(column, 2)?.parse()?,
        title: filled(column, 3)?,
        r#type: filled(column, 4)?,
        format: filled(column, 5)?.parse()?,
        content: filled(column, 6)?,
        version: filled(column, 7)?.parse()?,
        conversation_id: column(8)?,
        task_id: filled(column, 9)?.parse()?,
        created_at: filled(column, 10)?,
        metadata: serde_json::from_str(&filled(column, 11)?)?,
    })
}

/// The columns that are JSON, in their order.
pub(crate) fn documents(agent: &NewToolAgent) -> [Option<String>; 5] {
    [&agent.context, &agent.plan_structure, &agent.deliverable_structure, &agent.io_schema, &agent.config]
        .map(|document| document.as_ref().map(Value::to_string))
}

pub(crate) fn text(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(unavailable)
}

/// As both engines keep it: to the microsecond, and so that texts sort as times do.
pub(crate) fn time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

/// What Postgres cannot keep in a text is the record's fault and not the store's.
pub(crate) fn not_kept(error: sqlx::Error, what: impl FnOnce() -> String) -> StoreError {
    let code = error.as_database_error().and_then(|database| database.code());
    let unfit = code.is_some_and(|code| code.len() == 5 && code.starts_with("22"));
    match unfit {
        true => StoreError::Invalid(format!("{} holds a character that cannot be stored", what())),
        false => not_added(error, what),
    }
}

pub(crate) fn unknown_agent(slug: &str) -> StoreError {
    StoreError::NotFound(format!("tool agent `{slug}`"))
}

pub(crate) fn unknown_task(id: Uuid) -> StoreError {
    StoreError::NotFound(format!("task `{id}`"))
}

pub(crate) fn unknown_deliverable(id: Uuid) -> StoreError {
    StoreError::NotFound(format!("deliverable `{id}`"))
}

pub(crate) fn contended(id: Uuid) -> StoreError {
    StoreError::Invalid(format!("deliverable `{id}` changes too fast"))
}
