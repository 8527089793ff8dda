//! Recorded calls under other rules: which of them would have been decided otherwise, and which cannot be asked again.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::chain::{Chain, Ruling};
use crate::classification::Classification;
use crate::digest;
use crate::identity::{Principal, PrincipalKind};
use crate::imagine::{self, Imagined};
use crate::live::Live;
use crate::names::{AgentId, Namespace, TenantId, ToolName};
use crate::ports::RecordedCall;
use crate::sql::SqlHandling;
use crate::verdict::{Decision, Reason};

/// Flips that are told one by one; the rest is counted.
const MOST_FLIPS: usize = 1000;

/// The rules on trial.
pub struct Candidate<'a> {
    pub chain: &'a Chain,
    pub live: &'a Arc<Live>,
    /// Upstreams whose unclassified tools are let through.
    pub watched: &'a [Namespace],
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
    match again(candidate, call) {
        Err(why) => tally.skip(why),
        Ok((from, imagined)) => {
            let ruling = judged(candidate, &imagined);
            tally.compare(call, from, Some(ruling.decision), ruling.reasons);
        }
    }
}

/// Asks the rules in force and the candidate about one recorded call. What other changes since then have turned is not the
/// candidate's doing.
pub fn replay_against(now: &Candidate<'_>, candidate: &Candidate<'_>, call: &RecordedCall, tally: &mut Tally) {
    let asked = again(now, call).and_then(|(_, before)| again(candidate, call).map(|(_, after)| (before, after)));
    match asked {
        Err(why) => tally.skip(why),
        Ok((before, after)) => {
            let (from, ruling) = (judged(now, &before).decision, judged(candidate, &after));
            tally.compare(call, from, Some(ruling.decision), ruling.reasons);
        }
    }
}

fn judged(candidate: &Candidate<'_>, imagined: &Imagined) -> Ruling {
    let mut exchange = imagined.exchange(candidate.live);
    candidate.chain.judge(&mut exchange, &mut |_, run| run())
}

/// What a candidate that ran beside said of this call, where that was something else.
pub fn told_beside(call: &RecordedCall, tally: &mut Tally) {
    let context = &call.trace.event.context;
    let (Ok(from), Some(beside)) = (decided(call), context.get("candidate")) else { return };
    let to = beside.get("decision").and_then(|to| Decision::deserialize(to).ok());
    tally.compare(call, from, to, Vec::new());
}

fn decided(call: &RecordedCall) -> Result<Decision, &'static str> {
    let context = &call.trace.event.context;
    if context.get("tool").is_none() {
        return Err("not a tool call");
    }
    let decision = context.get("decision").and_then(|decision| Decision::deserialize(decision).ok());
    let decision = decision.ok_or("not a decision of the gateway")?;
    // What ran because a human said yes was an escalation to the rules.
    Ok(if context.get("approval").is_some() { Decision::ApprovalRequired } else { decision })
}

