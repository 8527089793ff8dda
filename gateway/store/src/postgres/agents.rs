//! Tool agents, their runs and what those made, in Postgres.

use async_trait::async_trait;
use gateway_core::agents::{Deliverable, NewDeliverable, NewToolAgent, Task, TaskStatus, ToolAgent};
use gateway_core::ports::{StoreError, ToolAgents};
use gateway_core::{AgentId, TenantId};
use jiff::Timestamp;
use sqlx::Row;
use sqlx::postgres::{PgConnection, PgPool, PgRow};
use uuid::Uuid;

use super::scoped::scoped;
use crate::agents::{self, LONGEST_LIST, VERSION_RACES};
use crate::failure::unavailable;
use crate::once::patiently;
use crate::records::not_reserved;

pub(crate) struct PostgresToolAgents(pub PgPool);

macro_rules! time {
    ($column:literal) => {
        concat!("to_char(", $column, " AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')")
    };
}

macro_rules! agent_columns {
    () => {
        concat!(
            "SELECT a.id::text, a.tenant_id::text, a.organization_slug, a.slug, a.display_name, a.agent_type, a.mode_profile, a.status, \
             a.yaml, a.description, a.context::text, a.plan_structure::text, a.deliverable_structure::text, \
             a.io_schema::text, a.config::text, a.version, r.agent_id, ",
            time!("a.created_at"),
            ", ",
            time!("a.updated_at"),
            " FROM agents a LEFT JOIN agent_registry r ON r.id = a.agent_registry_id "
        )
    };
}

macro_rules! task_columns {
    () => {
        concat!(
            "SELECT t.id::text, t.tenant_id::text, t.organization_slug, t.agent_slug, t.acts_as, t.started_by, t.mode, t.status, \
             t.conversation_id, t.error, t.deliverable_id::text, CAST(t.deliverable_version AS TEXT), t.steps::text, ",
            time!("t.started_at"),
            ", ",
            time!("t.deadline"),
            ", ",
            time!("t.finished_at"),
            " FROM agent_tasks t "
        )
    };
}

/// `$content`: the column, or nothing where a list does not show it.
macro_rules! deliverable_columns {
    ($content:literal) => {
        concat!(
            "SELECT d.id::text, d.organization_slug, d.agent_slug, d.title, d.type, d.format, ",
            $content,
            ", CAST(d.version AS TEXT), d.conversation_id, d.task_id::text, ",
            time!("d.created_at"),
            ", d.metadata::text FROM deliverables d "
        )
    };
}

#[async_trait]
impl ToolAgents for PostgresToolAgents {
    async fn put(
        &self,
        tenant: TenantId,
        agent: &NewToolAgent,
        acts_as: Option<&AgentId>,
        now: Timestamp,
    ) -> Result<(ToolAgent, Option<ToolAgent>), StoreError> {
        let kept = |error| agents::not_kept(error, || format!("tool agent `{}`", agent.slug));
        let mut transaction = scoped(&self.0, tenant).await?;
        let before = find(&mut transaction, tenant, agent.slug.as_str()).await?;
        let registered = match (acts_as, &before) {
            (Some(named), _) => Some(registered(&mut transaction, tenant, named.as_str()).await?),
            // Whoever it acted as stays; one that was removed is not made again behind people's backs.
            (None, Some(before)) => match &before.acts_as {
                Some(named) => Some(registered(&mut transaction, tenant, named.as_str()).await?),
                None => None,
            },
            (None, None) => Some(own_agent(&mut transaction, tenant, agent).await?),
        };
        let [context, plan, deliverable, io, config] = agents::documents(agent);
        sqlx::query(
            "INSERT INTO agents (id, tenant_id, organization_slug, slug, display_name, agent_type, mode_profile, status, yaml, \
             description, context, plan_structure, deliverable_structure, io_schema, config, version, agent_registry_id, \
             created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11::text::jsonb, \
             $12::text::jsonb, $13::text::jsonb, $14::text::jsonb, $15::text::jsonb, $16, $17, $18::text::timestamptz, $18::text::timestamptz) \
             ON CONFLICT (tenant_id, slug) DO UPDATE SET organization_slug = excluded.organization_slug, \
             display_name = excluded.display_name, agent_type = excluded.agent_type, mode_profile = excluded.mode_profile, \
             status = excluded.status, yaml = excluded.yaml, description = excluded.description, context = excluded.context, \
             plan_structure = excluded.plan_structure, deliverable_structure = excluded.deliverable_structure, \
             io_schema = excluded.io_schema, config = excluded.config, version = excluded.version, \
             agent_registry_id = excluded.agent_registry_id, updated_at = excluded.updated_at",
        )
        .bind(Uuid::now_v7())
        .bind(tenant.0)
        .bind(&agent.organization_slug)
        .bind(agent.slug.as_str())
        .bind(&agent.display_name)
        .bind(&agent.agent_type)
        .bind(&agent.mode_profile)
        .bind(&agent.status)
        .bind(&agent.yaml)
        .bind(&agent.description)
        .bind(context)
        .bind(plan)
        .bind(deliverable)
        .bind(io)
        .bind(config)
        .bind(&agent.version)
        .bind(registered)
        .bind(agents::time(now))
        .execute(&mut *transaction)
        .await
        .map_err(kept)?;
        let slug = agent.slug.as_str();
        let after = find(&mut transaction, tenant, slug).await?.ok_or_else(|| agents::unknown_agent(slug))?;
        transaction.commit().await.map_err(unavailable)?;
        Ok((after, before))
    }

