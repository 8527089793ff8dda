//! Lists over a time that stands still until it is moved.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::sync::Mutex;

use gateway_core::Route;
use gateway_protocol::RpcError;
use gateway_protocol::sse::Event;
use jiff::{SignedDuration, Timestamp};
use tokio::time::{Instant, advance};

use super::*;
use crate::testing::{Client, next, one, space, stream};

/// Tells tokio's time.
struct PausedClock(Instant);

impl Clock for PausedClock {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::try_from(self.0.elapsed()).unwrap()
    }

    fn fresh_id(&self) -> uuid::Uuid {
        uuid::Uuid::now_v7()
    }
}

/// Lists what it is told to, numbered by how often it was asked.
struct Lister {
    extra: Mutex<Value>,
    asked: Mutex<Vec<String>>,
    /// Said before an answer, as one stream with it.
    first: Mutex<Option<&'static str>>,
    /// How long it takes over a list.
    slow: Mutex<Duration>,
    news: tokio::sync::broadcast::Sender<&'static str>,
}

fn event(message: &Message) -> Result<StreamItem, UpstreamError> {
    let reply = Reply::from_message(message);
    Ok(StreamItem::Event { frame: Event::message(reply.raw().clone()), reply: Some(reply) })
}

impl Lister {
    fn asked(&self, method: &str) -> usize {
        self.asked.lock().unwrap().iter().filter(|asked| *asked == method).count()
    }
}

#[async_trait]
impl Upstream for Lister {
    async fn call(&self, permit: &Permit) -> Result<Answered, UpstreamError> {
        let Some(Message::Request(request)) = permit.exchange().message() else { return Ok(Answered::nothing(202)) };
        self.asked.lock().unwrap().push(request.method.clone());
        let slow = *self.slow.lock().unwrap();
        if !slow.is_zero() {
            tokio::time::sleep(slow).await;
        }
        let cursor = request.params.as_ref().and_then(|params| params.get("cursor"));
        let number = self.asked(&request.method);
        let entry =
            |name: &str| json!([{ "name": format!("{name}-{number}"), "inputSchema": {} }, { "name": "always" }]);
        let mut result = match (request.method.as_str(), cursor) {
            ("tools/list", None) => json!({ "tools": entry("tool"), "nextCursor": "2" }),
            ("tools/list", Some(_)) => json!({ "tools": entry("later") }),
            ("prompts/list", _) => json!({ "prompts": entry("prompt") }),
            ("subscriptions/listen", _) => {
                let news = futures::stream::unfold(self.news.subscribe(), |mut news| async move {
                    let method = news.recv().await.ok()?;
                    Some((event(&Message::notification(method, None)), news))
                });
                return Ok(Answered { status: 200, session: None, content: Content::Stream(news.boxed()) });
            }
            _ => return Ok(Answered::one(200, &Message::error(Some(request.id.clone()), RpcError::new(-32601, "no")))),
        };
        for (key, value) in self.extra.lock().unwrap().as_object().unwrap() {
            result[key] = value.clone();
        }
        let answer = Message::result(request.id.clone(), result);
        match self.first.lock().unwrap().take() {
            None => Ok(Answered::one(200, &answer)),
            Some(method) => {
                let items = vec![event(&Message::notification(method, None)), event(&answer)];
                let content = Content::Stream(futures::stream::iter(items).boxed());
                Ok(Answered { status: 200, session: None, content })
            }
        }
    }

    fn spoken(&self) -> Spoken {
        Spoken { transport: "streamable_http", ..Spoken::default() }
    }
}

struct Stage {
    lister: Arc<Lister>,
    catalogue: Catalogue,
}

impl Stage {
    fn new(extra: Value, rule: Option<CacheRule>) -> Self {
        let lister = Arc::new(Lister {
            extra: Mutex::new(extra),
            asked: Mutex::default(),
            first: Mutex::default(),
            slow: Mutex::default(),
            news: tokio::sync::broadcast::Sender::new(16),
        });
        let clock = Arc::new(PausedClock(Instant::now()));
        let catalogue = Catalogue::new(Arc::<Lister>::clone(&lister), space("crm"), rule, clock, Commons::default());
        Self { lister, catalogue }
    }

