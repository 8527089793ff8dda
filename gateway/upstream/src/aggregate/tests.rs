//! The aggregate over members in memory: alive, dead, slow, of either era.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod library;

use gateway_core::Route;
use serde_json::{Value, json};

use super::*;
use crate::testing::{Client, FakeUpstream, next, one, space, stream};

/// What every member hears when a client says hello.
const GREETED: [&str; 2] = ["initialize", "notifications/initialized"];

struct Stage {
    aggregate: Aggregate,
    members: Vec<Arc<FakeUpstream>>,
}

impl Stage {
    fn new(members: Vec<(&str, FakeUpstream)>) -> Self {
        let (names, members): (Vec<_>, Vec<_>) = members.into_iter().map(|(name, fake)| (name, Arc::new(fake))).unzip();
        let list = names.iter().zip(&members).map(|(name, fake)| match name.strip_suffix('!') {
            Some(name) => Member::built_in(space(name), Arc::<FakeUpstream>::clone(fake), vec!["bare".into()], &[]),
            None => Member::new(space(name), Arc::<FakeUpstream>::clone(fake)),
        });
        let server = ServerInfo::new(space("portreeve"), "1.2.3");
        Self { aggregate: Aggregate::new(list.collect(), "__", server), members }
    }

    async fn initialize(&self) -> Client {
        let mut client = Client::legacy(Route::All);
        let params = json!({ "protocolVersion": "2025-06-18", "capabilities": { "elicitation": {} }, "clientInfo": { "name": "c" } });
        let answered = self.aggregate.call(&client.request("i", "initialize", params)).await.unwrap();
        let greeting = one(&answered);
        assert_eq!(greeting["result"]["protocolVersion"], "2025-06-18");
        assert_eq!(greeting["result"]["serverInfo"], json!({ "name": "portreeve", "version": "1.2.3" }));
        client.session = answered.session.map(|opened| opened.id);
        client
    }

    async fn list(&self, client: &Client, cursor: Option<&str>) -> Value {
        let params = cursor.map_or(json!({}), |cursor| json!({ "cursor": cursor }));
        one(&self.aggregate.call(&client.request("l", "tools/list", params)).await.unwrap())
    }

    async fn call(&self, client: &Client, tool: &str, params: Value) -> Result<Answered, UpstreamError> {
        self.aggregate.call(&client.call_tool("c", tool, params)).await
    }
}

fn names(listed: &Value) -> Vec<&str> {
    listed["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn one_list_of_all_that_answer() {
    let stage = Stage::new(vec![
        ("zoo", FakeUpstream::legacy(&["b", "a"]).paged(1)),
        ("dead", FakeUpstream::dead()),
        ("adp!", FakeUpstream::legacy(&["bare", "notes__x"])),
        ("notes", FakeUpstream::legacy(&["search", "x"])),
        ("slow", FakeUpstream::hanging()),
        ("new", FakeUpstream::modern(&["only-modern"])),
    ]);
    let client = stage.initialize().await;
    let listed = stage.list(&client, None).await;
    assert_eq!(
        names(&listed),
        ["bare", "notes__x", "notes__search", "zoo__b", "zoo__a"],
        "the built-in keeps `notes__x`"
    );
    assert_eq!(listed["result"]["_meta"]["io.portreeve/unavailable"], json!(["dead", "new", "slow"]));
    assert_eq!(listed["result"].get("ttlMs"), None);
    assert_eq!(stage.list(&client, None).await, listed, "the same list again");
    let zoo = &stage.members[0];
    assert_eq!(zoo.methods().iter().filter(|method| *method == "initialize").count(), 1, "one session per member");
    assert_eq!(
        zoo.asked()[0]["params"]["capabilities"],
        json!({ "elicitation": {} }),
        "members hear what the client can do"
    );
}

#[tokio::test]
async fn a_modern_client_sees_modern_members() {
    let stage = Stage::new(vec![("old", FakeUpstream::legacy(&["a"])), ("new", FakeUpstream::modern(&["b"]))]);
    let client = Client::modern(Route::All);
    let listed = stage.list(&client, None).await;
    assert_eq!(names(&listed), ["new__b"]);
    let result = &listed["result"];
    assert_eq!(
        (&result["resultType"], &result["ttlMs"], &result["cacheScope"]),
        (&json!("complete"), &json!(0), &json!("private"))
    );
    assert_eq!(result["_meta"]["io.portreeve/unavailable"], json!(["old"]));
    let discovered = one(&stage.aggregate.call(&client.request(1, "server/discover", json!({}))).await.unwrap());
    let result = &discovered["result"];
    assert!(result["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")));
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "portreeve");
    let called = one(&stage.call(&client, "new/b", json!({})).await.unwrap());
    assert_eq!((&called["id"], &called["result"]["called"]), (&json!("c"), &json!("b")));
}

