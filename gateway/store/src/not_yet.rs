//! Ports that nothing is stored behind yet: what is asked for is not there, and nothing can be written.

use std::time::Duration;

use async_trait::async_trait;
use gateway_core::approvals::{ApprovalQuery, ApprovalRecord, DecideError, Decided, Decider, NewApproval, Swept};
use gateway_core::ports::{Approvals, PinNews, PinRow, PinStore, StoreError};
use gateway_core::{TenantId, ToolName, TraceId};
use jiff::Timestamp;
use serde_json::Value;
use uuid::Uuid;

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
impl Approvals for NotYet {
    async fn ask(&self, _: &NewApproval, _: Timestamp) -> Result<ApprovalRecord, StoreError> {
        not_yet()
    }

    async fn find(&self, _: Option<TenantId>, _: Uuid) -> Result<Option<ApprovalRecord>, StoreError> {
        Ok(None)
    }

    async fn list(&self, _: &ApprovalQuery) -> Result<Vec<ApprovalRecord>, StoreError> {
        Ok(Vec::new())
    }

    async fn decide(&self, _: Uuid, _: &Decided, _: &Decider, _: Timestamp) -> Result<ApprovalRecord, DecideError> {
        Err(DecideError::NotFound)
    }

    async fn use_up(&self, _: Uuid, _: &str, _: &TraceId, _: Timestamp) -> Result<bool, StoreError> {
        Ok(false)
    }

    async fn decided(&self, _: Uuid, _: Timestamp) -> Result<ApprovalRecord, StoreError> {
        not_yet()
    }

    async fn sweep(&self, _: Timestamp) -> Result<Swept, StoreError> {
        Ok(Swept::default())
    }

    async fn recorded(&self, _: Uuid, _: &TraceId) -> Result<(), StoreError> {
        not_yet()
    }

    async fn to_notify(&self, _: Timestamp, _: Duration) -> Result<Vec<ApprovalRecord>, StoreError> {
        Ok(Vec::new())
    }

    async fn notified(&self, _: Uuid, _: Timestamp) -> Result<(), StoreError> {
        not_yet()
    }
}
