//! Who is stopped while something of theirs is still under way: streams end, and answers that come too late stay here.

use std::sync::Arc;

use super::Gateway;
use crate::exchange::{Exchange, Route};
use crate::identity::Principal;
use crate::live::LiveHandle;
use crate::names::{ToolName, TraceId};
use crate::outcome::Status;
use crate::refusal::{self, Answer};
use crate::verdict::Reason;

impl Gateway {
    pub fn live(&self) -> &Arc<LiveHandle> {
        &self.ports.live
    }

    /// Whether a door opens that leads to a stream before anything is asked; the no is written down.
    pub async fn admit_standing(&self, principal: &Principal, route: &Route) -> Result<(), Answer> {
        let live = self.ports.live.load();
        let Some(stopped) = live.standing.why(principal, route, None) else {
            return Ok(());
        };
        let trace_id = TraceId::from_uuid(self.ports.clock.fresh_id());
        let reason = Reason::new("standing", "suspended", format!("{} {} is suspended", stopped.kind, stopped.subject));
        let span = self.follow_unread(principal, route, &[], &trace_id);
        Err(match self.record_refusal(principal, &trace_id, Status::Denied, &reason, span).await {
            Ok(()) => Answer::empty(403),
            Err(_) => refusal::unrecorded(&trace_id, None),
        })
    }

    /// Ends once this caller is stopped at this door; never, for most.
    pub fn banished(
        &self,
        principal: Arc<Principal>,
        route: Route,
    ) -> impl Future<Output = ()> + Send + use<> + 'static {
        stopped(Arc::clone(&self.ports.live), principal, route, None)
    }
}

pub(super) async fn stopped(live: Arc<LiveHandle>, principal: Arc<Principal>, route: Route, tool: Option<ToolName>) {
    let mut seen = live.load();
    while seen.standing.why(&principal, &route, tool.as_ref()).is_none() {
        seen = live.changed(&seen).await;
    }
}

/// Whether what was asked may still be answered: who was stopped meanwhile gets nothing any more.
pub(super) fn is_stopped(live: &LiveHandle, exchange: &Exchange) -> bool {
    let now = live.load();
    if now.standing.is_empty() {
        return false;
    }
    let tool = exchange.tool().map(|tool| &tool.name).or(exchange.about.as_ref());
    now.standing.why(&exchange.principal, &exchange.route, tool).is_some()
}

#[cfg(test)]
mod tests;
