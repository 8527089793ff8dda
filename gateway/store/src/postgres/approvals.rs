//! Approvals in Postgres.

use std::time::Duration;

use async_trait::async_trait;
use gateway_core::approvals::{
    ApprovalQuery, ApprovalRecord, ApprovalStatus, DecideError, Decided, Decider, NewApproval, Swept,
};
use gateway_core::ports::{Approvals, StoreError};
use gateway_core::{BoxError, TenantId, TraceId};
use jiff::{SignedDuration, Timestamp};
use sqlx::Row;
use sqlx::postgres::{PgPool, PgRow};
use sqlx::types::Json;
use uuid::Uuid;

use super::scoped::scoped;
use crate::approvals::{
    AT_ONCE, ApprovalColumns, KEPT, LONGEST_LIST, TOLD_AT_ONCE, WRITING_TIME, undecided, wait, written, written_after,
};
use crate::failure::{not_added, unavailable};
use crate::once::patiently;

macro_rules! time {
    ($column:literal) => {
        concat!("to_char(", $column, " AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') AS ", $column)
    };
}

macro_rules! columns {
    () => {
        concat!(
            "id, tenant_id, kind, agent_id, tool, binding, args_hash, manifest_hash, policies_hash, classification, \
             risk_level, four_eyes, reasons::text AS reasons, policy_ids, shown::text AS shown, owner, status, trace_id, \
             decided_by, note, used_trace, decision_trace, ",
            time!("asked_at"), ", ", time!("deadline"), ", ", time!("decided_at"), ", ", time!("use_by"), ", ",
            time!("used_at"), ", ", time!("notified_at")
        )
    };
}

/// Nobody that a row concerns is stopped.
macro_rules! going {
    () => {
        "NOT EXISTS (SELECT 1 FROM suspensions s WHERE s.lifted_at IS NULL \
         AND (s.tenant_id IS NULL OR s.tenant_id = approvals.tenant_id) AND ( \
         (s.kind = 'agent' AND s.subject = approvals.agent_id) OR (s.kind = 'tool' AND s.subject = approvals.tool) \
         OR (s.kind = 'upstream' AND s.subject = split_part(approvals.tool, '/', 1)) \
         OR (s.kind = 'tenant' AND s.subject = approvals.tenant_id::text)))"
    };
}

pub(crate) struct PostgresApprovals(pub PgPool);

