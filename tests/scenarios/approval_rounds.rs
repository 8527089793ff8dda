//! An approved call that its own server asks back about: one yes for the call, one answer for the server, one run.

use portreeve_tests::servers::supabase;
use portreeve_tests::{Agent, Answer, Kind, World};
use serde_json::{Value, json};

fn call(state: Option<(&str, Value)>) -> Value {
    let capabilities = json!({ "elicitation": { "form": {}, "url": {} } });
    let mut params = json!({ "name": "execute_sql",
        "arguments": { "project_id": "story", "query": "DROP TABLE public.pots" },
        "_meta": { "io.modelcontextprotocol/clientCapabilities": capabilities } });
    if let Some((state, responses)) = state {
        params["requestState"] = json!(state);
        params["inputResponses"] = responses;
    }
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
}

async fn send(agent: &Agent, message: Value) -> Answer {
    agent.post("/supabase/mcp", &message).await
}

#[track_caller]
fn asked(answer: &Answer) -> (String, serde_json::Map<String, Value>) {
    let result = answer.message()["result"].clone();
    assert_eq!(result["resultType"], "input_required", "{}", answer.text());
    (result["requestState"].as_str().unwrap().to_owned(), result["inputRequests"].as_object().unwrap().clone())
}

// acceptance 110: Supabase's own server, as published, wants a word of its own before it drops a table.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_asks_back_needs_no_second_yes() {
    let outside = tempfile::tempdir().unwrap();
    let (_mock, _server, port) = supabase(outside.path());
    let url = format!("http://127.0.0.1:{port}/mcp?features=database");
    let world = World::on(Kind::Sqlite)
        .upstream("supabase", json!({ "url": url, "headers": { "authorization": "Bearer sbp_made_up" } }))
        .manifests("supabase", &[("execute_sql", "HIGH_WRITE")])
        .start();
    let agent = world.agent("writer", "A4").modern();
    let executed = || std::fs::read_to_string(outside.path().join("executed.log")).unwrap_or_default();

    let (ours, questions) = asked(&send(&agent, call(None)).await);
    assert_eq!(questions.keys().collect::<Vec<_>>(), ["approval"]);
    let pending = world.cli_json(&["approval", "list", "--status", "pending"]);
    let id = pending[0]["id"].as_str().unwrap();
    world.cli_json(&["approval", "approve", id]);
    let yes = json!({ "approval": { "action": "accept" } });
    let (theirs, questions) = asked(&send(&agent, call(Some((&ours, yes.clone())))).await);
    assert!(!questions.contains_key("approval"), "the server's own question: {questions:?}");
    assert_eq!(executed(), "", "it asks before it acts");
    let sure: Value = questions
        .keys()
        .map(|key| (key.clone(), json!({ "action": "accept", "content": { "confirm": true } })))
        .collect();
    let done = send(&agent, call(Some((&theirs, sure.clone())))).await;
    assert_eq!(executed(), "\"DROP TABLE public.pots\"\n", "{}", done.text());

    // Neither state is good again, and the yes was for one run.
    for (state, responses) in [(&ours, yes), (&theirs, sure)] {
        let again = send(&agent, call(Some((state, responses)))).await;
        let asks = again.message()["result"]["resultType"] == "input_required";
        assert!(again.status == 400 || asks, "{}", again.text());
    }
    assert_eq!(executed(), "\"DROP TABLE public.pots\"\n", "once");
    assert_eq!(world.database.count("SELECT count(*) FROM approvals WHERE status = 'used'"), 1);
    assert_eq!(world.verify().0, 0);
}
