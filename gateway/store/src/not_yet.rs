//! Ports that nothing is stored behind yet: what is asked for is not there, and nothing can be written.

use async_trait::async_trait;
use gateway_core::ToolName;
use gateway_core::ports::{PinNews, PinRow, PinStore, StoreError};
use serde_json::Value;

pub(crate) struct NotYet;

#[async_trait]
impl PinStore for NotYet {
    async fn pins(&self) -> Result<Vec<PinRow>, StoreError> {
        Ok(Vec::new())
    }

    fn note(&self, news: PinNews) {
        tracing::warn!(tool = %news.tool, "a definition was seen and cannot be stored yet");
    }

    async fn accept(&self, _: &ToolName, _: &str, _: &Value, _: &str, _: bool) -> Result<(), StoreError> {
        Err(StoreError::Invalid("this cannot be stored yet".into()))
    }
}