#[async_trait]
impl Approvals for PostgresApprovals {
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
            " FROM approvals WHERE id = $1 AND ($2::uuid IS NULL OR tenant_id = $2)"
        ))
        .bind(id)
        .bind(tenant.map(|tenant| tenant.0));
        let row = match tenant {
            Some(tenant) => {
                let mut transaction = scoped(&self.0, tenant).await?;
                let row = patiently(asked.fetch_optional(&mut *transaction)).await?;
                transaction.commit().await.map_err(unavailable)?;
                row
            }
            None => patiently(asked.fetch_optional(&self.0)).await?,
        };
        row.as_ref().map(approval).transpose().map_err(unavailable)
    }

    async fn list(&self, query: &ApprovalQuery) -> Result<Vec<ApprovalRecord>, StoreError> {
        let asked = sqlx::query(concat!(
            "SELECT ",
            columns!(),
            " FROM approvals WHERE ($1::uuid IS NULL OR tenant_id = $1) \
             AND ($2::text IS NULL OR status = $2) AND ($3::text IS NULL OR agent_id = $3) \
             ORDER BY approvals.asked_at DESC, id DESC LIMIT $4"
        ))
        .bind(query.tenant.map(|tenant| tenant.0))
        .bind(query.status.map(ApprovalStatus::as_str))
        .bind(query.agent.as_ref().map(|agent| agent.as_str()))
        .bind(query.limit.clamp(1, LONGEST_LIST));
        let rows = match query.tenant {
            Some(tenant) => {
                let mut transaction = scoped(&self.0, tenant).await?;
                let rows = patiently(asked.fetch_all(&mut *transaction)).await?;
                transaction.commit().await.map_err(unavailable)?;
                rows
            }
            None => patiently(asked.fetch_all(&self.0)).await?,
        };
        rows.iter().map(approval).collect::<Result<_, _>>().map_err(unavailable)
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
            "UPDATE approvals SET status = $2, decided_at = $3::text::timestamptz, decided_by = $4, note = $5, use_by = $6::text::timestamptz \
             WHERE id = $1 AND status = 'pending' AND deadline > $3::text::timestamptz AND ", going!(), " RETURNING ", columns!()
        ))
        .bind(id)
        .bind(status.as_str())
        .bind(written(now))
        .bind(&by.name)
        .bind(&verdict.note)
        .bind(verdict.approve.then(|| written(verdict.use_by)))
        .fetch_optional(&self.0);
        match patiently(decided).await? {
            Some(row) => Ok(approval(&row).map_err(unavailable)?),
            None => Err(undecided(self.find(by.tenant, id).await?, by, verdict, now)),
        }
    }

    async fn use_up(&self, id: Uuid, binding: &str, trace: &TraceId, now: Timestamp) -> Result<bool, StoreError> {
        let used = sqlx::query(concat!(
            "UPDATE approvals SET status = 'used', used_at = $3::text::timestamptz, used_trace = $4 \
             WHERE id = $1 AND binding = $2 AND status = 'approved' AND use_by > $3::text::timestamptz AND ",
            going!()
        ))
        .bind(id)
        .bind(binding)
        .bind(written(now))
        .bind(trace.as_str())
        .execute(&self.0);
        Ok(patiently(used).await?.rows_affected() == 1)
    }

    async fn decided(&self, id: Uuid, until: Timestamp) -> Result<ApprovalRecord, StoreError> {
        wait(until, || self.find(None, id)).await
    }

    async fn sweep(&self, now: Timestamp) -> Result<Swept, StoreError> {
        let expired = self.expire(None, now).await?;
        // Only what is in the chain, and a few at a time.
        let old = sqlx::query(
            "DELETE FROM approvals WHERE id IN (SELECT id FROM approvals WHERE status IN ('rejected', 'expired', 'used') \
             AND decided_at < $1::text::timestamptz AND (used_at IS NULL OR used_at < $1::text::timestamptz) \
             AND decision_trace IS NOT NULL ORDER BY decided_at LIMIT $2 FOR UPDATE SKIP LOCKED)",
        )
        .bind(written_after(now, -KEPT))
        .bind(AT_ONCE)
        .execute(&self.0);
        patiently(old).await?;
        let asked = sqlx::query(concat!(
            "SELECT ",
            columns!(),
            " FROM approvals WHERE decision_trace IS NULL AND decided_at IS NOT NULL \
             AND decided_at < $1::text::timestamptz ORDER BY approvals.decided_at LIMIT $2"
        ))
        .bind(written_after(now, -WRITING_TIME))
        .bind(AT_ONCE)
        .fetch_all(&self.0);
        let unrecorded = patiently(asked).await?;
        let unrecorded = unrecorded.iter().map(approval).collect::<Result<_, _>>().map_err(unavailable)?;
        Ok(Swept { expired, unrecorded })
    }

    async fn recorded(&self, id: Uuid, trace: &TraceId) -> Result<(), StoreError> {
        let noted = sqlx::query("UPDATE approvals SET decision_trace = $2 WHERE id = $1")
            .bind(id)
            .bind(trace.as_str())
            .execute(&self.0);
        patiently(noted).await.map(drop)
    }

    async fn to_notify(&self, now: Timestamp, lease: Duration) -> Result<Vec<ApprovalRecord>, StoreError> {
        // Whoever cannot be reached is tried again after ever longer whiles: each about as long as it has waited.
        let leased = sqlx::query(concat!(
            "UPDATE approvals SET notify_after = CASE WHEN asked_at > $2::text::timestamptz THEN $3::text::timestamptz WHEN asked_at > $4::text::timestamptz THEN $5::text::timestamptz ELSE $6::text::timestamptz END \
             WHERE id IN (SELECT id FROM approvals WHERE status = 'pending' AND notified_at IS NULL \
             AND notify_after <= $1::text::timestamptz AND deadline > $1::text::timestamptz ORDER BY notify_after LIMIT $7 FOR UPDATE SKIP LOCKED) RETURNING ", columns!()
        ))
        .bind(written(now))
        .bind(written_after(now, -SignedDuration::from_secs(60)))
        .bind(written(now.checked_add(lease).unwrap_or(Timestamp::MAX)))
        .bind(written_after(now, -SignedDuration::from_secs(600)))
        .bind(written_after(now, SignedDuration::from_secs(120)))
        .bind(written_after(now, SignedDuration::from_secs(600)))
        .bind(TOLD_AT_ONCE)
        .fetch_all(&self.0);
        patiently(leased).await?.iter().map(approval).collect::<Result<_, _>>().map_err(unavailable)
    }

    async fn notified(&self, id: Uuid, now: Timestamp) -> Result<(), StoreError> {
        let told = sqlx::query("UPDATE approvals SET notified_at = $2::text::timestamptz WHERE id = $1")
            .bind(id)
            .bind(written(now))
            .execute(&self.0);
        patiently(told).await.map(drop)
    }
}

