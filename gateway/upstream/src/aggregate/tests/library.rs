//! What members offer beside tools.

use std::sync::Mutex;

use futures::StreamExt;
use gateway_core::ports::{Content, NewSession, StreamItem};
use gateway_protocol::Reply;
use gateway_protocol::era::Handshake;
use gateway_protocol::sse::Event;
use serde_json::Map;
use tokio::sync::broadcast;

use super::*;
use crate::testing::{admit, parsed};

/// A member with prompts and resources, which speaks both eras and forgets nothing.
struct Library {
    asked: Mutex<Vec<Value>>,
    news: broadcast::Sender<Value>,
    capabilities: Value,
}

fn event(message: &Message) -> Result<StreamItem, UpstreamError> {
    let reply = Reply::from_message(message);
    let frame = Event { id: Some("member-7".into()), ..Event::message(reply.raw().clone()) };
    Ok(StreamItem::Event { frame, reply: Some(reply) })
}

impl Library {
    fn new(capabilities: Value) -> Arc<Self> {
        Arc::new(Self { asked: Mutex::default(), news: broadcast::Sender::new(16), capabilities })
    }

    fn asked(&self, method: &str) -> Vec<Value> {
        self.asked.lock().unwrap().iter().filter(|asked| asked["method"] == method).cloned().collect()
    }

    fn announce(&self, method: &str, params: &Value) {
        self.news.send(json!({ "jsonrpc": "2.0", "method": method, "params": params })).unwrap();
    }

    fn stream(&self, first: Vec<Message>) -> Answered {
        let first = futures::stream::iter(first.into_iter().map(|message| event(&message)).collect::<Vec<_>>());
        let news = futures::stream::unfold(self.news.subscribe(), |mut news| async move {
            Some((event(&parsed(&news.recv().await.ok()?)), news))
        });
        Answered { status: 200, session: None, content: Content::Stream(first.chain(news).boxed()) }
    }

    async fn listened_to(&self) {
        while self.news.receiver_count() == 0 {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }
}

#[async_trait]
impl Upstream for Library {
    async fn call(&self, permit: &Permit) -> Result<Answered, UpstreamError> {
        let message = match &permit.exchange().ask {
            Ask::Message(message) => message,
            Ask::Listen { .. } => return Ok(self.stream(Vec::new())),
            Ask::EndSession => return Ok(Answered::nothing(204)),
        };
        self.asked.lock().unwrap().push(serde_json::to_value(message).unwrap());
        let Message::Request(request) = message else { return Ok(Answered::nothing(202)) };
        let nothing = Map::new();
        let params = request.params.as_ref().unwrap_or(&nothing);
        let result = match request.method.as_str() {
            "initialize" => json!({ "protocolVersion": "2025-06-18", "capabilities": self.capabilities }),
            "server/discover" => json!({ "supportedVersions": ["2026-07-28"], "capabilities": self.capabilities }),
            "prompts/list" => json!({ "prompts": [{ "name": "sum up" }] }),
            "resources/list" => json!({ "resources": [{ "uri": "file:///a", "name": "a" }] }),
            "resources/templates/list" => {
                json!({ "resourceTemplates": [{ "uriTemplate": "b://{id}{?x}", "name": "b" }] })
            }
            "prompts/get" => {
                json!({ "messages": [{ "content": { "type": "resource", "resource": { "uri": "file:///a" } } }] })
            }
            "resources/read" => json!({ "contents": [{ "uri": params["uri"], "text": "x" }] }),
            "completion/complete" => json!({ "completion": { "values": [params["ref"].to_string()] } }),
            "resources/subscribe" | "resources/unsubscribe" | "logging/setLevel" => json!({}),
            "subscriptions/listen" => {
                let ack = Message::notification("notifications/subscriptions/acknowledged", None);
                return Ok(self.stream(vec![ack]));
            }
            _ => {
                let error = RpcError::new(code::METHOD_NOT_FOUND, "no");
                return Ok(Answered::one(200, &Message::error(Some(request.id.clone()), error)));
            }
        };
        let opened = (request.method == "initialize").then(|| NewSession { id: "inside".into(), pinned: false });
        Ok(Answered { session: opened, ..Answered::one(200, &Message::result(request.id.clone(), result)) })
    }
}

fn stage(libraries: &[(&str, &Arc<Library>)]) -> Aggregate {
    let members = libraries.iter().map(|(name, library)| Member::new(space(name), Arc::<Library>::clone(library)));
    Aggregate::new(members.collect(), "__", ServerInfo::new(space("portreeve"), "1"))
}

async fn hello(aggregate: &Aggregate, version: &str) -> (Client, Value) {
    let mut client = Client::legacy(Route::All);
    let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "c" } });
    let answered = aggregate.call(&client.request("i", "initialize", params)).await.unwrap();
    let greeting = one(&answered);
    client.session = answered.session.map(|opened| opened.id);
    (client, greeting["result"].clone())
}

