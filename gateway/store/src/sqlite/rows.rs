//! Rows of SQLite as tenants, agents and keys.

use gateway_core::ports::{KeyOwner, StoredKey, Tenant, TenantKey};
use gateway_core::{BoxError, TenantId};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;
use uuid::Uuid;

use crate::records::{self, AgentRow, agent_key};

pub(super) fn uuid(row: &SqliteRow, column: &str) -> Result<Uuid, BoxError> {
    Ok(Uuid::try_parse(row.try_get(column)?)?)
}

pub(super) fn optional_uuid(row: &SqliteRow, column: &str) -> Result<Option<Uuid>, BoxError> {
    let text: Option<String> = row.try_get(column)?;
    Ok(text.map(|text| Uuid::try_parse(&text)).transpose()?)
}

pub(super) fn strings(row: &SqliteRow, column: &str) -> Result<Vec<String>, BoxError> {
    let text: Option<String> = row.try_get(column)?;
    Ok(text.map(|text| serde_json::from_str(&text)).transpose()?.unwrap_or_default())
}

pub(super) fn tenant(row: &SqliteRow) -> Result<Tenant, BoxError> {
    let created_at: Option<String> = row.try_get("created_at")?;
    Ok(Tenant {
        id: TenantId(uuid(row, "id")?),
        name: row.try_get("name")?,
        created_at: created_at.unwrap_or_default(),
    })
}

pub(super) fn agent_row(row: &SqliteRow) -> Result<AgentRow, BoxError> {
    let metadata: Option<String> = row.try_get("metadata")?;
    Ok(AgentRow {
        id: uuid(row, "id")?,
        organization_id: uuid(row, "organization_id")?,
        agent_id: row.try_get("agent_id")?,
        name: row.try_get("name")?,
        description: row.try_get("description")?,
        autonomy_level: row.try_get("autonomy_level")?,
        allowed_types: strings(row, "allowed_types")?,
        max_risk: row.try_get("max_risk")?,
        owner_name: row.try_get("owner_name")?,
        owner_email: row.try_get("owner_email")?,
        status: row.try_get("status")?,
        metadata: metadata.map(|text| serde_json::from_str(&text)).transpose()?,
        created_at: row.try_get("created_at")?,
        updated_at: row.try_get("updated_at")?,
    })
}

pub(super) fn agent_owner(row: &SqliteRow) -> Result<KeyOwner, BoxError> {
    agent_key(uuid(row, "key_id")?, row.try_get("key_hash")?, row.try_get("revoked")?, agent_row(row)?)
}

pub(super) fn tenant_owner(row: &SqliteRow) -> Result<KeyOwner, BoxError> {
    let tenant = optional_uuid(row, "tenant_id")?;
    let active = row.try_get::<Option<bool>, _>("is_active")?.unwrap_or(false);
    let mut owner =
        records::tenant_key(uuid(row, "id")?, row.try_get("key_hash")?, tenant, strings(row, "scopes")?, active)?;
    // The name that people gave the key is what they are known by when they decide something with it.
    owner.principal.owner = row.try_get("name")?;
    Ok(owner)
}

pub(super) fn key(row: &SqliteRow) -> Result<StoredKey, BoxError> {
    Ok(StoredKey {
        id: uuid(row, "id")?,
        prefix: row.try_get("key_prefix")?,
        created_at: row.try_get::<Option<String>, _>("created_at")?.unwrap_or_default(),
        last_used_at: row.try_get("last_used_at")?,
        revoked_at: row.try_get("revoked_at")?,
    })
}

pub(super) fn tenant_key(row: &SqliteRow) -> Result<TenantKey, BoxError> {
    Ok(TenantKey {
        id: uuid(row, "id")?,
        name: row.try_get("name")?,
        scopes: strings(row, "scopes")?,
        is_active: row.try_get::<Option<bool>, _>("is_active")?.unwrap_or(false),
        created_at: row.try_get::<Option<String>, _>("created_at")?.unwrap_or_default(),
        last_used_at: row.try_get("last_used_at")?,
    })
}