#[tokio::test]
async fn long_lists_come_in_pages() {
    let tools: Vec<String> = (0..750).map(|number| format!("t{number:04}")).collect();
    let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
    let stage = Stage::new(vec![("a", FakeUpstream::legacy(&tools).paged(100)), ("b", FakeUpstream::legacy(&tools))]);
    let client = stage.initialize().await;
    let (mut all, mut cursor, mut pages) = (Vec::new(), None, Vec::new());
    loop {
        let listed = stage.list(&client, cursor.as_deref()).await;
        pages.push(names(&listed).len());
        all.extend(names(&listed).into_iter().map(str::to_owned));
        match listed["result"]["nextCursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => break,
        }
    }
    assert_eq!(pages, [500, 500, 500]);
    let expected: Vec<String> =
        ["a", "b"].iter().flat_map(|space| tools.iter().map(move |tool| format!("{space}__{tool}"))).collect();
    assert_eq!(all, expected);
    for bad in ["", "nonsense", "AAAAAAAAAAAAAAAAAAAAAAAAAAA"] {
        assert_eq!(stage.list(&client, Some(bad)).await["error"]["code"], -32602, "{bad}");
    }
}

#[tokio::test]
async fn a_call_goes_to_its_member_in_its_session() {
    let stage = Stage::new(vec![("a", FakeUpstream::legacy(&["x"])), ("b", FakeUpstream::legacy(&["x"]))]);
    let client = stage.initialize().await;
    let answered = stage.call(&client, "b/x", json!({ "arguments": { "q": 1 } })).await.unwrap();
    assert_eq!(answered.session, None, "a member's session id stays here");
    assert_eq!(one(&answered)["result"]["called"], "x");
    assert_eq!(stage.members[0].methods(), GREETED, "nobody else is touched");
    assert_eq!(stage.members[1].methods(), ["initialize", "notifications/initialized", "tools/call"]);
    stage.members[1].forget_sessions();
    assert_eq!(one(&stage.call(&client, "b/x", json!({})).await.unwrap())["result"]["called"], "x", "opened again");
    assert_eq!(one(&stage.call(&client, "nobody/x", json!({})).await.unwrap())["error"]["code"], -32602);
}

#[tokio::test]
async fn a_members_question_finds_its_way_back() {
    let stage = Stage::new(vec![("a", FakeUpstream::legacy(&["x"])), ("b", FakeUpstream::legacy(&["x"]))]);
    let client = stage.initialize().await;
    let mut events = stream(stage.call(&client, "b/x", json!({ "ask": true })).await.unwrap());
    let question = next(&mut events).await.unwrap().unwrap();
    assert_eq!((&question["id"], &question["method"]), (&json!("b:7"), &json!("elicitation/create")));
    let answer = json!({ "jsonrpc": "2.0", "id": "b:7", "result": { "action": "accept" } });
    assert_eq!(stage.aggregate.call(&client.message(&answer)).await.unwrap().status, 202);
    assert_eq!(
        stage.members[1].asked().last().unwrap(),
        &json!({ "jsonrpc": "2.0", "id": 7, "result": { "action": "accept" } })
    );
    assert_eq!(next(&mut events).await.unwrap().unwrap()["id"], "c");
    for stray in [json!("zzz:7"), json!(7), json!("b:x")] {
        let answer = json!({ "jsonrpc": "2.0", "id": stray, "result": {} });
        assert_eq!(stage.aggregate.call(&client.message(&answer)).await.unwrap().status, 202);
    }
    assert_eq!(stage.members[0].methods(), GREETED);
}

