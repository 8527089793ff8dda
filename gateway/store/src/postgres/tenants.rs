//! Tenants, agents and keys in Postgres.

use async_trait::async_trait;
use gateway_core::ports::{
    AgentRecord, AgentStatus, KeyOwner, NewAgent, StoreError, StoredKey, Tenant, TenantKey, TenantStore,
};
use gateway_core::{AgentId, Autonomy, TenantId};
use sqlx::postgres::{PgArguments, PgConnection, PgPool, Postgres};
use sqlx::query::Query;
use sqlx::types::Json;
use uuid::Uuid;

use super::rows::{agent_owner, agent_row, key, tenant, tenant_key, tenant_owner};
use super::scoped::scoped;
use crate::failure::{not_added, unavailable};
use crate::records::{AgentRow, metadata_of, not_reserved, status_text, type_texts};

pub(crate) struct PostgresTenants(pub PgPool);

/// A time as the gateway writes times.
macro_rules! time {
    ($column:literal) => {
        concat!("to_char(", $column, " AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')")
    };
}

macro_rules! agent_columns {
    () => {
        concat!(
            "a.id, a.organization_id, a.agent_id, a.name, a.description, a.autonomy_level, a.allowed_types, a.max_risk, \
             a.owner_name, a.owner_email, a.status, a.metadata, ",
            time!("a.created_at"),
            " AS created_at, ",
            time!("a.updated_at"),
            " AS updated_at"
        )
    };
}

macro_rules! key_columns {
    () => {
        concat!(
            "k.id, k.key_prefix, ",
            time!("k.created_at"),
            " AS created_at, ",
            time!("k.last_used_at"),
            " AS last_used_at, ",
            time!("k.revoked_at"),
            " AS revoked_at"
        )
    };
}

macro_rules! tenant_keys {
    () => {
        concat!(
            "SELECT k.id, k.name, k.scopes, k.is_active, ",
            time!("k.created_at"),
            " AS created_at, ",
            time!("k.last_used_at"),
            " AS last_used_at FROM api_keys k"
        )
    };
}

#[async_trait]
impl TenantStore for PostgresTenants {
    async fn add_tenant(&self, name: &str) -> Result<Tenant, StoreError> {
        let row = sqlx::query(concat!(
            "INSERT INTO tenants (name) VALUES ($1) RETURNING id, name, ",
            time!("created_at"),
            " AS created_at"
        ))
        .bind(name)
        .fetch_one(&self.0)
        .await
        .map_err(|error| not_added(error, || format!("tenant `{name}`")))?;
        tenant(&row).map_err(unavailable)
    }

    async fn tenants(&self) -> Result<Vec<Tenant>, StoreError> {
        let rows =
            sqlx::query(concat!("SELECT id, name, ", time!("created_at"), " AS created_at FROM tenants ORDER BY name"))
                .fetch_all(&self.0)
                .await
                .map_err(unavailable)?;
        rows.iter().map(tenant).collect::<Result<_, _>>().map_err(unavailable)
    }

    async fn tenant(&self, name_or_id: &str) -> Result<Tenant, StoreError> {
        let row = sqlx::query(concat!(
            "SELECT id, name, ",
            time!("created_at"),
            " AS created_at FROM tenants \
             WHERE name = $1 OR id = $2 ORDER BY id = $2 DESC NULLS LAST LIMIT 1"
        ))
        .bind(name_or_id)
        .bind(Uuid::try_parse(name_or_id).ok())
        .fetch_optional(&self.0)
        .await
        .map_err(unavailable)?
        .ok_or_else(|| StoreError::NotFound(format!("tenant `{name_or_id}`")))?;
        tenant(&row).map_err(unavailable)
    }

