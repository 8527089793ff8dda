//! A call, as conditions see it: what the gateway itself knows comes first, then what is sent, and last what the agent says.

use std::borrow::Borrow;
use std::cell::RefCell;

use jiff::tz::TimeZone;
use serde_json::Value;
use smallvec::SmallVec;

use super::path::walk;
use super::{Context, Path, Seen};
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

/// What was found at a place, or that nothing is there. Outside that: nobody has looked yet.
type Looked<'a> = Option<Option<Seen<'a>>>;

/// For the policies of one set: the places they share are numbered there.
pub struct CallContext<'a> {
    exchange: &'a Exchange,
    arguments: Option<&'a Value>,
    /// A call does not change while it is looked at.
    shared: RefCell<SmallVec<[Looked<'a>; 8]>>,
}

impl<'a> CallContext<'a> {
    pub fn new(exchange: &'a Exchange) -> Self {
        Self { exchange, arguments: exchange.arguments(), shared: RefCell::default() }
    }

    fn derived(&self, key: &str) -> Option<Seen<'a>> {
        let exchange = self.exchange;
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
        self.derived(key).or_else(|| self.further(key, &[key]))
    }

    fn look(&self, path: &Path) -> Option<Seen<'a>> {
        path.word().and_then(|word| self.derived(word)).or_else(|| self.further(path.as_str(), path.steps()))
    }

    /// What the tool's handling says stands where in its arguments.
    fn mapped(&self, written: &str) -> Option<&'a Value> {
        let handling = &self.exchange.tool()?.classified.as_ref()?.handling;
        if handling.context.is_empty() {
            return None;
        }
        let steps = handling.context.get(written)?;
        let steps = steps.strip_prefix("arguments.").unwrap_or(steps);
        steps.split('.').try_fold(self.arguments?, |at, step| at.get(step))
    }

    fn further(&self, written: &str, steps: &[impl Borrow<str>]) -> Option<Seen<'a>> {
        if let Some(found) = self.mapped(written) {
            return Some(Seen::Json(found));
        }
        if let Some(arguments) = self.arguments {
            let inside = match steps {
                [first, rest @ ..] if first.borrow() == "arguments" => {
                    walk(arguments, written.strip_prefix("arguments.").unwrap_or_default(), rest)
                }
                _ => walk(arguments, written, steps),
            };
            if inside.is_some() {
                return inside.map(Seen::Json);
            }
        }
        // What is sent speaks before what is said of it: a smaller `amount` here hides no larger one there.
        let said = self.exchange.message()?.params()?.get("_meta")?.get(CONTEXT_META)?;
        walk(said, written, steps).map(Seen::Json)
    }
}

impl Context for CallContext<'_> {
    fn get(&self, path: &Path) -> Option<Seen<'_>> {
        let Some(number) = path.shared() else { return self.look(path) };
        if let Some(Some(found)) = self.shared.borrow().get(number) {
            return *found;
        }
        let found = self.look(path);
        let mut shared = self.shared.borrow_mut();
        if shared.len() <= number {
            shared.resize(number + 1, None);
        }
        if let Some(place) = shared.get_mut(number) {
            *place = Some(found);
        }
        found
    }

    fn closed(&self, binding: &GateBinding) -> Option<String> {
        let tool = self.exchange.tool().map_or("it", |tool| tool.name.as_str());
        self.exchange.gates.objection(binding, tool).map(|(_, words)| words)
    }

    fn decision(&self) -> (Option<DecisionType>, Option<Risk>) {
        let part = self.exchange.classification();
        (Some(part.decision_type), Some(part.risk))
    }

    fn agent(&self) -> &str {
        self.exchange.principal.agent.as_str()
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
