//! Recorded calls under other rules: which of them would have been decided otherwise, and which cannot be asked again.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::chain::{Chain, Ruling};
use crate::definitions::Standing;
use crate::exchange::{Exchange, ToolSubject};
use crate::identity::Principal;
use crate::imagine::{self, Imagined};
use crate::live::Live;
use crate::names::{Namespace, TenantId};
use crate::ports::RecordedCall;
use crate::recorded::{Kept, Recorded, decided, is_note, looked_at_gate, unrepeatable};
use crate::sql::SqlHandling;
use crate::verdict::{Decision, Reason};

/// Flips that are told one by one; the rest is counted.
const MOST_FLIPS: usize = 1000;

const NOT_LOOKED_AT: &str = "the candidate puts a gate before it at which nobody looked then";

/// The rules on trial.
pub struct Candidate<'a> {
    chain: &'a Chain,
    live: Arc<Live>,
    watched: &'a [Namespace],
}

impl<'a> Candidate<'a> {
    /// Suspensions of today are no policy and left out. `watched`: upstreams whose unclassified tools are let through.
    pub fn new(chain: &'a Chain, live: &Arc<Live>, watched: &'a [Namespace]) -> Self {
        Self { chain, live: Live::unsuspended(live), watched }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// What was on trial, by digest.
    pub candidate: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    pub replayed: u64,
    pub unchanged: u64,
    pub flips: Vec<Flip>,
    pub skipped: Vec<Skipped>,
}

/// Calls of one agent and tool that would have been decided otherwise.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Flip {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<TenantId>,
    pub agent: String,
    pub tool: String,
    pub from: Decision,
    /// Absent: the candidate failed.
    pub to: Option<Decision>,
    pub count: u64,
    /// The first such trace.
    pub example: String,
    pub reasons: Vec<Reason>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Skipped {
    pub why: &'static str,
    pub count: u64,
}

/// Whose, by whom, of what, from and to.
type Turned = (Option<TenantId>, String, String, Decision, Option<Decision>);

/// Counts what each call comes to.
pub struct Tally {
    report: Report,
    flips: BTreeMap<Turned, Flip>,
    skipped: BTreeMap<&'static str, u64>,
}

impl Tally {
    pub fn new(candidate: String, since: Option<String>) -> Self {
        let report = Report { candidate, since, replayed: 0, unchanged: 0, flips: Vec::new(), skipped: Vec::new() };
        Self { report, flips: BTreeMap::new(), skipped: BTreeMap::new() }
    }

    pub fn skip(&mut self, why: &'static str) {
        *self.skipped.entry(why).or_default() += 1;
    }

    pub fn compare(&mut self, call: &RecordedCall, from: Decision, to: Option<Decision>, reasons: Vec<Reason>) {
        self.report.replayed += 1;
        if to == Some(from) {
            self.report.unchanged += 1;
            return;
        }
        let event = &call.trace.event;
        let tool = event.context.get("tool").and_then(Value::as_str).unwrap_or_default();
        let key = (call.tenant, event.agent_id.clone(), tool.to_owned(), from, to);
        let flip = self.flips.entry(key).or_insert_with(|| Flip {
            tenant: call.tenant,
            agent: event.agent_id.clone(),
            tool: tool.to_owned(),
            from,
            to,
            count: 0,
            example: event.trace_id.clone(),
            reasons,
        });
        flip.count += 1;
    }

