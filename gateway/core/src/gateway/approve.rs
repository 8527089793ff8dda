//! What needs a human's yes: the row that asks for it is found or made, and what stands there decides.
//!
//! A yes is used up before the call is sent, by one caller on one node. Whoever must wait is asked (`asking.rs`), or told
//! the approval's id and refused; the same call made again finds the same row.

use std::sync::Arc;

use gateway_protocol::Response;
use jiff::Timestamp;

use super::asking::Question;
use super::carry_out::{Errand, Telling, unknowable};
use super::{Caller, Gateway};
use crate::approvals::{
    self, ApprovalKind, ApprovalRecord, ApprovalStatus, DecideError, Decided, Decider, Granted, NewApproval, Via,
};
use crate::chain::{Chain, Ruling};
use crate::exchange::{ApprovalShown, Exchange, Said};
use crate::ports::StoreError;
use crate::refusal::{Answer, Waiting};

/// How long a caller that was sent to a page waits for what comes of it.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(20);
/// Others may use, end or ask for the same approval at the same time; after so many looks it is given up.
const LOOKS: usize = 4;

impl Gateway {
    pub(super) async fn approve(
        self: &Arc<Self>,
        mut errand: Box<Errand>,
        mut exchange: Box<Exchange>,
        mut ruling: Ruling,
        mut telling: Telling,
    ) -> Answer {
        let Some(bound) = approvals::binding(&exchange, &ruling) else {
            return self.turn_down(errand, &exchange, &ruling, None).await;
        };
        // A server that asks back in the middle of an approved call is not a new call.
        if let Some(granted) = errand.spend.as_ref().and_then(|spend| spend.continuing(&bound)) {
            return self.run(errand, exchange, ruling, granted).await;
        }
        if exchange.approval.is_some()
            && let Some(spend) = errand.spend.take_if(|spend| !spend.fits(&exchange))
            && let Err(refused) = self.spend(&spend, &exchange, &mut ruling, &mut errand.story).await
        {
            return refused;
        }
        for _ in 0..LOOKS {
            let asked = match self.ask(&errand.chain, &exchange, &ruling, &bound).await {
                Ok(Some(row)) => self.answered(&exchange, row).await,
                Ok(None) => {
                    ruling.deny("approvals", "too_many", "too many calls of this agent wait for approval already");
                    return self.turn_down(errand, &exchange, &ruling, None).await;
                }
                Err(error) => Err(error),
            };
            let row = match asked {
                Ok(row) => row,
                Err(error) => return unknowable(errand, &exchange, &error),
            };
            let id = row.asked.id;
            ruling.approval = Some(id);
            match row.status {
                // Whoever sits before the agent may say no to what others approved.
                ApprovalStatus::Approved if exchange.approval.is_some_and(|shown| shown.refuses(id)) => {
                    ruling.deny("approvals", "declined", "its own user said no");
                    return self.turn_down(errand, &exchange, &ruling, None).await;
                }
                ApprovalStatus::Approved => {}
                ApprovalStatus::Pending => {
                    // Who closed the question without an answer is not asked it again at once.
                    if exchange.approval.is_some_and(|shown| shown.answered == Some(Said::Cancel)) {
                        telling = Telling::Refuse;
                    }
                    return self.tell(errand, exchange, ruling, row, telling).await;
                }
                refused => {
                    let why = match refused {
                        ApprovalStatus::Expired => "nobody approved it in time",
                        _ => "it was not approved",
                    };
                    ruling.deny("approvals", refused.as_str(), why);
                    return self.turn_down(errand, &exchange, &ruling, None).await;
                }
            }
            // The state goes first: one that is shown again must not use up a yes.
            if let Some(spend) = errand.spend.take()
                && let Err(refused) = self.spend(&spend, &exchange, &mut ruling, &mut errand.story).await
            {
                return refused;
            }
            let now = self.ports.clock.now();
            match self.ports.approvals.use_up(id, &bound, &exchange.trace_id, now).await {
                Ok(true) => {
                    exchange.continues.get_or_insert(row.asked.trace);
                    return self.run(errand, exchange, ruling, Granted::used(id, bound)).await;
                }
                // Somebody else was faster, or it was stopped: what stands there now says which.
                Ok(false) => {}
                Err(error) => return unknowable(errand, &exchange, &error),
            }
        }
        ruling.deny("approvals", "frozen", "its approval cannot be used now");
        self.turn_down(errand, &exchange, &ruling, None).await
    }

    async fn run(
        self: &Arc<Self>,
        errand: Box<Errand>,
        exchange: Box<Exchange>,
        ruling: Ruling,
        granted: Granted,
    ) -> Answer {
        match errand.chain.admit_approved(exchange, ruling, granted) {
            Ok((permit, ruling)) => self.carry_out(errand, permit, ruling).await,
            Err((exchange, ruling)) => self.turn_down(errand, &exchange, &ruling, None).await,
        }
    }

