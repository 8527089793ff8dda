//! One tenant's transaction: everything that names a tenant happens inside one of these.
//!
//! It runs as the role `portreeve_app` with the tenant set, so that row security hides the others' rows even from a query
//! that forgot to ask. Where no such role could be made, the queries alone keep tenants apart, as they do on SQLite.

use gateway_core::TenantId;
use gateway_core::ports::StoreError;
use sqlx::postgres::{PgPool, Postgres};
use sqlx::{AssertSqlSafe, Transaction};

use crate::failure::unavailable;

/// One round trip: the transaction begins, and is bound to the tenant until it ends.
pub(crate) async fn scoped(pool: &PgPool, tenant: TenantId) -> Result<Transaction<'static, Postgres>, StoreError> {
    pool.begin_with(entered(tenant)).await.map_err(unavailable)
}

/// The same where the caller has an error of its own for it.
pub(crate) fn entered(tenant: TenantId) -> AssertSqlSafe<String> {
    // Written out because a simple query takes no parameters: an id that we print, never a text from outside.
    AssertSqlSafe(format!("BEGIN; SELECT portreeve_enter('{}')", tenant.0.hyphenated()))
}

/// Gives the role what it lacks, and says whether this login can act as it.
pub(super) async fn arrange(pool: &PgPool) -> Result<bool, StoreError> {
    let enforced: bool = sqlx::query_scalar("SELECT portreeve_arrange()").fetch_one(pool).await.map_err(unavailable)?;
    if !enforced {
        tracing::warn!(
            "row security is not in use: ask for `CREATE ROLE portreeve_app NOLOGIN; GRANT portreeve_app TO` this login"
        );
    }
    Ok(enforced)
}