    async fn get(&self, tenant: TenantId, slug: &str) -> Result<ToolAgent, StoreError> {
        let mut transaction = scoped(&self.0, tenant).await?;
        let found = find(&mut transaction, tenant, slug).await?;
        transaction.commit().await.map_err(unavailable)?;
        found.ok_or_else(|| agents::unknown_agent(slug))
    }

    async fn list(&self, tenant: TenantId) -> Result<Vec<ToolAgent>, StoreError> {
        let mut transaction = scoped(&self.0, tenant).await?;
        let asked = sqlx::query(concat!(agent_columns!(), "WHERE a.tenant_id = $1 ORDER BY a.slug LIMIT $2"))
            .bind(tenant.0)
            .bind(LONGEST_LIST)
            .fetch_all(&mut *transaction);
        let found = patiently(asked).await?;
        transaction.commit().await.map_err(unavailable)?;
        found.iter().map(|row| agents::tool_agent(&|at| column(row, at))).collect::<Result<_, _>>().map_err(unavailable)
    }

    async fn begin(&self, task: &Task) -> Result<(), StoreError> {
        let tenant = task.tenant;
        let mut transaction = scoped(&self.0, tenant).await?;
        sqlx::query(
            "INSERT INTO agent_tasks (id, tenant_id, organization_slug, agent_slug, acts_as, started_by, mode, status, \
             conversation_id, steps, started_at, deadline) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10::text::jsonb, \
             $11::text::timestamptz, $12::text::timestamptz)",
        )
        .bind(task.id)
        .bind(tenant.0)
        .bind(&task.organization_slug)
        .bind(task.agent_slug.as_str())
        .bind(task.acts_as.as_str())
        .bind(&task.started_by)
        .bind(&task.mode)
        .bind(TaskStatus::Running.as_str())
        .bind(&task.conversation_id)
        .bind(agents::text(&task.steps)?)
        .bind(agents::time(task.started_at))
        .bind(agents::time(task.deadline))
        .execute(&mut *transaction)
        .await
        .map_err(|error| agents::not_kept(error, || format!("task `{}`", task.id)))?;
        transaction.commit().await.map_err(unavailable)
    }

    async fn finish(&self, task: &Task, made: Option<&NewDeliverable>) -> Result<Option<Deliverable>, StoreError> {
        for _ in 0..VERSION_RACES {
            let mut transaction = scoped(&self.0, task.tenant).await?;
            let version = match made {
                Some(made) => match add(&mut transaction, task, made).await? {
                    Some(version) => Some(version),
                    // Somebody was faster. Dropped without a commit, the transaction takes everything back.
                    None => continue,
                },
                None => None,
            };
            end(&mut transaction, task, version).await?;
            let stored = match version {
                Some((id, version)) => stored(&mut transaction, task.tenant, id, Some(version)).await?,
                None => None,
            };
            transaction.commit().await.map_err(unavailable)?;
            return Ok(stored);
        }
        Err(agents::contended(made.and_then(|made| made.id).unwrap_or(task.id)))
    }

