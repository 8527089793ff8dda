//! Asked in the result (2026-07-28): pages, forms, and a state that is good once.

use portreeve_tests::{Agent, Answer, Kind, Stub};
use serde_json::{Value, json};

use super::{looked_at, refused, staged, traces, waits};

#[expect(clippy::needless_pass_by_value, reason = "stories read better so")]
pub(super) fn asking(arguments: Value, state: Option<(&str, &str)>, elicitation: Value) -> Value {
    let mut params = json!({ "name": "delete", "arguments": arguments,
        "_meta": { "io.modelcontextprotocol/clientCapabilities": { "elicitation": elicitation } } });
    if let Some((state, action)) = state {
        params["requestState"] = json!(state);
        params["inputResponses"] = json!({ "approval": { "action": action } });
    }
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
}

#[track_caller]
pub(super) fn asked(answer: &Answer) -> (String, Value) {
    let result = answer.message()["result"].clone();
    assert_eq!(result["resultType"], "input_required", "{}", answer.text());
    let question = result["inputRequests"]["approval"].clone();
    assert_eq!(question["method"], "elicitation/create");
    (result["requestState"].as_str().unwrap().to_owned(), question["params"].clone())
}

// acceptance 110, asked in the result (2026-07-28): a page, and a state that is good once and on any node.
#[tokio::test(flavor = "multi_thread")]
async fn a_modern_caller_is_sent_to_a_page_and_comes_back() {
    let stub = Stub::start(&["delete"]).await;
    let world = staged(Kind::Postgres, &stub).start();
    let node = world.second_node();
    let agent = world.agent("a-4", "A4").modern();
    let page = json!({ "form": {}, "url": {} });
    let send = |agent: &Agent, message: Value| {
        let agent = agent.clone();
        async move { agent.post("/crm/mcp", &message).await }
    };
    let id_1 = json!({ "id": 1 });
    let (state, question) = asked(&send(&agent, asking(id_1.clone(), None, page.clone())).await);
    assert_eq!(question["mode"], "url", "{question}");
    let url = question["url"].as_str().unwrap().to_owned();
    let id = url.split("/approvals/").nth(1).unwrap().split('?').next().unwrap().to_owned();

    let closed = send(&agent, asking(id_1.clone(), Some((&state, "cancel")), page.clone())).await;
    assert_eq!(waits(&closed), id, "who closes the question is told the id");
    let other = send(&agent, asking(json!({ "id": 2 }), Some((&state, "accept")), page.clone())).await;
    assert_eq!((other.status, other.message()["error"]["code"].clone()), (400, json!(-32602)), "{}", other.text());

    // The page: no link, no look; a wrong key changes nothing; the right one decides.
    let get = |url: String| {
        let client = world.client.clone();
        async move { client.send("GET", &url, &[], "").await }
    };
    let shown = get(url.clone()).await;
    assert!(shown.status == 200 && shown.text().contains("crm/delete"), "{}", shown.text());
    assert!(shown.header("content-security-policy").unwrap().contains("default-src 'none'"));
    assert_eq!(get(url.split("?k=").next().unwrap().to_owned()).await.status, 404);
    let token = url.split("?k=").nth(1).unwrap();
    let answer = |key: &str, verdict: &str| {
        let body = format!("k={token}&key={key}&note=fine&verdict={verdict}");
        let (client, url) = (world.client.clone(), url.split("?k=").next().unwrap().to_owned());
        async move { client.send("POST", &url, &[("content-type", "application/x-www-form-urlencoded")], body).await }
    };
    assert_eq!(answer("pk_nobody", "approve").await.status, 401);
    assert_eq!(answer(&agent.key, "approve").await.status, 403);
    // The caller comes back before anybody has decided, and hears as soon as somebody does.
    let coming_back = tokio::spawn({
        let (agent, message) = (agent.at(&node), asking(id_1.clone(), Some((&state, "accept")), page.clone()));
        async move { agent.post("/crm/mcp", &message).await }
    });
    let decided = answer(&world.admin_key, "approve").await;
    assert!(decided.status == 200 && decided.text().contains("approved"), "{}", decided.text());
    let ran = coming_back.await.unwrap();
    assert_eq!((ran.decision().as_str(), stub.calls()), ("allow", 1), "{}", ran.text());
    let (_, seen) = stub.seen().into_iter().find(|(_, message)| message["method"] == "tools/call").unwrap();
    assert!(seen["params"].get("requestState").is_none() && seen["params"].get("inputResponses").is_none(), "{seen}");

    let replayed = send(&agent, asking(id_1.clone(), Some((&state, "accept")), page)).await;
    assert!(
        replayed.message()["result"]["resultType"] == "input_required" || replayed.status == 400,
        "{}",
        replayed.text()
    );
    assert_eq!(stub.calls(), 1);
    assert_eq!(world.database.count("SELECT count(*) FROM approvals WHERE decided_by IS NOT NULL"), 1);
    assert_eq!(world.verify().0, 0);
}

fn writing(state: Option<(&str, &str)>) -> Value {
    let mut message = asking(json!({ "n": 1 }), state, json!({}));
    message["params"]["name"] = json!("write");
    message
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_is_answered_by_the_agents_own_user_where_that_is_enough() {
    let stub = Stub::start(&["write", "delete"]).await;
    let world = staged(Kind::Sqlite, &stub).policy_file("rules/own.yaml", &looked_at("PT10M")).start();
    let agent = world.agent("a-4", "A4").modern();
    let (state, question) = asked(&agent.post("/crm/mcp", &writing(None)).await);
    assert_eq!(question["mode"], "form", "{question}");
    let ran = agent.post("/crm/mcp", &writing(Some((&state, "accept")))).await;
    assert_eq!((ran.decision().as_str(), stub.calls()), ("allow", 1), "{}", ran.text());
    let replayed = agent.post("/crm/mcp", &writing(Some((&state, "accept")))).await;
    assert_eq!(stub.calls(), 1, "{}", replayed.text());
    assert_eq!(traces(&world, "a-4", "approval"), 1);

    // Where four eyes are needed a form is not even shown: the caller is told the id.
    let answer = agent.post("/crm/mcp", &asking(json!({ "id": 1 }), None, json!({}))).await;
    waits(&answer);
    assert_eq!(world.verify().0, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_to_a_form_is_no() {
    let stub = Stub::start(&["write"]).await;
    let world = staged(Kind::Sqlite, &stub).policy_file("rules/own.yaml", &looked_at("PT10M")).start();
    let agent = world.agent("a-4", "A4").modern();
    let (state, _) = asked(&agent.post("/crm/mcp", &writing(None)).await);
    refused(&agent.post("/crm/mcp", &writing(Some((&state, "decline")))).await, "rejected");
    assert_eq!(stub.calls(), 0);
    assert_eq!(traces(&world, "a-4", "approval"), 1);
}
