//! Why a call is decided as it is: every judge with its verdict, rule, reason and time, and what would make it pass.

mod changes;
mod ways;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use crate::access;
use crate::chain::{Chain, Ruling};
use crate::exchange::{Exchange, Raised, ToolSubject};
use crate::imagine::{self, Imagined};
use crate::live::Live;
use crate::names::{AgentId, ToolName};
use crate::verdict::{Decision, Heard, PolicyMode, Reason};

pub use ways::Way;
use ways::would_pass;

/// Nanoseconds since any moment; core asks no clock of its own.
pub type Stopwatch<'a> = dyn Fn() -> u64 + 'a;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explained {
    pub agent: AgentId,
    pub tool: ToolName,
    pub decision: Decision,
    pub effective: Counts,
    pub reasons: Vec<Reason>,
    pub judges: Vec<JudgeSaid>,
    /// The arguments, without what should not be read.
    pub input: Option<Value>,
    /// What policies could see of the call: principal with its roles, tenant, tool, arguments.
    pub policy_input: Value,
    pub policies: String,
    pub rules: Arc<str>,
    /// What must be so besides: gates, which nobody can ask about a call that is not made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub awaits: Vec<String>,
    pub would_pass: Vec<Way>,
}

/// What the call counts as.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Counts {
    /// Absent: nobody classified it, and it counts as the worst.
    pub manifest: Option<Arc<str>>,
    pub risk_level: &'static str,
    pub classification: String,
    pub side_effects: bool,
    pub raised: Vec<Raised>,
}

/// One judge's word; `pass` where it had none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgeSaid {
    pub plugin: String,
    pub verdict: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub mode: PolicyMode,
    /// Heard and not obeyed.
    pub observed: bool,
    /// For all that this judge said together; absent for what takes no time worth measuring.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub micros: Option<f64>,
}

/// Judges the call, each judge timed.
pub fn explain(chain: &Chain, live: &Arc<Live>, call: &Imagined, stopwatch: &Stopwatch<'_>) -> Explained {
    explain_with(chain, live, call, &[], stopwatch)
}

/// The same, where ways are sought past objections that were written down and that the chain cannot be asked for again.
pub(crate) fn explain_with(
    chain: &Chain,
    live: &Arc<Live>,
    call: &Imagined,
    kept: &[Heard],
    stopwatch: &Stopwatch<'_>,
) -> Explained {
    let mut exchange = call.exchange(live);
    let mut timed: Vec<(&'static str, u64)> = Vec::new();
    let ruling = chain.judge(&mut exchange, &mut |name, run| {
        let begun = stopwatch();
        run();
        timed.push((name, stopwatch().saturating_sub(begun)));
    });
    let tool = exchange.tool().unwrap_or(&call.tool);
    Explained {
        agent: call.principal.agent.clone(),
        tool: call.tool.name.clone(),
        decision: ruling.decision,
        effective: counts(tool),
        judges: judges(&ruling, &timed),
        input: call.arguments.as_ref().map(|arguments| hidden(chain, &exchange, arguments)),
        policy_input: hidden(chain, &exchange, &policy_input(&exchange)),
        policies: ruling.digest().to_owned(),
        rules: Arc::clone(&ruling.rules),
        awaits: awaits(chain, &exchange),
        would_pass: unnamed(chain, &exchange, would_pass(chain, live, (call, &exchange), &ruling, kept)),
        reasons: ruling.reasons,
    }
}

/// Some judges quote what was asked.
fn unnamed(chain: &Chain, exchange: &Exchange, mut ways: Vec<Way>) -> Vec<Way> {
    for change in ways.iter_mut().flat_map(|way| &mut way.changes) {
        if let Some(hidden) = chain.recorder().text(&exchange.rules, change) {
            *change = hidden;
        }
    }
    ways
}

fn awaits(chain: &Chain, exchange: &Exchange) -> Vec<String> {
    let mut told = Vec::new();
    imagine::gates(chain, exchange, |binding| told.push(changes::awaited(binding)));
    told.dedup();
    told
}

fn policy_input(exchange: &Exchange) -> Value {
    access::input(exchange, &exchange.rules.tenant)
}

fn counts(tool: &ToolSubject) -> Counts {
    Counts {
        manifest: tool.classified.as_ref().map(|known| Arc::clone(&known.digest)),
        risk_level: tool.effective.risk_level.as_str(),
        classification: tool.classification().code(),
        side_effects: tool.side_effects(),
        raised: tool.effective.why.clone(),
    }
}

/// In the order they were asked, then what the chain itself said.
fn judges(ruling: &Ruling, timed: &[(&'static str, u64)]) -> Vec<JudgeSaid> {
    let mut said = Vec::with_capacity(timed.len() + 2);
    let times: BTreeMap<_, _> = timed.iter().copied().collect();
    for (name, nanos) in timed {
        let before = said.len();
        said.extend(ruling.heard.iter().filter(|heard| heard.plugin == *name).map(|heard| judge(heard, Some(*nanos))));
        if said.len() == before {
            let (plugin, verdict) = ((*name).to_owned(), "pass".to_owned());
            let (rule, reason, micros) = (None, None, Some(micros(*nanos)));
            said.push(JudgeSaid { plugin, verdict, rule, reason, mode: PolicyMode::Enforce, observed: false, micros });
        }
    }
    said.extend(ruling.heard.iter().filter(|heard| !times.contains_key(heard.plugin)).map(|heard| judge(heard, None)));
    said
}

fn judge(heard: &Heard, nanos: Option<u64>) -> JudgeSaid {
    JudgeSaid {
        plugin: heard.plugin.into(),
        verdict: heard.verdict.into(),
        rule: heard.reason.as_ref().map(|reason| reason.rule.clone()),
        reason: heard.reason.as_ref().map(|reason| reason.message.clone()),
        mode: heard.mode,
        observed: heard.observed,
        micros: nanos.map(micros),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a judge does not take weeks")]
fn micros(nanos: u64) -> f64 {
    nanos as f64 / 1000.0
}

/// As a record may show it.
fn hidden(chain: &Chain, exchange: &Exchange, value: &Value) -> Value {
    chain.recorder().value(&exchange.rules, value).unwrap_or_else(|| value.clone())
}