    async fn task(&self, tenant: TenantId, id: Uuid) -> Result<Task, StoreError> {
        let mut transaction = scoped(&self.0, tenant).await?;
        let asked = sqlx::query(concat!(task_columns!(), "WHERE t.tenant_id = $1 AND t.id = $2"))
            .bind(tenant.0)
            .bind(id)
            .fetch_optional(&mut *transaction);
        let found = patiently(asked).await?;
        transaction.commit().await.map_err(unavailable)?;
        let row = found.ok_or_else(|| agents::unknown_task(id))?;
        agents::task(&|at| column(&row, at)).map_err(unavailable)
    }

    async fn tasks(&self, tenant: TenantId, slug: Option<&str>, limit: i64) -> Result<Vec<Task>, StoreError> {
        let mut transaction = scoped(&self.0, tenant).await?;
        let asked = sqlx::query(concat!(task_columns!(), "WHERE t.tenant_id = $1 AND ($2::text IS NULL OR t.agent_slug = $2) ORDER BY t.started_at DESC, t.id DESC LIMIT $3"))
            .bind(tenant.0)
            .bind(slug)
            .bind(limit.clamp(1, LONGEST_LIST))
            .fetch_all(&mut *transaction);
        let found = patiently(asked).await?;
        transaction.commit().await.map_err(unavailable)?;
        found.iter().map(|row| agents::task(&|at| column(row, at))).collect::<Result<_, _>>().map_err(unavailable)
    }

    async fn deliverable(&self, tenant: TenantId, id: Uuid, version: Option<i32>) -> Result<Deliverable, StoreError> {
        let mut transaction = scoped(&self.0, tenant).await?;
        let found = stored(&mut transaction, tenant, id, version).await?;
        transaction.commit().await.map_err(unavailable)?;
        found.ok_or_else(|| agents::unknown_deliverable(id))
    }

    async fn deliverables(
        &self,
        tenant: TenantId,
        slug: Option<&str>,
        limit: i64,
    ) -> Result<Vec<Deliverable>, StoreError> {
        let mut transaction = scoped(&self.0, tenant).await?;
        let asked = sqlx::query(concat!(deliverable_columns!("''"), "WHERE d.tenant_id = $1 AND ($2::text IS NULL OR d.agent_slug = $2) AND d.version = (SELECT max(o.version) FROM deliverables o WHERE o.id = d.id AND o.tenant_id = d.tenant_id) ORDER BY d.created_at DESC, d.id DESC LIMIT $3"))
            .bind(tenant.0)
            .bind(slug)
            .bind(limit.clamp(1, LONGEST_LIST))
            .fetch_all(&mut *transaction);
        let found = patiently(asked).await?;
        transaction.commit().await.map_err(unavailable)?;
        found
            .iter()
            .map(|row| agents::deliverable(&|at| column(row, at)))
            .collect::<Result<_, _>>()
            .map_err(unavailable)
    }
}

fn column(row: &PgRow, at: usize) -> Result<Option<String>, gateway_core::BoxError> {
    Ok(row.try_get(at)?)
}

async fn find(connection: &mut PgConnection, tenant: TenantId, slug: &str) -> Result<Option<ToolAgent>, StoreError> {
    let asked = sqlx::query(concat!(agent_columns!(), "WHERE a.tenant_id = $1 AND a.slug = $2"))
        .bind(tenant.0)
        .bind(slug)
        .fetch_optional(connection);
    let row = patiently(asked).await?;
    row.map(|row| agents::tool_agent(&|at| column(&row, at))).transpose().map_err(unavailable)
}

async fn registered(connection: &mut PgConnection, tenant: TenantId, agent: &str) -> Result<Uuid, StoreError> {
    let asked = sqlx::query_scalar("SELECT id FROM agent_registry WHERE organization_id = $1 AND agent_id = $2")
        .bind(tenant.0)
        .bind(agent)
        .fetch_optional(connection);
    patiently(asked).await?.ok_or_else(|| StoreError::NotFound(format!("agent `{agent}`")))
}

