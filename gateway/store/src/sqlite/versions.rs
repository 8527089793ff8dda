//! Accepted definitions as versions of a tool, in the registry of every tenant that has seen it; `postgres/versions.rs` says
//! what they are.

use sqlx::sqlite::SqliteConnection;

use crate::batch::SEEN;

macro_rules! version {
    () => {
        "'sha-' || substr(p.hash, instr(p.hash, ':') + 1, 12)"
    };
}

/// Brings the versions of a tool up to date, in the transaction of whoever changed something about it.
pub(super) async fn reflect(connection: &mut SqliteConnection, tool: &str) -> Result<(), sqlx::Error> {
    sqlx::query(concat!(
        "INSERT INTO tool_registry (tenant_id, name, version, schema, metadata, risk_level) SELECT s.tenant_id, s.name, ",
        version!(),
        ", COALESCE(json_extract(p.definition, '$.inputSchema'), '{}'), json_remove(p.definition, '$.name', '$.inputSchema'), \
         s.risk_level FROM tool_registry s JOIN tool_pins p ON p.tool = s.name AND p.state = 'accepted' \
         WHERE s.name = ?1 AND s.version = ?2 AND s.tenant_id IS NOT NULL AND json_type(p.definition) = 'object' \
         AND COALESCE(json_type(p.definition, '$.inputSchema'), 'object') = 'object' \
         ON CONFLICT (tenant_id, name, version) DO UPDATE SET risk_level = excluded.risk_level"
    ))
    .bind(tool)
    .bind(SEEN)
    .execute(&mut *connection)
    .await?;
    sqlx::query(concat!(
        "UPDATE tool_registry SET is_active = EXISTS (SELECT 1 FROM tool_pins p WHERE p.tool = tool_registry.name \
         AND p.state = 'accepted' AND tool_registry.version = ",
        version!(),
        "), is_recommended = COALESCE(version = (SELECT ",
        version!(),
        " FROM tool_pins p WHERE p.tool = tool_registry.name AND p.state = 'accepted' ORDER BY p.at DESC, p.hash DESC \
         LIMIT 1), 0) AND NOT EXISTS (SELECT 1 FROM tool_registry o WHERE o.tenant_id = tool_registry.tenant_id \
         AND o.name = tool_registry.name AND o.is_recommended AND o.version NOT LIKE 'sha-%') \
         WHERE name = ?1 AND version LIKE 'sha-%'"
    ))
    .bind(tool)
    .execute(connection)
    .await?;
    Ok(())
}
