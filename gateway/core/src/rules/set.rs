//! Many policies, compiled together: which of them apply, which are not kept, and what that is worth.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::call::{CallContext, DERIVED};
use super::condition::Applies;
use super::requirement::Met;
use super::{AgentPolicy, Context, Seen, Severity, path};
use crate::digest;
use crate::exchange::Exchange;
use crate::gate::binding::GateBinding;
use crate::verdict::{Objection, Opinion, PolicyMode, Remedy, Verdict};

/// Cloned with every set of policies that holds it, so what it holds is shared.
#[derive(Debug, Clone, Default)]
pub struct RuleSet {
    policies: Arc<[AgentPolicy]>,
    index: Arc<Index>,
    digest: Arc<str>,
    enforced: Arc<str>,
    /// Some policy asks for a gate.
    gated: bool,
}

/// Keys of which a call has one value, from most to least telling.
const INDEXED: [&str; 4] = ["tool", "namespace", "action_type", "domain"];

/// Which policies a call can concern at all, by place in the set.
#[derive(Debug, Default)]
struct Index {
    /// For each of [`INDEXED`]: by its value.
    by: [HashMap<Box<str>, Vec<usize>>; INDEXED.len()],
    /// For each of them: what must be looked at where a call has no value, because it is critical.
    without: [Vec<usize>; INDEXED.len()],
    /// For each of them: all, where a call has a value that is no text.
    all: [Vec<usize>; INDEXED.len()],
    /// Named by nothing a call is found by.
    rest: Vec<usize>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Violation {
    pub policy_id: String,
    pub name: String,
    pub severity: Severity,
    pub requirement: Value,
    pub max_response_time: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Evaluation {
    pub violations: Vec<Violation>,
    pub applicable: Vec<String>,
    pub warnings: Vec<String>,
}

impl RuleSet {
    pub fn compile(mut policies: Vec<AgentPolicy>) -> Self {
        path::share(policies.iter_mut().flat_map(|policy| policy.condition.paths_mut()));
        let named = |counts: &dyn Fn(&AgentPolicy) -> bool| -> Arc<str> {
            let mut chosen: Vec<_> = policies.iter().filter(|policy| counts(policy)).collect();
            if chosen.is_empty() {
                return "".into();
            }
            // The same policies in another order are the same policies.
            chosen.sort_by(|a, b| a.policy_id.cmp(&b.policy_id));
            let chosen: Vec<_> = chosen.into_iter().map(AgentPolicy::canonical).collect();
            digest::named(&serde_json_canonicalizer::to_vec(&chosen).unwrap_or_default()).into()
        };
        let digest = named(&|_| true);
        let enforced = named(&|policy| policy.mode == PolicyMode::Enforce);
        let index = Arc::new(Index::of(&policies));
        let gated = policies.iter().any(|policy| policy.requirement.gate().is_some());
        Self { policies: policies.into(), index, digest, enforced, gated }
    }

    /// Everything the policies say of a decision, whatever their mode.
    pub fn evaluate(&self, context: &dyn Context) -> Evaluation {
        let mut said = Evaluation::default();
        for policy in self.policies.iter() {
            let id = &policy.policy_id;
            let unknown = match policy.condition.applies(context) {
                Applies::No => continue,
                Applies::Unknown(keys) => keys,
                Applies::Yes => {
                    said.applicable.push(id.clone());
                    match policy.requirement.met(context) {
                        Met::Yes => continue,
                        Met::Mention(word) => {
                            said.warnings.push(format!("{id}: {} ({word})", policy.name));
                            continue;
                        }
                        Met::NeedsHuman | Met::No(_) => {
                            said.violations.push(policy.violation());
                            continue;
                        }
                        Met::Unknown(keys) => keys,
                    }
                }
            };
            let keys = unknown.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
            if policy.fails_closed() {
                said.warnings.push(format!("{id}: the context has no usable {keys}, and the policy is critical"));
                said.violations.push(policy.violation());
            } else {
                said.warnings.push(format!("{id}: not applied, the context has no usable {keys}"));
            }
        }
        said
    }

    /// What the policies say of a call, each with its own worth.
    pub fn judge(&self, exchange: &Exchange, say: &mut dyn FnMut(Opinion)) {
        if self.policies.is_empty() {
            return;
        }
        let context = CallContext::new(exchange);
        self.index.candidates(&context, |place| {
            if let Some(policy) = self.policies.get(place)
                && let Some(verdict) = policy.verdict(&context)
            {
                say(Opinion::new(verdict, policy.mode));
            }
        });
    }

    /// The gates that policies may ask of a call, found by what does not change while it is judged.
    pub fn gates(&self, exchange: &Exchange, mut found: impl FnMut(&Arc<GateBinding>)) {
        if !self.gated {
            return;
        }
        let context = CallContext::new(exchange);
        self.index.candidates(&context, |place| {
            if let Some(binding) = self.policies.get(place).and_then(|policy| policy.requirement.gate()) {
                found(binding);
            }
        });
    }

    /// The same of those that apply to this very call and are obeyed.
    pub fn gates_obeyed(&self, exchange: &Exchange, mut found: impl FnMut(&Arc<GateBinding>)) {
        if !self.gated {
            return;
        }
        let context = CallContext::new(exchange);
        let obeyed = self.policies.iter().filter(|policy| policy.mode == PolicyMode::Enforce);
        for policy in obeyed.filter(|policy| policy.condition.holds(&context) == Some(true)) {
            policy.requirement.gate().into_iter().for_each(&mut found);
        }
    }

    /// What the policy of this id waits for, where it is kept by where a run is.
    pub fn gate_of(&self, policy_id: &str) -> Option<&Arc<GateBinding>> {
        let named = self.policies.iter().filter(|policy| policy.policy_id == policy_id);
        named.filter_map(|policy| policy.requirement.gate()).next()
    }

    /// Empty for no policies.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    pub fn enforced_digest(&self) -> &str {
        &self.enforced
    }

    pub fn policies(&self) -> &[AgentPolicy] {
        &self.policies
    }

    pub fn is_empty(&self) -> bool {
        self.policies.is_empty()
    }

    /// Whether some policy cannot be judged without the call's arguments.
    pub fn reads_arguments(&self) -> bool {
        let reads = |policy: &AgentPolicy| policy.condition.looks_beyond(&DERIVED) || policy.requirement.reads_fields();
        self.policies.iter().any(reads)
    }
}

impl AgentPolicy {
    fn fails_closed(&self) -> bool {
        self.severity == Severity::Critical && !self.requirement.only_mentions()
    }