#[tokio::test]
async fn notifications_are_swallowed_and_cancellations_told_to_all() {
    let stage = Stage::new(vec![("a", FakeUpstream::legacy(&["x"])), ("b", FakeUpstream::legacy(&["x"]))]);
    let client = stage.initialize().await;
    stage.call(&client, "a/x", json!({})).await.unwrap();
    for method in ["notifications/initialized", "notifications/cancelled", "notifications/roots/list_changed"] {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": { "requestId": "c" } });
        assert_eq!(stage.aggregate.call(&client.message(&message)).await.unwrap().status, 202);
    }
    let methods = ["initialize", "notifications/initialized", "tools/call", "notifications/cancelled"];
    assert_eq!(stage.members[0].methods(), methods);
    assert_eq!(
        stage.members[1].methods(),
        ["initialize", "notifications/initialized", "notifications/cancelled"],
        "whoever does not know the id ignores it"
    );
}

#[tokio::test]
async fn what_is_not_merged_is_empty_or_unknown() {
    let stage = Stage::new(vec![]);
    let client = stage.initialize().await;
    let modern = Client::modern(Route::All);
    for (method, legacy_status, modern_status, expected) in [
        ("prompts/list", 200, 200, json!({ "prompts": [] })),
        ("resources/list", 200, 200, json!({ "resources": [] })),
        ("resources/templates/list", 200, 200, json!({ "resourceTemplates": [] })),
        ("ping", 200, 200, json!({})),
        ("made/up", 200, 404, Value::Null),
    ] {
        let answered = stage.aggregate.call(&client.request(1, method, json!({}))).await.unwrap();
        assert_eq!(answered.status, legacy_status, "{method}");
        assert_eq!(one(&answered).get("result").cloned().unwrap_or_default(), expected, "{method}");
        let answered = stage.aggregate.call(&modern.request(1, method, json!({}))).await.unwrap();
        assert_eq!(answered.status, modern_status, "{method}");
    }
}

#[tokio::test]
async fn sessions_are_their_owners_and_end() {
    let stage = Stage::new(vec![("a", FakeUpstream::legacy(&["x"]))]);
    let stranger = Client::legacy(Route::All);
    let answered = stage.aggregate.call(&stranger.request(1, "tools/list", json!({}))).await.unwrap();
    assert_eq!((answered.status, &one(&answered)["error"]["code"]), (400, &json!(-32000)));
    let client = stage.initialize().await;
    stage.call(&client, "a/x", json!({})).await.unwrap();
    let thief = client.clone().of("thief");
    assert!(matches!(stage.call(&thief, "a/x", json!({})).await, Err(UpstreamError::SessionGone(_))));
    assert_eq!(stage.aggregate.call(&client.permit(Ask::EndSession)).await.unwrap().status, 204);
    assert_eq!(stage.members[0].methods().last().unwrap(), "DELETE");
    assert!(matches!(stage.call(&client, "a/x", json!({})).await, Err(UpstreamError::SessionGone(_))));
}

#[tokio::test(start_paused = true)]
async fn listening_keeps_the_line_open() {
    use futures::StreamExt;
    let stage = Stage::new(vec![]);
    let client = stage.initialize().await;
    let answered = stage.aggregate.call(&client.permit(Ask::Listen { last_event_id: None })).await.unwrap();
    let mut events = stream(answered);
    for _ in 0..3 {
        assert!(matches!(events.next().await, Some(Ok(gateway_core::ports::StreamItem::Comment(_)))));
    }
}
