//! Is the tool still what somebody accepted?

use gateway_core::definitions::Standing;
use gateway_core::verdict::{Objection, Remedy};
use gateway_core::{Exchange, Judge, Verdict};

pub const NAME: &str = "pins";

pub struct Pins;

impl Judge for Pins {
    fn name(&self) -> &'static str {
        NAME
    }

    fn on_request(&self, exchange: &Exchange) -> Verdict {
        let Some(tool) = exchange.tool().filter(|tool| !tool.governs()) else {
            return Verdict::Pass;
        };
        let name = &tool.name;
        match tool.standing {
            Standing::Unpinned | Standing::Pinned => Verdict::Pass,
            Standing::Quarantined => {
                let message = format!(
                    "the definition of {name} is not the one that was accepted; an operator can look at it with `portreeve manifest diff {name}`"
                );
                Verdict::Deny(Objection::new("drift", message).cured_by(Remedy::Accept(name.clone())))
            }
            Standing::Unverified => {
                let message = format!("what {name} is could not be compared with what was accepted");
                let remedy = format!("its upstream answers, so that {name} can be held against what was accepted");
                Verdict::Deny(Objection::new("unverified", message).cured_by(Remedy::Upstream(remedy)))
            }
            Standing::Unlisted => {
                let message = format!("{name} is not among the tools that its upstream lists");
                let remedy = format!("its upstream lists {name}");
                Verdict::Deny(Objection::new("unlisted", message).cured_by(Remedy::Upstream(remedy)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use gateway_core::exchange::ToolSubject;
    use gateway_core::{Ask, Principal, Route, Subject, TraceId};

    use super::*;

    #[test]
    fn what_changed_or_is_not_known_is_refused() {
        for (standing, rule) in [
            (Standing::Unpinned, None),
            (Standing::Pinned, None),
            (Standing::Quarantined, Some("drift")),
            (Standing::Unverified, Some("unverified")),
            (Standing::Unlisted, Some("unlisted")),
        ] {
            let tool = ToolSubject { standing, ..ToolSubject::new("crm/find".parse().unwrap(), None, false) };
            let (trace, principal) = (TraceId::from_stored("trc_1"), Arc::new(Principal::anonymous()));
            let exchange = Exchange::new(trace, principal, Route::All, Ask::EndSession, Subject::Tool(tool));
            let said = match Pins.on_request(&exchange) {
                Verdict::Deny(objection) => Some(objection.rule),
                _ => None,
            };
            assert_eq!(said.as_deref(), rule, "{standing:?}");
        }
    }
}
