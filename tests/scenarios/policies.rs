//! Agent policies: conditions over calls, what is missing, modes, files and rows.

use std::time::Duration;

use portreeve_tests::{Kind, Stub, World};
use serde_json::{Value, json};

fn on(kind: Kind, stub: &Stub) -> World {
    let tools = [("find", "READ_ONLY"), ("pay", "LOW_WRITE")];
    World::on(kind).upstream("crm", json!({ "url": stub.url() })).manifests("crm", &tools).start()
}

fn policy(id: &str, severity: &str, condition: &Value, requirement: &Value) -> Value {
    let rule = json!({ "condition": condition, "requirement": requirement, "max_response_time": "PT1H" });
    json!({ "policy_id": id, "name": format!("policy {id}"), "severity": severity, "rule": rule })
}

async fn enforced(world: &World, new: Value) {
    let id = new["policy_id"].as_str().unwrap().to_owned();
    let made = world.api("POST", "/api/policies", &world.admin_key, Some(new)).await;
    assert_eq!((made.status, made.message()["mode"].as_str()), (201, Some("shadow")), "{}", made.text());
    world.cli_json(&["policy", "mode", &id, "enforce", "--tenant", "acme", "--yes"]);
    world.live().await;
}

// acceptance 26, 27: conditions on words and numbers; what is missing does not apply, unless it is critical.
async fn conditions_decide_over_arguments(kind: Kind) {
    let stub = Stub::start(&["find", "pay"]).await;
    let world = on(kind, &stub);
    let agent = world.agent("a-1", "A3");
    enforced(&world, policy("POL-FIN-001", "high", &json!({ "amount": { "gt": 10000 } }), &json!("prohibited"))).await;
    for (arguments, decision) in [
        (json!({ "amount": 50000 }), "deny"),
        (json!({ "amount": "50000" }), "deny"),
        (json!({ "amount": 500 }), "allow"),
        (json!({}), "allow"),
    ] {
        let before = stub.calls();
        let answer = agent.call("crm/pay", arguments.clone()).await;
        assert_eq!(answer.decision(), decision, "{arguments}: {}", answer.text());
        assert_eq!(stub.calls() - before, usize::from(decision == "allow"), "{arguments}");
        if decision == "deny" {
            assert_eq!(answer.denied_by(), ["rules"]);
            assert!(answer.text().contains("POL-FIN-001"), "{}", answer.text());
        }
    }
    enforced(
        &world,
        policy(
            "POL-CRIT",
            "critical",
            &json!({ "tool": "crm/pay", "amount": { "gt": 10000 } }),
            &json!("human_approval"),
        ),
    )
    .await;
    assert_eq!(agent.call("crm/pay", json!({})).await.decision(), "approval_required", "critical and not known");
    assert_eq!(agent.call("crm/pay", json!({ "amount": 5 })).await.decision(), "allow");
    assert_eq!(agent.call("crm/find", json!({})).await.decision(), "allow", "it speaks of another tool");
    world.cli_json(&["policy", "remove", "POL-CRIT", "--tenant", "acme"]);
    world.live().await;
    assert_eq!(agent.call("crm/pay", json!({})).await.decision(), "allow", "what was removed is not heard");

    // Another tenant has its own.
    world.cli_json(&["tenant", "add", "zeta"]);
    let added = world.cli_json(&["agent", "add", "z-1", "--tenant", "zeta", "--autonomy", "A3"]);
    let other = world.agent_with_key("z-1", added["api_key"].as_str().unwrap());
    assert_eq!(other.call("crm/pay", json!({ "amount": 50000 })).await.decision(), "allow");
    let changed = "SELECT count(*) FROM agent_traces WHERE agent_id = 'portreeve' AND description LIKE 'policy POL-%'";
    assert_eq!(world.database.count(changed), 5, "added and enforced twice, removed once");
    assert_eq!(world.verify().0, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn conditions_decide_over_arguments_on_sqlite() {
    conditions_decide_over_arguments(Kind::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn conditions_decide_over_arguments_on_postgres() {
    conditions_decide_over_arguments(Kind::Postgres).await;
}

// `log` and `notify` refuse nobody; they are heard, and told.
async fn what_is_only_mentioned_is_in_the_trace_and_in_the_advice(kind: Kind) {
    let stub = Stub::start(&["find", "pay"]).await;
    let world = on(kind, &stub);
    let agent = world.agent("a-1", "A3");
    for (id, severity, requirement) in [("POL-LOG", "low", "log"), ("POL-TELL", "critical", "notify")] {
        let new = policy(id, severity, &json!({ "tool": "crm/pay", "amount": { "gt": 100 } }), &json!(requirement));
        assert_eq!(world.api("POST", "/api/policies", &world.admin_key, Some(new)).await.status, 201);
    }
    let both = ["POL-LOG", "POL-TELL"];
    for (calls, (mode, told)) in [("shadow", 0), ("advisory", 2), ("enforce", 2)].into_iter().enumerate() {
        for id in both {
            if mode != "shadow" {
                world.cli_json(&["policy", "mode", id, mode, "--tenant", "acme", "--yes"]);
            }
        }
        world.live().await;
        let answer = agent.call("crm/pay", json!({ "amount": 500 })).await;
        assert_eq!((answer.decision().as_str(), stub.calls()), ("allow", calls + 1), "{mode}: {}", answer.text());
        let message = answer.message();
        let advice = message["result"]["_meta"]["io.portreeve/advice"].as_array().cloned().unwrap_or_default();
        let mut rules: Vec<_> = advice.iter().filter_map(|one| one["rule"].as_str()).collect();
        rules.sort_unstable();
        assert_eq!(rules, &both[..told], "{mode}: {message}");
        let context = "SELECT context FROM agent_traces WHERE agent_id = 'a-1' ORDER BY seq DESC LIMIT 1";
        let context: Value = serde_json::from_str(&world.database.sql(context)).unwrap();
        let verdicts = context["verdicts"].as_array().cloned().unwrap_or_default();
        for id in both {
            let said = verdicts.iter().find(|one| one["reason"]["rule"] == id).unwrap_or_else(|| panic!("{context}"));
            assert_eq!((&said["plugin"], &said["verdict"]), (&json!("rules"), &json!("mention")), "{said}");
            assert_eq!((&said["observed"], said["mode"].as_str().unwrap_or("enforce")), (&json!(true), mode), "{said}");
        }
    }
    let answer = agent.call("crm/pay", json!({ "amount": 5 })).await;
    assert!(answer.message()["result"]["_meta"]["io.portreeve/advice"].is_null(), "it does not apply");
    assert_eq!(world.verify().0, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_only_mentioned_is_in_the_trace_and_in_the_advice_on_sqlite() {
    what_is_only_mentioned_is_in_the_trace_and_in_the_advice(Kind::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_only_mentioned_is_in_the_trace_and_in_the_advice_on_postgres() {
    what_is_only_mentioned_is_in_the_trace_and_in_the_advice(Kind::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mode_is_in_force_on_both_nodes_without_a_restart() {
    let stub = Stub::start(&["find", "pay"]).await;
    let world = on(Kind::Postgres, &stub);
    let node = world.second_node();
    let here = world.agent("a-1", "A3");
    let there = here.at(&node);
    let path = world.directory.path().join("own.yaml");
    let new = json!({ "policies": [policy("POL-1", "high", &json!({ "tool": "crm/pay" }), &json!("human_approval"))] });
    std::fs::write(&path, new.to_string()).unwrap();
    world.cli_json(&["policy", "add", path.to_str().unwrap(), "--tenant", "acme"]);
    world.live().await;
    world.live_at(node.console_port).await;
    for agent in [&here, &there] {
        assert_eq!(agent.call("crm/pay", json!({})).await.decision(), "allow", "a new one is in shadow");
    }
    world
        .eventually(
            "SELECT count(*) FROM agent_traces WHERE agent_id = 'a-1' AND CAST(context AS TEXT) LIKE '%POL-1%'",
            2,
        )
        .await;
    world.cli_json(&["policy", "mode", "POL-1", "enforce", "--tenant", "acme", "--yes"]);
    world.live().await;
    world.live_at(node.console_port).await;
    for agent in [&here, &there] {
        assert_eq!(agent.call("crm/pay", json!({})).await.decision(), "approval_required");
    }
    let listed = world.cli_json(&["policy", "list", "--tenant", "acme"]);
    assert_eq!((&listed[0]["policy"], &listed[0]["mode"]), (&json!("POL-1"), &json!("enforce")), "{listed}");
}

// acceptance 25: what cannot be read is refused when it is written, with the place.
#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_is_not_stored() {
    let stub = Stub::start(&["find"]).await;
    let world = on(Kind::Sqlite, &stub);
    let admin = world.admin_key.as_str();
    let wrong = |rule: Value| json!({ "policy_id": "P", "name": "n", "rule": rule });
    for (body, path) in [
        (
            wrong(json!({ "condition": { "amount": { "near": 3 } }, "requirement": "log" })),
            "rule.condition.amount.near",
        ),
        (wrong(json!({ "condition": {}, "requirement": "log" })), "rule.condition"),
        (
            wrong(json!({ "condition": { "a": 1 }, "requirement": "log", "max_response_time": "soon" })),
            "rule.max_response_time",
        ),
        (policy("P", "terrible", &json!({ "a": 1 }), &json!("log")), "severity"),
        (json!({ "policy_id": "P", "name": "n", "rule": {}, "sevrity": "low" }), "sevrity"),
    ] {
        let refused = world.api("POST", "/api/policies", admin, Some(body.clone())).await;
        assert_eq!(
            (refused.status, &refused.message()["errors"][0]["path"]),
            (422, &json!(path)),
            "{}",
            refused.text()
        );
    }
    let good =
        policy("POL-COM-001", "high", &json!({ "action_type": "external_communication" }), &json!("human_approval"));
    assert_eq!(world.api("POST", "/api/policies", admin, Some(good.clone())).await.status, 201);
    assert_eq!(world.api("POST", "/api/policies", admin, Some(good)).await.status, 409);
    assert_eq!(world.database.count("SELECT count(*) FROM agent_policies"), 1);
    assert_eq!(world.cli(&["policy", "mode", "NOBODY", "enforce", "--tenant", "acme", "--yes"]).status.code(), Some(1));

    // A row made by hand that cannot be read refuses its tenant's calls once somebody enforces it, and says why.
    let agent = world.agent("a-1", "A3");
    world
        .database
        .sql("UPDATE agent_policies SET rule = '{\"condition\": {\"a\": {\"near\": 1}}, \"requirement\": \"log\"}'");
    world.live().await;
    assert_eq!(agent.call("crm/find", json!({})).await.decision(), "allow", "in shadow it is only written down");
    let refused = world.cli(&["policy", "mode", "POL-COM-001", "enforce", "--tenant", "acme", "--yes"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("near"), "{refused:?}");
    world.database.sql("INSERT INTO policy_modes (kind, policy, mode, changed_by) SELECT 'agent', id, 'enforce', 'hand' FROM agent_policies");
    world.live().await;
    let answer = agent.call("crm/find", json!({})).await;
    assert_eq!((answer.decision().as_str(), answer.denied_by()), ("deny", vec!["rules".to_owned()]));
    assert!(answer.text().contains("near"), "{}", answer.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn files_hold_for_everybody_and_a_broken_change_is_refused_whole() {
    let stub = Stub::start(&["find", "pay"]).await;
    let rules = |requirement: &str| {
        json!({ "policies": [{ "policy_id": "F-1", "name": "no payments", "mode": "enforce",
            "rule": { "condition": { "tool": "crm/pay" }, "requirement": requirement } }] })
        .to_string()
    };
    let world = World::on(Kind::Sqlite)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &[("find", "READ_ONLY"), ("pay", "LOW_WRITE")])
        .policy_file("rules/own.yaml", &rules("prohibited"))
        .start();
    let agent = world.agent("a-1", "A3");
    assert_eq!(agent.call("crm/pay", json!({})).await.denied_by(), ["rules"]);
    let path = world.directory.path().join("policies/rules/own.yaml");
    std::fs::write(&path, rules("forbidden")).unwrap();
    let checked = world.cli(&["policy", "check", world.directory.path().join("policies").to_str().unwrap()]);
    let told = String::from_utf8_lossy(&checked.stderr).into_owned();
    assert_eq!(checked.status.code(), Some(1), "{told}");
    assert!(told.contains("rules/own.yaml") && told.contains("policies[0].rule.requirement"), "{told}");
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(agent.call("crm/pay", json!({})).await.denied_by(), ["rules"], "the old rules stay");
    std::fs::write(&path, rules("human_approval")).unwrap();
    for _ in 0..400 {
        if agent.call("crm/pay", json!({})).await.decision() == "approval_required" {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("the changed file was not read");
}