fn again(candidate: &Candidate<'_>, call: &RecordedCall) -> Result<(Decision, Imagined), &'static str> {
    let event = &call.trace.event;
    let from = decided(call)?;
    let text = |key: &str| event.context.get(key).and_then(Value::as_str);
    let name: ToolName = text("tool").and_then(|tool| tool.parse().ok()).ok_or("not a tool call")?;
    let agent: AgentId = event.agent_id.parse().map_err(|_| "its agent has no readable name")?;
    let acting = text("as").ok_or("recorded before the caller's own limits were")?;
    let principal = acting_as(acting, call.tenant, agent).ok_or("the caller's own limits cannot be read")?;
    let watched = candidate.watched.iter().any(|one| one.as_str() == name.namespace());
    let tool = imagine::subject(candidate.chain, candidate.live, &principal, &name, watched);
    // Its agent's own limits stand in the trace by their digest alone, and they may decide about SQL.
    let may_be_sql = tool.classified.as_ref().is_none_or(|known| known.handling.sql != SqlHandling::Off);
    if may_be_sql && event.context.get("run").is_some() {
        return Err("it was a step of a run, under its agent's own limits");
    }
    let arguments = match arguments(call, &name) {
        Kept::Whole(arguments) => arguments,
        Kept::Not(why) if held_sql(&event.context) || reads_arguments(candidate, &principal, &tool) => return Err(why),
        Kept::Not(_) => None,
    };
    if event.context.get("context_hash").is_some() && reads_arguments(candidate, &principal, &tool) {
        return Err("what its agent said of it besides was not kept");
    }
    let declared = declared(&event.context)?;
    let at = event.timestamp.parse().map_err(|_| "its time cannot be read")?;
    let principal = Arc::new(principal);
    Ok((from, Imagined { principal, tool, arguments, at, declared, definition: None }))
}

/// What the agent itself called it: a call counts as no less.
pub(crate) fn declared(context: &Value) -> Result<Option<Classification>, &'static str> {
    if let Some(code) = context.get("declared") {
        let read = code.as_str().and_then(Classification::from_code);
        return read.map(Some).ok_or("what its agent called it cannot be read");
    }
    let raised = context.get("raised").and_then(Value::as_array).into_iter().flatten();
    match raised.into_iter().any(|why| why.get("rule").and_then(Value::as_str) == Some("declared")) {
        true => Err("recorded before what its agent called it was"),
        false => Ok(None),
    }
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
fn reads_arguments(candidate: &Candidate<'_>, principal: &Principal, tool: &crate::exchange::ToolSubject) -> bool {
    let policies = candidate.chain.policies();
    let own = candidate.live.rules_of(principal.tenant);
    let handling = tool.classified.as_ref().map(|known| &known.handling);
    policies.rules.reads_arguments()
        || own.rules.reads_arguments()
        || !policies.access.is_empty()
        || !own.access.is_empty()
        || handling.is_some_and(|handling| !handling.raises.is_empty() || handling.sql.argument().is_some())
}

/// A call's arguments as far as they were kept.
pub(crate) enum Kept {
    Whole(Option<Value>),
    Not(&'static str),
}

/// The record is what was sent only if it has the digest that the trace has.
pub(crate) fn arguments(call: &RecordedCall, tool: &ToolName) -> Kept {
    let Some(input) = &call.input else {
        return Kept::Not("its arguments were erased");
    };
    if input.get("omitted_bytes").is_some() {
        return Kept::Not("its arguments were too large to be kept");
    }
    let hash = call.trace.event.context.get("args_hash").and_then(Value::as_str);
    let is_hashed = |value: &Value| {
        let canonical = serde_json_canonicalizer::to_vec(value).unwrap_or_default();
        hash == Some(digest::named(&canonical).as_str())
    };
    if is_hashed(input) {
        // Without arguments the whole question stands there, and begins with the tool's name.
        let bare = input.get("name").and_then(Value::as_str) == Some(tool.tool()) && input.get("arguments").is_none();
        return Kept::Whole((!bare).then(|| input.clone()));
    }
    match input.get("arguments").filter(|inside| is_hashed(inside)) {
        Some(inside) => Kept::Whole(Some(inside.clone())),
        None => Kept::Not("its arguments were kept only in part"),
    }
}

/// `A3 R2 D1,D2 [role]`, as a trace says what the caller was.
pub(crate) fn acting_as(text: &str, tenant: Option<TenantId>, agent: AgentId) -> Option<Principal> {
    let (limits, roles) = match text.split_once('[') {
        Some((limits, roles)) => (limits, roles.strip_suffix(']')?),
        None => (text, ""),
    };
    let mut limits = limits.split(' ');
    let (autonomy, max_risk) = (limits.next()?.parse().ok()?, limits.next()?.parse().ok()?);
    let types = limits.next().unwrap_or_default();
    let listed = |text: &str| text.split(',').filter(|part| !part.is_empty()).map(str::to_owned).collect::<Vec<_>>();
    let allowed_types = listed(types).iter().map(|kind| kind.parse().ok()).collect::<Option<_>>()?;
    Some(Principal {
        kind: PrincipalKind::Agent,
        tenant,
        agent,
        autonomy,
        allowed_types,
        max_risk,
        roles: listed(roles),
        ..Principal::anonymous()
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;
    use crate::classification::{Autonomy, DecisionType, Reversibility, Risk};
    use crate::trace::{Event, Trace};

    #[test]
    fn what_the_caller_was_is_read_back() {
        let agent: AgentId = "a".parse().unwrap();
        for (text, types, roles) in [
            ("A3 R2 D1,D2 [viewer,clerk]", vec![DecisionType::D1, DecisionType::D2], vec!["viewer", "clerk"]),
            ("A3 R2 ", vec![], vec![]),
            ("A3 R2  [viewer]", vec![], vec!["viewer"]),
        ] {
            let read = acting_as(text, None, agent.clone()).unwrap();
            assert_eq!((read.autonomy, read.max_risk), (Autonomy::A3, Risk::R2), "{text}");
            assert_eq!((read.allowed_types, read.roles.iter().map(String::as_str).collect::<Vec<_>>()), (types, roles));
        }
        for broken in ["", "A9 R1 ", "A1", "A1 R1 D9", "A1 R1 D1 [x"] {
            assert_eq!(acting_as(broken, None, agent.clone()), None, "{broken}");
        }
    }

    #[test]
    fn what_the_agent_called_it_is_read_back() {
        let said = Classification::new(DecisionType::D3, Risk::R2, Reversibility::Irreversible);
        for (context, expected) in [
            (json!({}), Ok(None)),
            (json!({"raised": [{"rule": "sql", "to": "LOW_WRITE"}]}), Ok(None)),
            (json!({"declared": said.code(), "raised": [{"rule": "declared", "to": "READ_ONLY"}]}), Ok(Some(said))),
            (json!({"declared": "D9-R2-total"}), Err("what its agent called it cannot be read")),
            (
                json!({"raised": [{"rule": "declared", "to": "READ_ONLY"}]}),
                Err("recorded before what its agent called it was"),
            ),
        ] {
            assert_eq!(declared(&context), expected, "{context}");
        }
        for broken in ["", "D1", "D1-R1", "D1-R1-total-more", "R1-D1-total"] {
            assert_eq!(Classification::from_code(broken), None, "{broken}");
        }
    }

    fn recorded(input: Option<Value>, hashed: &Value) -> RecordedCall {
        let hash = digest::named(&serde_json_canonicalizer::to_vec(hashed).unwrap());
        let event = Event {
            trace_id: "trc_1".into(),
            agent_id: "a".into(),
            event_type: "decision".into(),
            decision_type: None,
            risk_level: None,
            reversibility: None,
            classification_code: None,
            description: None,
            reasoning: None,
            authorization: Value::Null,
            context: json!({ "args_hash": hash, "tool": "crm/find", "decision": "allow" }),
            previous_hash: None,
            timestamp: "2026-02-23T00:00:00.000Z".into(),
        };
        let trace = Trace { seq: 1, event, event_hash: String::new() };
        RecordedCall { tenant: None, trace, input, status: None }
    }

    #[test]
    fn only_what_was_sent_is_asked_again() {
        let tool: ToolName = "crm/find".parse().unwrap();
        let sent = json!({ "id": 7 });
        let whole = |input: Value, hashed: &Value| match arguments(&recorded(Some(input), hashed), &tool) {
            Kept::Whole(arguments) => Ok(arguments),
            Kept::Not(why) => Err(why),
        };
        assert_eq!(whole(sent.clone(), &sent), Ok(Some(sent.clone())));
        assert_eq!(whole(json!({ "arguments": sent, "inputResponses": {} }), &sent), Ok(Some(sent.clone())));
        let bare = json!({ "name": "find" });
        assert_eq!(whole(bare.clone(), &bare), Ok(None), "a call without arguments");
        assert_eq!(whole(json!({ "omitted_bytes": 20000 }), &sent), Err("its arguments were too large to be kept"));
        assert_eq!(whole(json!({ "id": "(hidden)" }), &sent), Err("its arguments were kept only in part"));
        assert!(matches!(arguments(&recorded(None, &sent), &tool), Kept::Not("its arguments were erased")));
    }
}
