//! Pinned definitions in Postgres.

use async_trait::async_trait;
use gateway_core::ToolName;
use gateway_core::ports::{PinNews, PinRow, PinState, StoreError};
use serde_json::Value;
use sqlx::postgres::PgPool;
use sqlx::types::Json;

use super::live::{PINS, pin};
use super::versions;
use crate::failure::unavailable;
use crate::once::patiently;
use crate::pins::PinRows;

pub(crate) struct PostgresPins(pub PgPool);

#[async_trait]
impl PinRows for PostgresPins {
    async fn all(&self) -> Result<Vec<PinRow>, StoreError> {
        let asked = sqlx::query(PINS).fetch_all(&self.0);
        patiently(asked).await?.iter().map(pin).collect::<Result<_, _>>().map_err(unavailable)
    }

    async fn insert(&self, news: &PinNews) -> Result<Option<PinState>, StoreError> {
        let work = async {
            let mut transaction = self.0.begin().await?;
            // Two nodes may see two first definitions of one tool at once: one of them comes second.
            versions::lock(&mut transaction, news.tool.as_str()).await?;
            let state = sqlx::query_scalar::<_, String>(
                "INSERT INTO tool_pins (tool, hash, state, definition, findings, \"by\") \
                 SELECT $1, $2, CASE WHEN EXISTS (SELECT 1 FROM tool_pins WHERE tool = $1 AND state = 'accepted') \
                 THEN 'quarantined' ELSE $3 END, $4, $5, $6 ON CONFLICT (tool, hash) DO NOTHING RETURNING state",
            )
            .bind(news.tool.as_str())
            .bind(&news.hash)
            .bind(news.state.as_str())
            .bind(Json(&news.definition))
            .bind(Json(&news.findings))
            .bind(&news.by)
            .fetch_optional(&mut *transaction)
            .await?;
            if state.is_some() {
                versions::reflect(&mut transaction, news.tool.as_str()).await?;
            }
            transaction.commit().await?;
            Ok(state)
        };
        let state = patiently(work).await?;
        Ok(state.map(|state| if state == "accepted" { PinState::Accepted } else { PinState::Quarantined }))
    }

    async fn accept(
        &self,
        tool: &ToolName,
        hash: &str,
        definition: &Value,
        by: &str,
        also: bool,
    ) -> Result<(), StoreError> {
        let work = async {
            let mut transaction = self.0.begin().await?;
            versions::lock(&mut transaction, tool.as_str()).await?;
            sqlx::query("DELETE FROM tool_pins WHERE tool = $1 AND hash <> $2 AND (state = 'quarantined' OR NOT $3)")
                .bind(tool.as_str())
                .bind(hash)
                .bind(also)
                .execute(&mut *transaction)
                .await?;
            sqlx::query(
                "INSERT INTO tool_pins (tool, hash, state, definition, \"by\") VALUES ($1, $2, 'accepted', $3, $4) \
                 ON CONFLICT (tool, hash) DO UPDATE SET state = 'accepted', \"by\" = excluded.\"by\", at = now()",
            )
            .bind(tool.as_str())
            .bind(hash)
            .bind(Json(definition))
            .bind(by)
            .execute(&mut *transaction)
            .await?;
            versions::reflect(&mut transaction, tool.as_str()).await?;
            transaction.commit().await
        };
        patiently(work).await
    }
}
