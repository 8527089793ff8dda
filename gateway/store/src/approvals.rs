//! What the approvals of both engines have in common: how a row is read, and how times are written.

use std::future::Future;
use std::time::Duration;

use gateway_core::approvals::{
    ApprovalKind, ApprovalRecord, ApprovalStatus, DecideError, Decided, Decider, NewApproval,
};
use gateway_core::classification::Classification;
use gateway_core::manifest::RiskLevel;
use gateway_core::ports::StoreError;
use gateway_core::{BoxError, TenantId, TraceId};
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

/// How often a row that somebody waits for is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// How long whoever decided has to write it down before somebody else does.
pub(crate) const WRITING_TIME: SignedDuration = SignedDuration::from_secs(5);
/// Rows of one look at the deadlines.
pub(crate) const AT_ONCE: i64 = 100;
/// How long a row stays after its end, as long as the other records. What happened stays in the chain.
pub(crate) const KEPT: SignedDuration = SignedDuration::from_hours(365 * 24);
/// Notices sent at once.
pub(crate) const TOLD_AT_ONCE: i64 = 20;
/// The most that one question is answered with.
pub(crate) const LONGEST_LIST: i64 = 1000;

/// Always as long as the next one, so that in SQLite times compare as texts; no finer than Postgres keeps them.
pub(crate) fn written(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

pub(crate) fn written_after(time: Timestamp, later: SignedDuration) -> String {
    written(time.checked_add(later).unwrap_or(Timestamp::MAX))
}

/// The columns of one row, as either engine gives them.
pub(crate) struct ApprovalColumns {
    pub id: Uuid,
    pub tenant: Uuid,
    pub kind: String,
    pub agent: String,
    pub tool: Option<String>,
    pub binding: String,
    pub args_hash: Option<String>,
    pub manifest_hash: Option<String>,
    pub policies_hash: Option<String>,
    pub classification: Option<String>,
    pub risk_level: Option<String>,
    pub four_eyes: bool,
    pub reasons: String,
    pub policy_ids: Vec<String>,
    pub shown: Option<String>,
    pub owner: Option<String>,
    pub status: String,
    pub trace: Option<String>,
    pub asked_at: String,
    pub deadline: String,
    pub decided_at: Option<String>,
    pub decided_by: Option<String>,
    pub note: Option<String>,
    pub use_by: Option<String>,
    pub used_at: Option<String>,
    pub used_trace: Option<String>,
    pub decision_trace: Option<String>,
    pub notified_at: Option<String>,
}

impl ApprovalColumns {
    pub fn row(self) -> Result<ApprovalRecord, BoxError> {
        let time = |text: Option<String>| text.map(|text| text.parse::<Timestamp>()).transpose();
        let trace = |text: Option<String>| text.map(|text| TraceId::from_stored(&text));
        let asked = NewApproval {
            id: self.id,
            tenant: TenantId(self.tenant),
            kind: self.kind.parse::<ApprovalKind>()?,
            agent: self.agent.parse()?,
            tool: self.tool.map(|tool| tool.parse()).transpose()?,
            binding: self.binding,
            args_hash: self.args_hash,
            manifest_hash: self.manifest_hash,
            policies_hash: self.policies_hash.unwrap_or_default(),
            classification: classification(&self.classification.unwrap_or_default())?,
            risk_level: self.risk_level.map(|level| level.parse::<RiskLevel>()).transpose()?,
            four_eyes: self.four_eyes,
            reasons: serde_json::from_str(&self.reasons)?,
            policy_ids: self.policy_ids,
            shown: self.shown.map(|shown| serde_json::from_str(&shown)).transpose()?,
            owner: self.owner,
            trace: TraceId::from_stored(&self.trace.unwrap_or_default()),
            deadline: self.deadline.parse()?,
        };
        Ok(ApprovalRecord {
            asked,
            status: self.status.parse::<ApprovalStatus>()?,
            asked_at: self.asked_at.parse()?,
            decided_at: time(self.decided_at)?,
            decided_by: self.decided_by,
            note: self.note,
            use_by: time(self.use_by)?,
            used_at: time(self.used_at)?,
            used_trace: trace(self.used_trace),
            decision_trace: trace(self.decision_trace),
            notified_at: time(self.notified_at)?,
        })
    }
}

/// `D3-R3-irreversible`
fn classification(code: &str) -> Result<Classification, BoxError> {
    let mut parts = code.splitn(3, '-');
    let mut part = || parts.next().unwrap_or_default();
    Ok(Classification::new(part().parse()?, part().parse()?, part().parse()?))
}

/// What a decision that did not take means: what stands there now says why.
pub(crate) fn undecided(row: Option<ApprovalRecord>, by: &Decider, verdict: &Decided, now: Timestamp) -> DecideError {
    let Some(row) = row else {
        return DecideError::NotFound;
    };
    match row.status {
        ApprovalStatus::Pending if row.asked.deadline <= now => DecideError::Already(ApprovalStatus::Expired),
        ApprovalStatus::Pending if row.needs_other_eyes(by, verdict.approve) => DecideError::FourEyes,
        ApprovalStatus::Pending => DecideError::Frozen,
        decided => DecideError::Already(decided),
    }
}

/// Looks at the row until it is decided, or until it is too late to go on waiting.
pub(crate) async fn wait<F>(until: Timestamp, look: impl Fn() -> F) -> Result<ApprovalRecord, StoreError>
where
    F: Future<Output = Result<Option<ApprovalRecord>, StoreError>>,
{
    loop {
        let row = look().await?.ok_or_else(|| StoreError::NotFound("the approval".into()))?;
        if row.status != ApprovalStatus::Pending || Timestamp::now() >= until {
            return Ok(row);
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn classifications_are_read_as_they_are_written() {
        for code in ["D1-R1-total", "D3-R3-irreversible", "D4-R2-partial"] {
            assert_eq!(classification(code).unwrap().code(), code);
        }
        for broken in ["", "D1", "D1-R1", "D9-R1-total", "D1-R1-total-x"] {
            assert!(classification(broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn times_are_all_of_one_length() {
        let whole: Timestamp = "2026-11-16T10:00:00Z".parse().unwrap();
        let fine: Timestamp = "2026-11-16T10:00:00.123456789Z".parse().unwrap();
        assert_eq!(written(whole), "2026-11-16T10:00:00.000000Z");
        assert_eq!(written(fine), "2026-11-16T10:00:00.123456Z");
    }
}
