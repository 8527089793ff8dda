//! Tenants, agents and keys in SQLite.

use async_trait::async_trait;
use gateway_core::ports::{
    AgentRecord, AgentStatus, KeyOwner, NewAgent, StoreError, StoredKey, Tenant, TenantKey, TenantStore,
};
use gateway_core::{AgentId, Autonomy, TenantId};
use sqlx::query::Query;
use sqlx::sqlite::{Sqlite, SqliteArguments, SqliteConnection};
use uuid::Uuid;

use super::SqlitePools;
use super::rows::{agent_owner, agent_row, key, tenant, tenant_key, tenant_owner};
use crate::failure::{not_added, unavailable};
use crate::records::{AgentRow, metadata_of, not_reserved, status_text, type_texts};

pub(crate) struct SqliteTenants(pub SqlitePools);

macro_rules! now {
    () => {
        "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"
    };
}

macro_rules! agent_columns {
    () => {
        "a.id, a.organization_id, a.agent_id, a.name, a.description, a.autonomy_level, a.allowed_types, a.max_risk, \
         a.owner_name, a.owner_email, a.status, a.metadata, a.created_at, a.updated_at"
    };
}

macro_rules! tenant_keys {
    () => {
        "SELECT id, name, scopes, is_active, created_at, last_used_at FROM api_keys"
    };
}

#[async_trait]
impl TenantStore for SqliteTenants {
    async fn add_tenant(&self, name: &str) -> Result<Tenant, StoreError> {
        let row = sqlx::query("INSERT INTO tenants (id, name) VALUES (?1, ?2) RETURNING id, name, created_at")
            .bind(Uuid::now_v7().to_string())
            .bind(name)
            .fetch_one(&self.0.writer)
            .await
            .map_err(|error| not_added(error, || format!("tenant `{name}`")))?;
        tenant(&row).map_err(unavailable)
    }

    async fn tenants(&self) -> Result<Vec<Tenant>, StoreError> {
        let rows = sqlx::query("SELECT id, name, created_at FROM tenants ORDER BY name")
            .fetch_all(&self.0.readers)
            .await
            .map_err(unavailable)?;
        rows.iter().map(tenant).collect::<Result<_, _>>().map_err(unavailable)
    }

    async fn tenant(&self, name_or_id: &str) -> Result<Tenant, StoreError> {
        let row = sqlx::query(
            "SELECT id, name, created_at FROM tenants WHERE name = ?1 OR id = ?2 ORDER BY id = ?2 DESC LIMIT 1",
        )
        .bind(name_or_id)
        .bind(name_or_id.to_ascii_lowercase())
        .fetch_optional(&self.0.readers)
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
        sqlx::query("INSERT INTO api_keys (id, tenant_id, name, key_hash, scopes) VALUES (?1, ?2, ?3, ?4, ?5)")
            .bind(id.to_string())
            .bind(tenant.0.to_string())
            .bind(name)
            .bind(key_hash)
            .bind(serde_json::to_string(scopes).map_err(unavailable)?)
            .execute(&self.0.writer)
            .await
            .map_err(|error| not_added(error, || format!("key `{name}`")))?;
        Ok(id)
    }

    async fn tenant_keys(&self, tenant: TenantId) -> Result<Vec<TenantKey>, StoreError> {
        let rows = sqlx::query(concat!(tenant_keys!(), " WHERE tenant_id = ?1 ORDER BY created_at, id"))
            .bind(tenant.0.to_string())
            .fetch_all(&self.0.readers)
            .await
            .map_err(unavailable)?;
        rows.iter().map(tenant_key).collect::<Result<_, _>>().map_err(unavailable)
    }

    async fn tenant_keys_starting(&self, text: &str) -> Result<Vec<TenantKey>, StoreError> {
        let rows = sqlx::query(concat!(
            tenant_keys!(),
            " WHERE is_active AND substr(id, 1, length(?1)) = lower(?1) ORDER BY created_at, id"
        ))
        .bind(text)
        .fetch_all(&self.0.readers)
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
        let mut transaction = self.0.writer.begin_with("BEGIN IMMEDIATE").await.map_err(unavailable)?;
        let row = sqlx::query(concat!(
            "INSERT INTO agent_registry AS a (id, organization_id, agent_id, name, description, autonomy_level, allowed_types, \
             max_risk, owner_name, owner_email, metadata) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) RETURNING ",
            "id, organization_id, agent_id, name, description, autonomy_level, allowed_types, max_risk, \
             owner_name, owner_email, status, metadata, created_at, updated_at"
        ))
        .bind(Uuid::now_v7().to_string())
        .bind(tenant.0.to_string())
        .bind(agent.agent_id.as_str())
        .bind(&agent.name)
        .bind(&agent.description)
        .bind(agent.autonomy.as_str())
        .bind(serde_json::to_string(&type_texts(&agent.allowed_types)).map_err(unavailable)?)
        .bind(agent.max_risk.as_str())
        .bind(&agent.owner_name)
        .bind(&agent.owner_email)
        .bind(metadata_of(agent).to_string())
        .fetch_one(&mut *transaction)
        .await
        .map_err(added)?;
        let record = agent_row(&row).and_then(AgentRow::record).map_err(unavailable)?;
        insert_key(&mut transaction, record.id, key_hash, key_prefix).await?;
        transaction.commit().await.map_err(unavailable)?;
        Ok(record)
    }

