#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::needless_pass_by_value)]
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

fn said(plugin: &str, rule: &str, verdict: &str) -> Value {
    json!({"plugin": plugin, "reason": {"message": "m", "plugin": plugin, "rule": rule}, "verdict": verdict})
}

fn decided_by(decision: &str, verdicts: Vec<Value>) -> RecordedCall {
    let mut call = recorded(None, &json!({}));
    call.trace.event.context = json!({"tool": "crm/find", "decision": decision, "verdicts": verdicts});
    call
}

#[test]
fn who_was_refused_for_what_no_trace_keeps_is_not_asked_again() {
    for (plugin, rule, part) in [
        ("gate", "stage", "a gate was closed"),
        ("rules", "POL-GATE", "a gate was closed"),
        ("standing", "suspended", "a suspension"),
        ("pins", "drift", "not as it had been accepted"),
        ("pins", "unlisted", "not as it had been accepted"),
        ("schema", "arguments", "did not fit the schema"),
        ("dlp", "card", "not let through"),
        ("scopes", "scope", "token"),
        ("access", "failed", "a judge failed"),
        ("manifest", "administrator", "administrator"),
        ("manifest", "mode_x_risk", ""),
        ("rules", "POL-1", ""),
        ("sql_guard", "statement", ""),
    ] {
        let why = |verdict: Value| {
            let call = decided_by("deny", vec![json!({"plugin": "matrix", "verdict": "grant"}), verdict]);
            unrepeatable(&call, |policy| policy == "POL-GATE").first().map_or("", |one| one.why)
        };
        let told = why(said(plugin, rule, "deny"));
        assert!(told.contains(part) && told.is_empty() == part.is_empty(), "{plugin}/{rule}: {told}");
        let mut observed = said(plugin, rule, "deny");
        observed["observed"] = json!(true);
        assert_eq!(why(observed), "", "{plugin}/{rule}: what nobody obeyed refused nothing");
    }
}

#[test]
fn what_came_after_the_rules_is_not_their_decision() {
    let grant = || json!({"plugin": "matrix", "verdict": "grant"});
    let escalate = || said("manifest", "mode_x_risk", "escalate");
    for (decision, verdicts, rules) in [
        ("allow", vec![grant()], Decision::Allow),
        ("deny", vec![grant(), said("manifest", "mode_x_risk", "deny")], Decision::Deny),
        ("deny", vec![grant(), escalate(), said("approvals", "too_many", "deny")], Decision::ApprovalRequired),
        ("deny", vec![grant(), said("rounds", "replayed", "deny")], Decision::Allow),
    ] {
        let call = decided_by(decision, verdicts.clone());
        assert_eq!(decided(&call), Ok(rules), "{verdicts:?}");
    }
    let mut ran = decided_by("allow", vec![grant(), escalate()]);
    ran.trace.event.context["approval"] = json!("an id");
    assert_eq!(decided(&ran), Ok(Decision::ApprovalRequired), "a human's yes came after the rules");
}
