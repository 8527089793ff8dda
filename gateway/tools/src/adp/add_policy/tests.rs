//! What is stored, what is written down, and what is refused without either.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use super::*;
use crate::adp::fakes::{Chains, FixedClock, Rows, admin, agent, agent_of, call};

fn example() -> Value {
    json!({
        "policy_id": "POL-COM-001",
        "name": "External Communication Control",
        "category": "communication",
        "severity": "high",
        "rule": {
            "condition": { "action_type": "external_communication" },
            "requirement": "human_approval",
            "max_response_time": "PT1H",
        },
        "regulatory_mapping": ["loi25_art12", "eu_ai_act_art14"],
    })
}

fn tool(rows: &Rows, chains: &Chains) -> AddPolicy {
    AddPolicy::new(Arc::new(rows.clone()), Arc::new(chains.clone()), Arc::new(FixedClock::default()))
}

// acceptance 25: the seed's example, stored whole, and in the chain of whoever added it.
#[tokio::test]
async fn the_seeds_example() {
    let (rows, chains) = (Rows::default(), Chains::default());
    let answer = call(&tool(&rows, &chains), &agent("a"), example()).await;
    assert_eq!(answer, Ok(json!({ "policy_id": "POL-COM-001", "active": true })));
    let row = rows.all().pop().unwrap();
    assert_eq!((row.policy_id.as_str(), row.severity.as_deref()), ("POL-COM-001", Some("high")));
    assert_eq!(row.regulatory_mapping, ["loi25_art12", "eu_ai_act_art14"]);
    assert_eq!(row.rule, example()["rule"]);
    let trace = chains.traces_of("a").pop().unwrap();
    assert_eq!(trace.event.description.as_deref(), Some("policy POL-COM-001 added"));
    assert_eq!(trace.event.classification_code.as_deref(), Some("D2-R2-partial"));
    assert_eq!(trace.event.context["policy_id"], "POL-COM-001");
    assert!(trace.event.context["rule_hash"].as_str().unwrap().starts_with("sha256:"));
    assert!(!trace.event.context.to_string().contains("external_communication"), "the rule itself stays in its table");
    assert_eq!(chains.open_room(), 0);
}

// acceptance 25: a name once, a severity that exists, a rule that can be followed; and nothing is left behind.
#[tokio::test]
async fn what_is_refused_leaves_nothing_behind() {
    let with = |name: &str, value: Value| {
        let mut given = example();
        given[name] = value;
        given
    };
    let (rows, chains) = (Rows::default(), Chains::default());
    call(&tool(&rows, &chains), &admin(), example()).await.unwrap();
    for (given, expected) in [
        (example(), "Policy ID already exists"),
        (with("severity", json!("huge")), "Invalid severity: huge is not one of low, medium, high, critical"),
        (with("policy_id", json!("")), "Invalid policy_id: must not be empty"),
        (with("name", Value::Null), "Missing required fields: name"),
        (with("rule", json!({ "condition": {} })), "Missing required fields: rule.requirement"),
        (with("rule", json!({ "condition": { "a": 1 }, "requirement": "log", "when": 1 })), "Unknown field: rule.when"),
        (with("active", json!(false)), "Unknown field: active"),
        (with("regulatory_mapping", json!([1])), "Invalid regulatory_mapping[0]: expected string"),
    ] {
        let refused = call(&tool(&rows, &chains), &admin(), given).await.unwrap_err();
        assert_eq!(refused.to_string(), expected);
    }
    for rule in [
        json!({ "condition": {}, "requirement": "log" }),
        json!({ "condition": { "amount": { "near": 1 } }, "requirement": "log" }),
        json!({ "condition": { "a": 1 }, "requirement": "hope" }),
        json!({ "condition": { "a": 1 }, "requirement": "log", "max_response_time": "soon" }),
        json!({ "condition": { "a": "x".repeat(17_000) }, "requirement": "log" }),
    ] {
        let given = with("rule", rule.clone());
        let refused = call(&tool(&rows, &chains), &admin(), given).await.unwrap_err().to_string();
        assert!(refused.starts_with("Invalid rule"), "{refused}");
    }
    assert_eq!((rows.all().len(), chains.traces_of("admin").len()), (1, 1));
    assert_eq!(chains.open_room(), 0, "room that was not used is given back");
}

#[tokio::test]
async fn each_tenant_has_its_own_names_and_nobody_has_none() {
    let (rows, chains) = (Rows::default(), Chains::default());
    let tool = tool(&rows, &chains);
    for caller in [agent("a"), agent_of(9, "a")] {
        assert!(call(&tool, &caller, example()).await.is_ok());
    }
    let nobody = call(&tool, &Principal::anonymous(), example()).await.unwrap_err();
    assert!(nobody.to_string().contains("needs an agent's"), "{nobody}");
}

/// Without room in the queue there is no policy: what cannot be written down is not done.
#[tokio::test]
async fn a_policy_that_cannot_be_written_down_is_not_added() {
    let (rows, chains) = (Rows::default(), Chains::full());
    let refused = call(&tool(&rows, &chains), &agent("a"), example()).await.unwrap_err();
    assert!(refused.to_string().contains("nothing was added"), "{refused}");
    assert!(rows.all().is_empty());
}

#[tokio::test]
async fn there_is_an_end_to_policies() {
    let rows = (0..MOST).fold(Rows::default(), |rows, n| rows.with(&format!("P-{n}"), None, json!({})));
    let chains = Chains::default();
    let refused = call(&tool(&rows, &chains), &agent("a"), example()).await.unwrap_err();
    assert!(refused.to_string().contains("1000 policies already"), "{refused}");
    assert_eq!(chains.open_room(), 0);
}
