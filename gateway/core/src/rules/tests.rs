#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, clippy::needless_pass_by_value)]
use std::sync::Arc;

use gateway_protocol::Message;
use serde_json::json;

use super::*;
use crate::classification::Classification;
use crate::exchange::{Ask, Exchange, Route, Subject, ToolSubject};
use crate::identity::Principal;
use crate::manifest::{AgentMode, RiskLevel, ToolManifest};
use crate::names::TraceId;
use crate::policies::{ClassifiedTool, Handling};
use crate::verdict::{Opinion, Remedy, Verdict};

fn written(severity: &str, condition: Value, requirement: Value) -> WrittenPolicy {
    WrittenPolicy {
        id: None,
        policy_id: "POL-1".into(),
        name: "a policy".into(),
        category: None,
        severity: severity.parse().ok(),
        rule: json!({"condition": condition, "requirement": requirement, "max_response_time": "PT1H"}),
        regulatory_mapping: Vec::new(),
        mode: Some(PolicyMode::Enforce),
    }
}

fn evaluate(severity: &str, condition: Value, requirement: Value, context: &Value) -> Evaluation {
    let policy = AgentPolicy::compile(&written(severity, condition, requirement)).unwrap();
    let context =
        DeclaredContext { agent: "agent-1", decision_type: Some(DecisionType::D3), risk: Some(Risk::R3), context };
    RuleSet::compile(vec![policy]).evaluate(&context)
}

// acceptance 26, 27: every operator, and what is missing.
#[test]
fn a_condition_holds_or_does_not_or_cannot_be_known() {
    let (yes, no, unknown) = (Some(true), Some(false), None);
    for (condition, context, expected) in [
        (json!({"action_type": "external_communication"}), json!({"action_type": "external_communication"}), yes),
        (json!({"action_type": "external_communication"}), json!({"action_type": "vendor_selection"}), no),
        (json!({"amount": {"gt": 10000}}), json!({"amount": 50000}), yes),
        (json!({"amount": {"gt": 10000}}), json!({"amount": "50000"}), yes),
        (json!({"amount": {"gt": 10000}}), json!({"amount": 500}), no),
        (json!({"amount": {"gt": 10000}}), json!({"amount": 10000}), no),
        (json!({"amount": {"gt": 10000}}), json!({"amount": 10000.5}), yes),
        (json!({"amount": {"gt": 9_007_199_254_740_992u64}}), json!({"amount": 9_007_199_254_740_993u64}), yes),
        (json!({"amount": {"gt": 10000}}), json!({}), unknown),
        (json!({"amount": {"gt": 10000}}), json!({"amount": "a lot"}), unknown),
        (json!({"amount": {"gt": 10000}}), json!({"amount": [50000]}), unknown),
        (json!({"amount": 10}), json!({"amount": 10.0}), yes),
        (json!({"amount": {"gt": 10, "lte": 20}}), json!({"amount": 20}), yes),
        (json!({"amount": {"gt": 10, "lte": 20}}), json!({"amount": 21}), no),
        (json!({"amount": {"ne": 3}}), json!({"amount": 4}), yes),
        (json!({"amount": {"ne": 3}}), json!({}), unknown),
        (json!({"customer.region": ["EU", "UK"]}), json!({"customer": {"region": "EU"}}), yes),
        (json!({"customer.region": ["EU", "UK"]}), json!({"customer": {"region": "US"}}), no),
        (json!({"customer.region": ["EU"]}), json!({"customer.region": "EU"}), yes),
        (json!({"customer.region": {"in": ["EU"]}}), json!({"customer": {"region": "EU"}}), yes),
        (json!({"tags": {"contains": "pii"}}), json!({"tags": ["a", "pii"]}), yes),
        (json!({"tags": {"contains": "pii"}}), json!({"tags": "has pii"}), yes),
        (json!({"tags": {"contains": "pii"}}), json!({"tags": ["piis"]}), no),
        (json!({"tags": ["pii"]}), json!({"tags": ["a", "pii"]}), yes),
        (json!({"approved_by": {"exists": false}}), json!({}), yes),
        (json!({"approved_by": {"exists": false}}), json!({"approved_by": "bob"}), no),
        (json!({"when": {"lt": "2026-11-02"}}), json!({"when": "2026-11-01T23:59:59Z"}), yes),
        (json!({"when": {"lt": "2026-11-02"}}), json!({"when": "2026-11-02T00:00:00Z"}), no),
        (json!({"min_risk_level": "R3", "decision_types": ["D3", "D4"]}), json!({}), yes),
        (json!({"min_risk_level": "R4"}), json!({}), no),
        (json!({"risk_level": "R3", "agent_id": "agent-1"}), json!({}), yes),
        (json!({"agent_ids": ["agent-2"]}), json!({}), no),
        (json!({"agent_ids": ["agent-2"], "amount": 1}), json!({}), no),
    ] {
        let said = evaluate("high", condition.clone(), json!("prohibited"), &context);
        let found = match (said.applicable.is_empty(), said.warnings.is_empty()) {
            (false, true) => yes,
            (true, true) => no,
            (true, false) => unknown,
            (false, false) => panic!("applies and warns: {condition}"),
        };
        assert_eq!(found, expected, "{condition} {context}");
        assert_eq!(said.violations.is_empty(), expected != yes, "{condition} {context}");
        let critical = evaluate("critical", condition.clone(), json!("prohibited"), &context);
        assert_eq!(critical.violations.is_empty(), expected == no, "critical {condition} {context}");
    }
}

