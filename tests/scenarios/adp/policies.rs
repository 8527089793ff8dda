//! Policies that agents add and ask, and traces that are looked at before they are written.

use portreeve_tests::{Agent, Kind, World};
use serde_json::{Value, json};

use super::{ask, read, vendor};

fn communication() -> Value {
    json!({
        "policy_id": "POL-COM-001", "name": "External Communication Control", "category": "communication", "severity": "high",
        "rule": {
            "condition": { "action_type": "external_communication" },
            "requirement": "human_approval",
            "max_response_time": "PT1H",
        },
        "regulatory_mapping": ["loi25_art12", "eu_ai_act_art14"],
    })
}

fn policy(id: &str, rule: &Value) -> Value {
    json!({ "policy_id": id, "name": id, "severity": "high", "rule": rule })
}

// acceptance 25, acceptance 26, acceptance 27: added once, asked at once, switched off, another tenant's, numbers and silence.
async fn policies_are_added_and_asked(kind: Kind) {
    let world = World::on(kind).start();
    let agent = world.agent("agent-1", "A3");
    let evaluate = async |caller: &Agent, context: Value| {
        let given = json!({ "agent_id": caller.id, "decision_type": "D2", "risk_level": "R2", "context": context });
        ask(caller, "adp_evaluate_policy", given).await.tool_json()
    };
    let outside = json!({ "action_type": "external_communication" });
    assert_eq!(evaluate(&agent, outside.clone()).await["compliant"], true, "nothing is asked yet");

    let added = ask(&agent, "adp_add_policy", communication()).await;
    assert_eq!(added.tool_json(), json!({ "policy_id": "POL-COM-001", "active": true }));
    let mapping = world.database.sql("SELECT regulatory_mapping FROM agent_policies");
    assert!(mapping.contains("loi25_art12") && mapping.contains("eu_ai_act_art14"), "{mapping}");
    let written = world.database.sql("SELECT description FROM agent_traces WHERE agent_id = 'agent-1'");
    assert_eq!(written, "policy POL-COM-001 added", "it stands in the chain of whoever added it");
    let mut huge = communication();
    (huge["policy_id"], huge["severity"]) = (json!("POL-COM-002"), json!("huge"));
    let vague = policy("POL-X", &json!({ "condition": { "amount": { "near": 3 } }, "requirement": "log" }));
    for (refused, named) in [(communication(), "Policy ID already exists"), (huge, "severity"), (vague, "near")] {
        let answer = ask(&agent, "adp_add_policy", refused).await;
        assert!(answer.is_tool_error() && answer.text().contains(named), "{named}: {}", answer.text());
    }
    assert_eq!(world.database.count("SELECT count(*) FROM agent_policies"), 1);
    assert_eq!(
        world.database.count("SELECT count(*) FROM agent_traces"),
        1,
        "what was refused is not written down as added"
    );

    let said = evaluate(&agent, outside.clone()).await;
    assert_eq!((&said["compliant"], &said["applicable_policies"]), (&json!(false), &json!(["POL-COM-001"])), "{said}");
    let violation = json!({
        "policy_id": "POL-COM-001", "name": "External Communication Control", "severity": "high",
        "requirement": "human_approval", "max_response_time": "PT1H",
    });
    assert_eq!(said["violations"], json!([violation]));
    let other = evaluate(&agent, json!({ "action_type": "vendor_selection" })).await;
    assert_eq!(other, json!({ "compliant": true, "violations": [], "applicable_policies": [], "warnings": [] }));

    let rule = json!({ "condition": { "amount": { "gt": 10000 } }, "requirement": { "max": { "amount": 100_000 } } });
    ask(&world.admin(), "adp_add_policy", policy("POL-FIN-001", &rule)).await;
    let seed = evaluate(&agent, json!({ "action_type": "vendor_selection", "amount": 50000 })).await;
    let expected =
        json!({ "compliant": true, "violations": [], "applicable_policies": ["POL-FIN-001"], "warnings": [] });
    assert_eq!(seed, expected, "the seed's example: applicable, and kept");
    let much = evaluate(&agent, json!({ "action_type": "vendor_selection", "amount": 200_000 })).await;
    assert_eq!((&much["compliant"], &much["violations"][0]["policy_id"]), (&json!(false), &json!("POL-FIN-001")));
    let little = evaluate(&agent, json!({ "action_type": "vendor_selection", "amount": 500 })).await;
    assert_eq!((&little["compliant"], &little["warnings"]), (&json!(true), &json!([])));
    let silent = evaluate(&agent, json!({ "action_type": "vendor_selection" })).await;
    assert_eq!(
        (&silent["compliant"], silent["warnings"].as_array().map(Vec::len)),
        (&json!(true), Some(1)),
        "{silent}"
    );

    assert!(world.cli(&["tenant", "add", "zeta"]).status.success());
    let theirs = world.cli_json(&["agent", "add", "agent-1", "--tenant", "zeta", "--autonomy", "A3"]);
    let theirs = world.agent_with_key("agent-1", theirs["api_key"].as_str().unwrap());
    assert_eq!(evaluate(&theirs, outside.clone()).await["compliant"], true, "another tenant's policy is not theirs");
    assert_eq!(
        ask(&theirs, "adp_add_policy", communication()).await.tool_json()["active"],
        true,
        "nor is its name taken"
    );
    world.database.sql("UPDATE agent_policies SET active = false WHERE policy_id = 'POL-COM-001'");
    let off = evaluate(&agent, outside).await;
    assert_eq!((&off["compliant"], &off["applicable_policies"]), (&json!(true), &json!([])), "switched off");
    assert_eq!(world.verify().0, 0);
}

