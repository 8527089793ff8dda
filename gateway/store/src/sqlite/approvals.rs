//! Approvals in SQLite.

use std::time::Duration;

use async_trait::async_trait;
use gateway_core::approvals::{
    ApprovalQuery, ApprovalRecord, ApprovalStatus, DecideError, Decided, Decider, NewApproval, Swept,
};
use gateway_core::ports::{Approvals, StoreError};
use gateway_core::{BoxError, TenantId, TraceId};
use jiff::{SignedDuration, Timestamp};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;
use uuid::Uuid;

use super::SqlitePools;
use super::rows::{strings, uuid};
use crate::approvals::{
    AT_ONCE, ApprovalColumns, KEPT, LONGEST_LIST, TOLD_AT_ONCE, WRITING_TIME, undecided, wait, written, written_after,
};
use crate::failure::{not_added, unavailable};
use crate::once::patiently;

macro_rules! columns {
    () => {
        "id, tenant_id, kind, agent_id, tool, binding, args_hash, manifest_hash, policies_hash, classification, \
         risk_level, four_eyes, reasons, policy_ids, shown, owner, status, trace_id, decided_by, note, used_trace, \
         decision_trace, asked_at, deadline, decided_at, use_by, used_at, notified_at"
    };
}

/// Nobody that a row concerns is stopped.
macro_rules! going {
    () => {
        "NOT EXISTS (SELECT 1 FROM suspensions s WHERE s.lifted_at IS NULL \
         AND (s.tenant_id IS NULL OR s.tenant_id = approvals.tenant_id) AND ( \
         (s.kind = 'agent' AND s.subject = approvals.agent_id) OR (s.kind = 'tool' AND s.subject = approvals.tool) \
         OR (s.kind = 'upstream' AND s.subject = substr(approvals.tool, 1, instr(approvals.tool, '/') - 1)) \
         OR (s.kind = 'tenant' AND s.subject = approvals.tenant_id)))"
    };
}

macro_rules! old {
    () => {
        "SELECT id FROM approvals WHERE status IN ('rejected', 'expired', 'used') AND decided_at < ?1 \
         AND (used_at IS NULL OR used_at < ?1) AND decision_trace IS NOT NULL ORDER BY decided_at LIMIT ?2"
    };
}

pub(crate) struct SqliteApprovals(pub SqlitePools);

#[async_trait]
impl Approvals for SqliteApprovals {
    async fn ask(&self, new: &NewApproval, now: Timestamp) -> Result<ApprovalRecord, StoreError> {
        let asked = self.ask_within(new, i64::MAX, now).await?;
        asked.ok_or_else(|| StoreError::Invalid("the approval cannot be stored".into()))
    }

    async fn ask_within(
        &self,
        new: &NewApproval,
        most: i64,
        now: Timestamp,
    ) -> Result<Option<ApprovalRecord>, StoreError> {
        // Between two statements another node may use up, expire or ask what this one saw: then it looks again.
        for _ in 0..4 {
            self.expire(Some(&new.binding), now).await?;
            if let Some(row) = self.newest(&new.binding).await?.filter(|row| row.answers(now)) {
                return Ok(Some(row));
            }
            if self.add(new, most, now).await? {
                return self.find(Some(new.tenant), new.id).await;
            }
            if !self.newest(&new.binding).await?.is_some_and(|row| row.answers(now)) {
                return Ok(None);
            }
        }
        Err(StoreError::Invalid("the approval changes too fast".into()))
    }

    async fn find(&self, tenant: Option<TenantId>, id: Uuid) -> Result<Option<ApprovalRecord>, StoreError> {
        let asked = sqlx::query(concat!(
            "SELECT ",
            columns!(),
            " FROM approvals WHERE id = ?1 AND (?2 IS NULL OR tenant_id = ?2)"
        ))
        .bind(id.to_string())
        .bind(tenant.map(|tenant| tenant.to_string()))
        .fetch_optional(&self.0.readers);
        patiently(asked).await?.as_ref().map(approval).transpose().map_err(unavailable)
    }