    async fn add_tenant_key(
        &self,
        tenant: TenantId,
        name: &str,
        key_hash: &str,
        scopes: &[String],
    ) -> Result<Uuid, StoreError> {
        let id = Uuid::now_v7();
        let mut transaction = scoped(&self.0, tenant).await?;
        sqlx::query("INSERT INTO api_keys (id, tenant_id, name, key_hash, scopes) VALUES ($1, $2, $3, $4, $5)")
            .bind(id)
            .bind(tenant.0)
            .bind(name)
            .bind(key_hash)
            .bind(Json(scopes))
            .execute(&mut *transaction)
            .await
            .map_err(|error| not_added(error, || format!("key `{name}`")))?;
        transaction.commit().await.map_err(unavailable)?;
        Ok(id)
    }

    async fn tenant_keys(&self, tenant: TenantId) -> Result<Vec<TenantKey>, StoreError> {
        let mut transaction = scoped(&self.0, tenant).await?;
        let rows = sqlx::query(concat!(tenant_keys!(), " WHERE k.tenant_id = $1 ORDER BY k.created_at, k.id"))
            .bind(tenant.0)
            .fetch_all(&mut *transaction)
            .await
            .map_err(unavailable)?;
        transaction.commit().await.map_err(unavailable)?;
        rows.iter().map(tenant_key).collect::<Result<_, _>>().map_err(unavailable)
    }

    async fn tenant_keys_starting(&self, text: &str) -> Result<Vec<TenantKey>, StoreError> {
        let rows = sqlx::query(concat!(
            tenant_keys!(),
            " WHERE k.is_active AND left(k.id::text, length($1)) = lower($1) ORDER BY k.created_at, k.id"
        ))
        .bind(text)
        .fetch_all(&self.0)
        .await
        .map_err(unavailable)?;
        rows.iter().map(tenant_key).collect::<Result<_, _>>().map_err(unavailable)
    }

    async fn add_agent(
        &self,
        tenant: TenantId,
        agent: &NewAgent,
        key_hash: &str,
        key_prefix: &str,
    ) -> Result<AgentRecord, StoreError> {
        not_reserved(&agent.agent_id)?;
        let added = |error| not_added(error, || format!("agent `{}`", agent.agent_id));
        let mut transaction = scoped(&self.0, tenant).await?;
        let row = sqlx::query(concat!(
            "INSERT INTO agent_registry AS a (id, organization_id, agent_id, name, description, autonomy_level, allowed_types, \
             max_risk, owner_name, owner_email, metadata) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) RETURNING ",
            agent_columns!()
        ))
        .bind(Uuid::now_v7())
        .bind(tenant.0)
        .bind(agent.agent_id.as_str())
        .bind(&agent.name)
        .bind(&agent.description)
        .bind(agent.autonomy.as_str())
        .bind(type_texts(&agent.allowed_types))
        .bind(agent.max_risk.as_str())
        .bind(&agent.owner_name)
        .bind(&agent.owner_email)
        .bind(Json(metadata_of(agent)))
        .fetch_one(&mut *transaction)
        .await
        .map_err(added)?;
        let record = agent_row(&row).and_then(AgentRow::record).map_err(unavailable)?;
        insert_key(&mut transaction, record.id, key_hash, key_prefix).await?;
        transaction.commit().await.map_err(unavailable)?;
        Ok(record)
    }

    async fn agents(&self, tenant: TenantId) -> Result<Vec<AgentRecord>, StoreError> {
        let mut transaction = scoped(&self.0, tenant).await?;
        let rows = sqlx::query(concat!(
            "SELECT ",
            agent_columns!(),
            " FROM agent_registry a WHERE a.organization_id = $1 ORDER BY a.agent_id"
        ))
        .bind(tenant.0)
        .fetch_all(&mut *transaction)
        .await
        .map_err(unavailable)?;
        transaction.commit().await.map_err(unavailable)?;
        rows.iter().map(|row| agent_row(row)?.record()).collect::<Result<_, _>>().map_err(unavailable)
    }

    async fn agent(&self, tenant: TenantId, agent: &AgentId) -> Result<AgentRecord, StoreError> {
        let mut transaction = scoped(&self.0, tenant).await?;
        let record = find(&mut transaction, tenant, agent).await?;
        transaction.commit().await.map_err(unavailable)?;
        Ok(record)
    }

