//! Approvals as rows, and whoever is told of them.

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use uuid::Uuid;

use super::{Notice, StoreError};
use crate::BoxError;
use crate::approvals::{ApprovalQuery, ApprovalRecord, DecideError, Decided, Decider, NewApproval, Swept};
use crate::names::{TenantId, TraceId};

#[async_trait]
pub trait Approvals: Send + Sync {
    /// The newest row of this binding, or a new one.
    async fn ask(&self, new: &NewApproval, now: Timestamp) -> Result<ApprovalRecord, StoreError>;
    /// The same, unless that would be a new row while so many of this agent's wait already: `None`.
    async fn ask_within(
        &self,
        new: &NewApproval,
        most: i64,
        now: Timestamp,
    ) -> Result<Option<ApprovalRecord>, StoreError> {
        let _ = most;
        self.ask(new, now).await.map(Some)
    }
    async fn find(&self, tenant: Option<TenantId>, id: Uuid) -> Result<Option<ApprovalRecord>, StoreError>;
    async fn list(&self, query: &ApprovalQuery) -> Result<Vec<ApprovalRecord>, StoreError>;
    async fn decide(
        &self,
        id: Uuid,
        verdict: &Decided,
        by: &Decider,
        now: Timestamp,
    ) -> Result<ApprovalRecord, DecideError>;
    /// True for one caller only, on whichever node.
    async fn use_up(&self, id: Uuid, binding: &str, trace: &TraceId, now: Timestamp) -> Result<bool, StoreError>;
    /// Waits until the row is no longer pending, or `until`.
    async fn decided(&self, id: Uuid, until: Timestamp) -> Result<ApprovalRecord, StoreError>;
    async fn sweep(&self, now: Timestamp) -> Result<Swept, StoreError>;
    /// The decision's trace is written.
    async fn recorded(&self, id: Uuid, trace: &TraceId) -> Result<(), StoreError>;
    /// Those whose humans were not told yet, leased to this node for so long.
    async fn to_notify(&self, now: Timestamp, lease: Duration) -> Result<Vec<ApprovalRecord>, StoreError>;
    async fn notified(&self, id: Uuid, now: Timestamp) -> Result<(), StoreError>;
}

#[derive(Debug, thiserror::Error)]
#[error("nobody could be told")]
pub struct NotifyError(#[source] pub BoxError);

/// Tells people that something waits for them, or that something happened.
#[async_trait]
pub trait Notifier: Send + Sync {
    async fn tell(&self, approval: &ApprovalRecord, link: &str) -> Result<(), NotifyError>;
    /// The same of something that a policy only mentions.
    async fn announce(&self, notice: &Notice) -> Result<(), NotifyError>;
}
