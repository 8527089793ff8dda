//! A server of the stateless era asks and hands its state to the client: sealed on the way, and good once.

use std::time::Duration;

use portreeve_tests::stub::{Step, Stub};
use portreeve_tests::{Agent, Answer, Kind, World};
use serde_json::{Value, json};

fn asks(state: &str) -> Step {
    let question = json!({ "method": "elicitation/create", "params": { "message": "Really?", "requestedSchema": { "type": "object" } } });
    Step::on("tools/call")
        .result(json!({ "resultType": "input_required", "inputRequests": { "sure": question }, "requestState": state }))
}

async fn a_world(kind: Kind, states: &[&str], hold: u64) -> (World, Stub, Agent) {
    let stub = Stub::scripted(
        [vec![Step::modern_server(&json!({ "tools": {} }))], states.iter().map(|state| asks(state)).collect()].concat(),
    )
    .await;
    let world = World::on(kind)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &[("drop", "READ_ONLY"), ("other", "READ_ONLY")])
        .set("limits", json!({ "agent_per_minute": 0, "hold_seconds": hold }))
        .start();
    let agent = world.agent("a-1", "A1").modern();
    (world, stub, agent)
}

async fn ask(agent: &Agent) -> String {
    let answer = agent.call("crm/drop", json!({ "table": "t" })).await.message();
    assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
    answer["result"]["requestState"].as_str().unwrap_or_else(|| panic!("no state in {answer}")).to_owned()
}

async fn retry(agent: &Agent, tool: &str, arguments: Value, state: &str) -> Answer {
    let params = json!({ "name": tool, "arguments": arguments, "requestState": state,
        "inputResponses": { "sure": { "action": "accept", "content": { "why": "a secret reason" } } } });
    agent.post("/crm/mcp", &json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params })).await
}

