//! What of a stream is kept back for a moment, because what comes next may belong to it.
//!
//! Bounded in bytes and in time by whoever holds it, and never out of order: an event that comes while another is held
//! stands behind it.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Context;

use futures::future::BoxFuture;
use gateway_protocol::{Reply, sse};

use crate::chain::{Chain, Follow, Passed, Passing, Step};
use crate::content::Found;
use crate::exchange::Exchange;
use crate::ports::Clock;
use crate::verdict::Reason;

/// Events without a message that may stand behind one that is held.
const MOST_BARE: usize = 64;

pub(super) struct Held {
    /// Whose memory it is.
    plugin: &'static str,
    /// `None` once it failed: then nothing passes.
    follow: Option<Box<dyn Follow>>,
    frames: VecDeque<Frame>,
    clock: Arc<dyn Clock>,
    pause: Option<BoxFuture<'static, ()>>,
}

/// An event as it came; `bare` has no message in it.
struct Frame {
    event: sse::Event,
    bare: bool,
}

/// An event that goes on, and the message that it carries now.
pub(super) type Given = (sse::Event, Option<Passing>);

impl Held {
    pub(super) fn open(chain: &Chain, exchange: &Exchange, clock: &Arc<dyn Clock>) -> Option<Self> {
        let (plugin, follow) = chain.follow(exchange)?;
        let (frames, clock) = (VecDeque::new(), Arc::clone(clock));
        Some(Self { plugin, follow: Some(follow), frames, clock, pause: None })
    }

