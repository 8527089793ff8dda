//! Suspensions in Postgres.

use async_trait::async_trait;
use gateway_core::live::Suspension;
use gateway_core::ports::{NewSuspension, Standing, StoreError};
use gateway_core::{BoxError, TenantId};
use sqlx::Row;
use sqlx::postgres::{PgPool, PgRow};
use uuid::Uuid;

use crate::failure::{not_added, unavailable};
use crate::live::SuspensionColumns;
use crate::once::patiently;

macro_rules! columns {
    () => {
        "id, tenant_id, kind, subject, reason, \"by\", to_char(since AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"') AS since"
    };
}

/// Everything that is suspended now.
pub(super) const IN_FORCE: &str =
    concat!("SELECT ", columns!(), " FROM suspensions WHERE lifted_at IS NULL ORDER BY suspensions.since, id");

pub(crate) struct PostgresStanding(pub PgPool);

#[async_trait]
impl Standing for PostgresStanding {
    async fn suspend(&self, new: &NewSuspension) -> Result<Uuid, StoreError> {
        // The one that stands may be lifted between the two statements: then there is room for ours.
        for _ in 0..3 {
            let done = sqlx::query(
                "INSERT INTO suspensions (id, tenant_id, kind, subject, reason, \"by\") VALUES ($1, $2, $3, $4, $5, $6) \
                 ON CONFLICT DO NOTHING",
            )
            .bind(new.id)
            .bind(new.tenant.map(|tenant| tenant.0))
            .bind(new.kind.as_str())
            .bind(&new.subject)
            .bind(&new.reason)
            .bind(&new.by)
            .execute(&self.0)
            .await
            .map_err(|error| not_added(error, || format!("the suspension of `{}`", new.subject)))?;
            if done.rows_affected() == 1 {
                return Ok(new.id);
            }
            let standing: Option<Uuid> = sqlx::query_scalar(
                "SELECT id FROM suspensions WHERE lifted_at IS NULL AND tenant_id IS NOT DISTINCT FROM $1 \
                 AND kind = $2 AND subject = $3",
            )
            .bind(new.tenant.map(|tenant| tenant.0))
            .bind(new.kind.as_str())
            .bind(&new.subject)
            .fetch_optional(&self.0)
            .await
            .map_err(unavailable)?;
            if let Some(id) = standing {
                return Ok(id);
            }
        }
        Err(StoreError::Exists(format!("the suspension of `{}`", new.subject)))
    }

    async fn lift(&self, id: Uuid, by: &str) -> Result<Suspension, StoreError> {
        let lifted = sqlx::query(concat!(
            "UPDATE suspensions SET lifted_at = now(), lifted_by = $2 WHERE id = $1 AND lifted_at IS NULL RETURNING ",
            columns!()
        ))
        .bind(id)
        .bind(by)
        .fetch_optional(&self.0);
        let row = patiently(lifted).await?.ok_or_else(|| StoreError::NotFound(format!("suspension `{id}`")))?;
        suspension(&row).map_err(unavailable)
    }

    async fn suspensions(&self, tenant: Option<TenantId>) -> Result<Vec<Suspension>, StoreError> {
        let asked = sqlx::query(concat!(
            "SELECT ",
            columns!(),
            " FROM suspensions WHERE lifted_at IS NULL AND ($1::uuid IS NULL OR tenant_id = $1) \
             ORDER BY suspensions.since, id"
        ))
        .bind(tenant.map(|tenant| tenant.0))
        .fetch_all(&self.0);
        patiently(asked).await?.iter().map(suspension).collect::<Result<_, _>>().map_err(unavailable)
    }
}

pub(super) fn suspension(row: &PgRow) -> Result<Suspension, BoxError> {
    let columns = SuspensionColumns {
        id: row.try_get("id")?,
        tenant: row.try_get("tenant_id")?,
        kind: row.try_get("kind")?,
        subject: row.try_get("subject")?,
        reason: row.try_get("reason")?,
        by: row.try_get("by")?,
        since: row.try_get("since")?,
    };
    columns.row()
}
