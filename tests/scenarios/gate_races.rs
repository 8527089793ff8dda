//! Runs that many ask at once, on two nodes, and whose world changes while the gateway runs.

use std::time::Duration;

use portreeve_tests::{Agent, Kind};
use serde_json::{Value, json};

use super::gate::{done, example, root_of, world_where};

fn next(trigger: &str) -> Value {
    let mut next = example("next");
    next["request"]["trigger_id"] = json!(trigger);
    next
}

async fn started(agent: &Agent) {
    done(agent, "scenario_define", example("define")).await;
    let mut start = example("start");
    start["issue_entry_packets"] = json!(false);
    done(agent, "scenario_start", start).await;
}

// acceptance 117 g, acceptance 72: twenty at once on two processes, none lost and none twice; what one node began the other goes on with.
async fn twenty_at_once(kind: Kind) {
    let (world, here) = world_where(kind, &json!({ "OTHER": "x" }), &json!({ "engine": "permit_all" }));
    let node = world.second_node();
    let there = here.at(&node);
    started(&here).await;
    let calls = (0..20).map(|number| {
        let agent = if number % 2 == 0 { here.clone() } else { there.clone() };
        tokio::spawn(async move { done(&agent, "scenario_next", next(&format!("t-{number}"))).await })
    });
    let mut seqs = Vec::new();
    for answer in futures::future::join_all(calls.collect::<Vec<_>>()).await {
        let answer = answer.unwrap();
        assert_eq!(answer["decision"]["outcome"]["kind"], "hold");
        seqs.push(answer["decision"]["seq"].as_u64().unwrap());
    }
    seqs.sort_unstable();
    assert_eq!(seqs, (0..20).collect::<Vec<u64>>());
    let first = done(&here, "scenario_next", next("t-7")).await;
    assert_eq!(done(&there, "scenario_next", next("t-7")).await, first, "the same answer on every node");
    assert_eq!(root_of(&world, &here, "here", true).await, root_of(&world, &there, "there", true).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_at_once_on_sqlite() {
    twenty_at_once(Kind::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_at_once_on_postgres() {
    twenty_at_once(Kind::Postgres).await;
}

// acceptance 117 b: a hold ends with a new trigger once the world is as it should be.
#[tokio::test]
async fn what_changes_counts_at_the_next_trigger() {
    let (world, agent) =
        world_where(Kind::Sqlite, &json!({ "DEPLOY_ENV": "staging" }), &json!({ "engine": "permit_all" }));
    started(&agent).await;
    let held = done(&agent, "scenario_next", next("t-0")).await;
    assert_eq!(held["decision"]["outcome"]["summary"]["unmet_gates"], json!(["env_gate"]));
    let text = std::fs::read_to_string(world.config_path()).unwrap();
    let mut config: Value = serde_json::from_str(&text).unwrap();
    config["gate"]["providers"][1]["config"]["overrides"]["DEPLOY_ENV"] = json!("production");
    std::fs::write(world.config_path(), config.to_string()).unwrap();
    for number in 1..=100 {
        let answer = done(&agent, "scenario_next", next(&format!("t-{number}"))).await;
        if answer["status"] == "completed" {
            assert_eq!(done(&agent, "scenario_next", next("t-0")).await["decision"], held["decision"]);
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the changed environment never counted");
}
