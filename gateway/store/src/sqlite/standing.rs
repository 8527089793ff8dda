//! Suspensions in SQLite.

use async_trait::async_trait;
use gateway_core::live::Suspension;
use gateway_core::ports::{NewSuspension, Standing, StoreError};
use gateway_core::{BoxError, TenantId};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;
use uuid::Uuid;

use super::SqlitePools;
use super::rows::{optional_uuid, uuid};
use crate::failure::{not_added, unavailable};
use crate::live::SuspensionColumns;
use crate::once::patiently;

macro_rules! columns {
    () => {
        "id, tenant_id, kind, subject, reason, \"by\", since"
    };
}

/// Everything that is suspended now.
pub(super) const IN_FORCE: &str =
    concat!("SELECT ", columns!(), " FROM suspensions WHERE lifted_at IS NULL ORDER BY since, id");

pub(crate) struct SqliteStanding(pub SqlitePools);

#[async_trait]
impl Standing for SqliteStanding {
    async fn suspend(&self, new: &NewSuspension) -> Result<Uuid, StoreError> {
        let tenant = new.tenant.map(|tenant| tenant.to_string());
        // The one that stands may be lifted between the two statements: then there is room for ours.
        for _ in 0..3 {
            let done = sqlx::query(
                "INSERT INTO suspensions (id, tenant_id, kind, subject, reason, \"by\") VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
                 ON CONFLICT DO NOTHING",
            )
            .bind(new.id.to_string())
            .bind(&tenant)
            .bind(new.kind.as_str())
            .bind(&new.subject)
            .bind(&new.reason)
            .bind(&new.by)
            .execute(&self.0.writer)
            .await
            .map_err(|error| not_added(error, || format!("the suspension of `{}`", new.subject)))?;
            if done.rows_affected() == 1 {
                return Ok(new.id);
            }
            let standing = sqlx::query(
                "SELECT id FROM suspensions WHERE lifted_at IS NULL AND tenant_id IS ?1 AND kind = ?2 AND subject = ?3",
            )
            .bind(&tenant)
            .bind(new.kind.as_str())
            .bind(&new.subject)
            .fetch_optional(&self.0.writer)
            .await
            .map_err(unavailable)?;
            if let Some(row) = standing {
                return uuid(&row, "id").map_err(unavailable);
            }
        }
        Err(StoreError::Exists(format!("the suspension of `{}`", new.subject)))
    }

    async fn lift(&self, id: Uuid, by: &str) -> Result<Suspension, StoreError> {
        let lifted = sqlx::query(concat!(
            "UPDATE suspensions SET lifted_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), lifted_by = ?2 \
             WHERE id = ?1 AND lifted_at IS NULL RETURNING ",
            columns!()
        ))
        .bind(id.to_string())
        .bind(by)
        .fetch_optional(&self.0.writer);
        let row = patiently(lifted).await?.ok_or_else(|| StoreError::NotFound(format!("suspension `{id}`")))?;
        suspension(&row).map_err(unavailable)
    }

    async fn suspensions(&self, tenant: Option<TenantId>) -> Result<Vec<Suspension>, StoreError> {
        let asked = sqlx::query(concat!(
            "SELECT ",
            columns!(),
            " FROM suspensions WHERE lifted_at IS NULL AND (?1 IS NULL OR tenant_id = ?1) ORDER BY since, id"
        ))
        .bind(tenant.map(|tenant| tenant.to_string()))
        .fetch_all(&self.0.readers);
        patiently(asked).await?.iter().map(suspension).collect::<Result<_, _>>().map_err(unavailable)
    }
}

pub(super) fn suspension(row: &SqliteRow) -> Result<Suspension, BoxError> {
    let columns = SuspensionColumns {
        id: uuid(row, "id")?,
        tenant: optional_uuid(row, "tenant_id")?,
        kind: row.try_get("kind")?,
        subject: row.try_get("subject")?,
        reason: row.try_get("reason")?,
        by: row.try_get("by")?,
        since: row.try_get("since")?,
    };
    columns.row()
}
