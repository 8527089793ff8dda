//! Accepted definitions as versions of a tool, in the registry of every tenant that has seen it.
//!
//! The row `seen` is the tool as it was last listed. Each definition that was accepted has a row of its own, `sha-` and the
//! beginning of its hash; the one accepted last is recommended, unless an operator recommends a row of their own. What is no
//! longer accepted stays for the records that name it, and is not active.

use sqlx::postgres::{PgConnection, PgPool};

use crate::batch::SEEN;

macro_rules! version {
    () => {
        "'sha-' || left(split_part(p.hash, ':', 2), 12)"
    };
}

/// Held until the transaction ends, so that two nodes do not do it at once.
pub(super) async fn lock(connection: &mut PgConnection, tool: &str) -> Result<(), sqlx::Error> {
    let locked = sqlx::query("SELECT pg_advisory_xact_lock(hashtext('portreeve.pins'), hashtext($1))").bind(tool);
    locked.execute(connection).await.map(drop)
}

/// Brings the versions of a tool up to date; whoever calls it holds the lock.
pub(super) async fn reflect(connection: &mut PgConnection, tool: &str) -> Result<(), sqlx::Error> {
    sqlx::query(concat!(
        "INSERT INTO tool_registry (tenant_id, name, version, schema, metadata, risk_level) SELECT s.tenant_id, s.name, ",
        version!(),
        ", COALESCE(p.definition -> 'inputSchema', '{}'), p.definition - 'name' - 'inputSchema', s.risk_level \
         FROM tool_registry s JOIN tool_pins p ON p.tool = s.name AND p.state = 'accepted' \
         WHERE s.name = $1 AND s.version = $2 AND s.tenant_id IS NOT NULL AND jsonb_typeof(p.definition) = 'object' \
         AND COALESCE(jsonb_typeof(p.definition -> 'inputSchema'), 'object') = 'object' \
         ON CONFLICT (tenant_id, name, version) DO UPDATE SET risk_level = excluded.risk_level"
    ))
    .bind(tool)
    .bind(SEEN)
    .execute(&mut *connection)
    .await?;
    sqlx::query(concat!(
        "UPDATE tool_registry v SET \
         is_active = EXISTS (SELECT 1 FROM tool_pins p WHERE p.tool = v.name AND p.state = 'accepted' AND v.version = ",
        version!(),
        "), is_recommended = COALESCE(v.version = (SELECT ",
        version!(),
        " FROM tool_pins p WHERE p.tool = v.name AND p.state = 'accepted' ORDER BY p.at DESC, p.hash DESC LIMIT 1), false) \
         AND NOT EXISTS (SELECT 1 FROM tool_registry o WHERE o.tenant_id = v.tenant_id AND o.name = v.name \
         AND o.is_recommended AND o.version NOT LIKE 'sha-%') WHERE v.name = $1 AND v.version LIKE 'sha-%'"
    ))
    .bind(tool)
    .execute(connection)
    .await?;
    Ok(())
}

/// The same where a tenant has just seen it.
pub(super) async fn reflect_alone(pool: &PgPool, tool: &str) -> Result<(), sqlx::Error> {
    let mut transaction = pool.begin().await?;
    lock(&mut transaction, tool).await?;
    reflect(&mut transaction, tool).await?;
    transaction.commit().await
}
