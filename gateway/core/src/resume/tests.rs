#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
use futures::FutureExt;

use super::*;
use crate::testing::PlainSeal;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn add(recording: &mut Recording, text: &str) -> String {
    let mut event = sse::Event::message(text.to_owned());
    recording.add(&mut event);
    event.id.unwrap()
}

/// What the stream says now; `None` at the end means that it is over.
fn read(stream: &mut BoxStream<'static, sse::Frame>) -> Vec<Option<String>> {
    let mut said = Vec::new();
    while let Some(frame) = stream.next().now_or_never() {
        let Some(sse::Frame::Event(event)) = frame else {
            said.push(None);
            break;
        };
        said.push(Some(String::from_utf8(event.data.to_vec()).unwrap()));
    }
    said
}

fn texts(texts: &[&str]) -> Vec<Option<String>> {
    texts.iter().map(|text| (!text.is_empty()).then(|| (*text).to_owned())).collect()
}

#[test]
fn the_rest_comes_once_and_then_what_follows() {
    let replays = Replays::default();
    let mut recording = replays.open("s", Uuid::from_u128(1), None, NOW);
    let ids: Vec<_> = ["a", "b", "c"].iter().map(|text| add(&mut recording, text)).collect();
    assert!(is_ours(&ids[0]));
    let mut rest = replays.after("s", &ids[0], NOW).unwrap();
    assert_eq!(read(&mut rest), texts(&["b", "c"]));
    add(&mut recording, "d");
    assert_eq!(read(&mut rest), texts(&["d"]), "live");
    let last = add(&mut recording, "e");
    drop(recording);
    assert_eq!(read(&mut rest), texts(&["e", ""]));
    assert_eq!(read(&mut replays.after("s", &ids[2], NOW).unwrap()), texts(&["d", "e", ""]));
    assert!(replays.after("s", &last, NOW).is_none(), "all was seen and nothing will come");
    for (session, id) in [("other", ids[0].as_str()), ("s", "pr.x.0"), ("s", "pr."), ("s", "17")] {
        assert!(replays.after(session, id, NOW).is_none(), "{session} {id}");
    }
}

#[test]
fn an_event_says_where_its_stream_is_kept() {
    let home = Home { node: Uuid::from_u128(7), at: Some("http://10.0.0.7:8080".into()) };
    let replays = Replays::default();
    let mut recording = replays.open("s", Uuid::from_u128(1), mark(&home, &PlainSeal), NOW);
    let first = add(&mut recording, "a");
    add(&mut recording, "b");
    assert_eq!(kept_at(&first, &PlainSeal), Some(home.clone()));
    assert_eq!(read(&mut replays.after("s", &first, NOW).unwrap()), texts(&["b"]), "the mark is not in the way");
    let forged = format!("{PREFIX}{}.0.{}", Uuid::nil().simple(), r#"{"home":"http://elsewhere"}"#);
    for id in [forged.as_str(), "pr.x.0", "17", &"x".repeat(LONGEST_ID + 1)] {
        assert_eq!(kept_at(id, &PlainSeal), None, "{id}");
    }
    assert_eq!(mark(&Home { at: None, ..home }, &PlainSeal), None, "nobody could ask there");
}

#[test]
fn a_waiting_reader_is_woken() {
    let replays = Replays::default();
    let mut recording = replays.open("s", Uuid::from_u128(1), None, NOW);
    let first = add(&mut recording, "a");
    let mut rest = replays.after("s", &first, NOW).unwrap();
    let (waker, woken) = counting_waker();
    assert!(rest.poll_next_unpin(&mut Context::from_waker(&waker)).is_pending());
    add(&mut recording, "b");
    assert_eq!(woken.load(Ordering::SeqCst), 1);
}

fn counting_waker() -> (Waker, Arc<AtomicUsize>) {
    struct Counts(Arc<AtomicUsize>);
    impl std::task::Wake for Counts {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let woken = Arc::new(AtomicUsize::new(0));
    (Arc::new(Counts(Arc::clone(&woken))).into(), woken)
}

#[test]
fn what_is_kept_is_bounded() {
    let replays = Replays::default();
    let mut recording = replays.open("s", Uuid::from_u128(1), None, NOW);
    let first = add(&mut recording, "0");
    for n in 1..=300 {
        add(&mut recording, &n.to_string());
    }
    let rest = read(&mut replays.after("s", &first, NOW).unwrap());
    assert_eq!((rest.len(), rest[0].as_deref()), (EVENTS_PER_STREAM, Some("45")), "the oldest are gone");
    let large = "x".repeat(BYTES_PER_STREAM / 2);
    let before = add(&mut recording, "y");
    (0..3).for_each(|_| drop(add(&mut recording, &large)));
    assert_eq!(read(&mut replays.after("s", &before, NOW).unwrap()).len(), 2);
    for n in 2..=STREAMS_PER_SESSION as u128 + 1 {
        drop(replays.open("s", Uuid::from_u128(n), None, NOW));
    }
    assert!(replays.after("s", &before, NOW).is_none(), "a session keeps so many streams");
    drop(recording);
    assert_eq!(replays.bytes.load(Ordering::Relaxed), 0, "and gives their memory back");
}

#[test]
fn an_ended_stream_is_kept_for_a_while() {
    let replays = Replays::default();
    let mut recording = replays.open("s", Uuid::from_u128(1), None, NOW);
    let first = add(&mut recording, "a");
    add(&mut recording, "b");
    assert!(replays.after("s", &first, NOW + KEPT + KEPT).is_some(), "it goes on");
    drop(recording);
    let ended = NOW + KEPT + KEPT + LOOK_EVERY;
    assert!(replays.after("s", &first, ended).is_some());
    assert!(replays.after("s", &first, ended + KEPT).is_none());
    assert_eq!(replays.bytes.load(Ordering::Relaxed), 0);
}
