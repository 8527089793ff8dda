//! What a token must allow before an operation is even judged: one scope per level of risk. What a tenant's key is for is in
//! `reach.rs`.

use crate::exchange::{Exchange, Subject};
use crate::manifest::RiskLevel;

/// The judge that compares scopes, as its refusals are known by.
pub const JUDGE: &str = "scopes";
pub const RULE: &str = "insufficient_scope";

/// From narrow to wide; a wider one covers a narrower.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    Read,
    Write,
    Destructive,
}

impl Scope {
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Destructive];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "mcp:read",
            Self::Write => "mcp:write",
            Self::Destructive => "mcp:destructive",
        }
    }

    /// What this exchange needs. A tool nobody classified counts as the worst.
    pub fn needed(exchange: &Exchange) -> Self {
        match &exchange.subject {
            Subject::Tool(tool) => match tool.classified.as_ref().map(|_| tool.effective.risk_level) {
                Some(RiskLevel::ReadOnly | RiskLevel::ProposeOnly) => Self::Read,
                Some(RiskLevel::LowWrite) => Self::Write,
                Some(RiskLevel::HighWrite) | None => Self::Destructive,
            },
            Subject::Act => Self::Write,
            Subject::Read | Subject::Plain => Self::Read,
        }
    }

    pub fn is_covered_by(self, scopes: &[String]) -> bool {
        Self::ALL.iter().any(|held| *held >= self && scopes.iter().any(|scope| scope == held.as_str()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use serde_json::json;

    use super::*;
    use crate::chain::{Judge, Plugin, PluginMode};
    use crate::testing::bench::{Bench, one};
    use crate::verdict::Verdict;

    /// Stands for the judge of this name, who lives among the plugins.
    struct Wants(&'static str, fn(&Exchange) -> Verdict);

    impl Judge for Wants {
        fn name(&self) -> &'static str {
            self.0
        }

        fn on_request(&self, exchange: &Exchange) -> Verdict {
            (self.1)(exchange)
        }
    }

    fn bench(other: fn(&Exchange) -> Verdict) -> Bench {
        let scopes = Wants(JUDGE, |exchange| match Scope::needed(exchange).is_covered_by(&exchange.principal.scopes) {
            true => Verdict::Grant,
            false => Verdict::deny(RULE, "a wider token is needed"),
        });
        let judges = [scopes, Wants("other", other)];
        Bench::with(judges.map(|judge| (Plugin::Judge(Box::new(judge)), PluginMode::Enforce)).into())
    }

    #[test]
    fn whoever_needs_a_wider_token_is_told_which() {
        let bench = bench(|_| Verdict::Grant);
        let answer = bench.modern("tools/call", json!({ "name": "unknown" }));
        assert_eq!(answer.status, 403);
        let (name, challenge) = answer.headers.first().cloned().unwrap();
        let expected = "Bearer realm=\"portreeve\", error=\"insufficient_scope\", scope=\"mcp:destructive\", \
            resource_metadata=\"https://gate/.well-known/oauth-protected-resource/crm/mcp\"";
        assert_eq!((name, challenge.as_str()), ("WWW-Authenticate", expected));
        assert_eq!(one(answer)["error"]["data"]["decision"], "deny");
        bench.world.principal.lock().unwrap().scopes = vec!["mcp:destructive".into()];
        assert_eq!(bench.modern("tools/call", json!({ "name": "unknown" })).status, 200);
        assert_eq!((bench.calls(), bench.world.traces.lock().unwrap().len()), (1, 2), "the refusal is in the chain");
    }

    #[test]
    fn a_wider_token_is_not_asked_for_where_it_would_not_help() {
        let bench = bench(|_| Verdict::deny("never", "not this"));
        let answer = bench.modern("tools/call", json!({ "name": "unknown" }));
        assert_eq!((answer.status, answer.headers.len()), (200, 0), "refused as any other call");
    }

    #[test]
    fn a_wider_scope_covers_a_narrower_one() {
        for (held, covered) in [
            (&[][..], [false, false, false]),
            (&["mcp:read"][..], [true, false, false]),
            (&["other", "mcp:write"][..], [true, true, false]),
            (&["mcp:destructive"][..], [true, true, true]),
            (&["mcp:Read", "mcp"][..], [false, false, false]),
        ] {
            let held: Vec<String> = held.iter().map(|scope| (*scope).to_owned()).collect();
            assert_eq!(Scope::ALL.map(|scope| scope.is_covered_by(&held)), covered, "{held:?}");
        }
    }
}
