//! Does the caller's credential reach this far? A tenant's key reaches the tools it names, a token the levels of risk it names;
//! an agent's key is bound by its agent and by nothing here.

use gateway_core::reach::{self, Reach};
use gateway_core::scopes::{self, Scope};
use gateway_core::{Exchange, Judge, Verdict};

pub const NAME: &str = scopes::JUDGE;

pub struct Scopes;

impl Judge for Scopes {
    fn name(&self) -> &'static str {
        NAME
    }

    fn on_request(&self, exchange: &Exchange) -> Verdict {
        let principal = &exchange.principal;
        match &principal.reach {
            Reach::Whole => Verdict::Pass,
            Reach::Levels => {
                let needed = Scope::needed(exchange);
                match needed.is_covered_by(&principal.scopes) {
                    true => Verdict::Pass,
                    false => {
                        Verdict::deny(scopes::RULE, format!("this needs a token with the scope `{}`", needed.as_str()))
                    }
                }
            }
            Reach::Tools(_) if principal.reach.holds(exchange) => Verdict::Pass,
            Reach::Tools(_) => Verdict::deny(reach::RULE, outside(exchange)),
        }
    }
}

fn outside(exchange: &Exchange) -> String {
    let asked = match (exchange.tool(), exchange.method()) {
        (Some(tool), _) => tool.name.as_str(),
        (None, Some(method)) => method,
        (None, None) => "this",
    };
    match exchange.principal.scopes.as_slice() {
        [] => format!("this key names no tools, so {asked} is not open to it"),
        tools => format!("this key is for {} alone: {asked} is outside of that", tools.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use gateway_core::exchange::ToolSubject;
    use gateway_core::reach::KeyScopes;
    use gateway_core::{Ask, Principal, Route, Subject, TraceId};

    use super::*;

    fn verdict(reach: Reach, scopes: &[&str], subject: Subject) -> Verdict {
        let scopes = scopes.iter().map(|scope| (*scope).to_owned()).collect();
        let principal = Arc::new(Principal { reach, scopes, ..Principal::anonymous() });
        let trace = TraceId::from_stored("trc_1");
        Scopes.on_request(&Exchange::new(trace, principal, Route::All, Ask::EndSession, subject))
    }

    #[test]
    fn a_token_is_bound_by_its_levels_and_an_agents_key_by_none() {
        let refused = |verdict| matches!(verdict, Verdict::Deny(_));
        assert_eq!(verdict(Reach::Whole, &[], Subject::Act), Verdict::Pass, "a key has none");
        assert_eq!(verdict(Reach::Levels, &["mcp:read"], Subject::Plain), Verdict::Pass);
        assert!(refused(verdict(Reach::Levels, &["mcp:read"], Subject::Act)));
        assert!(refused(verdict(Reach::Levels, &[], Subject::Plain)));
    }

    // acceptance 52
    #[test]
    fn a_tenants_key_is_bound_by_its_tools() {
        let call = |scopes: &[&str]| {
            let words = scopes.iter().map(|scope| (*scope).to_owned()).collect();
            let tool = ToolSubject::new("crm/set".parse().unwrap(), None, false);
            verdict(KeyScopes::stored(words).reach, scopes, Subject::Tool(tool))
        };
        assert_eq!(call(&["notes/*", "crm/set"]), Verdict::Pass);
        let told = "this key is for notes/*, crm/get_* alone: crm/set is outside of that";
        assert_eq!(call(&["notes/*", "crm/get_*"]), Verdict::deny(reach::RULE, told));
        assert_eq!(call(&[]), Verdict::deny(reach::RULE, "this key names no tools, so crm/set is not open to it"));
    }
}