#[track_caller]
fn assert_refused(answer: &Answer, what: &str) {
    let told = (answer.status, answer.message()["error"]["code"].clone());
    assert_eq!(told, (400, json!(-32602)), "{what}: {}", answer.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_is_good_once_for_its_caller_and_its_question() {
    let (world, stub, agent) = a_world(Kind::Postgres, &["s-1"], 300).await;
    let node = world.second_node();
    let stranger = world.agent("a-2", "A1").modern();
    let state = ask(&agent).await;
    assert!(!state.contains("s-1"), "the server's own state is not shown");
    let table = || json!({ "table": "t" });

    assert_refused(&retry(&stranger, "drop", table(), &state).await, "another agent's");
    assert_refused(&retry(&agent, "drop", json!({ "table": "users" }), &state).await, "other arguments");
    assert_refused(&retry(&agent, "other", table(), &state).await, "another tool");
    assert_refused(&retry(&agent, "drop", table(), "s-1").await, "the server's own");
    let mut altered = state.clone().into_bytes();
    altered[40] = if altered[40] == b'A' { b'B' } else { b'A' };
    assert_refused(&retry(&agent, "drop", table(), &String::from_utf8(altered).unwrap()).await, "altered");
    assert_eq!(stub.calls(), 1, "nothing that was refused reached the server");

    let answer = retry(&agent, "drop", table(), &state).await;
    assert_eq!((answer.status, answer.is_tool_error()), (200, false), "{}", answer.text());
    let (_, seen) = stub.seen().pop().unwrap();
    assert_eq!(seen["params"]["requestState"], "s-1", "the server gets its own back");
    assert_eq!(seen["params"]["inputResponses"]["sure"]["action"], "accept");

    assert_refused(&retry(&agent, "drop", table(), &state).await, "used twice");
    assert_refused(&retry(&agent.at(&node), "drop", table(), &state).await, "used twice, at another node");
    assert_eq!(stub.calls(), 2);

    // The ledger: the second round names the first, refusals say why, and nobody reads what was typed.
    let linked = "SELECT count(*) FROM agent_traces two JOIN agent_traces one ON two.context->>'continues' = one.trace_id \
        WHERE two.context->>'decision' = 'allow'";
    world.eventually(linked, 1).await;
    let rules = "SELECT count(*) FROM agent_traces WHERE context->'verdicts' @> '[{\"reason\": {\"plugin\": \"rounds\", \"rule\": \"replayed\"}}]'";
    world.eventually(rules, 2).await;
    world.eventually("SELECT count(*) FROM audit_logs WHERE status_code = 'input_required'", 1).await;
    world
        .eventually("SELECT count(*) FROM audit_logs WHERE input_payload->'inputResponses'->>'sure' = 'accept'", 5)
        .await;
    assert_eq!(
        world.database.count("SELECT count(*) FROM audit_logs WHERE input_payload::text LIKE '%secret reason%'"),
        0
    );
    assert_eq!(world.verify().0, 0);
}

// What is bound is the question as it was sent. Masks are a function of the value, so the same arguments come to the same
// question again although nobody kept what they hid.
async fn a_state_fits_arguments_that_were_redacted(kind: Kind) {
    let steps = [Step::modern_server(&json!({ "tools": {} })), asks("s-1"), asks("s-2")];
    let stub = Stub::scripted(steps.to_vec()).await;
    let tool = portreeve_tests::world::manifest("crm", "drop", "READ_ONLY");
    let handling = json!({ "crm/drop": { "dlp": { "request": { "card": "hash" } } } });
    let world = World::on(kind)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifest_file("crm", json!({ "manifests": [tool], "handling": handling }))
        .start();
    let node = world.second_node();
    let agent = world.agent("a-1", "A1").modern();
    let key = ["AKIA", "QYLPMN5HHHFPZAM2"].concat();
    let with = |table: &str, card: &str| json!({ "table": table, "note": format!("by the key {key}"), "card": card });
    let arguments = with("t", "4111 1111 1111 1111");

    let first = agent.call("crm/drop", arguments.clone()).await;
    let state =
        first.message()["result"]["requestState"].as_str().unwrap_or_else(|| panic!("{}", first.text())).to_owned();
    let sent = |stub: &Stub| {
        let called = stub.seen().into_iter().rfind(|(_, message)| message["method"] == "tools/call");
        called.unwrap().1["params"].clone()
    };
    let asked = sent(&stub)["arguments"].clone();
    assert!(!asked.to_string().contains(&key) && !asked.to_string().contains("4111"), "{asked}");
    assert_eq!(asked["table"], "t");

    for (what, changed) in [
        ("another table", with("users", "4111 1111 1111 1111")),
        ("another number under the hash", with("t", "5555 5555 5555 4444")),
        ("nothing to hide", json!({ "table": "t" })),
    ] {
        assert_refused(&retry(&agent, "drop", changed, &state).await, what);
        assert_eq!(stub.calls(), 1, "{what} reached the server");
    }
    // At the other node, which hides it the same way.
    let answer = retry(&agent.at(&node), "drop", arguments.clone(), &state).await;
    let next =
        answer.message()["result"]["requestState"].as_str().unwrap_or_else(|| panic!("{}", answer.text())).to_owned();
    let again = sent(&stub);
    assert_eq!((&again["arguments"], &again["requestState"]), (&asked, &json!("s-1")), "{again}");
    // A second question in the same call is bound alike.
    assert_refused(&retry(&agent, "drop", with("users", "4111 1111 1111 1111"), &next).await, "another table, later");
    assert_eq!(retry(&agent, "drop", arguments.clone(), &next).await.status, 200);
    assert_eq!((&sent(&stub)["requestState"], stub.calls()), (&json!("s-2"), 3));
    assert_refused(&retry(&agent, "drop", arguments, &state).await, "used twice");
    assert_eq!(world.verify().0, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_fits_arguments_that_were_redacted_on_sqlite() {
    a_state_fits_arguments_that_were_redacted(Kind::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_fits_arguments_that_were_redacted_on_postgres() {
    a_state_fits_arguments_that_were_redacted(Kind::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_rounds_at_once_are_one_round() {
    let (_world, stub, agent) = a_world(Kind::Sqlite, &["s-1"], 300).await;
    let state = ask(&agent).await;
    let tries = (0..8).map(|_| {
        let (agent, state) = (agent.clone(), state.clone());
        tokio::spawn(async move { retry(&agent, "drop", json!({ "table": "t" }), &state).await.status })
    });
    let statuses = futures::future::join_all(tries.collect::<Vec<_>>()).await;
    assert_eq!(statuses.iter().filter(|status| *status.as_ref().unwrap() == 200).count(), 1);
    assert_eq!(stub.calls(), 2);
}

#[tokio::test]
async fn a_state_does_not_outlive_its_time() {
    let (_world, stub, agent) = a_world(Kind::Sqlite, &["s-1"], 1).await;
    let state = ask(&agent).await;
    tokio::time::sleep(Duration::from_millis(1100)).await;
    assert_refused(&retry(&agent, "drop", json!({ "table": "t" }), &state).await, "expired");
    assert_eq!(stub.calls(), 1);
}

#[tokio::test]
async fn a_refused_round_leaves_its_state_usable() {
    let (world, stub, agent) = a_world(Kind::Sqlite, &["s-1"], 300).await;
    let state = ask(&agent).await;
    let file = world.directory.path().join("policies/manifests/crm.yaml");
    let classify = |level: &str| {
        let manifest = portreeve_tests::world::manifest("crm", "drop", level);
        std::fs::write(&file, json!({ "manifests": [manifest] }).to_string()).unwrap();
    };
    classify("LOW_WRITE");
    let mut decision = String::new();
    for _ in 0..100 {
        decision = agent.call("crm/drop", json!({})).await.decision();
        if decision == "deny" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(decision, "deny");
    let calls = stub.calls();
    assert_eq!(retry(&agent, "drop", json!({ "table": "t" }), &state).await.decision(), "deny");
    assert_eq!(stub.calls(), calls);
    classify("READ_ONLY");
    for _ in 0..100 {
        if agent.call("crm/drop", json!({})).await.decision() == "allow" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let answer = retry(&agent, "drop", json!({ "table": "t" }), &state).await;
    assert_eq!((answer.status, answer.decision().as_str()), (200, "allow"), "{}", answer.text());
}

#[tokio::test]
async fn without_the_store_no_state_is_used() {
    let (world, stub, agent) = a_world(Kind::Postgres, &["s-1"], 300).await;
    let state = ask(&agent).await;
    world.database.sql("ALTER TABLE spent_tokens RENAME TO spent_elsewhere");
    let answer = retry(&agent, "drop", json!({ "table": "t" }), &state).await;
    assert_eq!((answer.status, answer.message()["error"]["code"].clone()), (503, json!(5030)), "{}", answer.text());
    assert_eq!(stub.calls(), 1);
    world.database.sql("ALTER TABLE spent_elsewhere RENAME TO spent_tokens");
    assert_eq!(retry(&agent, "drop", json!({ "table": "t" }), &state).await.status, 200, "it was not used up");
}

#[tokio::test]
async fn a_modern_client_is_never_asked_on_its_stream() {
    use portreeve_tests::stub::Piece;
    let says = [
        Piece::question("q", "elicitation/create", json!({ "message": "?" })),
        Piece::answer(json!({ "content": [] })),
    ];
    let stub =
        Stub::scripted(vec![Step::modern_server(&json!({ "tools": {} })), Step::on("tools/call").stream(says)]).await;
    let world = World::on(Kind::Sqlite)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &[("drop", "READ_ONLY")])
        .start();
    let answer = world.agent("a-1", "A1").modern().call("crm/drop", json!({})).await;
    let events = answer.events();
    assert_eq!(events.len(), 1, "{}", answer.text());
    assert!(events[0].get("result").is_some());
}