    async fn list(&self, query: &ApprovalQuery) -> Result<Vec<ApprovalRecord>, StoreError> {
        let asked = sqlx::query(concat!(
            "SELECT ",
            columns!(),
            " FROM approvals WHERE (?1 IS NULL OR tenant_id = ?1) \
             AND (?2 IS NULL OR status = ?2) AND (?3 IS NULL OR agent_id = ?3) \
             ORDER BY approvals.asked_at DESC, id DESC LIMIT ?4"
        ))
        .bind(query.tenant.map(|tenant| tenant.to_string()))
        .bind(query.status.map(ApprovalStatus::as_str))
        .bind(query.agent.as_ref().map(|agent| agent.as_str()))
        .bind(query.limit.clamp(1, LONGEST_LIST))
        .fetch_all(&self.0.readers);
        patiently(asked).await?.iter().map(approval).collect::<Result<_, _>>().map_err(unavailable)
    }

    async fn decide(
        &self,
        id: Uuid,
        verdict: &Decided,
        by: &Decider,
        now: Timestamp,
    ) -> Result<ApprovalRecord, DecideError> {
        // Who asked and whose agent it is never change, so that looking first is safe.
        let row = self.find(by.tenant, id).await?;
        if row.as_ref().is_none_or(|row| row.needs_other_eyes(by, verdict.approve)) {
            return Err(undecided(row, by, verdict, now));
        }
        let status = if verdict.approve { ApprovalStatus::Approved } else { ApprovalStatus::Rejected };
        let decided = sqlx::query(concat!(
            "UPDATE approvals SET status = ?2, decided_at = ?3, decided_by = ?4, note = ?5, use_by = ?6 \
             WHERE id = ?1 AND status = 'pending' AND deadline > ?3 AND ",
            going!(),
            " RETURNING ",
            columns!()
        ))
        .bind(id.to_string())
        .bind(status.as_str())
        .bind(written(now))
        .bind(&by.name)
        .bind(&verdict.note)
        .bind(verdict.approve.then(|| written(verdict.use_by)))
        .fetch_optional(&self.0.writer);
        match patiently(decided).await? {
            Some(row) => Ok(approval(&row).map_err(unavailable)?),
            None => Err(undecided(self.find(by.tenant, id).await?, by, verdict, now)),
        }
    }

    async fn use_up(&self, id: Uuid, binding: &str, trace: &TraceId, now: Timestamp) -> Result<bool, StoreError> {
        let used = sqlx::query(concat!(
            "UPDATE approvals SET status = 'used', used_at = ?3, used_trace = ?4 \
             WHERE id = ?1 AND binding = ?2 AND status = 'approved' AND use_by > ?3 AND ",
            going!()
        ))
        .bind(id.to_string())
        .bind(binding)
        .bind(written(now))
        .bind(trace.as_str())
        .execute(&self.0.writer);
        Ok(patiently(used).await?.rows_affected() == 1)
    }

    async fn decided(&self, id: Uuid, until: Timestamp) -> Result<ApprovalRecord, StoreError> {
        wait(until, || self.find(None, id)).await
    }

    async fn sweep(&self, now: Timestamp) -> Result<Swept, StoreError> {
        let expired = self.expire(None, now).await?;
        self.forget(written_after(now, -KEPT)).await?;
        let asked = sqlx::query(concat!(
            "SELECT ",
            columns!(),
            " FROM approvals WHERE decision_trace IS NULL AND decided_at IS NOT NULL \
             AND decided_at < ?1 ORDER BY approvals.decided_at LIMIT ?2"
        ))
        .bind(written_after(now, -WRITING_TIME))
        .bind(AT_ONCE)
        .fetch_all(&self.0.readers);
        let unrecorded = patiently(asked).await?;
        let unrecorded = unrecorded.iter().map(approval).collect::<Result<_, _>>().map_err(unavailable)?;
        Ok(Swept { expired, unrecorded })
    }

    async fn recorded(&self, id: Uuid, trace: &TraceId) -> Result<(), StoreError> {
        let noted = sqlx::query("UPDATE approvals SET decision_trace = ?2 WHERE id = ?1")
            .bind(id.to_string())
            .bind(trace.as_str())
            .execute(&self.0.writer);
        patiently(noted).await.map(drop)
    }

