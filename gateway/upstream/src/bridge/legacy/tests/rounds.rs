//! Questions of a modern upstream, asked of legacy clients.

use super::*;
use crate::bridge::testing_modern::{HOLD, answering};

fn asks(inputs: &Value, state: Option<&str>) -> Value {
    let mut result = json!({ "resultType": "input_required", "inputRequests": inputs });
    if let Some(state) = state {
        result["requestState"] = json!(state);
    }
    result
}

fn form(message: &str) -> Value {
    let schema = json!({ "type": "object", "properties": { "sure": { "type": "boolean" } } });
    json!({ "method": "elicitation/create", "params": { "message": message, "requestedSchema": schema } })
}

fn done(text: &str) -> Value {
    json!({ "resultType": "complete", "content": [{ "type": "text", "text": text }] })
}

fn call(client: &Client) -> Permit {
    client.call_tool(3, "fake/drop", json!({ "arguments": { "table": "t" } }))
}

#[tokio::test(start_paused = true)]
async fn questions_come_on_the_calls_stream_and_answers_go_up() {
    let (upstream, bridge, client) = ready(&json!({ "elicitation": {}, "roots": {} }), "2025-06-18").await;
    upstream.says(Said::Result(asks(
        &json!({ "confirm": form("Sure?"), "where": { "method": "roots/list" } }),
        Some("s1"),
    )));
    let progress = notification("notifications/progress", &json!({ "progressToken": 1, "progress": 1 }));
    upstream.says(Said::Events(vec![progress], asks(&json!({ "again": form("Really?") }), None)));
    upstream.says(Said::Result(done("dropped")));
    let mut events = stream(bridge.call(&call(&client)).await.unwrap());
    let confirm = next(&mut events).await.unwrap().unwrap();
    let roots = next(&mut events).await.unwrap().unwrap();
    assert_eq!((&confirm["method"], &confirm["params"]["message"]), (&json!("elicitation/create"), &json!("Sure?")));
    assert_eq!(roots["method"], "roots/list");
    assert_ne!(confirm["id"], roots["id"]);

    let listed = json!({ "roots": [{ "uri": "file:///a" }] });
    let accepted = json!({ "action": "accept", "content": { "sure": true } });
    let stranger = client.clone().of("stranger");
    let refused = bridge.call(&answering(&stranger, &confirm, &json!({ "action": "decline" }))).await;
    assert!(refused.is_err(), "another principal has no such session");
    assert_eq!(bridge.call(&answering(&client, &roots, &listed)).await.unwrap().status, 202);
    assert_eq!(bridge.call(&answering(&client, &confirm, &accepted)).await.unwrap().status, 202);
    let late = bridge.call(&answering(&client, &confirm, &json!({ "action": "decline" }))).await.unwrap();
    assert_eq!(late.status, 202, "and nothing comes of it");

    assert_eq!(next(&mut events).await.unwrap().unwrap()["method"], "notifications/progress");
    let (sent, _) = upstream.last();
    assert_eq!(sent["params"]["inputResponses"], json!({ "confirm": accepted, "where": listed }));
    assert_eq!(sent["params"]["requestState"], "s1");
    assert_eq!(sent["params"]["arguments"], json!({ "table": "t" }), "the call that was admitted");

    let again = next(&mut events).await.unwrap().unwrap();
    bridge.call(&answering(&client, &again, &json!({ "action": "decline" }))).await.unwrap();
    let answer = next(&mut events).await.unwrap().unwrap();
    assert_eq!(
        answer,
        json!({ "jsonrpc": "2.0", "id": 3, "result": { "content": [{ "type": "text", "text": "dropped" }] } })
    );
    assert_eq!(next(&mut events).await.unwrap(), None);
    let calls: Vec<_> = upstream.asked().into_iter().filter(|asked| asked["method"] == "tools/call").collect();
    assert_eq!(calls.len(), 3);
    assert_eq!(calls[2]["params"]["inputResponses"], json!({ "again": { "action": "decline" } }));
    assert!(calls[2]["params"].get("requestState").is_none(), "only the last round's state goes back");
    assert_ne!(calls[1]["id"], calls[2]["id"], "each round has an id of its own");
}

