//! Is the caller, its tenant, the upstream or the tool stopped? Speaks for every message, the governance tools included.

use gateway_core::{Exchange, Judge, Verdict};

pub const NAME: &str = "standing";

pub struct Standing;

impl Judge for Standing {
    fn name(&self) -> &'static str {
        NAME
    }

    fn on_request(&self, exchange: &Exchange) -> Verdict {
        match exchange.suspended() {
            None => Verdict::Pass,
            Some(stopped) => {
                let why = stopped.reason.as_deref().map_or(String::new(), |reason| format!(": {reason}"));
                Verdict::deny("suspended", format!("the {} {} is suspended{why}", stopped.kind, stopped.subject))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::HashMap;
    use std::sync::Arc;

    use gateway_core::live::{Suspended, Suspension, SuspensionKind};
    use gateway_core::{Ask, Live, Principal, Route, Subject, TraceId};

    use super::*;

    #[test]
    fn whoever_is_stopped_may_not_even_list() {
        let verdict = |agent: &str| {
            let stopped = Suspension {
                id: uuid::Uuid::nil(),
                tenant: None,
                kind: SuspensionKind::Agent,
                subject: "bad".into(),
                reason: Some("it ran wild".into()),
                by: "op".into(),
                since: String::new(),
            };
            let (standing, _) = Suspended::new([stopped]);
            let principal = Arc::new(Principal { agent: agent.parse().unwrap(), ..Principal::anonymous() });
            let trace = TraceId::from_stored("trc_1");
            let mut exchange = Exchange::new(trace, principal, Route::All, Ask::EndSession, Subject::Plain);
            exchange.live = Arc::new(Live::new(1, HashMap::new(), Arc::default(), standing));
            Standing.on_request(&exchange)
        };
        assert_eq!(verdict("good"), Verdict::Pass);
        assert_eq!(verdict("bad"), Verdict::deny("suspended", "the agent bad is suspended: it ran wild"));
    }
}
