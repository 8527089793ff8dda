//! Doors that open before anything is asked: a socket, or a stream of events. What every message would be told is told once,
//! before the door opens.

use super::Gateway;
use crate::exchange::Route;
use crate::identity::Principal;
use crate::names::TraceId;
use crate::outcome::Status;
use crate::refusal::{self, Answer};
use crate::verdict::Reason;

impl Gateway {
    /// Whether there is anything behind this door. That there is not is written down like any other refusal.
    pub async fn behind_door(&self, principal: &Principal, route: &Route) -> Result<(), Answer> {
        let engine = self.engine.load_full();
        if engine.upstream(route).is_some() {
            return Ok(());
        }
        let names: Vec<_> = engine.namespaces().iter().map(ToString::to_string).collect();
        let trace_id = TraceId::from_uuid(self.ports.clock.fresh_id());
        let reason = Reason::new("gateway", "not_found", "no upstream has this namespace");
        let span = self.follow_unread(principal, route, &[], &trace_id);
        Err(match self.record_refusal(principal, &trace_id, Status::NotFound, &reason, span).await {
            Ok(()) => refusal::unknown_route(None, &names),
            Err(_) => refusal::unrecorded(&trace_id, None),
        })
    }
}