#[test]
fn a_requirement_is_kept_or_not() {
    for (requirement, context, violated, warned) in [
        (json!("human_approval"), json!({}), true, false),
        (json!("prohibited"), json!({}), true, false),
        (json!("log"), json!({}), false, true),
        (json!("notify"), json!({}), false, true),
        (json!({"max": {"amount": 100}}), json!({"amount": 100}), false, false),
        (json!({"max": {"amount": 100}}), json!({"amount": 101}), true, false),
        (json!({"max": {"amount": 100}}), json!({}), false, true),
        (json!({"require": ["ticket"]}), json!({"ticket": "T-1"}), false, false),
        (json!({"require": ["ticket"]}), json!({"ticket": null}), true, false),
        (json!({"require": ["ticket"]}), json!({}), true, false),
        (json!({"require": ["ticket"], "max": {"amount": 1}}), json!({"ticket": 1, "amount": 2}), true, false),
    ] {
        let said = evaluate("high", json!({"decision_type": "D3"}), requirement.clone(), &context);
        assert_eq!(said.applicable, ["POL-1"], "{requirement}");
        let found = (!said.violations.is_empty(), !said.warnings.is_empty());
        assert_eq!(found, (violated, warned), "{requirement} {context}");
    }
    let said = evaluate("high", json!({"decision_type": "D3"}), json!("human_approval"), &json!({}));
    let expected = json!([{"policy_id": "POL-1", "name": "a policy", "severity": "high",
        "requirement": "human_approval", "max_response_time": "PT1H"}]);
    assert_eq!(serde_json::to_value(&said.violations).unwrap(), expected);
}