#[tokio::test(start_paused = true)]
async fn who_cannot_be_asked_counts_as_having_cancelled() {
    for (revision, capabilities) in [("2024-11-05", json!({ "elicitation": {} })), ("2025-11-25", json!({}))] {
        let (upstream, bridge, client) = ready(&capabilities, revision).await;
        upstream.says(Said::Result(asks(&json!({ "confirm": form("Sure?") }), Some("s"))));
        upstream.says(Said::Result(done("not dropped")));
        let mut events = stream(bridge.call(&call(&client)).await.unwrap());
        assert_eq!(next(&mut events).await.unwrap().unwrap()["result"]["content"][0]["text"], "not dropped");
        assert_eq!(upstream.last().0["params"]["inputResponses"], json!({ "confirm": { "action": "cancel" } }));
    }
    let (upstream, bridge, client) = ready(&json!({ "elicitation": {} }), "2025-06-18").await;
    let sampling = json!({ "method": "sampling/createMessage", "params": { "messages": [], "maxTokens": 1 } });
    upstream.says(Said::Result(asks(&json!({ "confirm": form("Sure?"), "model": sampling }), None)));
    let mut events = stream(bridge.call(&call(&client)).await.unwrap());
    let question = next(&mut events).await.unwrap().unwrap();
    let withdrawn = next(&mut events).await.unwrap().unwrap();
    assert_eq!(withdrawn["params"]["requestId"], question["id"], "nobody waits for it any more");
    assert_eq!(next(&mut events).await.unwrap().unwrap()["error"]["code"], -32603);
    assert_eq!(upstream.count("tools/call"), 1);
}

#[tokio::test(start_paused = true)]
async fn an_error_of_the_clients_model_ends_the_call() {
    let (upstream, bridge, client) = ready(&json!({ "sampling": {} }), "2025-11-25").await;
    let messages = json!([{ "role": "user", "content": { "type": "text", "text": "?" } }]);
    let sampling = json!({ "method": "sampling/createMessage", "params": { "messages": messages, "maxTokens": 1 } });
    upstream.says(Said::Result(asks(&json!({ "model": sampling }), None)));
    let mut events = stream(bridge.call(&call(&client)).await.unwrap());
    let question = next(&mut events).await.unwrap().unwrap();
    let refusal = json!({ "jsonrpc": "2.0", "id": question["id"], "error": { "code": -1, "message": "user said no" } });
    bridge.call(&client.message(&refusal)).await.unwrap();
    let answer = next(&mut events).await.unwrap().unwrap();
    assert_eq!((&answer["id"], &answer["error"]["message"]), (&json!(3), &json!("user said no")));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_only_wants_time_gets_it_sixteen_times() {
    let (upstream, bridge, client) = ready(&json!({}), "2025-06-18").await;
    for round in 0..20 {
        upstream.says(Said::Result(json!({ "resultType": "input_required", "requestState": format!("s{round}") })));
    }
    let started = tokio::time::Instant::now();
    let mut events = stream(bridge.call(&call(&client)).await.unwrap());
    let mut answer = None;
    while let Some(item) = events.next().await {
        if let Ok(gateway_core::ports::StreamItem::Event { reply: Some(reply), .. }) = item {
            answer = Some(crate::testing::tree(&reply));
        }
    }
    assert_eq!(answer.unwrap()["error"]["message"], "the upstream asked too often");
    assert_eq!(upstream.count("tools/call"), 17);
    assert_eq!(started.elapsed().as_secs(), 16, "with a pause before each");
}

#[tokio::test(start_paused = true)]
async fn nobody_is_waited_for_for_ever() {
    let (upstream, bridge, client) = ready(&json!({ "elicitation": {} }), "2025-11-25").await;
    upstream.says(Said::Result(asks(&json!({ "confirm": form("Sure?") }), None)));
    let mut events = stream(bridge.call(&call(&client)).await.unwrap());
    let question = next(&mut events).await.unwrap().unwrap();
    let (withdrawn, error) = tokio::join!(
        async {
            let withdrawn = events.next().await.unwrap().unwrap();
            let error = events.next().await.unwrap().unwrap();
            let tree = |item| match item {
                gateway_core::ports::StreamItem::Event { reply: Some(reply), .. } => crate::testing::tree(&reply),
                _ => panic!("a message was expected"),
            };
            (tree(withdrawn), tree(error))
        },
        tokio::time::sleep(HOLD + std::time::Duration::from_secs(1))
    )
    .0;
    assert_eq!(
        (&withdrawn["method"], &withdrawn["params"]["requestId"]),
        (&json!("notifications/cancelled"), &question["id"])
    );
    assert_eq!((&error["id"], &error["error"]["code"]), (&json!(3), &json!(-32603)));
    assert_eq!(next(&mut events).await.unwrap(), None);
    bridge.call(&answering(&client, &question, &json!({ "action": "accept" }))).await.unwrap();
    assert_eq!(upstream.count("tools/call"), 1, "an answer that comes too late does nothing");
}

#[tokio::test(start_paused = true)]
async fn the_newest_legacy_revision_can_resume_its_streams() {
    for (revision, primed) in [("2025-11-25", true), ("2025-06-18", false)] {
        let (upstream, bridge, client) = ready(&json!({}), revision).await;
        upstream.says(Said::Events(vec![], done("x")));
        let mut events = stream(bridge.call(&call(&client)).await.unwrap());
        let first = events.next().await.unwrap().unwrap();
        let empty = matches!(first, gateway_core::ports::StreamItem::Event { reply: None, .. });
        assert_eq!(empty, primed, "{revision}");
    }
}
