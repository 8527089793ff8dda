//! A call, as conditions see it: what the gateway itself knows comes first, then what is sent, and last what the agent says.

use std::borrow::Borrow;

use jiff::tz::TimeZone;
use serde_json::Value;

use super::{Context, Seen, walk};
use crate::classification::{DecisionType, Risk};
use crate::exchange::Exchange;
use crate::gate::binding::GateBinding;

/// Where an agent may describe a call further, for keys that nobody else answers.
pub const CONTEXT_META: &str = "io.portreeve/context";

/// Keys whose answer is the gateway's own. Conditions on these alone can be judged without a call's arguments.
pub(crate) const DERIVED: [&str; 17] = [
    "tool",
    "namespace",
    "domain",
    "action_type",
    "category",
    "manifest_risk",
    "decision_type",
    "risk_level",
    "reversibility",
    "agent_id",
    "autonomy",
    "mode",
    "roles",
    "tenant",
    "hour",
    "weekday",
    "method",
];

pub struct CallContext<'a>(pub &'a Exchange);

impl<'a> CallContext<'a> {
    fn derived(&self, key: &str) -> Option<Seen<'a>> {
        let exchange = self.0;
        let principal = &exchange.principal;
        let part = || exchange.classification();
        let tool = exchange.tool();
        let classified = tool.and_then(|tool| tool.classified.as_ref());
        match key {
            "tool" => tool.map(|tool| Seen::Text(tool.name.as_str())),
            "namespace" => tool.map(|tool| Seen::Text(tool.name.namespace())),
            "domain" => classified.map(|tool| Seen::Text(&tool.manifest.domain)),
            "action_type" => classified.and_then(|tool| tool.handling.action_type.as_deref()).map(Seen::Text),
            "category" => classified.and_then(|tool| tool.metadata.as_ref()?.category.as_deref()).map(Seen::Text),
            "manifest_risk" => tool.map(|tool| Seen::Text(tool.effective.risk_level.as_str())),
            "decision_type" => Some(Seen::Text(part().decision_type.as_str())),
            "risk_level" => Some(Seen::Text(part().risk.as_str())),
            "reversibility" => Some(Seen::Text(part().reversibility.as_str())),
            "agent_id" => Some(Seen::Text(principal.agent.as_str())),
            "autonomy" => Some(Seen::Text(principal.autonomy.as_str())),
            "mode" => Some(Seen::Text(principal.mode().as_str())),
            "roles" => Some(Seen::Texts(&principal.roles)),
            "tenant" => Some(Seen::Text(&exchange.rules.tenant.name)),
            "hour" => Some(Seen::Number(i64::from(exchange.at.to_zoned(TimeZone::UTC).hour()))),
            "weekday" => Some(Seen::Text(weekday(exchange.at))),
            "method" => exchange.method().map(Seen::Text),
            _ => None,
        }
    }

    /// What a condition on this one word is held against.
    pub(super) fn word(&self, key: &str) -> Option<Seen<'a>> {
        self.derived(key).or_else(|| self.further(&[key]))
    }

    /// What the tool's handling says stands where in its arguments.
    fn mapped(&self, path: &[impl Borrow<str>]) -> Option<&'a Value> {
        let handling = &self.0.tool()?.classified.as_ref()?.handling;
        if handling.context.is_empty() {
            return None;
        }
        let steps = match path {
            [only] => handling.context.get(only.borrow())?,
            _ => handling.context.get(&path.join("."))?,
        };
        let steps = steps.strip_prefix("arguments.").unwrap_or(steps);
        steps.split('.').try_fold(self.0.arguments()?, |at, step| at.get(step))
    }

    fn further(&self, path: &[impl Borrow<str>]) -> Option<Seen<'a>> {
        if let Some(found) = self.mapped(path) {
            return Some(Seen::Json(found));
        }
        if let Some(arguments) = self.0.arguments() {
            let inside = match path {
                [first, rest @ ..] if first.borrow() == "arguments" => walk(arguments, rest),
                _ => walk(arguments, path),
            };
            if inside.is_some() {
                return inside.map(Seen::Json);
            }
        }
        // What is sent speaks before what is said of it: a smaller `amount` here hides no larger one there.
        let said = self.0.message()?.params()?.get("_meta")?.get(CONTEXT_META)?;
        walk(said, path).map(Seen::Json)
    }
}

impl Context for CallContext<'_> {
    fn get(&self, path: &[Box<str>]) -> Option<Seen<'_>> {
        if let [key] = path
            && let Some(found) = self.derived(key)
        {
            return Some(found);
        }
        self.further(path)
    }

    fn closed(&self, binding: &GateBinding) -> Option<String> {
        let tool = self.0.tool().map_or("it", |tool| tool.name.as_str());
        self.0.gates.objection(binding, tool).map(|(_, words)| words)
    }

    fn decision(&self) -> (Option<DecisionType>, Option<Risk>) {
        let part = self.0.classification();
        (Some(part.decision_type), Some(part.risk))
    }

    fn agent(&self) -> &str {
        self.0.principal.agent.as_str()
    }
}

/// The day in UTC, as people write it.
pub fn weekday(at: jiff::Timestamp) -> &'static str {
    use jiff::civil::Weekday::{Friday, Monday, Saturday, Sunday, Thursday, Tuesday, Wednesday};
    match at.to_zoned(TimeZone::UTC).weekday() {
        Monday => "monday",
        Tuesday => "tuesday",
        Wednesday => "wednesday",
        Thursday => "thursday",
        Friday => "friday",
        Saturday => "saturday",
        Sunday => "sunday",
    }
}
