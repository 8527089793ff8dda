//! Does the caller's token reach this far? Speaks only for callers who came with one: keys are bound by their agent.

use gateway_core::scopes::{self, Scope};
use gateway_core::{Exchange, Judge, Verdict};

pub const NAME: &str = scopes::JUDGE;

pub struct Scopes;

impl Judge for Scopes {
    fn name(&self) -> &'static str {
        NAME
    }

    fn on_request(&self, exchange: &Exchange) -> Verdict {
        if !exchange.principal.scoped {
            return Verdict::Pass;
        }
        let needed = Scope::needed(exchange);
        match needed.is_covered_by(&exchange.principal.scopes) {
            true => Verdict::Pass,
            false => Verdict::deny(scopes::RULE, format!("this needs a token with the scope `{}`", needed.as_str())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use gateway_core::{Ask, Principal, Route, Subject, TraceId};

    use super::*;

    fn verdict(scoped: bool, scopes: &[&str], subject: Subject) -> Verdict {
        let scopes = scopes.iter().map(|scope| (*scope).to_owned()).collect();
        let principal = Arc::new(Principal { scoped, scopes, ..Principal::anonymous() });
        let trace = TraceId::from_stored("trc_1");
        Scopes.on_request(&Exchange::new(trace, principal, Route::All, Ask::EndSession, subject))
    }

    #[test]
    fn only_a_token_is_bound_by_its_scopes() {
        let refused = |verdict| matches!(verdict, Verdict::Deny(_));
        assert_eq!(verdict(false, &[], Subject::Act), Verdict::Pass, "a key has none");
        assert_eq!(verdict(true, &["mcp:read"], Subject::Plain), Verdict::Pass);
        assert!(refused(verdict(true, &["mcp:read"], Subject::Act)));
        assert!(refused(verdict(true, &[], Subject::Plain)));
    }
}
