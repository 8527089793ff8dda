//! Tool definitions in Postgres.

use std::sync::Arc;

use async_trait::async_trait;
use gateway_core::ports::{RegisteredTool, StoreError, ToolDefinition, ToolRegistry};
use gateway_core::{RiskLevel, TenantId};
use sqlx::Row;
use sqlx::postgres::{PgConnection, PgPool, PgRow};
use sqlx::types::Json;

use super::scoped::scoped;
use super::versions;
use crate::batch::SEEN;
use crate::failure::unavailable;
use crate::seen::{SeenSink, SeenTool, SeenTools};

pub(crate) struct PostgresTools {
    pool: PgPool,
    seen: SeenTools,
}

impl PostgresTools {
    pub fn new(pool: &PgPool) -> Self {
        Self { pool: pool.clone(), seen: SeenTools::start(Arc::new(Sink(pool.clone()))) }
    }
}

#[async_trait]
impl ToolRegistry for PostgresTools {
    fn seen(&self, tenant: TenantId, tools: Vec<(ToolDefinition, Option<RiskLevel>)>) {
        self.seen.seen(tenant, tools);
    }

    async fn registered(&self, tenant: TenantId) -> Result<Vec<RegisteredTool>, StoreError> {
        let mut transaction = scoped(&self.pool, tenant).await?;
        let rows = sqlx::query(
            "SELECT id, name, version, is_recommended, schema, metadata, risk_level, is_active
             FROM tool_registry WHERE tenant_id = $1 ORDER BY name, version",
        )
        .bind(tenant.0)
        .fetch_all(&mut *transaction)
        .await
        .map_err(unavailable)?;
        transaction.commit().await.map_err(unavailable)?;
        rows.iter().map(|row| tool(row, tenant)).collect::<Result<_, _>>().map_err(unavailable)
    }
}

fn tool(row: &PgRow, tenant: TenantId) -> Result<RegisteredTool, sqlx::Error> {
    Ok(RegisteredTool {
        id: row.try_get(0)?,
        tenant,
        name: row.try_get(1)?,
        version: row.try_get(2)?,
        is_recommended: row.try_get::<Option<bool>, _>(3)?.unwrap_or(false),
        schema: row.try_get::<Json<_>, _>(4)?.0,
        metadata: row.try_get::<Option<Json<_>>, _>(5)?.map(|json| json.0).unwrap_or_default(),
        risk_level: row.try_get::<Option<String>, _>(6)?.unwrap_or_else(|| "unclassified".into()),
        is_active: row.try_get::<Option<bool>, _>(7)?.unwrap_or(false),
    })
}

struct Sink(PgPool);

#[async_trait]
impl SeenSink for Sink {
    async fn write(&self, tools: &[SeenTool]) -> Result<(), StoreError> {
        // A batch may hold several tenants' tools: each is written as its own. What was written twice is the same.
        for own in tools.chunk_by(|one, next| one.tenant == next.tenant) {
            let Some(tenant) = own.first().map(|tool| tool.tenant) else { continue };
            let mut transaction = scoped(&self.0, tenant).await?;
            for tool in own {
                insert(&mut transaction, tool).await?;
            }
            transaction.commit().await.map_err(unavailable)?;
        }
        // What was accepted is everybody's, and no single tenant's to look at.
        for tool in tools {
            versions::reflect_alone(&self.0, &tool.name).await.map_err(unavailable)?;
        }
        Ok(())
    }
}

async fn insert(connection: &mut PgConnection, tool: &SeenTool) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO tool_registry (tenant_id, name, version, schema, metadata, risk_level)
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (tenant_id, name, version) DO UPDATE
         SET schema = excluded.schema, metadata = excluded.metadata, risk_level = excluded.risk_level",
    )
    .bind(tool.tenant.0)
    .bind(&tool.name)
    .bind(SEEN)
    .bind(Json(&tool.schema))
    .bind(Json(&tool.metadata))
    .bind(tool.risk_level)
    .execute(connection)
    .await
    .map_err(unavailable)?;
    Ok(())
}