    async fn to_notify(&self, now: Timestamp, lease: Duration) -> Result<Vec<ApprovalRecord>, StoreError> {
        // Whoever cannot be reached is tried again after ever longer whiles: each about as long as it has waited.
        let leased = sqlx::query(concat!(
            "UPDATE approvals SET notify_after = CASE WHEN asked_at > ?2 THEN ?3 WHEN asked_at > ?4 THEN ?5 ELSE ?6 END \
             WHERE id IN (SELECT id FROM approvals WHERE status = 'pending' AND notified_at IS NULL \
             AND notify_after <= ?1 AND deadline > ?1 ORDER BY notify_after LIMIT ?7) RETURNING ", columns!()
        ))
        .bind(written(now))
        .bind(written_after(now, -SignedDuration::from_secs(60)))
        .bind(written(now.checked_add(lease).unwrap_or(Timestamp::MAX)))
        .bind(written_after(now, -SignedDuration::from_secs(600)))
        .bind(written_after(now, SignedDuration::from_secs(120)))
        .bind(written_after(now, SignedDuration::from_secs(600)))
        .bind(TOLD_AT_ONCE)
        .fetch_all(&self.0.writer);
        patiently(leased).await?.iter().map(approval).collect::<Result<_, _>>().map_err(unavailable)
    }

    async fn notified(&self, id: Uuid, now: Timestamp) -> Result<(), StoreError> {
        let told = sqlx::query("UPDATE approvals SET notified_at = ?2 WHERE id = ?1")
            .bind(id.to_string())
            .bind(written(now))
            .execute(&self.0.writer);
        patiently(told).await.map(drop)
    }
}

impl SqliteApprovals {
    async fn newest(&self, binding: &str) -> Result<Option<ApprovalRecord>, StoreError> {
        let asked = sqlx::query(concat!(
            "SELECT ",
            columns!(),
            " FROM approvals WHERE binding = ?1 ORDER BY approvals.asked_at DESC, id DESC LIMIT 1"
        ))
        .bind(binding)
        .fetch_optional(&self.0.writer);
        patiently(asked).await?.as_ref().map(approval).transpose().map_err(unavailable)
    }

    /// False where another row of the binding is open, or too many of the agent's wait.
    async fn add(&self, new: &NewApproval, most: i64, now: Timestamp) -> Result<bool, StoreError> {
        let unwritable =
            |error: serde_json::Error| StoreError::Invalid(format!("the approval cannot be written: {error}"));
        let reasons = serde_json::to_string(&new.reasons).map_err(unwritable)?;
        let ids = serde_json::to_string(&new.policy_ids).map_err(unwritable)?;
        let added = sqlx::query(
            "INSERT INTO approvals (id, tenant_id, kind, agent_id, tool, binding, args_hash, manifest_hash, policies_hash, \
             classification, risk_level, four_eyes, reasons, policy_ids, shown, owner, status, trace_id, asked_at, deadline, \
             notify_after) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, \
             'pending', ?17, ?18, ?19, ?18 WHERE (SELECT count(*) FROM approvals \
             WHERE tenant_id = ?2 AND agent_id = ?4 AND status = 'pending') < ?20 \
             ON CONFLICT (binding) WHERE status IN ('pending', 'approved') DO NOTHING",
        )
        .bind(new.id.to_string())
        .bind(new.tenant.0.to_string())
        .bind(new.kind.as_str())
        .bind(new.agent.as_str())
        .bind(new.tool.as_ref().map(|tool| tool.as_str()))
        .bind(&new.binding)
        .bind(&new.args_hash)
        .bind(&new.manifest_hash)
        .bind(&new.policies_hash)
        .bind(new.classification.code())
        .bind(new.risk_level.map(|level| level.as_str()))
        .bind(new.four_eyes)
        .bind(reasons)
        .bind(ids)
        .bind(new.shown.as_ref().map(ToString::to_string))
        .bind(&new.owner)
        .bind(new.trace.as_str())
        .bind(written(now))
        .bind(written(new.deadline))
        .bind(most)
        .execute(&self.0.writer);
        let late = |late: tokio::time::error::Elapsed| StoreError::Unavailable(late.into());
        let added = tokio::time::timeout(Duration::from_secs(5), added).await.map_err(late)?;
        let added = added.map_err(|error| not_added(error, || format!("the approval `{}`", new.id)))?;
        Ok(added.rows_affected() == 1)
    }