    async fn set_agent_status(&self, tenant: TenantId, agent: &AgentId, status: AgentStatus) -> Result<(), StoreError> {
        let change = sqlx::query(
            "UPDATE agent_registry SET status = $3, updated_at = now() WHERE organization_id = $1 AND agent_id = $2",
        );
        self.change(tenant, agent, change.bind(tenant.0).bind(agent.as_str()).bind(status_text(status))).await
    }

    async fn set_agent_autonomy(
        &self,
        tenant: TenantId,
        agent: &AgentId,
        autonomy: Autonomy,
    ) -> Result<(), StoreError> {
        let change = sqlx::query(
            "UPDATE agent_registry SET autonomy_level = $3, updated_at = now()
             WHERE organization_id = $1 AND agent_id = $2",
        );
        self.change(tenant, agent, change.bind(tenant.0).bind(agent.as_str()).bind(autonomy.as_str())).await
    }

    async fn set_agent_roles(&self, tenant: TenantId, agent: &AgentId, roles: &[String]) -> Result<(), StoreError> {
        let change = sqlx::query(
            "UPDATE agent_registry SET updated_at = now(), metadata =
                 CASE WHEN jsonb_typeof(metadata) = 'object' THEN metadata ELSE '{}' END || jsonb_build_object('roles', $3)
             WHERE organization_id = $1 AND agent_id = $2",
        );
        self.change(tenant, agent, change.bind(tenant.0).bind(agent.as_str()).bind(Json(roles.to_vec()))).await
    }

    async fn add_key(
        &self,
        tenant: TenantId,
        agent: &AgentId,
        key_hash: &str,
        key_prefix: &str,
    ) -> Result<Uuid, StoreError> {
        let mut transaction = scoped(&self.0, tenant).await?;
        let owner = find(&mut transaction, tenant, agent).await?;
        let id = insert_key(&mut transaction, owner.id, key_hash, key_prefix).await?;
        transaction.commit().await.map_err(unavailable)?;
        Ok(id)
    }

    async fn keys(&self, tenant: TenantId, agent: &AgentId) -> Result<Vec<StoredKey>, StoreError> {
        let mut transaction = scoped(&self.0, tenant).await?;
        let owner = find(&mut transaction, tenant, agent).await?;
        let rows = sqlx::query(concat!(
            "SELECT ",
            key_columns!(),
            " FROM agent_api_keys k WHERE k.agent_registry_id = $1 ORDER BY k.created_at, k.id",
        ))
        .bind(owner.id)
        .fetch_all(&mut *transaction)
        .await
        .map_err(unavailable)?;
        transaction.commit().await.map_err(unavailable)?;
        rows.iter().map(key).collect::<Result<_, _>>().map_err(unavailable)
    }

    async fn keys_starting(&self, text: &str) -> Result<Vec<StoredKey>, StoreError> {
        let rows = sqlx::query(concat!(
            "SELECT ", key_columns!(), " FROM agent_api_keys k WHERE k.revoked_at IS NULL \
             AND (left(k.key_prefix, length($1)) = $1 OR left(k.id::text, length($1)) = lower($1)) ORDER BY k.created_at, k.id",
        ))
        .bind(text)
        .fetch_all(&self.0)
        .await
        .map_err(unavailable)?;
        rows.iter().map(key).collect::<Result<_, _>>().map_err(unavailable)
    }

    async fn revoke_key(&self, key: Uuid) -> Result<(), StoreError> {
        let agent_keys =
            sqlx::query("UPDATE agent_api_keys SET revoked_at = COALESCE(revoked_at, now()) WHERE id = $1")
                .bind(key)
                .execute(&self.0)
                .await
                .map_err(unavailable)?;
        let tenant_keys = sqlx::query("UPDATE api_keys SET is_active = false WHERE id = $1")
            .bind(key)
            .execute(&self.0)
            .await
            .map_err(unavailable)?;
        match agent_keys.rows_affected() + tenant_keys.rows_affected() {
            0 => Err(StoreError::NotFound(format!("key `{key}`"))),
            _ => Ok(()),
        }
    }