async fn ask(aggregate: &Aggregate, client: &Client, method: &str, params: Value) -> Value {
    one(&aggregate.call(&client.request(1, method, params)).await.unwrap())["result"].clone()
}

/// As core describes it: the member is known, and the name is the member's own.
fn meant_for(member: &str, permit: Permit) -> Permit {
    admit(Exchange { member: Some(space(member)), ..*permit.into_exchange() })
}

fn full() -> Value {
    json!({ "prompts": {}, "completions": {}, "resources": { "subscribe": true, "listChanged": true } })
}

#[tokio::test]
async fn a_greeting_says_what_any_member_can() {
    let (rich, poor) = (Library::new(full()), Library::new(json!({ "tools": { "listChanged": true } })));
    let aggregate = stage(&[("rich", &rich), ("poor", &poor)]);
    let mut expected = full();
    expected["tools"] = json!({ "listChanged": true });
    assert_eq!(hello(&aggregate, "2025-06-18").await.1["capabilities"], expected);
    hello(&aggregate, "2025-06-18").await;
    assert_eq!(rich.asked("initialize").len(), 1, "what a member can do is known, and its session not needed yet");
    let discovered = ask(&aggregate, &Client::modern(Route::All), "server/discover", json!({})).await;
    assert_eq!(discovered["capabilities"], expected);
    assert_eq!(hello(&aggregate, "2024-11-05").await.1["capabilities"].get("completions"), None);
}

#[tokio::test]
async fn lists_name_their_members() {
    let (one, other) = (Library::new(full()), Library::new(full()));
    let aggregate = stage(&[("one", &one), ("other", &other)]);
    let (legacy, _) = hello(&aggregate, "2025-06-18").await;
    for client in [legacy, Client::modern(Route::All)] {
        for (method, key, name, expected) in [
            ("prompts/list", "prompts", "name", ["one__sum up", "other__sum up"]),
            ("resources/list", "resources", "uri", ["portreeve://one/file:///a", "portreeve://other/file:///a"]),
            (
                "resources/templates/list",
                "resourceTemplates",
                "uriTemplate",
                ["portreeve://one/b://{id}{?x}", "portreeve://other/b://{id}{?x}"],
            ),
        ] {
            let listed = ask(&aggregate, &client, method, json!({})).await;
            let names: Vec<&str> =
                listed[key].as_array().unwrap().iter().map(|entry| entry[name].as_str().unwrap()).collect();
            assert_eq!(names, expected, "{method}");
            assert_eq!(listed["_meta"].get("io.portreeve/unavailable"), None);
        }
        let tools = ask(&aggregate, &client, "tools/list", json!({})).await;
        assert_eq!(tools["tools"], json!([]), "a member without tools is not away: {tools}");
        assert_eq!(tools["_meta"].get("io.portreeve/unavailable"), None);
    }
}