/// The agent that it acts as where nobody says another: of its own name, able to do little, and without a key. One of that
/// name that is there already is taken as it is.
async fn own_agent(connection: &mut PgConnection, tenant: TenantId, agent: &NewToolAgent) -> Result<Uuid, StoreError> {
    let id: AgentId = agent.slug.as_str().parse().map_err(unavailable)?;
    not_reserved(&id)?;
    sqlx::query(
        "INSERT INTO agent_registry (id, organization_id, agent_id, name, description, autonomy_level, max_risk) \
         VALUES ($1, $2, $3, $4, $5, 'A1', 'R2') ON CONFLICT (organization_id, agent_id) DO NOTHING",
    )
    .bind(Uuid::now_v7())
    .bind(tenant.0)
    .bind(id.as_str())
    .bind(&agent.display_name)
    .bind(&agent.description)
    .execute(&mut *connection)
    .await
    .map_err(|error| agents::not_kept(error, || format!("agent `{id}`")))?;
    registered(connection, tenant, id.as_str()).await
}

/// The next version of what it names, or the first of something new. `None`: somebody else has just written that version.
async fn add(
    connection: &mut PgConnection,
    task: &Task,
    made: &NewDeliverable,
) -> Result<Option<(Uuid, i32)>, StoreError> {
    let tenant = task.tenant;
    let (id, version) = match made.id {
        None => (Uuid::now_v7(), 1),
        Some(id) => {
            let asked = sqlx::query_scalar(
                "SELECT max(version) FROM deliverables WHERE tenant_id = $1 AND id = $2 AND agent_slug = $3",
            )
            .bind(tenant.0)
            .bind(id)
            .bind(task.agent_slug.as_str())
            .fetch_one(&mut *connection);
            let newest: Option<i32> = patiently(asked).await?;
            (id, newest.ok_or_else(|| agents::unknown_deliverable(id))?.saturating_add(1))
        }
    };
    let added = sqlx::query(
        "INSERT INTO deliverables (id, version, tenant_id, organization_slug, agent_slug, title, type, format, content, \
         conversation_id, task_id, metadata, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, \
         $12::text::jsonb, $13::text::timestamptz) ON CONFLICT (id, version) DO NOTHING",
    )
    .bind(id)
    .bind(version)
    .bind(tenant.0)
    .bind(&task.organization_slug)
    .bind(task.agent_slug.as_str())
    .bind(&made.title)
    .bind(&made.r#type)
    .bind(made.format.as_str())
    .bind(&made.content)
    .bind(&task.conversation_id)
    .bind(task.id)
    .bind(agents::text(&made.metadata)?)
    .bind(agents::time(task.finished_at.unwrap_or(task.started_at)))
    .execute(&mut *connection)
    .await
    .map_err(|error| agents::not_kept(error, || format!("deliverable `{id}`")))?;
    Ok((added.rows_affected() == 1).then_some((id, version)))
}

/// Only what runs ends, and it ends once.
async fn end(connection: &mut PgConnection, task: &Task, made: Option<(Uuid, i32)>) -> Result<(), StoreError> {
    let tenant = task.tenant;
    let (id, version) = made.unzip();
    let ended = sqlx::query(
        "UPDATE agent_tasks SET status = $3, error = $4, deliverable_id = $5, deliverable_version = $6, steps = $7::text::jsonb, \
         finished_at = $8::text::timestamptz WHERE tenant_id = $1 AND id = $2 AND status = 'running'",
    )
    .bind(tenant.0)
    .bind(task.id)
    .bind(task.status.as_str())
    .bind(&task.error)
    .bind(id)
    .bind(version)
    .bind(agents::text(&task.steps)?)
    .bind(agents::time(task.finished_at.unwrap_or(task.started_at)))
    .execute(&mut *connection)
    .await
    .map_err(|error| agents::not_kept(error, || format!("task `{}`", task.id)))?;
    match ended.rows_affected() {
        0 => Err(StoreError::NotFound(format!("a running task `{}`", task.id))),
        _ => Ok(()),
    }
}

async fn stored(
    connection: &mut PgConnection,
    tenant: TenantId,
    id: Uuid,
    version: Option<i32>,
) -> Result<Option<Deliverable>, StoreError> {
    let asked = sqlx::query(concat!(
        deliverable_columns!("d.content"),
        "WHERE d.tenant_id = $1 AND d.id = $2 AND ($3::int IS NULL OR d.version = $3) ORDER BY d.version DESC LIMIT 1"
    ))
    .bind(tenant.0)
    .bind(id)
    .bind(version)
    .fetch_optional(connection);
    let row = patiently(asked).await?;
    row.map(|row| agents::deliverable(&|at| column(&row, at))).transpose().map_err(unavailable)
}