    async fn agents(&self, tenant: TenantId) -> Result<Vec<AgentRecord>, StoreError> {
        let rows = sqlx::query(concat!(
            "SELECT ",
            agent_columns!(),
            " FROM agent_registry a WHERE a.organization_id = ?1 ORDER BY a.agent_id"
        ))
        .bind(tenant.0.to_string())
        .fetch_all(&self.0.readers)
        .await
        .map_err(unavailable)?;
        rows.iter().map(|row| agent_row(row)?.record()).collect::<Result<_, _>>().map_err(unavailable)
    }

    async fn agent(&self, tenant: TenantId, agent: &AgentId) -> Result<AgentRecord, StoreError> {
        let row = sqlx::query(concat!(
            "SELECT ",
            agent_columns!(),
            " FROM agent_registry a WHERE a.organization_id = ?1 AND a.agent_id = ?2"
        ))
        .bind(tenant.0.to_string())
        .bind(agent.as_str())
        .fetch_optional(&self.0.readers)
        .await
        .map_err(unavailable)?
        .ok_or_else(|| StoreError::NotFound(format!("agent `{agent}`")))?;
        agent_row(&row).and_then(AgentRow::record).map_err(unavailable)
    }

    async fn set_agent_status(&self, tenant: TenantId, agent: &AgentId, status: AgentStatus) -> Result<(), StoreError> {
        let change = sqlx::query(concat!(
            "UPDATE agent_registry SET status = ?3, updated_at = ",
            now!(),
            " WHERE organization_id = ?1 AND agent_id = ?2"
        ));
        self.change(tenant, agent, change, status_text(status).into()).await
    }

    async fn set_agent_autonomy(
        &self,
        tenant: TenantId,
        agent: &AgentId,
        autonomy: Autonomy,
    ) -> Result<(), StoreError> {
        let change = sqlx::query(concat!(
            "UPDATE agent_registry SET autonomy_level = ?3, updated_at = ",
            now!(),
            " WHERE organization_id = ?1 AND agent_id = ?2"
        ));
        self.change(tenant, agent, change, autonomy.as_str().into()).await
    }

    async fn set_agent_roles(&self, tenant: TenantId, agent: &AgentId, roles: &[String]) -> Result<(), StoreError> {
        let change = sqlx::query(concat!(
            "UPDATE agent_registry SET metadata = json_set(CASE WHEN json_type(metadata) = 'object' THEN metadata \
             ELSE '{}' END, '$.roles', json(?3)), updated_at = ",
            now!(),
            " WHERE organization_id = ?1 AND agent_id = ?2"
        ));
        self.change(tenant, agent, change, serde_json::to_string(roles).map_err(unavailable)?).await
    }

    async fn add_key(
        &self,
        tenant: TenantId,
        agent: &AgentId,
        key_hash: &str,
        key_prefix: &str,
    ) -> Result<Uuid, StoreError> {
        let owner = self.agent(tenant, agent).await?;
        let mut connection = self.0.writer.acquire().await.map_err(unavailable)?;
        insert_key(&mut connection, owner.id, key_hash, key_prefix).await
    }

    async fn keys(&self, tenant: TenantId, agent: &AgentId) -> Result<Vec<StoredKey>, StoreError> {
        let owner = self.agent(tenant, agent).await?;
        let rows = sqlx::query(
            "SELECT id, key_prefix, created_at, last_used_at, revoked_at FROM agent_api_keys
             WHERE agent_registry_id = ?1 ORDER BY created_at, id",
        )
        .bind(owner.id.to_string())
        .fetch_all(&self.0.readers)
        .await
        .map_err(unavailable)?;
        rows.iter().map(key).collect::<Result<_, _>>().map_err(unavailable)
    }