    fn violation(&self) -> Violation {
        Violation {
            policy_id: self.policy_id.clone(),
            name: self.name.clone(),
            severity: self.severity,
            requirement: self.requirement.written().clone(),
            max_response_time: self.max_response_time.clone(),
        }
    }

    /// Nothing is made before there is something to object to.
    fn verdict(&self, context: &dyn Context) -> Option<Verdict> {
        let unknown = match self.condition.holds(context) {
            Some(false) => return None,
            None if !self.fails_closed() => return None,
            None => self.condition.unknown(context),
            Some(true) => match self.requirement.met(context) {
                Met::Yes => return None,
                Met::Mention(word) => {
                    let message = format!("{}: this is mentioned (`{word}`)", self.name);
                    let objection = Objection::new(self.policy_id.clone(), message);
                    return Some(match word {
                        "notify" => Verdict::Notify(objection),
                        _ => Verdict::Mention(objection),
                    });
                }
                Met::NeedsHuman => return Some(self.objects("it needs a human's approval", None)),
                Met::No(why) => {
                    let other = self.requirement.reads_fields().then(|| Remedy::Arguments(why.clone()));
                    return Some(self.objects(&why, other));
                }
                Met::Unknown(keys) => keys,
            },
        };
        self.fails_closed().then(|| {
            let keys = unknown.join("`, `");
            self.objects(&format!("nothing says what `{keys}` is, and a critical policy asks for it"), None)
        })
    }

    fn objects(&self, why: &str, remedy: Option<Remedy>) -> Verdict {
        let objection = Objection::new(self.policy_id.clone(), format!("{}: {why}", self.name));
        let objection = objection.within(self.respond_within);
        match self.requirement.needs_human() {
            true => Verdict::Escalate(objection.cured_by(Remedy::Approve)),
            false => {
                let lower = || Remedy::Policy(self.policy_id.clone());
                Verdict::Deny(objection.cured_by(remedy.unwrap_or_else(lower)))
            }
        }
    }
}

impl Index {
    fn of(policies: &[AgentPolicy]) -> Self {
        let mut index = Self::default();
        for (place, policy) in policies.iter().enumerate() {
            let needed = INDEXED.iter().enumerate().find_map(|(at, key)| Some((at, policy.condition.needs(key)?)));
            let Some((at, values)) = needed else {
                index.rest.push(place);
                continue;
            };
            if let Some(by) = index.by.get_mut(at) {
                for value in values {
                    let places = by.entry(value.into()).or_default();
                    // A list may name the same value twice.
                    if places.last() != Some(&place) {
                        places.push(place);
                    }
                }
            }
            index.all.get_mut(at).into_iter().for_each(|all| all.push(place));
            if policy.severity == Severity::Critical
                && let Some(without) = index.without.get_mut(at)
            {
                without.push(place);
            }
        }
        index
    }

    fn candidates(&self, context: &CallContext<'_>, mut look: impl FnMut(usize)) {
        let parts = INDEXED.iter().zip(&self.by).zip(self.without.iter().zip(&self.all));
        for ((key, by), (without, all)) in parts.filter(|((_, by), _)| !by.is_empty()) {
            let places = match context.word(key) {
                Some(Seen::Text(text)) => by.get(text),
                Some(Seen::Json(Value::String(text))) => by.get(text.as_str()),
                Some(_) => Some(all),
                None => Some(without),
            };
            places.into_iter().flatten().for_each(|place| look(*place));
        }
        self.rest.iter().for_each(|place| look(*place));
    }
}
