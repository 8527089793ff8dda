//! Tool definitions in SQLite.

use std::sync::Arc;

use async_trait::async_trait;
use gateway_core::ports::{RegisteredTool, StoreError, ToolDefinition, ToolRegistry};
use gateway_core::{RiskLevel, TenantId};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;
use uuid::Uuid;

use super::SqlitePools;
use super::versions;
use crate::batch::SEEN;
use crate::failure::unavailable;
use crate::seen::{SeenSink, SeenTool, SeenTools};

pub(crate) struct SqliteTools {
    pools: SqlitePools,
    seen: SeenTools,
}

impl SqliteTools {
    pub fn new(pools: &SqlitePools) -> Self {
        Self { pools: pools.clone(), seen: SeenTools::start(Arc::new(Sink(pools.clone()))) }
    }
}

#[async_trait]
impl ToolRegistry for SqliteTools {
    fn seen(&self, tenant: TenantId, tools: Vec<(ToolDefinition, Option<RiskLevel>)>) {
        self.seen.seen(tenant, tools);
    }

    async fn registered(&self, tenant: TenantId) -> Result<Vec<RegisteredTool>, StoreError> {
        let rows = sqlx::query(
            "SELECT id, name, version, is_recommended, schema, metadata, risk_level, is_active
             FROM tool_registry WHERE tenant_id = ?1 ORDER BY name, version",
        )
        .bind(tenant.0.to_string())
        .fetch_all(&self.pools.readers)
        .await
        .map_err(unavailable)?;
        rows.iter().map(|row| tool(row, tenant)).collect::<Result<_, _>>().map_err(unavailable)
    }
}

fn tool(row: &SqliteRow, tenant: TenantId) -> Result<RegisteredTool, gateway_core::BoxError> {
    let metadata: Option<String> = row.try_get(5)?;
    Ok(RegisteredTool {
        id: Uuid::try_parse(row.try_get(0)?)?,
        tenant,
        name: row.try_get(1)?,
        version: row.try_get(2)?,
        is_recommended: row.try_get::<Option<bool>, _>(3)?.unwrap_or(false),
        schema: serde_json::from_str(row.try_get(4)?)?,
        metadata: metadata.map(|text| serde_json::from_str(&text)).transpose()?.unwrap_or_default(),
        risk_level: row.try_get::<Option<String>, _>(6)?.unwrap_or_else(|| "unclassified".into()),
        is_active: row.try_get::<Option<bool>, _>(7)?.unwrap_or(false),
    })
}

struct Sink(SqlitePools);

#[async_trait]
impl SeenSink for Sink {
    async fn write(&self, tools: &[SeenTool]) -> Result<(), StoreError> {
        let mut transaction = self.0.writer.begin_with("BEGIN IMMEDIATE").await.map_err(unavailable)?;
        for tool in tools {
            sqlx::query(
                "INSERT INTO tool_registry (id, tenant_id, name, version, schema, metadata, risk_level)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (tenant_id, name, version) DO UPDATE
                 SET schema = excluded.schema, metadata = excluded.metadata, risk_level = excluded.risk_level",
            )
            .bind(Uuid::now_v7().to_string())
            .bind(tool.tenant.0.to_string())
            .bind(&tool.name)
            .bind(SEEN)
            .bind(tool.schema.to_string())
            .bind(tool.metadata.to_string())
            .bind(tool.risk_level)
            .execute(&mut *transaction)
            .await
            .map_err(unavailable)?;
            versions::reflect(&mut transaction, &tool.name).await.map_err(unavailable)?;
        }
        transaction.commit().await.map_err(unavailable)
    }
}