    async fn keys_starting(&self, text: &str) -> Result<Vec<StoredKey>, StoreError> {
        let rows = sqlx::query(
            "SELECT id, key_prefix, created_at, last_used_at, revoked_at FROM agent_api_keys
             WHERE revoked_at IS NULL AND (substr(key_prefix, 1, length(?1)) = ?1 OR substr(id, 1, length(?1)) = lower(?1))
             ORDER BY created_at, id",
        )
        .bind(text)
        .fetch_all(&self.0.readers)
        .await
        .map_err(unavailable)?;
        rows.iter().map(key).collect::<Result<_, _>>().map_err(unavailable)
    }

    async fn revoke_key(&self, key: Uuid) -> Result<(), StoreError> {
        let text = key.to_string();
        let agent_keys = sqlx::query(concat!(
            "UPDATE agent_api_keys SET revoked_at = COALESCE(revoked_at, ",
            now!(),
            ") WHERE id = ?1"
        ))
        .bind(&text)
        .execute(&self.0.writer)
        .await
        .map_err(unavailable)?;
        let tenant_keys = sqlx::query("UPDATE api_keys SET is_active = 0 WHERE id = ?1")
            .bind(&text)
            .execute(&self.0.writer)
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
             FROM agent_api_keys k JOIN agent_registry a ON a.id = k.agent_registry_id WHERE k.key_hash = ?1"
        ))
        .bind(key_hash)
        .fetch_optional(&self.0.readers)
        .await
        .map_err(unavailable)?;
        if let Some(row) = agent {
            return agent_owner(&row).map(Some).map_err(unavailable);
        }
        let tenant =
            sqlx::query("SELECT id, name, key_hash, tenant_id, scopes, is_active FROM api_keys WHERE key_hash = ?1")
                .bind(key_hash)
                .fetch_optional(&self.0.readers)
                .await
                .map_err(unavailable)?;
        tenant.as_ref().map(tenant_owner).transpose().map_err(unavailable)
    }

    async fn touch_key(&self, key: Uuid) -> Result<(), StoreError> {
        let text = key.to_string();
        let agent_keys = sqlx::query(concat!("UPDATE agent_api_keys SET last_used_at = ", now!(), " WHERE id = ?1"))
            .bind(&text)
            .execute(&self.0.writer)
            .await
            .map_err(unavailable)?;
        if agent_keys.rows_affected() == 0 {
            sqlx::query(concat!("UPDATE api_keys SET last_used_at = ", now!(), " WHERE id = ?1"))
                .bind(&text)
                .execute(&self.0.writer)
                .await
                .map_err(unavailable)?;
        }
        Ok(())
    }

    async fn find_agent_anywhere(&self, agent: &AgentId) -> Result<AgentRecord, StoreError> {
        let rows =
            sqlx::query(concat!("SELECT ", agent_columns!(), " FROM agent_registry a WHERE a.agent_id = ?1 LIMIT 2"))
                .bind(agent.as_str())
                .fetch_all(&self.0.readers)
                .await
                .map_err(unavailable)?;
        match rows.as_slice() {
            [] => Err(StoreError::NotFound(format!("agent `{agent}`"))),
            [row] => agent_row(row).and_then(AgentRow::record).map_err(unavailable),
            _ => Err(StoreError::Invalid(format!("more than one tenant has an agent `{agent}`"))),
        }
    }
}

impl SqliteTenants {
    /// One agent's row; the change takes the tenant, the agent and what is new.
    async fn change(
        &self,
        tenant: TenantId,
        agent: &AgentId,
        change: Query<'_, Sqlite, SqliteArguments>,
        to: String,
    ) -> Result<(), StoreError> {
        let bound = change.bind(tenant.0.to_string()).bind(agent.as_str().to_owned()).bind(to);
        match bound.execute(&self.0.writer).await.map_err(unavailable)?.rows_affected() {
            0 => Err(StoreError::NotFound(format!("agent `{agent}`"))),
            _ => Ok(()),
        }
    }
}

async fn insert_key(
    connection: &mut SqliteConnection,
    agent: Uuid,
    key_hash: &str,
    key_prefix: &str,
) -> Result<Uuid, StoreError> {
    let id = Uuid::now_v7();
    sqlx::query("INSERT INTO agent_api_keys (id, agent_registry_id, key_hash, key_prefix) VALUES (?1, ?2, ?3, ?4)")
        .bind(id.to_string())
        .bind(agent.to_string())
        .bind(key_hash)
        .bind(key_prefix)
        .execute(connection)
        .await
        .map_err(|error| not_added(error, || "this key".into()))?;
    Ok(id)
}
