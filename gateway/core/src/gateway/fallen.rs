//! What is written down when the gateway itself fails: a call that panics has no answer of its own, but it has a record.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures::FutureExt;

use super::parts::Ports;
use super::record::Room;
use super::turned_away::{refusal_draft, refused_row};
use crate::identity::Principal;
use crate::names::{AgentId, TraceId};
use crate::outcome::{AuditRow, Status};
use crate::ports::{AuditBuffer, Clock, LedgerError};
use crate::verdict::Reason;

/// Goes with a request. Dropped by a panic it writes a record, in the chain of whoever asked or, if that is not known yet, in
/// the gateway's own; dropped in any other way it does nothing.
pub(super) struct Fallen {
    audit: Arc<dyn AuditBuffer>,
    clock: Arc<dyn Clock>,
    who: Option<Arc<Principal>>,
    trace_id: Option<TraceId>,
    /// The chain has the decision already.
    decided: bool,
    /// What is known of the call.
    row: Option<AuditRow>,
}

impl Fallen {
    pub(super) fn new(ports: &Ports) -> Self {
        let (audit, clock) = (Arc::clone(&ports.audit), Arc::clone(&ports.clock));
        Self { audit, clock, who: None, trace_id: None, decided: false, row: None }
    }

    pub(super) fn with(self, who: &Arc<Principal>, trace_id: &TraceId) -> Self {
        let mut fallen = self.of(who);
        fallen.trace_id = Some(trace_id.clone());
        fallen
    }

    pub(super) fn of(mut self, who: &Arc<Principal>) -> Self {
        self.who = Some(Arc::clone(who));
        self
    }

    pub(super) fn decided(&mut self) {
        self.decided = true;
    }

    pub(super) fn left(&mut self, row: Option<AuditRow>) {
        self.row = row;
    }

    fn write(&mut self) -> Result<(), LedgerError> {
        let mut room = Room::reserve(&self.audit)?;
        let now = self.clock.now();
        let trace_id = self.trace_id.take().unwrap_or_else(|| TraceId::from_uuid(self.clock.fresh_id()));
        let (tenant, agent) = match &self.who {
            Some(who) => (who.tenant, who.agent.clone()),
            None => (None, AgentId::operators()),
        };
        if !self.decided {
            let reason = Reason::new("gateway", "failed", "the gateway failed over this; its log says why");
            let draft = refusal_draft(tenant, &agent, &trace_id, Status::GatewayFailed, &reason, now);
            room.left = room.left.saturating_sub(1);
            // Nobody can wait in the middle of a fall.
            room.audit.append(draft, false).now_or_never().unwrap_or(Err(LedgerError::Full))?;
        }
        let empty = || refused_row(tenant, &agent, &trace_id, Status::GatewayFailed, now);
        room.left = room.left.saturating_sub(1);
        room.audit.settle(self.row.take().unwrap_or_else(empty));
        Ok(())
    }
}

impl Drop for Fallen {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        // A second panic would take the whole process down.
        match catch_unwind(AssertUnwindSafe(|| self.write())) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!("that a call made the gateway fail could not be recorded: {error}"),
            Err(_) => tracing::error!("that a call made the gateway fail could not be recorded: that failed too"),
        }
    }
}

#[cfg(test)]
mod tests;