#[tokio::test]
async fn policies_are_added_and_asked_on_sqlite() {
    policies_are_added_and_asked(Kind::Sqlite).await;
}

#[tokio::test]
async fn policies_are_added_and_asked_on_postgres() {
    policies_are_added_and_asked(Kind::Postgres).await;
}

// acceptance 24: a row as it is read, and what is wrong with one.
async fn traces_are_validated(kind: Kind) {
    let world = World::on(kind).start();
    let agent = world.agent("agent-1", "A3");
    for _ in 0..2 {
        ask(&agent, "adp_log_trace", vendor("agent-1")).await;
    }
    let rows = read(&agent, "/adp/mcp", "adp://traces").await;
    let row = rows["traces"][0].clone();
    let fine = json!({ "valid": true, "errors": [], "warnings": [] });
    assert_eq!(ask(&agent, "adp_validate", row.clone()).await.tool_json(), fine);
    assert_eq!(ask(&agent, "adp_validate", json!({ "trace_data": row })).await.tool_json(), fine);
    for (field, value) in [
        ("event_type", json!("rumour")),
        ("event_hash", json!("sha256:short")),
        ("timestamp", json!("yesterday")),
        ("agent_id", Value::Null),
        ("classification_code", json!("D1-R1-total")),
    ] {
        let mut wrong = row.clone();
        wrong[field] = value;
        let said = ask(&agent, "adp_validate", wrong).await.tool_json();
        let named = said["errors"]
            .as_array()
            .is_some_and(|all| all.iter().any(|error| error.as_str().unwrap().contains(field)));
        assert!(said["valid"] == false && named, "{field}: {said}");
    }
    let mut silent = row;
    (silent["description"], silent["reasoning"]) = (Value::Null, Value::Null);
    let said = ask(&agent, "adp_validate", silent).await.tool_json();
    assert_eq!((&said["valid"], said["warnings"].as_array().map(Vec::len)), (&json!(true), Some(2)), "{said}");
}

#[tokio::test]
async fn traces_are_validated_on_sqlite() {
    traces_are_validated(Kind::Sqlite).await;
}

#[tokio::test]
async fn traces_are_validated_on_postgres() {
    traces_are_validated(Kind::Postgres).await;
}
