//! People who are asked and never answer.

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use uuid::Uuid;

use crate::approvals::{
    ApprovalQuery, ApprovalRecord, ApprovalStatus, DecideError, Decided, Decider, NewApproval, Swept,
};
use crate::names::{TenantId, TraceId};
use crate::ports::{Approvals, StoreError};

pub struct NoApprovals;

fn nobody<T>() -> Result<T, StoreError> {
    Err(StoreError::Invalid("nobody can be asked".into()))
}

#[async_trait]
impl Approvals for NoApprovals {
    async fn ask(&self, new: &NewApproval, now: Timestamp) -> Result<ApprovalRecord, StoreError> {
        Ok(ApprovalRecord {
            asked: new.clone(),
            status: ApprovalStatus::Pending,
            asked_at: now,
            decided_at: None,
            decided_by: None,
            note: None,
            use_by: None,
            used_at: None,
            used_trace: None,
            decision_trace: None,
            notified_at: None,
        })
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
        nobody()
    }

    async fn sweep(&self, _: Timestamp) -> Result<Swept, StoreError> {
        Ok(Swept::default())
    }

    async fn recorded(&self, _: Uuid, _: &TraceId) -> Result<(), StoreError> {
        Ok(())
    }

    async fn to_notify(&self, _: Timestamp, _: Duration) -> Result<Vec<ApprovalRecord>, StoreError> {
        Ok(Vec::new())
    }

    async fn notified(&self, _: Uuid, _: Timestamp) -> Result<(), StoreError> {
        Ok(())
    }
}
