//! Grants what is not a tool call to callers with an identity: handshakes, lists, reads, answers, streams.
//!
//! Methods nobody has heard of pass too: the gateway must not break an extension that two peers agree on. What such a
//! method may do is bounded by the upstream's own credentials.

use gateway_core::{Exchange, Judge, PrincipalKind, Subject, Verdict};

pub const NAME: &str = "methods";

pub struct Methods;

impl Judge for Methods {
    fn name(&self) -> &'static str {
        NAME
    }

    fn on_request(&self, exchange: &Exchange) -> Verdict {
        match (&exchange.subject, exchange.principal.kind) {
            (Subject::Tool(_), _) => Verdict::Pass,
            (_, PrincipalKind::Anonymous) => Verdict::deny("identity", "callers without an identity may do nothing"),
            (_, PrincipalKind::Agent | PrincipalKind::Admin) => Verdict::Grant,
        }
    }
}