#[test]
fn what_nobody_understands_is_refused_when_it_is_written() {
    for (rule, field) in [
        (json!({"condition": {"amount": {"near": 3}}, "requirement": "log"}), "rule.condition.amount.near"),
        (json!({"condition": {"amount": {}}, "requirement": "log"}), "rule.condition.amount"),
        (json!({"condition": {"amount": {"gt": true}}, "requirement": "log"}), "rule.condition.amount.gt"),
        (json!({"condition": {"amount": []}, "requirement": "log"}), "rule.condition.amount"),
        (json!({"condition": {"a..b": 1}, "requirement": "log"}), "rule.condition.a..b"),
        (json!({"condition": {"decision_types": ["D9"]}, "requirement": "log"}), "rule.condition.decision_types"),
        (json!({"condition": {"min_risk_level": "high"}, "requirement": "log"}), "rule.condition.min_risk_level"),
        (json!({"condition": {}, "requirement": "log"}), "rule.condition"),
        (json!({"condition": "always", "requirement": "log"}), "rule.condition"),
        (json!({"condition": {"a": 1}, "requirement": "ask_bob"}), "rule.requirement"),
        (json!({"condition": {"a": 1}, "requirement": {}}), "rule.requirement"),
        (json!({"condition": {"a": 1}, "requirement": {"min": {"a": 1}}}), "rule.requirement.min"),
        (json!({"condition": {"a": 1}, "requirement": {"max": {"a": "1"}}}), "rule.requirement.max.a"),
        (json!({"condition": {"a": 1}}), "rule.requirement"),
        (json!({"requirement": "log"}), "rule.condition"),
        (json!({"condition": {"a": 1}, "requirement": "log", "cel": "true"}), "rule.cel"),
        (json!({"condition": {"a": 1}, "requirement": "log", "max_response_time": "1 hour"}), "rule.max_response_time"),
        (json!({"condition": {"a": 1}, "requirement": "log", "max_response_time": "P1M"}), "rule.max_response_time"),
        (json!({"condition": {"a": 1}, "requirement": "log", "max_response_time": "PT0S"}), "rule.max_response_time"),
        (json!({"condition": {"a": 1}, "requirement": "log", "max_response_time": "-PT1H"}), "rule.max_response_time"),
        (json!([]), "rule"),
    ] {
        let policy = WrittenPolicy { rule: rule.clone(), ..written("low", json!({"a": 1}), json!("log")) };
        assert_eq!(AgentPolicy::compile(&policy).unwrap_err().field, field, "{rule}");
    }
}

#[test]
fn a_response_time_has_a_fixed_length() {
    for (text, seconds) in [("PT1H", 3600), ("P1D", 86_400), ("P1W", 604_800), ("PT2S", 2), ("P1DT1H", 90_000)] {
        assert_eq!(requirement::time(text).unwrap().as_secs(), seconds, "{text}");
    }
}

fn call(handling: Handling, params: Value) -> Exchange {
    let manifest = ToolManifest {
        id: "crm/pay".parse().unwrap(),
        domain: "crm".into(),
        risk_level: RiskLevel::LowWrite,
        side_effects: true,
        allowed_modes: vec![AgentMode::FullAuto],
    };
    let tool = ClassifiedTool::new(manifest, None::<Classification>).handled(handling);
    let subject = Subject::Tool(ToolSubject::new("crm/pay".parse().unwrap(), Some(Arc::new(tool)), false));
    let ask = Ask::Message(Message::request(1, "tools/call", params.as_object().cloned()));
    let principal = Principal { roles: vec!["clerk".into()], ..Principal::anonymous() };
    let mut exchange = Exchange::new(TraceId::from_stored("trc_1"), Arc::new(principal), Route::All, ask, subject);
    // A Monday, 22:30 UTC.
    exchange.at = "2026-11-16T22:30:00Z".parse().unwrap();
    exchange
}

fn opinions(policies: &[WrittenPolicy], exchange: &Exchange) -> Vec<Opinion> {
    let policies = policies.iter().map(|policy| AgentPolicy::compile(policy).unwrap()).collect();
    let mut said = Vec::new();
    RuleSet::compile(policies).judge(exchange, &mut |opinion| said.push(opinion));
    said
}

