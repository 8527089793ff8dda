//! Rows of Postgres as tenants, agents and keys.

use gateway_core::ports::{KeyOwner, StoredKey, Tenant, TenantKey};
use gateway_core::{BoxError, TenantId};
use sqlx::Row;
use sqlx::postgres::PgRow;
use sqlx::types::Json;

use crate::records::{self, AgentRow, agent_key};

pub(super) fn tenant(row: &PgRow) -> Result<Tenant, BoxError> {
    let created_at: Option<String> = row.try_get("created_at")?;
    Ok(Tenant {
        id: TenantId(row.try_get("id")?),
        name: row.try_get("name")?,
        created_at: created_at.unwrap_or_default(),
    })
}

pub(super) fn agent_row(row: &PgRow) -> Result<AgentRow, BoxError> {
    Ok(AgentRow {
        id: row.try_get("id")?,
        organization_id: row.try_get("organization_id")?,
        agent_id: row.try_get("agent_id")?,
        name: row.try_get("name")?,
        description: row.try_get("description")?,
        autonomy_level: row.try_get("autonomy_level")?,
        allowed_types: row.try_get::<Option<Vec<String>>, _>("allowed_types")?.unwrap_or_default(),
        max_risk: row.try_get("max_risk")?,
        owner_name: row.try_get("owner_name")?,
        owner_email: row.try_get("owner_email")?,
        status: row.try_get("status")?,
        metadata: row.try_get::<Option<Json<_>>, _>("metadata")?.map(|json| json.0),
        created_at: row.try_get("created_at")?,
        updated_at: row.try_get("updated_at")?,
    })
}

pub(super) fn agent_owner(row: &PgRow) -> Result<KeyOwner, BoxError> {
    agent_key(row.try_get("key_id")?, row.try_get("key_hash")?, row.try_get("revoked")?, agent_row(row)?)
}

pub(super) fn tenant_owner(row: &PgRow) -> Result<KeyOwner, BoxError> {
    let scopes = scopes(row)?;
    let active = row.try_get::<Option<bool>, _>("is_active")?.unwrap_or(false);
    let mut owner =
        records::tenant_key(row.try_get("id")?, row.try_get("key_hash")?, row.try_get("tenant_id")?, scopes, active)?;
    // The name that people gave the key is what they are known by when they decide something with it.
    owner.principal.owner = row.try_get("name")?;
    Ok(owner)
}

pub(super) fn key(row: &PgRow) -> Result<StoredKey, BoxError> {
    Ok(StoredKey {
        id: row.try_get("id")?,
        prefix: row.try_get("key_prefix")?,
        created_at: row.try_get::<Option<String>, _>("created_at")?.unwrap_or_default(),
        last_used_at: row.try_get("last_used_at")?,
        revoked_at: row.try_get("revoked_at")?,
    })
}

pub(super) fn tenant_key(row: &PgRow) -> Result<TenantKey, BoxError> {
    Ok(TenantKey {
        id: row.try_get("id")?,
        name: row.try_get("name")?,
        scopes: scopes(row)?,
        is_active: row.try_get::<Option<bool>, _>("is_active")?.unwrap_or(false),
        created_at: row.try_get::<Option<String>, _>("created_at")?.unwrap_or_default(),
        last_used_at: row.try_get("last_used_at")?,
    })
}

fn scopes(row: &PgRow) -> Result<Vec<String>, BoxError> {
    Ok(row.try_get::<Option<Json<Vec<String>>>, _>("scopes")?.map(|json| json.0).unwrap_or_default())
}