#[tokio::test]
async fn questions_go_to_their_member_and_uris_come_back_named() {
    let (one, other) = (Library::new(full()), Library::new(full()));
    let aggregate = stage(&[("one", &one), ("other", &other)]);
    let (legacy, _) = hello(&aggregate, "2025-06-18").await;
    for client in [legacy.clone(), Client::modern(Route::All)] {
        for (method, params, pointer, expected) in [
            (
                "prompts/get",
                json!({ "name": "sum up" }),
                "/messages/0/content/resource/uri",
                "portreeve://other/file:///a",
            ),
            ("resources/read", json!({ "uri": "file:///a" }), "/contents/0/uri", "portreeve://other/file:///a"),
            ("completion/complete", json!({ "ref": "r" }), "/completion/values/0", "\"r\""),
        ] {
            let permit = meant_for("other", client.request(1, method, params));
            let answer = crate::testing::one(&aggregate.call(&permit).await.unwrap());
            assert_eq!(answer["result"].pointer(pointer), Some(&json!(expected)), "{method}: {answer}");
            let nobody = client.request(1, method, json!({}));
            assert_eq!(
                crate::testing::one(&aggregate.call(&nobody).await.unwrap())["error"]["code"],
                -32602,
                "{method}"
            );
            assert!(one.asked(method).is_empty(), "{method}");
        }
    }
    let subscribe = |client: &Client| meant_for("one", client.request(1, "resources/subscribe", json!({ "uri": "x" })));
    assert_eq!(aggregate.call(&subscribe(&legacy)).await.unwrap().status, 200);
    assert_eq!(one.asked("resources/subscribe")[0]["params"]["uri"], "x");
    assert_eq!(aggregate.call(&subscribe(&Client::modern(Route::All))).await.unwrap().status, 404);
}

#[tokio::test]
async fn news_of_all_members_come_on_one_stream() {
    let (one, other) = (Library::new(full()), Library::new(full()));
    let aggregate = stage(&[("one", &one), ("other", &other)]);
    let (client, _) = hello(&aggregate, "2025-06-18").await;
    let mut events = stream(aggregate.call(&client.permit(Ask::Listen { last_event_id: None })).await.unwrap());
    let reading = tokio::spawn(async move {
        let mut seen = Vec::new();
        while seen.len() < 2 {
            if let Some(Ok(StreamItem::Event { frame, reply: Some(reply) })) = events.next().await {
                assert_eq!(frame.id, None, "a member's event ids stay its own");
                seen.push(crate::testing::tree(&reply));
            }
        }
        seen
    });
    one.listened_to().await;
    other.listened_to().await;
    one.announce("notifications/resources/updated", &json!({ "uri": "file:///a" }));
    other.announce("notifications/tools/list_changed", &json!({}));
    let mut seen = reading.await.unwrap();
    seen.sort_by_key(|message| message["method"].to_string());
    assert_eq!(seen[0]["params"]["uri"], "portreeve://one/file:///a");
    assert_eq!(seen[1]["method"], "notifications/tools/list_changed");
}