    pub fn report(mut self) -> Report {
        let mut flips: Vec<_> = self.flips.into_values().collect();
        flips.sort_by_key(|flip| std::cmp::Reverse(flip.count));
        flips.truncate(MOST_FLIPS);
        self.report.flips = flips;
        self.report.skipped = self.skipped.into_iter().map(|(why, count)| Skipped { why, count }).collect();
        self.report
    }
}

/// Asks the candidate about one recorded call.
pub fn replay(candidate: &Candidate<'_>, call: &RecordedCall, tally: &mut Tally) {
    if is_note(call) {
        return;
    }
    let asked = again(candidate, call).and_then(|(from, imagined)| Ok((from, judged(candidate, call, &imagined)?)));
    match asked {
        Err(why) => tally.skip(why),
        Ok((from, ruling)) => tally.compare(call, from, Some(ruling.decision), ruling.reasons),
    }
}

/// Asks the rules in force and the candidate about one recorded call. What other changes since then have turned is not the
/// candidate's doing.
pub fn replay_against(now: &Candidate<'_>, candidate: &Candidate<'_>, call: &RecordedCall, tally: &mut Tally) {
    if is_note(call) {
        return;
    }
    let ask = |whom: &Candidate<'_>| again(whom, call).and_then(|(_, imagined)| judged(whom, call, &imagined));
    match ask(now).and_then(|before| Ok((before, ask(candidate)?))) {
        Err(why) => tally.skip(why),
        Ok((before, after)) => tally.compare(call, before.decision, Some(after.decision), after.reasons),
    }
}

/// What the candidate of this digest said of the call when it ran beside the policies in force.
pub fn told_beside(digest: &str, call: &RecordedCall, tally: &mut Tally) {
    if is_note(call) {
        return;
    }
    let from = match decided(call) {
        Ok(from) => from,
        Err(why) => return tally.skip(why),
    };
    let Some(beside) = call.trace.event.context.get("candidate") else {
        return tally.skip("no candidate ran beside it");
    };
    if beside.get("digest").and_then(Value::as_str) != Some(digest) {
        return tally.skip("another candidate ran beside it");
    }
    let to = beside.get("decision").and_then(|to| Decision::deserialize(to).ok());
    let reason = beside.get("reason").and_then(|reason| Reason::deserialize(reason).ok());
    // Only gates of the policies in force are looked at.
    if reason.as_ref().is_some_and(|reason| (reason.plugin.as_str(), reason.rule.as_str()) == ("gate", "unknown")) {
        return tally.skip(NOT_LOOKED_AT);
    }
    tally.compare(call, from, to, reason.into_iter().collect());
}

fn judged(candidate: &Candidate<'_>, call: &RecordedCall, imagined: &Imagined) -> Result<Ruling, &'static str> {
    let mut exchange = imagined.exchange(&candidate.live);
    let ruling = candidate.chain.judge(&mut exchange, &mut |_, run| run());
    // An imagined call finds gates open. One that nobody looked at then might as well have been closed.
    match ruling.decision != Decision::Deny && waits_for_more(candidate, call, &exchange) {
        true => Err(NOT_LOOKED_AT),
        false => Ok(ruling),
    }
}

fn waits_for_more(candidate: &Candidate<'_>, call: &RecordedCall, exchange: &Exchange) -> bool {
    let mut more = false;
    imagine::gates(candidate.chain, exchange, |binding| more |= !looked_at_gate(call, binding.scenario.as_str()));
    more
}

fn again(candidate: &Candidate<'_>, call: &RecordedCall) -> Result<(Decision, Imagined), &'static str> {
    let context = &call.trace.event.context;
    let from = decided(call)?;
    let Recorded { principal, tool: name, arguments, at, declared } = Recorded::of(call)?;
    if let Some(refused) = unrepeatable(call, |policy| asks_for_gate(candidate, &principal, policy)).first() {
        return Err(refused.why);
    }
    let watched = candidate.watched.iter().any(|one| one.as_str() == name.namespace());
    let tool = imagine::subject(candidate.chain, &candidate.live, &principal, &name, watched);
    // It was the accepted one, or it would have been refused as another; what it is today is no policy either.
    let tool = ToolSubject { standing: Standing::Pinned, ..tool };
    // Its agent's own limits stand in the trace by their digest alone, and they may decide about SQL.
    let may_be_sql = tool.classified.as_ref().is_none_or(|known| known.handling.sql != SqlHandling::Off);
    if may_be_sql && context.get("run").is_some() {
        return Err("it was a step of a run, under its agent's own limits");
    }
    let arguments = match arguments {
        Kept::Whole(arguments) => arguments,
        Kept::Not(why) if held_sql(context) || reads_arguments(candidate, &principal, &tool) => return Err(why),
        Kept::Not(_) => None,
    };
    if context.get("context_hash").is_some() && reads_arguments(candidate, &principal, &tool) {
        return Err("what its agent said of it besides was not kept");
    }
    Ok((from, Imagined { principal: Arc::new(principal), tool, arguments, at, declared, definition: None }))
}

fn asks_for_gate(candidate: &Candidate<'_>, principal: &Principal, policy: &str) -> bool {
    let own = candidate.live.rules_of(principal.tenant);
    candidate.chain.policies().rules.gate_of(policy).or(own.rules.gate_of(policy)).is_some()
}

/// Whether something was said of its SQL, which may be found where no manifest names it.
fn held_sql(context: &Value) -> bool {
    let said = |list: &str, key: &str, word: &str| {
        let all = context.get(list).and_then(Value::as_array).into_iter().flatten();
        all.into_iter().any(|one| one.get(key).and_then(Value::as_str) == Some(word))
    };
    said("raised", "rule", "sql") || said("verdicts", "plugin", "sql_guard")
}

/// Whether the answer could depend on what was asked with the call.
fn reads_arguments(candidate: &Candidate<'_>, principal: &Principal, tool: &ToolSubject) -> bool {
    let policies = candidate.chain.policies();
    let own = candidate.live.rules_of(principal.tenant);
    let handling = tool.classified.as_ref().map(|known| &known.handling);
    policies.rules.reads_arguments()
        || own.rules.reads_arguments()
        || !policies.access.is_empty()
        || !own.access.is_empty()
        || handling.is_some_and(|handling| !handling.raises.is_empty() || handling.sql.argument().is_some())
}