    async fn key_owner(&self, key_hash: &str) -> Result<Option<KeyOwner>, StoreError> {
        let agent = sqlx::query(concat!(
            "SELECT ",
            agent_columns!(),
            ", k.id AS key_id, k.key_hash, k.revoked_at IS NOT NULL AS revoked \
             FROM agent_api_keys k JOIN agent_registry a ON a.id = k.agent_registry_id WHERE k.key_hash = $1"
        ))
        .bind(key_hash)
        .fetch_optional(&self.0)
        .await
        .map_err(unavailable)?;
        if let Some(row) = agent {
            return agent_owner(&row).map(Some).map_err(unavailable);
        }
        let tenant =
            sqlx::query("SELECT id, name, key_hash, tenant_id, scopes, is_active FROM api_keys WHERE key_hash = $1")
                .bind(key_hash)
                .fetch_optional(&self.0)
                .await
                .map_err(unavailable)?;
        tenant.as_ref().map(tenant_owner).transpose().map_err(unavailable)
    }

    async fn touch_key(&self, key: Uuid) -> Result<(), StoreError> {
        let agent_keys = sqlx::query("UPDATE agent_api_keys SET last_used_at = now() WHERE id = $1")
            .bind(key)
            .execute(&self.0)
            .await
            .map_err(unavailable)?;
        if agent_keys.rows_affected() == 0 {
            sqlx::query("UPDATE api_keys SET last_used_at = now() WHERE id = $1")
                .bind(key)
                .execute(&self.0)
                .await
                .map_err(unavailable)?;
        }
        Ok(())
    }

    async fn find_agent_anywhere(&self, agent: &AgentId) -> Result<AgentRecord, StoreError> {
        let rows =
            sqlx::query(concat!("SELECT ", agent_columns!(), " FROM agent_registry a WHERE a.agent_id = $1 LIMIT 2"))
                .bind(agent.as_str())
                .fetch_all(&self.0)
                .await
                .map_err(unavailable)?;
        match rows.as_slice() {
            [] => Err(StoreError::NotFound(format!("agent `{agent}`"))),
            [row] => agent_row(row).and_then(AgentRow::record).map_err(unavailable),
            _ => Err(StoreError::Invalid(format!("more than one tenant has an agent `{agent}`"))),
        }
    }
}

impl PostgresTenants {
    /// One agent's row as its tenant may change it.
    async fn change(
        &self,
        tenant: TenantId,
        agent: &AgentId,
        change: Query<'_, Postgres, PgArguments>,
    ) -> Result<(), StoreError> {
        let mut transaction = scoped(&self.0, tenant).await?;
        let done = change.execute(&mut *transaction).await.map_err(unavailable)?;
        transaction.commit().await.map_err(unavailable)?;
        match done.rows_affected() {
            0 => Err(StoreError::NotFound(format!("agent `{agent}`"))),
            _ => Ok(()),
        }
    }
}

async fn find(connection: &mut PgConnection, tenant: TenantId, agent: &AgentId) -> Result<AgentRecord, StoreError> {
    let row = sqlx::query(concat!(
        "SELECT ",
        agent_columns!(),
        " FROM agent_registry a WHERE a.organization_id = $1 AND a.agent_id = $2"
    ))
    .bind(tenant.0)
    .bind(agent.as_str())
    .fetch_optional(connection)
    .await
    .map_err(unavailable)?
    .ok_or_else(|| StoreError::NotFound(format!("agent `{agent}`")))?;
    agent_row(&row).and_then(AgentRow::record).map_err(unavailable)
}

async fn insert_key(
    connection: &mut PgConnection,
    agent: Uuid,
    key_hash: &str,
    key_prefix: &str,
) -> Result<Uuid, StoreError> {
    let id = Uuid::now_v7();
    sqlx::query("INSERT INTO agent_api_keys (id, agent_registry_id, key_hash, key_prefix) VALUES ($1, $2, $3, $4)")
        .bind(id)
        .bind(agent)
        .bind(key_hash)
        .bind(key_prefix)
        .execute(connection)
        .await
        .map_err(|error| not_added(error, || "this key".into()))?;
    Ok(id)
}
