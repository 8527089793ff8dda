//! What waits for people, and their answers.
//!
//! The row comes first and the trace second, with an id that follows from both: if this process ends in between, any node's
//! sweep writes what is missing.

use jiff::Timestamp;
use serde::Serialize;
use uuid::Uuid;

use super::{Desk, DeskError, Note, Who};
use crate::approvals::{
    ApprovalQuery, ApprovalRecord, ApprovalStatus, Behind, DecideError, Decided, Decider, LONGEST_NOTE, SameEyes, Via,
    decision_trace,
};
use crate::ports::{Record, StoreError};

impl Desk {
    /// What waits or has been decided, newest first: everything for an operator, the tenant's own for an administrator.
    pub async fn approvals(&self, who: &Who, query: ApprovalQuery) -> Result<Vec<ApprovalRecord>, DeskError> {
        let tenant = who.tenant().or(query.tenant);
        Ok(self.approvals.list(&ApprovalQuery { tenant, ..query }).await?)
    }

    pub async fn approval(&self, who: &Who, id: Uuid) -> Result<ApprovalRecord, DeskError> {
        self.approvals.find(who.tenant(), id).await?.ok_or_else(|| unknown(id))
    }

    /// One person's answer. The first that is given counts.
    pub async fn decide(
        &self,
        who: &Who,
        via: Via,
        id: Uuid,
        approve: bool,
        note: Option<String>,
    ) -> Result<ApprovalRecord, DeskError> {
        let note = note.map(|note| note.trim().to_owned()).filter(|note| !note.is_empty());
        if note.as_ref().is_some_and(|note| note.chars().count() > LONGEST_NOTE || note.contains('\0')) {
            return Err(DeskError::Invalid(format!("a note has at most {LONGEST_NOTE} letters")));
        }
        let row = self.approval(who, id).await?;
        if approve
            && row.asked.four_eyes
            && let Some(why) = self.behind(&row).await?.refuses(who)
        {
            self.note_refusal(who, via, &row, why).await;
            return Err(DeskError::Forbidden(why.to_string()));
        }
        let now = self.clock.now();
        let use_by = now.checked_add(self.approved_for).unwrap_or(Timestamp::MAX);
        let by = Decider { name: who.name().to_owned(), via, tenant: who.tenant() };
        let decided = self.approvals.decide(id, &Decided { approve, note, use_by }, &by, now).await;
        let row = decided.map_err(|error| refused(id, error))?;
        if let Err(error) = self.record(&row, Some(via)).await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "a decision is not in its chain yet and will be written by a node: {error}"
            );
        }
        Ok(row)
    }

    /// Ends what nobody decided or used in time, and writes down what whoever decided could not.
    pub async fn sweep(&self) -> Result<(), DeskError> {
        let swept = self.approvals.sweep(self.clock.now()).await?;
        let mut last = Ok(());
        for row in swept.expired.iter().chain(&swept.unrecorded) {
            // One that cannot be written must not keep the others from it.
            if let Err(error) = self.record(row, None).await {
                last = Err(error);
            }
        }
        last
    }

    async fn record(&self, row: &ApprovalRecord, via: Option<Via>) -> Result<(), DeskError> {
        let Some(draft) = decision_trace(row, via, self.clock.now()) else {
            return Ok(());
        };
        let trace = draft.trace_id.clone();
        self.ledger.append_batch(&[Record::Trace(draft)]).await?;
        Ok(self.approvals.recorded(row.asked.id, &trace).await?)
    }

    /// Who stands behind what waits: the row knows one name of the agent's owner, the registry all there are.
    async fn behind(&self, row: &ApprovalRecord) -> Result<Behind, DeskError> {
        match self.tenants.agent(row.asked.tenant, &row.asked.agent).await {
            Ok(found) => Ok(Behind::of(&row.asked, Some(&found))),
            Err(StoreError::NotFound(_)) => Ok(Behind::of(&row.asked, None)),
            Err(error) => Err(error.into()),
        }
    }

    /// A yes to what is one's own is written down as well. It is refused whether that can be done or not.
    async fn note_refusal(&self, who: &Who, via: Via, row: &ApprovalRecord, why: SameEyes) {
        if row.status != ApprovalStatus::Pending {
            return;
        }
        let asked = &row.asked;
        let what = asked.tool.as_ref().map_or_else(|| asked.kind.to_string(), ToString::to_string);
        let by = who.written();
        let note = Note {
            agent: asked.agent.clone(),
            classification: Some(asked.classification),
            reasoning: Some("four eyes"),
            ..Note::new(Some(asked.tenant), format!("{what} not approved: {by} is no second pair of eyes"))
        };
        let told =
            Refused { approval: asked.id, by: who.name(), continues: asked.trace.as_str(), via, why: why.to_string() };
        if let Err(error) = self.write_down(note, &told).await {
            tracing::warn!(error = &error as &dyn std::error::Error, "a refused approval is not in its chain: {error}");
        }
    }
}

#[derive(Serialize)]
struct Refused<'a> {
    approval: Uuid,
    by: &'a str,
    continues: &'a str,
    via: Via,
    why: String,
}

fn unknown(id: Uuid) -> DeskError {
    DeskError::NotFound(format!("approval `{id}`"))
}

fn refused(id: Uuid, error: DecideError) -> DeskError {
    match error {
        DecideError::NotFound => unknown(id),
        DecideError::Already(_) => DeskError::Conflict(format!("approval `{id}`: {error}")),
        DecideError::FourEyes => DeskError::Forbidden(error.to_string()),
        DecideError::Frozen => DeskError::Frozen(error.to_string()),
        DecideError::Store(error) => error.into(),
    }
}