    /// What nobody decided in time is refused; what was approved and not used in time is worth nothing any more.
    /// Only what is in the chain, and a few at a time; looked for before anybody is kept from writing.
    async fn forget(&self, before: String) -> Result<(), StoreError> {
        let found = sqlx::query(old!()).bind(&before).bind(AT_ONCE).fetch_all(&self.0.readers);
        if patiently(found).await?.is_empty() {
            return Ok(());
        }
        let removed = sqlx::query(concat!("DELETE FROM approvals WHERE id IN (", old!(), ")"))
            .bind(&before)
            .bind(AT_ONCE)
            .execute(&self.0.writer);
        patiently(removed).await.map(drop)
    }

    async fn expire(&self, binding: Option<&str>, now: Timestamp) -> Result<Vec<ApprovalRecord>, StoreError> {
        let mut expired = Vec::new();
        // Looking first: the one connection that writes is everybody's, and mostly nothing is due.
        let due = sqlx::query(
            "SELECT 1 FROM approvals WHERE ((status = 'pending' AND deadline <= ?1) OR (status = 'approved' AND use_by <= ?1)) \
             AND (?2 IS NULL OR binding = ?2) LIMIT 1",
        )
        .bind(written(now))
        .bind(binding)
        .fetch_optional(&self.0.readers);
        if patiently(due).await?.is_none() {
            return Ok(expired);
        }
        for late in [
            concat!(
                "UPDATE approvals SET status = 'expired', decided_at = ?1, decision_trace = NULL \
                 WHERE id IN (SELECT id FROM approvals WHERE status = 'pending' AND deadline <= ?1 \
                 AND (?2 IS NULL OR binding = ?2) LIMIT ?3) AND status = 'pending' RETURNING ",
                columns!()
            ),
            concat!(
                "UPDATE approvals SET status = 'expired', decided_at = ?1, decision_trace = NULL \
                 WHERE id IN (SELECT id FROM approvals WHERE status = 'approved' AND use_by <= ?1 \
                 AND (?2 IS NULL OR binding = ?2) LIMIT ?3) AND status = 'approved' RETURNING ",
                columns!()
            ),
        ] {
            let ended = sqlx::query(late).bind(written(now)).bind(binding).bind(AT_ONCE).fetch_all(&self.0.writer);
            for row in &patiently(ended).await? {
                expired.push(approval(row).map_err(unavailable)?);
            }
        }
        Ok(expired)
    }
}

fn approval(row: &SqliteRow) -> Result<ApprovalRecord, BoxError> {
    let columns = ApprovalColumns {
        id: uuid(row, "id")?,
        tenant: uuid(row, "tenant_id")?,
        kind: row.try_get("kind")?,
        agent: row.try_get("agent_id")?,
        tool: row.try_get("tool")?,
        binding: row.try_get("binding")?,
        args_hash: row.try_get("args_hash")?,
        manifest_hash: row.try_get("manifest_hash")?,
        policies_hash: row.try_get("policies_hash")?,
        classification: row.try_get("classification")?,
        risk_level: row.try_get("risk_level")?,
        four_eyes: row.try_get("four_eyes")?,
        reasons: row.try_get("reasons")?,
        policy_ids: strings(row, "policy_ids")?,
        shown: row.try_get("shown")?,
        owner: row.try_get("owner")?,
        status: row.try_get("status")?,
        trace: row.try_get("trace_id")?,
        asked_at: row.try_get("asked_at")?,
        deadline: row.try_get("deadline")?,
        decided_at: row.try_get("decided_at")?,
        decided_by: row.try_get("decided_by")?,
        note: row.try_get("note")?,
        use_by: row.try_get("use_by")?,
        used_at: row.try_get("used_at")?,
        used_trace: row.try_get("used_trace")?,
        decision_trace: row.try_get("decision_trace")?,
        notified_at: row.try_get("notified_at")?,
    };
    columns.row()
}
