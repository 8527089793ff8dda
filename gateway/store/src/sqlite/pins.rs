//! Pinned definitions in SQLite.

use async_trait::async_trait;
use gateway_core::ToolName;
use gateway_core::ports::{PinNews, PinRow, PinState, StoreError};
use serde_json::Value;

use super::SqlitePools;
use super::live::pin;
use super::versions;
use crate::failure::unavailable;
use crate::once::patiently;
use crate::pins::PinRows;

pub(crate) struct SqlitePins(pub SqlitePools);

#[async_trait]
impl PinRows for SqlitePins {
    async fn all(&self) -> Result<Vec<PinRow>, StoreError> {
        let asked = sqlx::query(
            "SELECT tool, hash, state, definition, findings, seen_from, \"by\", at FROM tool_pins ORDER BY tool, at, hash",
        )
        .fetch_all(&self.0.readers);
        patiently(asked).await?.iter().map(pin).collect::<Result<_, _>>().map_err(unavailable)
    }

    async fn insert(&self, news: &PinNews) -> Result<Option<PinState>, StoreError> {
        let findings = serde_json::to_string(&news.findings).map_err(|error| StoreError::Unavailable(error.into()))?;
        let work = async {
            let mut transaction = self.0.writer.begin_with("BEGIN IMMEDIATE").await?;
            let state = sqlx::query_scalar::<_, String>(
                "INSERT INTO tool_pins (tool, hash, state, definition, findings, \"by\") \
                 SELECT ?1, ?2, CASE WHEN EXISTS (SELECT 1 FROM tool_pins WHERE tool = ?1 AND state = 'accepted') \
                 THEN 'quarantined' ELSE ?3 END, ?4, ?5, ?6 WHERE true ON CONFLICT (tool, hash) DO NOTHING RETURNING state",
            )
            .bind(news.tool.as_str())
            .bind(&news.hash)
            .bind(news.state.as_str())
            .bind(news.definition.to_string())
            .bind(findings)
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
            let mut transaction = self.0.writer.begin().await?;
            sqlx::query("DELETE FROM tool_pins WHERE tool = ?1 AND hash <> ?2 AND (state = 'quarantined' OR NOT ?3)")
                .bind(tool.as_str())
                .bind(hash)
                .bind(also)
                .execute(&mut *transaction)
                .await?;
            sqlx::query(
                "INSERT INTO tool_pins (tool, hash, state, definition, \"by\") VALUES (?1, ?2, 'accepted', ?3, ?4) \
                 ON CONFLICT (tool, hash) DO UPDATE SET state = 'accepted', \"by\" = excluded.\"by\", \
                 at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')",
            )
            .bind(tool.as_str())
            .bind(hash)
            .bind(definition.to_string())
            .bind(by)
            .execute(&mut *transaction)
            .await?;
            versions::reflect(&mut transaction, tool.as_str()).await?;
            transaction.commit().await
        };
        patiently(work).await
    }
}
