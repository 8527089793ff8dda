#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
use std::sync::atomic::{AtomicUsize, Ordering};

use gateway_core::Route;
use gateway_protocol::{Reply, sse};

use super::*;
use crate::testing::{Client, next, space, stream};

/// Sends these, each after a pause, on any stream; a JSON answer comes after the first pause.
struct Slow {
    messages: Vec<(Duration, Value)>,
    plain: bool,
    asked: Mutex<Vec<Value>>,
    dropped: Arc<AtomicUsize>,
}

struct CountsDrops(Arc<AtomicUsize>);

impl Drop for CountsDrops {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn item(value: &Value) -> StreamItem {
    let reply = Reply::scan(serde_json::to_vec(value).unwrap().into(), 128).unwrap();
    StreamItem::Event { frame: sse::Event::message(reply.raw().clone()), reply: Some(reply) }
}

#[async_trait]
impl Upstream for Slow {
    async fn call(&self, permit: &Permit) -> Result<Answered, UpstreamError> {
        let message = permit.exchange().message();
        self.asked.lock().unwrap().push(message.map_or(Value::Null, |message| serde_json::to_value(message).unwrap()));
        if matches!(message, Some(Message::Notification(_))) {
            return Ok(Answered::nothing(202));
        }
        let alive = CountsDrops(Arc::clone(&self.dropped));
        if self.plain {
            tokio::time::sleep(self.messages[0].0).await;
            return Ok(Answered::nothing(200));
        }
        let messages = self.messages.clone();
        let items = async_stream::stream! {
            let _alive = alive;
            for (pause, message) in messages {
                tokio::time::sleep(pause).await;
                yield Ok(item(&message));
            }
        };
        Ok(Answered { status: 200, session: None, content: Content::Stream(items.boxed()) })
    }
}

fn guarded(messages: Vec<(Duration, Value)>, plain: bool) -> (Guard, Arc<Slow>) {
    let upstream = Arc::new(Slow { messages, plain, asked: Mutex::default(), dropped: Arc::default() });
    let patience = Patience { timeout: seconds(60), longest: seconds(600), hold: seconds(300) };
    let vitals = Vitals::new(space("slow"), Arc::new(crate::testing::StillClock));
    (Guard::new(Arc::<Slow>::clone(&upstream), space("slow"), patience, vitals), upstream)
}

fn progress() -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": { "progressToken": 1, "progress": 1 } })
}

fn question() -> Value {
    json!({ "jsonrpc": "2.0", "id": "q", "method": "roots/list" })
}

fn legacy() -> Client {
    Client { session: Some("s".into()), ..Client::legacy(Route::One(space("slow"))) }
}

fn call(client: &Client, timeout: Option<u64>) -> Permit {
    let meta = timeout.map_or_else(|| json!({}), |timeout| json!({ TIMEOUT: timeout }));
    client.call_tool(7, "slow/t", json!({ "_meta": meta }))
}

#[tokio::test(start_paused = true)]
async fn an_answer_begins_in_time_or_the_call_has_failed() {
    for (pause, asked, passes) in [
        (59, None, true),
        (61, None, false),
        (3, Some(2_000), false),
        (61, Some(90_000), true),
        (601, Some(3_600_000), false),
    ] {
        let (guard, upstream) = guarded(vec![(seconds(pause), Value::Null)], true);
        let started = Instant::now();
        let answered = guard.call(&call(&legacy(), asked)).await;
        assert_eq!(answered.is_ok(), passes, "{pause} s with {asked:?}");
        if !passes {
            assert!(matches!(answered, Err(UpstreamError::TimedOut(_))));
            tokio::task::yield_now().await;
            let said = upstream.asked.lock().unwrap().clone();
            let cancel = json!({ "requestId": 7, "reason": "it took too long" });
            assert_eq!(said[1]["params"], cancel, "the upstream is told");
            let limit = asked.map_or(60, |asked| (asked / 1000).min(600));
            assert_eq!(started.elapsed().as_secs(), limit);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn only_legacy_upstreams_are_told_and_never_about_a_handshake() {
    let modern = Client::modern(Route::One(space("slow")));
    for permit in [call(&modern, None), legacy().request(1, "initialize", json!({}))] {
        let (guard, upstream) = guarded(vec![(seconds(70), Value::Null)], true);
        assert!(guard.call(&permit).await.is_err());
        tokio::task::yield_now().await;
        assert_eq!(upstream.asked.lock().unwrap().len(), 1);
        assert_eq!(upstream.dropped.load(Ordering::Relaxed), 1, "dropping it is what cancels");
    }
}

/// What a stream ended with, after how many messages and seconds.
async fn ending(guard: &Guard, permit: &Permit) -> (Option<UpstreamError>, usize, u64) {
    let started = Instant::now();
    let mut items = stream(guard.call(permit).await.unwrap());
    let mut messages = 0;
    let error = loop {
        match items.next().await {
            None => break None,
            Some(Err(error)) => break Some(error),
            Some(Ok(_)) => messages += 1,
        }
    };
    assert!(items.next().await.is_none(), "over is over");
    (error, messages, started.elapsed().as_secs())
}

#[tokio::test(start_paused = true)]
async fn a_stream_may_be_long_but_neither_silent_nor_endless() {
    let lively = vec![(seconds(50), progress()); 6];
    let silent = vec![(seconds(50), progress()), (seconds(61), progress())];
    let endless = vec![(seconds(50), progress()); 100];
    let asking = vec![(seconds(1), question()), (seconds(299), progress()), (seconds(1), progress())];
    let never_answered = vec![(seconds(1), question()), (seconds(500), progress())];
    for (name, messages, expected) in [
        ("lively", lively, (false, 6, 300)),
        ("silent", silent, (true, 1, 110)),
        ("endless", endless, (true, 11, 600)),
        ("a person thinks", asking, (false, 3, 301)),
        ("a person left", never_answered, (true, 1, 361)),
    ] {
        let (guard, upstream) = guarded(messages, false);
        let (error, messages, seconds) = ending(&guard, &call(&legacy(), None)).await;
        assert_eq!((error.is_some(), messages, seconds), expected, "{name}");
        tokio::task::yield_now().await;
        let cancelled = upstream.asked.lock().unwrap().len() - 1;
        assert_eq!(cancelled, usize::from(error.is_some()), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn listening_has_no_end() {
    let modern = Client::modern(Route::One(space("slow")));
    for permit in [
        legacy().permit(Ask::Listen { last_event_id: None }),
        modern.request(1, "subscriptions/listen", json!({ "notifications": {} })),
    ] {
        let (guard, _) = guarded(vec![(seconds(5_000), progress()), (seconds(5_000), progress())], false);
        let (error, messages, seconds) = ending(&guard, &permit).await;
        assert_eq!((error.is_none(), messages, seconds), (true, 2, 10_000));
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_on_the_sessions_own_stream_excuses_a_silent_call() {
    let (guard, _) = guarded(vec![(seconds(10), question()), (seconds(200), progress())], false);
    let mut news = stream(guard.call(&legacy().permit(Ask::Listen { last_event_id: None })).await.unwrap());
    next(&mut news).await.unwrap();
    let (mut silent, _) = guarded(vec![(seconds(250), progress())], false);
    silent.excused = Arc::clone(&guard.excused);
    let (error, messages, _) = ending(&silent, &call(&legacy(), None)).await;
    assert_eq!((error.is_none(), messages), (true, 1));
}