    pub(super) fn plugin(&self) -> &'static str {
        self.plugin
    }

    /// An event that carries nothing to look at.
    pub(super) fn bare(&mut self, event: sse::Event, found: &mut Found) -> Vec<Given> {
        if self.frames.is_empty() {
            return vec![(event, None)];
        }
        self.frames.push_back(Frame { event, bare: true });
        match self.frames.len() > MOST_BARE {
            true => self.end(found),
            false => Vec::new(),
        }
    }

    /// What may go on now. With a reason, that very message may not, and everything before it was given.
    pub(super) fn next(
        &mut self,
        event: sse::Event,
        reply: Reply,
        found: &mut Found,
    ) -> (Vec<Given>, Option<(sse::Event, Reason)>) {
        let Some(follow) = &mut self.follow else {
            let reason = Reason::new(self.plugin, "failed", "the plugin failed, so nothing passes it");
            return (Vec::new(), Some((event, reason)));
        };
        match catch_unwind(AssertUnwindSafe(|| follow.next(reply, found))) {
            Ok(Ok(Step::Give(replies))) => {
                self.frames.push_back(Frame { event, bare: false });
                let mut given = self.give(replies);
                // What stays behind it may be too much already.
                if self.is_full() {
                    given.extend(self.end(found));
                }
                (given, None)
            }
            Ok(Ok(Step::Hold)) => {
                self.frames.push_back(Frame { event, bare: false });
                let (time, _) = follow.bounds();
                if self.is_full() {
                    return (self.end(found), None);
                }
                if self.pause.is_none() {
                    self.pause = Some(self.clock.pause(time));
                }
                (Vec::new(), None)
            }
            Ok(Err(objection)) => {
                let reason = Reason::new(self.plugin, &objection.rule, objection.message);
                (self.end(found), Some((event, reason)))
            }
            Err(_) => {
                // What was held goes with it: nobody knows any more what it was held for.
                self.follow = None;
                self.frames.clear();
                let reason = Reason::new(self.plugin, "failed", "the plugin failed, so nothing passes it");
                (Vec::new(), Some((event, reason)))
            }
        }
    }

    /// Everything that is held.
    pub(super) fn end(&mut self, found: &mut Found) -> Vec<Given> {
        let Some(follow) = &mut self.follow else { return Vec::new() };
        match catch_unwind(AssertUnwindSafe(|| follow.end(found))) {
            Ok(replies) => self.give(replies),
            Err(_) => {
                self.follow = None;
                self.frames.clear();
                Vec::new()
            }
        }
    }

    /// Whether something has been held for as long as anything may be.
    pub(super) fn is_over(&mut self, context: &mut Context<'_>) -> bool {
        self.pause.as_mut().is_some_and(|pause| pause.as_mut().poll(context).is_ready())
    }

    fn is_full(&self) -> bool {
        self.follow.as_ref().is_some_and(|follow| follow.held() > follow.bounds().1)
    }

    fn give(&mut self, replies: Passed) -> Vec<Given> {
        let mut given = Vec::new();
        for reply in replies {
            while let Some(Frame { event, .. }) = self.frames.pop_front_if(|frame| frame.bare) {
                given.push((event, None));
            }
            // Whatever may not pass takes its event with it: nobody waits for a notification.
            if let (Some(Frame { event, .. }), Some(passing)) = (self.frames.pop_front(), reply) {
                given.push((event, Some(passing)));
            }
        }
        while let Some(Frame { event, .. }) = self.frames.pop_front_if(|frame| frame.bare) {
            given.push((event, None));
        }
        // Whatever is still held came later, and has its own time.
        let waits = (!self.frames.is_empty()).then(|| self.follow.as_ref().map(|follow| follow.bounds().0)).flatten();
        self.pause = waits.map(|time| self.clock.pause(time));
        given
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use gateway_protocol::Message;

    use super::*;
    use crate::content::Action;
    use crate::testing::FixedClock;
    use crate::verdict::Objection;

    /// Holds everything but what it is told to give, keeps `kept` bytes back for ever, and finds something whenever it is asked.
    struct Keeper {
        held: Vec<Reply>,
        gives: bool,
        kept: usize,
    }

    impl Keeper {
        fn passed(&mut self, found: &mut Found) -> Passed {
            found.add(&"email".into(), Action::Mask, 1);
            // Every second message may not pass.
            self.held.drain(..).enumerate().map(|(at, reply)| (at % 2 == 0).then_some(reply.into())).collect()
        }
    }

    impl Follow for Keeper {
        fn next(&mut self, reply: Reply, found: &mut Found) -> Result<Step, Objection> {
            self.held.push(reply);
            if self.gives { Ok(Step::Give(self.passed(found))) } else { Ok(Step::Hold) }
        }

        fn end(&mut self, found: &mut Found) -> Passed {
            self.kept = 0;
            self.passed(found)
        }

        fn held(&self) -> usize {
            self.kept
        }
    }

    fn held(gives: bool, kept: usize) -> Held {
        let follow: Box<dyn Follow> = Box::new(Keeper { held: Vec::new(), gives, kept });
        let clock: Arc<dyn Clock> = Arc::new(FixedClock::default());
        Held { plugin: "dlp", follow: Some(follow), frames: VecDeque::new(), clock, pause: None }
    }

    fn event(name: &str) -> (sse::Event, Reply) {
        let reply = Reply::from_message(&Message::notification(name, None));
        (sse::Event::message(reply.raw().clone()), reply)
    }

    fn count(found: &Found) -> u32 {
        found.iter().map(|finding| finding.count).sum()
    }

    #[test]
    fn what_may_not_pass_takes_its_event_with_it() {
        let (mut held, mut found) = (held(false, 0), Found::default());
        for name in ["a", "b", "c"] {
            let (frame, reply) = event(name);
            assert!(held.next(frame, reply, &mut found).0.is_empty());
        }
        let given = held.end(&mut found);
        let shown: Vec<_> =
            given.iter().map(|(frame, given)| (&frame.data, given.as_ref().unwrap().reply.raw())).collect();
        assert_eq!(shown.len(), 2, "`b` is left out, and its event with it");
        assert!(shown.iter().all(|(frame, reply)| frame == reply), "each message in its own event: {shown:?}");
    }

    #[test]
    fn what_is_found_because_events_pile_up_is_told() {
        let (mut held, mut found) = (held(false, 0), Found::default());
        let (frame, reply) = event("a");
        held.next(frame, reply, &mut found);
        let given: Vec<_> = (0..=MOST_BARE).flat_map(|_| held.bare(sse::Event::message("ping"), &mut found)).collect();
        assert!(given.len() > MOST_BARE, "{}", given.len());
        assert_eq!(count(&found), 1);
    }

    #[test]
    fn too_much_is_not_held_behind_what_is_given() {
        let (mut held, mut found) = (held(true, 5000), Found::default());
        let (frame, reply) = event("a");
        let (given, refused) = held.next(frame, reply, &mut found);
        assert!(given.len() == 1 && refused.is_none());
        assert_eq!(count(&found), 2, "it was asked for all that it held, too");
        assert!(!held.is_full());
    }
}