#[test]
fn a_call_is_seen_as_it_is_sent() {
    let handling = Handling {
        action_type: Some("payment".into()),
        context: [("amount".to_owned(), "total.value".to_owned())].into(),
        ..Handling::default()
    };
    let params = json!({
        "name": "crm/pay",
        "arguments": {"total": {"value": 50_000}, "tool": "other/tool", "limit": 7},
        "_meta": {"io.portreeve/context": {"amount": 1, "limit": 1, "ticket": "T-1", "tool": "x/y"}},
    });
    let exchange = call(handling, params);
    for (condition, holds) in [
        (json!({"tool": "crm/pay", "namespace": "crm", "domain": "crm"}), true),
        (json!({"tool": "other/tool"}), false),
        (json!({"arguments.tool": "other/tool"}), true),
        (json!({"action_type": "payment"}), true),
        (json!({"amount": {"gt": 10_000}}), true),
        (json!({"limit": {"gte": 7}}), true),
        (json!({"arguments.limit": {"gte": 7}}), true),
        (json!({"ticket": "T-1"}), true),
        (json!({"roles": ["clerk"]}), true),
        (json!({"roles": {"contains": "boss"}}), false),
        (json!({"hour": {"gte": 20}, "weekday": "monday"}), true),
        (json!({"manifest_risk": ["LOW_WRITE", "HIGH_WRITE"]}), true),
        (json!({"risk_level": "R2", "decision_type": "D2", "reversibility": "partial"}), true),
        (json!({"autonomy": "A1", "mode": "SHADOW"}), true),
    ] {
        let said = opinions(&[written("high", condition.clone(), json!("prohibited"))], &exchange);
        assert_eq!(!said.is_empty(), holds, "{condition}");
    }
}

#[test]
fn what_a_policy_requires_decides_its_verdict_and_its_mode_what_that_is_worth() {
    let exchange = call(Handling::default(), json!({"name": "crm/pay", "arguments": {"amount": 5}}));
    let shadow = WrittenPolicy { mode: None, ..written("high", json!({"domain": "crm"}), json!("prohibited")) };
    let said = opinions(
        &[
            written("high", json!({"tool": "crm/pay"}), json!("human_approval")),
            written("high", json!({"tool": ["a/b", "crm/pay"]}), json!({"max": {"amount": 4}})),
            written("high", json!({"namespace": "crm"}), json!("notify")),
            written("high", json!({"action_type": "payment"}), json!("prohibited")),
            written("critical", json!({"action_type": "payment"}), json!("human_approval")),
            shadow,
        ],
        &exchange,
    );
    assert_eq!(said.len(), 5, "{said:?}");
    assert!(matches!(&said[0].verdict, Verdict::Escalate(why) if why.respond_within.unwrap().as_secs() == 3600));
    assert!(matches!(&said[1].verdict, Verdict::Deny(why) if matches!(why.remedy, Some(Remedy::Arguments(_)))));
    assert!(matches!(&said[2].verdict, Verdict::Notify(why) if why.message.contains("notify")));
    assert!(matches!(&said[3].verdict, Verdict::Escalate(why) if why.message.contains("action_type")));
    assert_eq!((said[4].mode, matches!(said[4].verdict, Verdict::Deny(_))), (PolicyMode::Shadow, true));
}

/// The index may only leave out what would have said nothing.
#[test]
fn the_index_finds_what_a_walk_over_all_finds() {
    let conditions = [
        json!({"tool": "crm/pay", "amount": {"gt": 3}}),
        json!({"tool": ["crm/pay", "crm/pay", "x/y"]}),
        json!({"tool": "x/y"}),
        json!({"namespace": "crm"}),
        json!({"domain": ["crm", "mail"], "hour": {"gt": 3}}),
        json!({"action_type": ["payment"]}),
        json!({"action_type": "mail"}),
        json!({"amount": 5}),
        json!({"decision_type": "D2"}),
    ];
    let severities = ["low", "critical"];
    let policies: Vec<_> = conditions
        .iter()
        .enumerate()
        .flat_map(|(place, condition)| {
            severities.map(|severity| WrittenPolicy {
                policy_id: format!("{place}-{severity}"),
                ..written(severity, condition.clone(), json!("prohibited"))
            })
        })
        .collect();
    for arguments in
        [json!({}), json!({"amount": 5}), json!({"action_type": "mail"}), json!({"action_type": ["payment"]})]
    {
        let exchange = call(Handling::default(), json!({"name": "crm/pay", "arguments": arguments}));
        let rule = |opinion: &Opinion| match &opinion.verdict {
            Verdict::Deny(objection) => objection.rule.to_string(),
            other => panic!("{other:?}"),
        };
        let mut found: Vec<_> = opinions(&policies, &exchange).iter().map(rule).collect();
        found.sort();
        let compiled = policies.iter().map(|policy| AgentPolicy::compile(policy).unwrap()).collect();
        let walked = RuleSet::compile(compiled).evaluate(&CallContext::new(&exchange));
        let mut expected: Vec<_> = walked.violations.into_iter().map(|violation| violation.policy_id).collect();
        expected.sort();
        assert_eq!(found, expected, "{arguments}");
    }
}