    /// The open row of this question, an old one that still answers it, or a new one.
    async fn ask(
        &self,
        chain: &Chain,
        exchange: &Exchange,
        ruling: &Ruling,
        bound: &str,
    ) -> Result<Option<ApprovalRecord>, StoreError> {
        let terms = self.settings.load().approvals.clone();
        let (Some(tool), Some(tenant)) = (exchange.tool(), exchange.principal.tenant) else {
            return Err(StoreError::Invalid("only a tenant's call of a tool can be approved".into()));
        };
        let now = self.ports.clock.now();
        let deadline = match ruling.respond_within {
            Some(time) => now.checked_add(time),
            None => now.checked_add(terms.deadline),
        };
        let new = NewApproval {
            id: self.ports.clock.fresh_id(),
            tenant,
            kind: ApprovalKind::Call,
            agent: exchange.principal.agent.clone(),
            tool: Some(tool.name.clone()),
            binding: bound.to_owned(),
            args_hash: approvals::arguments_hash(exchange),
            manifest_hash: tool.classified.as_ref().map(|known| known.digest.to_string()),
            policies_hash: ruling.digest().to_owned(),
            classification: tool.classification(),
            risk_level: tool.classified.as_ref().map(|_| tool.effective.risk_level),
            four_eyes: tool.classification().requires_escalation(),
            reasons: ruling.reasons.clone(),
            policy_ids: ruling.policy_ids.clone(),
            shown: approvals::shown(exchange, &terms, chain.recorder().as_ref()),
            owner: exchange.principal.owner.clone(),
            trace: exchange.trace_id.clone(),
            deadline: deadline.unwrap_or(Timestamp::MAX),
        };
        self.ports.approvals.ask_within(&new, terms.most, now).await
    }

    /// What the caller brought back to our question counts, where it is about this row.
    async fn answered(&self, exchange: &Exchange, row: ApprovalRecord) -> Result<ApprovalRecord, StoreError> {
        let shown = exchange.approval.filter(|shown| shown.id == row.asked.id);
        let (Some(shown), ApprovalStatus::Pending) = (shown, row.status) else {
            return Ok(row);
        };
        let row = self.heard(shown, row).await?;
        if row.status != ApprovalStatus::Pending || shown.form || shown.answered != Some(Said::Accept) {
            return Ok(row);
        }
        let until = self.ports.clock.now().checked_add(PATIENCE).unwrap_or(Timestamp::MAX);
        self.ports.approvals.decided(row.asked.id, until).await
    }

    /// A person's answer to our own question. Yes to a form is a yes, where the agent's own user may give it; that somebody
    /// went to look at a page says nothing; no is no.
    async fn heard(&self, shown: ApprovalShown, row: ApprovalRecord) -> Result<ApprovalRecord, StoreError> {
        let approve = match shown.answered {
            Some(Said::Accept) if shown.form && !row.asked.four_eyes => true,
            Some(Said::Decline) => false,
            _ => return Ok(row),
        };
        let now = self.ports.clock.now();
        let use_within = self.settings.load().approvals.use_within;
        let use_by = now.checked_add(use_within).unwrap_or(Timestamp::MAX);
        let name = row.asked.owner.clone().unwrap_or_else(|| row.asked.agent.to_string());
        let by = Decider { name, via: Via::Elicitation, tenant: Some(row.asked.tenant) };
        let decided = Decided { approve, note: None, use_by };
        match self.ports.approvals.decide(row.asked.id, &decided, &by, now).await {
            Ok(row) => {
                self.write_down(&row, now).await;
                Ok(row)
            }
            Err(DecideError::Store(error)) => Err(error),
            // Decided meanwhile, or not to be decided here: the row as it is now.
            Err(_) => Ok(self.ports.approvals.find(Some(row.asked.tenant), row.asked.id).await?.unwrap_or(row)),
        }
    }

    /// Into the agent's chain. What cannot be written now is written by whoever sweeps next.
    async fn write_down(&self, row: &ApprovalRecord, now: Timestamp) {
        let Some(draft) = approvals::decision_trace(row, Some(Via::Elicitation), now) else { return };
        let trace = draft.trace_id.clone();
        if self.ports.audit.reserve().is_err() {
            return;
        }
        self.ports.audit.release(1);
        let written = self.ports.audit.append(draft, true).await;
        if written.is_ok_and(|receipt| receipt.is_some())
            && let Err(error) = self.ports.approvals.recorded(row.asked.id, &trace).await
        {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "a decision's record could not be marked: {error}"
            );
        }
    }

    /// The answer to a question that we asked on a stream, on whichever node it arrives. `None` for everybody else's.
    pub(super) async fn hear_answer(&self, caller: &Caller, response: &Response) -> Option<Answer> {
        let question = Question::open(response.id.as_ref()?, self.ports.seal.as_ref())?;
        if self.ports.usage.take(&caller.principal).is_err() {
            return Some(Answer::empty(429));
        }
        let shown = ApprovalShown { id: question.approval, form: question.form, answered: question.said(response) };
        let principal = &caller.principal;
        let found = match principal.tenant {
            Some(tenant) => self.ports.approvals.find(Some(tenant), shown.id).await,
            None => Ok(None),
        };
        let row = match found {
            // Somebody else's question looks like none at all.
            Ok(row) => row.filter(|row| row.asked.agent == principal.agent && row.status == ApprovalStatus::Pending),
            Err(error) => return Some(away(&error)),
        };
        if let Some(row) = row
            && let Err(error) = self.heard(shown, row).await
        {
            return Some(away(&error));
        }
        Some(Answer::empty(202))
    }
}

impl ApprovalRecord {
    pub(super) fn waiting(&self) -> Waiting {
        let NewApproval { id, deadline, four_eyes, .. } = self.asked;
        Waiting { approval: id, until: deadline, four_eyes }
    }
}

fn away(error: &StoreError) -> Answer {
    tracing::error!(error = error as &dyn std::error::Error, "an answer could not be taken: {error}");
    Answer::empty(503).with("Retry-After", "2")
}
