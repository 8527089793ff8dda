//! Messages that a gateway reads one way and a real server another. Each is first said to the server itself, to see that it takes
//! the bait, and then to the gateway in front of it: refused, and not a byte of it reaches the server.

use portreeve_tests::servers::{NOTION_KEY, notion, slack};
use portreeve_tests::{Agent, Answer, Client, Kind, Tap, World};
use serde_json::{Value, json};

use crate::real_clients::typescript_everything;

/// One conversation with one door, in the bytes of the story's choice.
struct Conversation {
    client: Client,
    url: String,
    headers: Vec<(&'static str, String)>,
}

impl Conversation {
    async fn open(url: String, revision: &str, credential: Option<(&'static str, &str)>) -> Self {
        let mut headers = vec![
            ("content-type", "application/json".to_owned()),
            ("accept", "application/json, text/event-stream".into()),
        ];
        headers.extend(credential.map(|(name, value)| (name, value.to_owned())));
        let mut opened = Self { client: Client::default(), url, headers };
        let hello = portreeve_tests::messages::initialize(revision, json!({}));
        let answer = opened.say(&hello.to_string()).await;
        assert_eq!(answer.message()["result"]["protocolVersion"], revision, "{}", answer.text());
        let session = answer.header("mcp-session-id").expect("a session").to_owned();
        opened.headers.extend([("mcp-session-id", session), ("mcp-protocol-version", revision.to_owned())]);
        opened.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        opened
    }

    async fn through(world: &World, door: &str, agent: &Agent, revision: &str) -> Self {
        Self::open(world.url(door), revision, Some(("x-api-key", &agent.key))).await
    }

    async fn say(&self, body: &str) -> Answer {
        let headers: Vec<(&str, &str)> = self.headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.client.send("POST", &self.url, &headers, body.to_owned()).await
    }
}

fn upstream(tap: &Tap) -> Value {
    json!({ "url": tap.url() })
}

#[tokio::test]
async fn a_key_in_another_case_does_not_name_another_tool() {
    let outside = tempfile::tempdir().unwrap();
    let (_server, port) = slack(outside.path());
    let tap = Tap::before(port);
    let world = World::on(Kind::Sqlite)
        .upstream("slack", upstream(&tap))
        .manifests("slack", &[("channels_list", "READ_ONLY"), ("conversations_mark", "HIGH_WRITE")])
        .start();
    let reader = world.agent("reader", "A1");
    let direct = Conversation::open(format!("http://127.0.0.1:{port}/mcp"), "2025-11-25", None).await;
    let governed = Conversation::through(&world, "/slack/mcp", &reader, "2025-11-25").await;
    let call = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":"#;
    for (body, bait, code) in [
        (
            format!(
                r#"{call}{{"name":"channels_list","Name":"conversations_mark","arguments":{{"channel_types":"bait"}}}}}}"#
            ),
            "conversations_mark tool",
            -32602,
        ),
        (
            format!(
                r#"{call}{{"name":"channels_list","arguments":{{}}}},"Params":{{"name":"conversations_mark","arguments":{{"bait":1}}}}}}"#
            ),
            "conversations_mark tool",
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"ping","Method":"tools/list","params":{"bait":1}}"#.into(),
            "channels_list",
            -32600,
        ),
        (
            format!(r#"{call}{{"name":"channels_list","name":"conversations_mark","arguments":{{"bait":1}}}}}}"#),
            "conversations_mark tool",
            -32600,
        ),
    ] {
        let taken = direct.say(&body).await;
        assert!(taken.text().contains(bait), "the server no longer takes the bait: {}", taken.text());
        let refused = governed.say(&body).await;
        assert_eq!((refused.status, &refused.message()["error"]["code"]), (400, &json!(code)), "{}", refused.text());
    }
    let heard = tap.heard();
    assert!(!heard.contains("bait") && !heard.contains("conversations_mark"), "{heard}");
    // The same conversation goes on, and what is honest passes.
    let honest = format!(r#"{call}{{"name":"channels_list","arguments":{{"channel_types":"public_channel"}}}}}}"#);
    assert!(governed.say(&honest).await.text().contains("MemberCount"));
    assert!(tap.heard().contains("public_channel"), "the tap hears what passes");
    assert_eq!(world.verify().0, 0);
}

#[tokio::test]
async fn a_batch_does_not_carry_a_second_call_past_the_judges() {
    let outside = tempfile::tempdir().unwrap();
    let (_server, port) = typescript_everything(outside.path());
    let tap = Tap::before(port);
    let world = World::on(Kind::Sqlite)
        .upstream("everything", upstream(&tap))
        .manifests("everything", &[("echo", "READ_ONLY"), ("get-env", "HIGH_WRITE")])
        .start();
    let reader = world.agent("reader", "A1");
    let batch = json!([
        { "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "echo", "arguments": { "message": "bait" } } },
        { "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "get-env", "arguments": {} } },
    ])
    .to_string();
    let direct = Conversation::open(format!("http://127.0.0.1:{port}/mcp"), "2025-11-25", None).await;
    let taken = direct.say(&batch).await;
    assert!(taken.text().contains("PATH"), "the server no longer takes the bait: {}", taken.text());

    let governed = Conversation::through(&world, "/everything/mcp", &reader, "2025-11-25").await;
    let refused = governed.say(&batch).await;
    assert_eq!((refused.status, &refused.message()["error"]["code"]), (400, &json!(-32600)), "{}", refused.text());
    let heard = tap.heard();
    assert!(!heard.contains("bait") && !heard.contains("get-env"), "{heard}");
    assert_eq!(world.verify().0, 0);
}

#[tokio::test]
async fn where_batches_are_allowed_each_member_is_judged() {
    let outside = tempfile::tempdir().unwrap();
    let (_server, port) = notion(outside.path());
    let tap = Tap::before(port);
    let bearer = format!("Bearer {NOTION_KEY}");
    let world = World::on(Kind::Sqlite)
        .upstream("notion", json!({ "url": tap.url(), "headers": { "authorization": bearer } }))
        .manifests("notion", &[("API-get-self", "READ_ONLY"), ("API-delete-a-block", "HIGH_WRITE")])
        .start();
    let reader = world.agent("reader", "A1");
    let batch = json!([
        { "jsonrpc": "2.0", "id": 1, "method": "tools/list" },
        { "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "API-delete-a-block", "arguments": { "block_id": "bait" } } },
    ])
    .to_string();
    let direct =
        Conversation::open(format!("http://127.0.0.1:{port}/mcp"), "2025-03-26", Some(("authorization", &bearer)))
            .await;
    let taken = direct.say(&batch).await;
    assert!(taken.text().contains(r#""id":2"#), "the server no longer takes the bait: {}", taken.text());

    let governed = Conversation::through(&world, "/notion/mcp", &reader, "2025-03-26").await;
    let judged = governed.say(&batch).await;
    assert!(judged.text().contains("API-get-self"), "the list is answered: {}", judged.text());
    assert!(!tap.heard().contains("bait"), "the second member stayed here: {}", tap.heard());
    let newer = Conversation::through(&world, "/notion/mcp", &reader, "2025-11-25").await;
    let refused = newer.say(&batch).await;
    assert_eq!((refused.status, &refused.message()["error"]["code"]), (400, &json!(-32600)), "{}", refused.text());
    assert!(!tap.heard().contains("bait"), "{}", tap.heard());
    assert_eq!(world.verify().0, 0);
}
