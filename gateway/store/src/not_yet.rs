//! Ports that nothing is stored behind yet: what is asked for is not there, and nothing can be written.

use async_trait::async_trait;
use gateway_core::ports::{
    CallCursor, History, PinNews, PinRow, PinStore, Proof, Proofs, RecordedCall, StoreError, TierCount,
};
use gateway_core::{AgentId, TenantId, ToolName, Trace};
use jiff::Timestamp;
use serde_json::Value;

pub(crate) struct NotYet;

fn not_yet<T>() -> Result<T, StoreError> {
    Err(StoreError::Invalid("this cannot be stored yet".into()))
}

#[async_trait]
impl PinStore for NotYet {
    async fn pins(&self) -> Result<Vec<PinRow>, StoreError> {
        Ok(Vec::new())
    }

    fn note(&self, news: PinNews) {
        tracing::warn!(tool = %news.tool, "a definition was seen and cannot be stored yet");
    }

    async fn accept(&self, _: &ToolName, _: &str, _: &Value, _: &str, _: bool) -> Result<(), StoreError> {
        not_yet()
    }
}

#[async_trait]
impl Proofs for NotYet {
    async fn keep(&self, _: &Proof) -> Result<(), StoreError> {
        not_yet()
    }

    async fn latest(&self, _: Option<TenantId>) -> Result<Option<Proof>, StoreError> {
        Ok(None)
    }
}

#[async_trait]
impl History for NotYet {
    async fn trace(&self, _: &str) -> Result<Option<(Option<TenantId>, Trace)>, StoreError> {
        not_yet()
    }

    async fn call(&self, _: &str) -> Result<Option<RecordedCall>, StoreError> {
        not_yet()
    }

    async fn calls(&self, _: &CallCursor, _: i64) -> Result<Vec<RecordedCall>, StoreError> {
        not_yet()
    }

    async fn record_of(&self, _: TenantId, _: &AgentId, _: Timestamp) -> Result<Vec<TierCount>, StoreError> {
        not_yet()
    }
}