/// Places that several policies look at are looked up once for all of them.
#[test]
fn looking_once_for_many_finds_what_each_finds_alone() {
    let conditions = [
        json!({"limit": {"gt": 3}}),
        json!({"limit": {"lt": 30}, "customer.region": ["EU"]}),
        json!({"limit": {"exists": false}}),
        json!({"arguments.customer.region": "EU"}),
        json!({"arguments.customer.region": {"ne": "EU"}, "hour": 22}),
        json!({"customer.region": {"exists": true}}),
        json!({"hour": {"gte": 20}, "tool": {"ne": "x/y"}}),
        json!({"tool": {"contains": "pay"}, "ticket": "T-1"}),
        json!({"ticket": {"exists": false}}),
    ];
    let policies: Vec<_> = conditions
        .iter()
        .enumerate()
        .map(|(place, condition)| WrittenPolicy {
            policy_id: format!("POL-{place}"),
            ..written(if place % 2 == 0 { "critical" } else { "low" }, condition.clone(), json!("prohibited"))
        })
        .collect();
    let ids = |said: Vec<Opinion>| {
        let id = |opinion: Opinion| match opinion.verdict {
            Verdict::Deny(objection) => objection.rule.into_owned(),
            other => panic!("{other:?}"),
        };
        let mut ids: Vec<_> = said.into_iter().map(id).collect();
        ids.sort();
        ids
    };
    for (arguments, said, expected) in [
        (json!({}), json!({}), &["POL-0", "POL-2", "POL-4", "POL-6", "POL-8"][..]),
        (
            json!({"limit": 7, "customer": {"region": "EU"}}),
            json!({"ticket": "T-1"}),
            &["POL-0", "POL-1", "POL-3", "POL-5", "POL-6", "POL-7"],
        ),
        (
            json!({"limit": "9", "customer.region": "US"}),
            json!({"limit": 1}),
            &["POL-0", "POL-4", "POL-5", "POL-6", "POL-8"],
        ),
    ] {
        let params = json!({"name": "crm/pay", "arguments": arguments, "_meta": {"io.portreeve/context": said}});
        let exchange = call(Handling::default(), params);
        let alone = policies.iter().flat_map(|policy| opinions(std::slice::from_ref(policy), &exchange)).collect();
        let together = ids(opinions(&policies, &exchange));
        assert_eq!(together, ids(alone), "{arguments}");
        assert_eq!(together, expected, "{arguments}");
    }
}

#[test]
fn only_what_is_obeyed_changes_the_enforced_digest() {
    let compile = |policies: &[WrittenPolicy]| {
        RuleSet::compile(policies.iter().map(|policy| AgentPolicy::compile(policy).unwrap()).collect())
    };
    let one = written("high", json!({"a": 1}), json!("log"));
    let two = WrittenPolicy { policy_id: "POL-2".into(), mode: None, ..one.clone() };
    let (alone, both, turned) =
        (compile(std::slice::from_ref(&one)), compile(&[one.clone(), two.clone()]), compile(&[two, one]));
    assert_eq!(alone.enforced_digest(), both.enforced_digest());
    assert_ne!(alone.digest(), both.digest());
    assert_eq!(both.digest(), turned.digest());
    assert_eq!((compile(&[]).digest(), compile(&[]).enforced_digest()), ("", ""));
}
