//! What a client missed when its connection broke: events of a call's stream, kept for a while and given again from the one
//! it saw last.
//!
//! Kept are only streams of the session eras whose upstream numbers no events itself; others are resumed where they were
//! numbered. No clock here: the time is passed in.

use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
use gateway_protocol::sse;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::home::Home;
use crate::ports::Seal;

const PREFIX: &str = "pr.";
const EVENTS_PER_STREAM: usize = 256;
const BYTES_PER_STREAM: usize = 1024 * 1024;
const STREAMS_PER_SESSION: usize = 32;
const BYTES: usize = 64 * 1024 * 1024;
/// After a stream's end.
const KEPT: SignedDuration = SignedDuration::from_mins(5);
/// Longer than any event id of ours.
const LONGEST_ID: usize = 1024;
const LOOK_EVERY: SignedDuration = SignedDuration::from_secs(15);

/// Whether an event id is one of ours.
pub fn is_ours(event_id: &str) -> bool {
    event_id.starts_with(PREFIX)
}

/// Where a stream is kept, as its events' ids say it: sealed, so that nobody can send a node to an address of his own.
#[derive(Serialize, Deserialize)]
struct Kept {
    tape: Home,
}

/// What the ids of a stream that is kept here end with, for clients whose session does not say where it lives.
pub fn mark(home: &Home, seal: &dyn Seal) -> Option<String> {
    home.at.as_ref()?;
    let kept = Kept { tape: home.clone() };
    Some(seal.seal(&serde_json::to_vec(&kept).ok()?)).filter(|mark| mark.len() < LONGEST_ID / 2)
}

/// The node that keeps the stream of this event, if its id says so.
pub fn kept_at(event_id: &str, seal: &dyn Seal) -> Option<Home> {
    let ours = event_id.strip_prefix(PREFIX).filter(|_| event_id.len() <= LONGEST_ID)?;
    let mark = ours.splitn(3, '.').nth(2)?;
    serde_json::from_slice::<Kept>(&seal.open(mark)?).ok().map(|kept| kept.tape)
}

#[derive(Default)]
pub struct Replays {
    sessions: Mutex<Sessions>,
    bytes: Arc<AtomicUsize>,
}

#[derive(Default)]
struct Sessions {
    tapes: HashMap<String, VecDeque<Arc<Tape>>>,
    looked: Option<Timestamp>,
}

/// One stream's events, as far as they are kept.
struct Tape {
    stream: Uuid,
    mark: Option<String>,
    reel: Mutex<Reel>,
    all_bytes: Arc<AtomicUsize>,
}

#[derive(Default)]
struct Reel {
    events: VecDeque<(u64, sse::Event)>,
    bytes: usize,
    next: u64,
    ended: bool,
    /// When its end was first noticed.
    noticed: Option<Timestamp>,
    waiting: Vec<Waker>,
}

impl Replays {
    /// Begins to keep a stream of this session. The mark is put on every event's id.
    pub fn open(&self, session: &str, stream: Uuid, mark: Option<String>, now: Timestamp) -> Recording {
        let tape = Arc::new(Tape { stream, mark, reel: Mutex::default(), all_bytes: Arc::clone(&self.bytes) });
        let mut sessions = lock(&self.sessions);
        sessions.forget_old(now, self.bytes.load(Ordering::Relaxed) > BYTES);
        let tapes = sessions.tapes.entry(session.to_owned()).or_default();
        if tapes.len() >= STREAMS_PER_SESSION {
            tapes.pop_front();
        }
        tapes.push_back(Arc::clone(&tape));
        Recording { tape }
    }

    /// What follows this event, and then what still comes. `None`: nothing of it is kept, and nothing more will come.
    pub fn after(&self, session: &str, event_id: &str, now: Timestamp) -> Option<BoxStream<'static, sse::Frame>> {
        let (stream, number) = event_id.strip_prefix(PREFIX)?.split_once('.')?;
        let number = number.split_once('.').map_or(number, |(number, _mark)| number);
        let (stream, number) = (Uuid::try_parse(stream).ok()?, number.parse::<u64>().ok()?);
        let mut sessions = lock(&self.sessions);
        sessions.forget_old(now, false);
        let tape = Arc::clone(sessions.tapes.get(session)?.iter().find(|tape| tape.stream == stream)?);
        drop(sessions);
        let next = number.checked_add(1)?;
        {
            let reel = lock(&tape.reel);
            if reel.ended && next >= reel.next {
                return None;
            }
        }
        Some(Replay { tape, next }.boxed())
    }
}

impl Sessions {
    fn forget_old(&mut self, now: Timestamp, crowded: bool) {
        let recently = self.looked.is_some_and(|looked| now.duration_since(looked) < LOOK_EVERY);
        if recently && !crowded {
            return;
        }
        self.looked = Some(now);
        self.tapes.retain(|_, tapes| {
            tapes.retain(|tape| !tape.is_over(now, crowded));
            !tapes.is_empty()
        });
    }
}

impl Tape {
    /// Where memory is short, what has ended is given up first.
    fn is_over(&self, now: Timestamp, crowded: bool) -> bool {
        let mut reel = lock(&self.reel);
        if !reel.ended {
            return false;
        }
        let noticed = *reel.noticed.get_or_insert(now);
        crowded || now.duration_since(noticed) >= KEPT
    }
}

impl Drop for Tape {
    fn drop(&mut self) {
        self.all_bytes.fetch_sub(lock(&self.reel).bytes, Ordering::Relaxed);
    }
}

/// A stream that is being kept. Dropped: it has ended.
pub struct Recording {
    tape: Arc<Tape>,
}

impl Recording {
    /// Keeps the event, under the id that it gets here.
    pub fn add(&mut self, event: &mut sse::Event) {
        let mut reel = lock(&self.tape.reel);
        let number = reel.next;
        let mut id = format!("{PREFIX}{}.{number}", self.tape.stream.simple());
        if let Some(mark) = &self.tape.mark {
            id.push('.');
            id.push_str(mark);
        }
        event.id = Some(id);
        reel.next += 1;
        let size = event.data.len();
        reel.bytes += size;
        reel.events.push_back((number, event.clone()));
        let mut all = self.tape.all_bytes.fetch_add(size, Ordering::Relaxed) + size;
        // A gap is better than a flood: whoever resumes before it goes on behind it.
        while reel.events.len() > EVENTS_PER_STREAM || reel.bytes > BYTES_PER_STREAM || all > BYTES {
            let Some((_, oldest)) = reel.events.pop_front() else { break };
            reel.bytes -= oldest.data.len();
            self.tape.all_bytes.fetch_sub(oldest.data.len(), Ordering::Relaxed);
            all -= oldest.data.len();
        }
        reel.wake();
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        let mut reel = lock(&self.tape.reel);
        reel.ended = true;
        reel.wake();
    }
}

impl Reel {
    fn wake(&mut self) {
        self.waiting.drain(..).for_each(Waker::wake);
    }
}

/// A kept stream, read again from some event on.
struct Replay {
    tape: Arc<Tape>,
    next: u64,
}

impl Stream for Replay {
    type Item = sse::Frame;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<sse::Frame>> {
        let this = &mut *self;
        let mut reel = lock(&this.tape.reel);
        let found = reel.events.iter().find(|(number, _)| *number >= this.next).cloned();
        match found {
            Some((number, event)) => {
                this.next = number + 1;
                Poll::Ready(Some(sse::Frame::Event(event)))
            }
            None if reel.ended => Poll::Ready(None),
            None => {
                if !reel.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                    reel.waiting.push(context.waker().clone());
                }
                Poll::Pending
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