    async fn list(&self, client: &Client, method: &str, params: Value) -> Value {
        one(&self.catalogue.call(&client.request("l", method, params)).await.unwrap())
    }

    async fn first_tool(&self, client: &Client) -> String {
        let listed = self.list(client, "tools/list", json!({})).await;
        listed["result"]["tools"][0]["name"].as_str().unwrap().into()
    }
}

fn client(agent: &str) -> Client {
    Client::modern(Route::One(space("crm"))).of(agent)
}

fn rule(lifetime: Option<u64>, shared: bool) -> Option<CacheRule> {
    Some(CacheRule { lifetime: lifetime.map(Duration::from_secs), shared })
}

#[tokio::test(start_paused = true)]
async fn a_list_is_kept_for_as_long_as_it_is_good() {
    for (extra, rule, seconds) in [
        (json!({ "ttlMs": 10_000, "cacheScope": "private" }), None, 10),
        (json!({ "ttlMs": 10_000, "cacheScope": "private" }), rule(Some(3), false), 3),
        (json!({ "ttlMs": 0 }), rule(Some(30), false), 30),
        (json!({}), rule(Some(30), true), 30),
        (json!({ "ttlMs": 10_000 }), rule(Some(0), true), 0),
        (json!({ "ttlMs": 10_000 }), rule(None, true), 10),
        (json!({ "ttlMs": 0 }), None, 0),
        (json!({}), None, 0),
    ] {
        let stage = Stage::new(extra.clone(), rule);
        let agent = client("a");
        assert_eq!(stage.first_tool(&agent).await, "tool-1", "{extra} {rule:?}");
        if seconds > 0 {
            advance(Duration::from_secs(seconds - 1)).await;
            let again = stage.list(&agent, "tools/list", json!({})).await;
            assert_eq!((&again["id"], &again["result"]["tools"][0]["name"]), (&json!("l"), &json!("tool-1")));
            assert_eq!(again["result"]["ttlMs"], 1000, "what is left of it: {extra} {rule:?}");
            advance(Duration::from_secs(1)).await;
        }
        assert_eq!(stage.first_tool(&agent).await, "tool-2", "{extra} {rule:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_one_agent_was_given_another_is_not() {
    for (scope, rule, expected) in [
        ("private", None, "tool-2"),
        ("public", None, "tool-1"),
        ("private", rule(None, true), "tool-1"),
        ("private", rule(Some(60), false), "tool-2"),
    ] {
        let stage = Stage::new(json!({ "ttlMs": 60_000, "cacheScope": scope }), rule);
        assert_eq!(stage.first_tool(&client("a")).await, "tool-1");
        assert_eq!(stage.first_tool(&client("b")).await, expected, "{scope} {rule:?}");
        assert_eq!(stage.first_tool(&client("a")).await, "tool-1", "each its own");
    }
    let stage = Stage::new(json!({ "ttlMs": 60_000, "cacheScope": "public" }), None);
    stage.first_tool(&client("a")).await;
    let mut legacy = Client::legacy(Route::One(space("crm")));
    let asked = legacy.request("l", "tools/list", json!({}));
    assert!(stage.catalogue.kept(&asked, &Page::asked_by(&asked, false).unwrap()).is_none(), "another revision");
    let readers = ["s-1", "s-2"].map(|session| {
        legacy.session = Some(session.into());
        Reader::of(legacy.request("l", "tools/list", json!({})).exchange(), false)
    });
    assert_ne!(readers[0], readers[1], "what a session declared is not known here");
    assert_eq!(readers[0].public(), None);
}

#[tokio::test(start_paused = true)]
async fn later_pages_end_with_the_first() {
    let stage = Stage::new(json!({ "ttlMs": 10_000 }), None);
    let agent = client("a");
    let later = json!({ "cursor": "2" });
    stage.list(&agent, "tools/list", later.clone()).await;
    stage.list(&agent, "tools/list", later.clone()).await;
    assert_eq!(stage.lister.asked("tools/list"), 2, "without its beginning a page is not kept");
    stage.first_tool(&agent).await;
    advance(Duration::from_secs(8)).await;
    stage.list(&agent, "tools/list", later.clone()).await;
    let again = stage.list(&agent, "tools/list", later.clone()).await;
    assert_eq!((stage.lister.asked("tools/list"), &again["result"]["ttlMs"]), (4, &json!(2000)));
    advance(Duration::from_secs(2)).await;
    stage.list(&agent, "tools/list", later).await;
    assert_eq!(stage.lister.asked("tools/list"), 5);
}

#[tokio::test(start_paused = true)]
async fn what_has_changed_is_dropped_and_nothing_else() {
    let stage = Stage::new(json!({ "ttlMs": 60_000 }), None);
    let agent = client("a");
    stage.first_tool(&agent).await;
    stage.list(&agent, "prompts/list", json!({})).await;
    for method in ["notifications/resources/list_changed", "notifications/progress", "tools/list"] {
        stage.catalogue.changed(method);
    }
    assert_eq!(stage.first_tool(&agent).await, "tool-1");
    stage.catalogue.changed("notifications/tools/list_changed");
    assert_eq!(stage.first_tool(&agent).await, "tool-2");
    stage.list(&agent, "prompts/list", json!({})).await;
    assert_eq!(stage.lister.asked("prompts/list"), 1);

    // On its own stream: within one that brings the list, the list may be older than the news.
    stage.catalogue.changed("notifications/tools/list_changed");
    *stage.lister.first.lock().unwrap() = Some("notifications/tools/list_changed");
    let answered = stage.catalogue.call(&agent.request("s", "tools/list", json!({}))).await.unwrap();
    let mut items = stream(answered);
    while next(&mut items).await.unwrap().is_some() {}
    assert_eq!(stage.first_tool(&agent).await, "tool-4", "not kept");
    *stage.lister.first.lock().unwrap() = Some("notifications/message");
    stage.catalogue.changed("notifications/tools/list_changed");
    let answered = stage.catalogue.call(&agent.request("s", "tools/list", json!({}))).await.unwrap();
    let mut items = stream(answered);
    while next(&mut items).await.unwrap().is_some() {}
    assert_eq!(stage.first_tool(&agent).await, "tool-5", "a list in a stream is a list");
}

#[tokio::test(start_paused = true)]
async fn an_upstream_whose_lists_are_kept_is_listened_to() {
    let stage = Stage::new(json!({ "ttlMs": 60_000 }), None);
    let agent = client("a");
    stage.first_tool(&agent).await;
    stage.list(&client("b"), "tools/list", json!({})).await;
    tokio::task::yield_now().await;
    assert_eq!(stage.lister.asked("subscriptions/listen"), 1, "one stream for all");
    while stage.lister.news.receiver_count() == 0 {
        tokio::task::yield_now().await;
    }
    stage.lister.news.send("notifications/tools/list_changed").unwrap();
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    assert_eq!(stage.first_tool(&agent).await, "tool-3");
    stage.catalogue.stop().await;
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    assert_eq!(stage.lister.news.receiver_count(), 0, "nobody listens any more");

    let short = Stage::new(json!({ "ttlMs": 5_000 }), None);
    short.first_tool(&agent).await;
    tokio::task::yield_now().await;
    assert_eq!(short.lister.asked("subscriptions/listen"), 0, "not worth it");
}

#[tokio::test(start_paused = true)]
async fn a_conversation_about_a_list_is_not_kept() {
    let stage = Stage::new(json!({ "ttlMs": 60_000 }), None);
    let agent = client("a");
    for params in [json!({ "inputResponses": {} }), json!({ "requestState": "s" })] {
        stage.list(&agent, "tools/list", params.clone()).await;
        stage.list(&agent, "tools/list", params).await;
    }
    assert_eq!(stage.lister.asked("tools/list"), 4);
    *stage.lister.extra.lock().unwrap() = json!({ "ttlMs": 60_000, "resultType": "input_required" });
    stage.first_tool(&agent).await;
    stage.first_tool(&agent).await;
    assert_eq!(stage.lister.asked("tools/list"), 6);
}

#[tokio::test(start_paused = true)]
async fn what_a_tool_looks_like_is_remembered_or_asked_for() {
    let stage = Stage::new(json!({ "ttlMs": 0 }), None);
    let agent = client("a");
    let asks = agent.call_tool("c", "crm/always", json!({}));
    stage.first_tool(&agent).await;
    let known = stage.catalogue.definition(asks.exchange(), "tool-1").await.unwrap().unwrap();
    assert_eq!((&known["name"], stage.lister.asked("tools/list")), (&json!("tool-1"), 1), "from the list it saw");
    let found = stage.catalogue.definition(asks.exchange(), "later-3").await;
    assert_eq!(found.unwrap().unwrap()["name"], "later-3", "on the second page of a list of our own");
    assert_eq!(stage.lister.asked("tools/list"), 3);
    assert_eq!(stage.catalogue.definition(asks.exchange(), "nothing").await.unwrap(), None);
    assert_eq!(stage.lister.asked("tools/list"), 3, "the whole list is known");
    advance(Duration::from_secs(61)).await;
    assert_eq!(stage.catalogue.definition(asks.exchange(), "tool-1").await.unwrap(), None, "not any more");
    assert_eq!(stage.lister.asked("tools/list"), 5);
    let other = client("b").call_tool("c", "crm/always", json!({}));
    assert!(stage.catalogue.definition(other.exchange(), "always").await.unwrap().is_some());
    assert_eq!(stage.lister.asked("tools/list"), 7, "another agent may be shown another tool");
}

#[tokio::test(start_paused = true)]
async fn those_who_ask_at_the_same_time_share_one_answer_if_it_may_be_shared() {
    for (extra, same, each) in [
        (json!({ "ttlMs": 10_000 }), 1, 3),
        (json!({ "ttlMs": 10_000, "cacheScope": "public" }), 1, 1),
        (json!({ "ttlMs": 0 }), 3, 3),
    ] {
        let stage = Stage::new(extra.clone(), None);
        *stage.lister.slow.lock().unwrap() = Duration::from_secs(1);
        // What becomes of such lists is known from the first.
        stage.list(&client("first"), "prompts/list", json!({})).await;
        let three = |agents: [&'static str; 3]| {
            let stage = &stage;
            futures::future::join_all(agents.map(|agent| async move {
                stage.list(&client(agent), "prompts/list", json!({})).await;
            }))
        };
        stage.catalogue.changed("notifications/prompts/list_changed");
        three(["a", "a", "a"]).await;
        assert_eq!(stage.lister.asked("prompts/list") - 1, same, "one agent, three times: {extra}");
        stage.catalogue.changed("notifications/prompts/list_changed");
        three(["a", "b", "c"]).await;
        assert_eq!(stage.lister.asked("prompts/list") - 1 - same, each, "three agents: {extra}");
    }
    let stage = Stage::new(json!({ "ttlMs": 0 }), None);
    *stage.lister.slow.lock().unwrap() = Duration::from_secs(1);
    let asks = client("a").call_tool(1, "crm/always", json!({ "arguments": {} }));
    let defined = || stage.catalogue.definition(asks.exchange(), "always");
    let (one, other) = tokio::join!(defined(), defined());
    let (one, other) = (one.unwrap(), other.unwrap());
    assert!(one.is_some() && one == other);
    assert_eq!(stage.lister.asked("tools/list"), 2, "both pages, once");
}
