//! What the trace of a decision says. Written text by text, because every call has one.

use std::borrow::Cow;

use jiff::Timestamp;
use uuid::Uuid;

use super::{runs, tasks};
use crate::canonical::{Canonical, Object, write_text};
use crate::chain::{Compared, Ruling};
use crate::content::Found;
use crate::digest;
use crate::exchange::{Exchange, Raised};
use crate::gate::Id;
use crate::gate::binding::{GateFacts, Gates};
use crate::identity::Principal;
use crate::keys;
use crate::matrix::{Judgement, Question};
use crate::names::TraceId;
use crate::rules::CONTEXT_META;
use crate::trace::{EventType, TraceDraft};
use crate::verdict::{Decision, Heard, PolicyMode, Reason};

pub(super) fn decision_draft(exchange: &Exchange, ruling: &Ruling, timestamp: Timestamp) -> TraceDraft {
    let (principal, part) = (&exchange.principal, exchange.classification());
    let judged = ruling.policies.matrix.judge(&Question {
        autonomy: principal.autonomy,
        decision_type: part.decision_type,
        risk: Some(part.risk),
        allowed_types: &principal.allowed_types,
        max_risk: principal.max_risk,
    });
    let (event_type, word) = match ruling.decision {
        Decision::Allow => (EventType::Decision, "allowed"),
        Decision::ApprovalRequired => (EventType::Escalation, "waits for approval"),
        Decision::Deny => (EventType::Decision, "denied"),
    };
    let reasons: Vec<&str> = ruling.reasons.iter().map(|reason| reason.message.as_str()).collect();
    TraceDraft {
        tenant: principal.tenant,
        agent: principal.agent.clone(),
        trace_id: exchange.trace_id.clone(),
        event_type,
        classification: Some(part),
        description: Some([&*subject(exchange), " ", word].concat()),
        reasoning: (!reasons.is_empty()).then(|| reasons.join("; ")),
        authorization: authorization(&judged, ruling.decision),
        context: context(exchange, ruling),
        timestamp,
    }
}

/// What was taken out of an answer. The decision's own trace was durable before there was an answer, and stays as it is.
pub(super) fn redaction_draft(
    exchange: &Exchange,
    found: &Found,
    trace_id: TraceId,
    timestamp: Timestamp,
) -> TraceDraft {
    let mut written = Object::with_capacity(160);
    if exchange.is_governed() {
        written.text("continues", Some(exchange.trace_id.as_str()));
    }
    found.write(written.member("dlp"));
    let key = if exchange.tool().is_some() { "tool" } else { "method" };
    written.text(key, Some(&*subject(exchange)));
    TraceDraft {
        tenant: exchange.principal.tenant,
        agent: exchange.principal.agent.clone(),
        trace_id,
        event_type: EventType::Decision,
        classification: Some(exchange.classification()),
        description: Some([&*subject(exchange), ": answer redacted"].concat()),
        reasoning: None,
        authorization: Canonical::null(),
        context: written.end(),
        timestamp,
    }
}

/// What was asked of: the tool, or the method where no tool is named.
/// A caller may have put its own key there.
fn subject(exchange: &Exchange) -> Cow<'_, str> {
    let said = exchange.tool().map_or_else(|| exchange.method().unwrap_or("stream"), |tool| tool.name.as_str());
    match keys::in_text(said) {
        true => keys::hide_in_text(said).into(),
        false => said.into(),
    }
}

fn authorization(judged: &Judgement, decision: Decision) -> Canonical {
    let mut written = Object::with_capacity(96);
    written.text("matrix_result", Some(judged.cell));
    list(written.member("overrides"), &judged.reasons, |out, reason| write_text(reason, out));
    written.raw("required", if decision == Decision::ApprovalRequired { "true" } else { "false" });
    written.end()
}