#[tokio::test]
async fn a_subscription_reaches_whom_it_concerns() {
    let (one, other) = (Library::new(full()), Library::new(json!({ "prompts": { "listChanged": true } })));
    let aggregate = stage(&[("one", &one), ("other", &other)]);
    let client = Client::modern(Route::All);
    let uris = ["portreeve://one/file:///a", "portreeve://nobody/file:///b"];
    let wanted = json!({ "notifications": { "resourceSubscriptions": uris, "toolsListChanged": true } });
    let answered = aggregate.call(&client.request("sub", "subscriptions/listen", wanted)).await.unwrap();
    let mut events = stream(answered);
    let ack = next(&mut events).await.unwrap().unwrap();
    assert_eq!(ack["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(ack["params"]["notifications"], json!({ "resourceSubscriptions": uris }), "nobody announces new tools");
    let reading = tokio::spawn(async move { next(&mut events).await.unwrap().unwrap() });
    one.listened_to().await;
    one.announce("notifications/resources/updated", &json!({ "uri": "file:///a" }));
    let news = reading.await.unwrap();
    assert_eq!(news["params"]["uri"], "portreeve://one/file:///a");
    assert_eq!(news["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "sub");
    let asked = &one.asked("subscriptions/listen")[0];
    assert_eq!(asked["params"]["notifications"], json!({ "resourceSubscriptions": ["file:///a"] }));
    assert!(other.asked("subscriptions/listen").is_empty(), "it has nothing to tell");
    let refused = aggregate.call(&client.request(1, "subscriptions/listen", json!({}))).await.unwrap();
    assert_eq!((refused.status, crate::testing::one(&refused)["error"]["code"].clone()), (400, json!(-32602)));
}

#[tokio::test]
async fn what_the_gateway_ends_is_told_so() {
    let library = Library::new(full());
    let aggregate = stage(&[("one", &library)]);
    let (legacy, _) = hello(&aggregate, "2025-06-18").await;
    let mut news = stream(aggregate.call(&legacy.permit(Ask::Listen { last_event_id: None })).await.unwrap());
    let wanted = json!({ "notifications": { "resourcesListChanged": true } });
    let modern = Client::modern(Route::All).request("sub", "subscriptions/listen", wanted);
    let mut listens = stream(aggregate.call(&modern).await.unwrap());
    assert_eq!(next(&mut listens).await.unwrap().unwrap()["method"], "notifications/subscriptions/acknowledged");
    aggregate.retire();
    let last = next(&mut listens).await.unwrap().unwrap();
    let result = json!({ "resultType": "complete", "_meta": { "io.modelcontextprotocol/subscriptionId": "sub" } });
    assert_eq!((&last["id"], &last["result"]), (&json!("sub"), &result));
    assert_eq!(next(&mut listens).await.unwrap(), None);
    assert_eq!(next(&mut news).await.unwrap(), None, "the session eras have no last word on such a stream");
}

#[tokio::test]
async fn a_log_level_is_told_to_those_that_keep_a_log_whenever_they_come() {
    let (loud, silent) = (Library::new(json!({ "logging": {}, "prompts": {} })), Library::new(full()));
    let aggregate = stage(&[("loud", &loud), ("silent", &silent)]);
    let (client, greeting) = hello(&aggregate, "2025-06-18").await;
    assert_eq!(greeting["capabilities"]["logging"], json!({}), "{greeting}");
    let set = |client: &Client, level: &str| client.request(1, "logging/setLevel", json!({ "level": level }));
    let levels = || {
        let asked = loud.asked("logging/setLevel");
        asked.iter().map(|asked| asked["params"]["level"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(one(&aggregate.call(&set(&client, "error")).await.unwrap())["result"], json!({}));
    assert_eq!(levels(), ["error"], "its session was open");
    // Another session, in which no member has been needed yet.
    let (late, _) = hello(&aggregate, "2025-06-18").await;
    assert_eq!(one(&aggregate.call(&set(&late, "debug")).await.unwrap())["result"], json!({}));
    assert_eq!(levels(), ["error"], "nobody is there to be told");
    aggregate.call(&late.request(2, "prompts/list", json!({}))).await.unwrap();
    assert_eq!(levels(), ["error", "debug"], "told when it was first needed");
    let wrong = one(&aggregate.call(&set(&client, "loud")).await.unwrap());
    assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
    let modern = aggregate.call(&set(&Client::modern(Route::All), "error")).await.unwrap();
    assert_eq!(modern.status, 404, "the stateless era says it with each request");
    assert_eq!(levels().len(), 2);
    assert!(silent.asked("logging/setLevel").is_empty(), "it keeps no log");
}

#[tokio::test]
async fn a_session_from_elsewhere_is_adopted_with_its_handshake_and_an_ended_one_is_not() {
    let library = Library::new(full());
    let aggregate = stage(&[("one", &library)]);
    let client = Client::legacy(Route::All);
    let handshake = Handshake::of_initialize(
        json!({ "protocolVersion": "2025-06-18", "capabilities": { "roots": {} } }).as_object().unwrap(),
    );
    let home = gateway_core::home::Home { node: uuid::Uuid::nil(), at: None };
    let within = |permit: Permit| {
        let session = gateway_core::session::Session::pinned(
            &client.principal,
            &Route::All,
            Some(handshake.revision),
            "elsewhere".into(),
            home.clone(),
            Some(handshake.clone()),
        );
        admit(Exchange { session: Some(session), ..*permit.into_exchange() })
    };
    let list = || within(client.request(1, "prompts/list", json!({})));
    assert_eq!(one(&aggregate.call(&list()).await.unwrap())["result"]["prompts"][0]["name"], "one__sum up");
    assert_eq!(library.asked("initialize")[0]["params"]["capabilities"], json!({ "roots": {} }));
    assert_eq!(aggregate.call(&within(client.permit(Ask::EndSession))).await.unwrap().status, 204);
    assert!(matches!(aggregate.call(&list()).await, Err(UpstreamError::SessionGone(_))));
}
