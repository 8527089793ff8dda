//! The GET stream of a legacy session, fed by `subscriptions/listen`.

use super::*;
use std::time::Duration;

use futures::channel::mpsc::UnboundedSender;

fn acknowledged(feed: &UnboundedSender<Value>) {
    let meta = json!({ "io.modelcontextprotocol/subscriptionId": "x" });
    let params = json!({ "notifications": {}, "_meta": meta });
    feed.unbounded_send(notification("notifications/subscriptions/acknowledged", &params)).unwrap();
}

fn changed(feed: &UnboundedSender<Value>) {
    let meta = json!({ "io.modelcontextprotocol/subscriptionId": "x" });
    feed.unbounded_send(notification("notifications/tools/list_changed", &json!({ "_meta": meta }))).unwrap();
}

async fn listen(bridge: &Bridge, client: &Client) -> crate::testing::Events {
    stream(bridge.call(&client.permit(Ask::Listen { last_event_id: None })).await.unwrap())
}

fn filters(upstream: &FakeModern) -> Vec<Value> {
    let listens = upstream.asked().into_iter().filter(|asked| asked["method"] == "subscriptions/listen");
    listens.map(|asked| asked["params"]["notifications"].clone()).collect()
}

#[tokio::test(start_paused = true)]
async fn news_come_while_somebody_reads() {
    let (upstream, bridge, client) = ready(&json!({}), "2025-06-18").await;
    assert_eq!(bridge.call(&legacy_client().permit(Ask::Listen { last_event_id: None })).await.unwrap().status, 405);
    let feed = upstream.live();
    let mut events = listen(&bridge, &client).await;
    acknowledged(&feed);
    changed(&feed);
    let news = next(&mut events).await.unwrap().unwrap();
    assert_eq!(news, json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }));
    assert_eq!(filters(&upstream), [json!({ "toolsListChanged": true })], "only what the server can tell");
    drop(events);
    assert!(feed.is_closed(), "nobody reads, nobody listens");
}

#[tokio::test(start_paused = true)]
async fn a_subscription_is_in_force_when_it_is_answered() {
    let (upstream, bridge, client) = ready(&json!({}), "2025-11-25").await;
    let first = upstream.live();
    let second = upstream.live();
    let third = upstream.live();
    acknowledged(&first);
    acknowledged(&second);
    acknowledged(&third);
    let mut events = listen(&bridge, &client).await;
    let reader = tokio::spawn(async move { (next(&mut events).await, events) });
    tokio::time::sleep(Duration::from_millis(1)).await;
    let subscribe = client.request(1, "resources/subscribe", json!({ "uri": "a://b" }));
    assert_eq!(one(&bridge.call(&subscribe).await.unwrap())["result"], json!({}));
    let wanted = json!({ "toolsListChanged": true, "resourceSubscriptions": ["a://b"] });
    assert_eq!(filters(&upstream).last(), Some(&wanted));
    assert!(first.is_closed());
    second.unbounded_send(notification("notifications/resources/updated", &json!({ "uri": "a://b" }))).unwrap();
    let (news, mut events) = reader.await.unwrap();
    assert_eq!(news.unwrap().unwrap()["params"], json!({ "uri": "a://b" }));
    let reader = tokio::spawn(async move { next(&mut events).await });
    let unsubscribe = client.request(2, "resources/unsubscribe", json!({ "uri": "a://b" }));
    bridge.call(&unsubscribe).await.unwrap();
    assert_eq!(filters(&upstream).last(), Some(&json!({ "toolsListChanged": true })));
    bridge.call(&client.permit(Ask::EndSession)).await.unwrap();
    assert_eq!(reader.await.unwrap().unwrap(), None, "the session's end is the stream's");
}

#[tokio::test(start_paused = true)]
async fn a_broken_stream_is_opened_again() {
    let (upstream, bridge, client) = ready(&json!({}), "2025-11-25").await;
    upstream.says(Said::Error(503, -32603));
    let first = upstream.live();
    let second = upstream.live();
    drop(first);
    changed(&second);
    let started = tokio::time::Instant::now();
    let mut events = listen(&bridge, &client).await;
    assert!(next(&mut events).await.unwrap().is_some());
    assert_eq!(started.elapsed().as_secs(), 3, "one second, then two");
    assert_eq!(filters(&upstream).len(), 3);
    let third = upstream.live();
    drop(second);
    changed(&third);
    let started = tokio::time::Instant::now();
    assert!(next(&mut events).await.unwrap().is_some());
    assert_eq!(started.elapsed(), Duration::from_secs(1), "it had recovered in between");
}

#[tokio::test(start_paused = true)]
async fn a_newer_reader_takes_over() {
    let (upstream, bridge, client) = ready(&json!({}), "2025-11-25").await;
    let first = upstream.live();
    let second = upstream.live();
    changed(&first);
    let mut older = listen(&bridge, &client).await;
    assert!(next(&mut older).await.unwrap().is_some());
    let mut newer = listen(&bridge, &client).await;
    assert_eq!(next(&mut older).await.unwrap(), None);
    changed(&second);
    assert!(next(&mut newer).await.unwrap().is_some());
}