impl PostgresApprovals {
    async fn newest(&self, binding: &str) -> Result<Option<ApprovalRecord>, StoreError> {
        let asked = sqlx::query(concat!(
            "SELECT ",
            columns!(),
            " FROM approvals WHERE binding = $1 ORDER BY approvals.asked_at DESC, id DESC LIMIT 1"
        ))
        .bind(binding)
        .fetch_optional(&self.0);
        patiently(asked).await?.as_ref().map(approval).transpose().map_err(unavailable)
    }

    /// False where another row of the binding is open, or too many of the agent's wait.
    async fn add(&self, new: &NewApproval, most: i64, now: Timestamp) -> Result<bool, StoreError> {
        let added = sqlx::query(
            "INSERT INTO approvals (id, tenant_id, kind, agent_id, tool, binding, args_hash, manifest_hash, policies_hash, \
             classification, risk_level, four_eyes, reasons, policy_ids, shown, owner, status, trace_id, asked_at, deadline, \
             notify_after) SELECT $1::uuid, $2::uuid, $3::text, $4::text, $5::text, $6::text, $7::text, $8::text, $9::text, $10::text, $11::text, $12::boolean, $13::jsonb, $14::text[], $15::jsonb, $16::text, \
             'pending', $17::text, $18::text::timestamptz, $19::text::timestamptz, $18::text::timestamptz WHERE (SELECT count(*) FROM approvals \
             WHERE tenant_id = $2::uuid AND agent_id = $4::text AND status = 'pending') < $20::bigint \
             ON CONFLICT (binding) WHERE status IN ('pending', 'approved') DO NOTHING",
        )
        .bind(new.id)
        .bind(new.tenant.0)
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
        .bind(Json(&new.reasons))
        .bind(&new.policy_ids)
        .bind(new.shown.as_ref().map(Json))
        .bind(&new.owner)
        .bind(new.trace.as_str())
        .bind(written(now))
        .bind(written(new.deadline))
        .bind(most)
        .execute(&self.0);
        let late = |late: tokio::time::error::Elapsed| StoreError::Unavailable(late.into());
        let added = tokio::time::timeout(Duration::from_secs(5), added).await.map_err(late)?;
        let added = added.map_err(|error| not_added(error, || format!("the approval `{}`", new.id)))?;
        Ok(added.rows_affected() == 1)
    }

    /// What nobody decided in time is refused; what was approved and not used in time is worth nothing any more.
    async fn expire(&self, binding: Option<&str>, now: Timestamp) -> Result<Vec<ApprovalRecord>, StoreError> {
        let mut expired = Vec::new();
        for late in [
            concat!(
                "UPDATE approvals SET status = 'expired', decided_at = $1::text::timestamptz, decision_trace = NULL \
                 WHERE id IN (SELECT id FROM approvals WHERE status = 'pending' AND deadline <= $1::text::timestamptz \
                 AND ($2::text IS NULL OR binding = $2) LIMIT $3) AND status = 'pending' RETURNING ",
                columns!()
            ),
            concat!(
                "UPDATE approvals SET status = 'expired', decided_at = $1::text::timestamptz, decision_trace = NULL \
                 WHERE id IN (SELECT id FROM approvals WHERE status = 'approved' AND use_by <= $1::text::timestamptz \
                 AND ($2::text IS NULL OR binding = $2) LIMIT $3) AND status = 'approved' RETURNING ",
                columns!()
            ),
        ] {
            let ended = sqlx::query(late).bind(written(now)).bind(binding).bind(AT_ONCE).fetch_all(&self.0);
            for row in &patiently(ended).await? {
                expired.push(approval(row).map_err(unavailable)?);
            }
        }
        Ok(expired)
    }
}

fn approval(row: &PgRow) -> Result<ApprovalRecord, BoxError> {
    let columns = ApprovalColumns {
        id: row.try_get("id")?,
        tenant: row.try_get("tenant_id")?,
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
        policy_ids: row.try_get("policy_ids")?,
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