/// In the order that the RFC gives the keys.
fn context(exchange: &Exchange, ruling: &Ruling) -> Canonical {
    let tool = exchange.tool();
    let mut written = Object::with_capacity(640);
    if !ruling.advice.is_empty() {
        list(written.member("advice"), &ruling.advice, |out, advice| write_text(&advice.rule, out));
    }
    if let Some(approval) = ruling.approval {
        written.text("approval", Some(approval.hyphenated().encode_lower(&mut Uuid::encode_buffer())));
    }
    written.text("args_hash", exchange.arguments_hash().as_deref());
    written.text("as", Some(&acting_as(&exchange.principal)));
    if let Some(compared) = &ruling.compared {
        written.raw("candidate", candidate(compared).as_str());
    }
    if let Some(said) = said_of(exchange) {
        written.text("context_hash", Some(&said));
    }
    if let Some(before) = &exchange.continues {
        written.text("continues", Some(before.as_str()));
    }
    written.text("decision", Some(ruling.decision.as_str()));
    if let Some(declared) = exchange.declared {
        written.text("declared", Some(&declared.code()));
    }
    if !exchange.content.found.is_empty() {
        exchange.content.found.write(written.member("dlp"));
    }
    if let Gates::Looked(facts) = &exchange.gates
        && !facts.is_empty()
    {
        list(written.member("gate"), facts, |out, facts| out.push_str(gate(facts).as_str()));
    }
    if let Some(known) = tool.and_then(|tool| tool.classified.as_ref()) {
        written.text("manifest", Some(&known.digest));
    }
    if tool.is_none() {
        written.text("method", Some(&*subject(exchange)));
    }
    if let Some(passage) = exchange.passage {
        written.text("node", Some(&passage.to.to_string()));
    }
    written.text("policies", Some(ruling.digest()));
    if let Some(tool) = tool.filter(|tool| !tool.effective.why.is_empty()) {
        list(written.member("raised"), &tool.effective.why, |out, why| out.push_str(raised(why).as_str()));
    }
    written.text("rules", Some(&ruling.rules));
    if let Some(run) = &exchange.run {
        written.raw("run", runs::written(run).as_str());
    }
    if let Some(task) = tasks::digest_of(exchange) {
        written.text("task", Some(&task));
    }
    if tool.is_some() {
        written.text("tool", Some(&*subject(exchange)));
    }
    list(written.member("verdicts"), &ruling.heard, |out, heard| out.push_str(verdict(heard).as_str()));
    if let Some(passage) = exchange.passage {
        written.text("via", Some(&passage.from.to_string()));
    }
    written.end()
}

/// What the agent itself said of the call, for policies. It is no argument and is kept nowhere, so that only its digest
/// tells that a decision may have come of it.
fn said_of(exchange: &Exchange) -> Option<String> {
    exchange.tool()?;
    let said = exchange.message()?.meta()?.get(CONTEXT_META)?;
    Some(digest::named(&serde_json_canonicalizer::to_vec(said).ok()?))
}

/// What the caller was when this was decided, so that the call can be judged again: `A3 R2 D1,D2 [role]`.
fn acting_as(principal: &Principal) -> String {
    let mut text = String::with_capacity(32);
    text.push_str(principal.autonomy.as_str());
    text.push(' ');
    text.push_str(principal.max_risk.as_str());
    text.push(' ');
    for (place, kind) in principal.allowed_types.iter().enumerate() {
        text.push_str(if place > 0 { "," } else { "" });
        text.push_str(kind.as_str());
    }
    if !principal.roles.is_empty() {
        text.push_str(" [");
        for (place, role) in principal.roles.iter().enumerate() {
            text.push_str(if place > 0 { "," } else { "" });
            text.push_str(role);
        }
        text.push(']');
    }
    text
}

/// Under which run it was decided, and where that run was.
fn gate(facts: &GateFacts) -> Canonical {
    let mut written = Object::with_capacity(96);
    let run = facts.run.as_ref();
    written.text("decision", run.and_then(|run| run.decision.as_ref()).map(Id::as_str));
    written.text("run", run.map(|run| run.run_id.as_str()));
    written.text("scenario", Some(facts.binding.scenario.as_str()));
    written.text("stage", run.map(|run| run.stage.as_str()));
    written.end()
}

fn candidate(compared: &Compared) -> Canonical {
    let mut written = Object::with_capacity(128);
    written.text("decision", compared.decision.map(Decision::as_str));
    written.text("digest", Some(&compared.digest));
    if let Some(reason) = &compared.reason {
        written.raw("reason", words(reason).as_str());
    }
    written.end()
}

fn words(reason: &Reason) -> Canonical {
    let mut written = Object::with_capacity(64 + reason.message.len());
    written.text("message", Some(&reason.message));
    written.text("plugin", Some(&reason.plugin));
    written.text("rule", Some(&reason.rule));
    written.end()
}

/// Which rule, and how far; its message may hold what was asked.
fn raised(why: &Raised) -> Canonical {
    let mut written = Object::with_capacity(48);
    written.text("rule", Some(&why.rule));
    written.text("to", Some(why.to.as_str()));
    written.end()
}

fn verdict(heard: &Heard) -> Canonical {
    let mut written = Object::with_capacity(64);
    if heard.mode != PolicyMode::Enforce {
        written.text("mode", Some(heard.mode.as_str()));
    }
    if heard.observed {
        written.raw("observed", "true");
    }
    written.text("plugin", Some(heard.plugin));
    if let Some(reason) = &heard.reason {
        written.raw("reason", words(reason).as_str());
    }
    written.text("verdict", Some(heard.verdict));
    written.end()
}

fn list<T>(out: &mut String, items: &[T], write: impl Fn(&mut String, &T)) {
    out.push('[');
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        write(out, item);
    }
    out.push(']');
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::{Value, json};

    use super::*;
    use crate::matrix::Authorization;

    fn canonical(written: &Canonical) -> Value {
        let value = serde_json::from_str::<Value>(written.as_str()).unwrap();
        assert_eq!(*written, Canonical::of(&value).unwrap());
        value
    }

    #[test]
    fn what_is_written_in_order_is_canonical() {
        let reason = Reason::new("manifest", "mode_x_risk", "a \"quoted\" reason, é");
        let observed = Heard {
            plugin: "manifest",
            verdict: "deny",
            reason: Some(reason),
            mode: PolicyMode::Enforce,
            observed: true,
            remedy: None,
        };
        let said = json!({"message": "a \"quoted\" reason, é", "plugin": "manifest", "rule": "mode_x_risk"});
        let expected = json!({"observed": true, "plugin": "manifest", "reason": said, "verdict": "deny"});
        assert_eq!(canonical(&verdict(&observed)), expected);
        let (mode, reason, remedy) = (PolicyMode::Enforce, None, None);
        let plain = Heard { plugin: "matrix", verdict: "grant", reason, mode, observed: false, remedy };
        assert_eq!(canonical(&verdict(&plain)), json!({"plugin": "matrix", "verdict": "grant"}));
        let judged = Judgement {
            result: Authorization::Authorized,
            reasons: vec!["one".into(), "\"two\"".into()],
            cell: "A1 x D1 = AUTHORIZED",
        };
        let (digest, decision) = ("sha256:1".to_owned(), Some(Decision::Deny));
        let reason = Some(Reason::new("rules", "POL-1", "a \"quoted\" reason, é"));
        let said = json!({"message": "a \"quoted\" reason, é", "plugin": "rules", "rule": "POL-1"});
        let beside = Compared { digest, decision, reason };
        let expected = json!({"decision": "deny", "digest": "sha256:1", "reason": said});
        assert_eq!(canonical(&candidate(&beside)), expected);
        let same = Compared { decision: Some(Decision::Allow), reason: None, ..beside };
        assert_eq!(canonical(&candidate(&same)), json!({"decision": "allow", "digest": "sha256:1"}));
        let expected =
            json!({"matrix_result": "A1 x D1 = AUTHORIZED", "overrides": ["one", "\"two\""], "required": true});
        assert_eq!(canonical(&authorization(&judged, Decision::ApprovalRequired)), expected);
    }
}
