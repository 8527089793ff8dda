//! What the gateway says unasked on a wire that has no GET.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use gateway_core::gateway::Verb;
use gateway_core::refusal::AnswerBody;
use gateway_protocol::{sse, wire};

use super::Conversation;
use crate::edge::handled;

/// Between two tries of a stream that ended.
const REOPEN: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

impl Conversation {
    /// Opens the stream of news that a client of Streamable HTTP would open with GET.
    pub(super) fn listen(self: &Arc<Self>) {
        let mut state = self.lock();
        if state.listening || state.settled.session.is_none() {
            return;
        }
        state.listening = true;
        let own = Arc::clone(self);
        let task = tokio::spawn(async move { own.news().await });
        state.helpers.push(task.abort_handle());
    }

    async fn news(&self) {
        let (mut pause, longest) = REOPEN;
        let mut last = None;
        while let Some(mut inbound) = self.in_session(Verb::Get) {
            inbound.headers.last_event_id.clone_from(&last);
            // Anything but a stream means that there is none to be had.
            let AnswerBody::Events(mut events) = handled(&self.gateway, inbound).await.body else {
                return;
            };
            while let Some(frame) = events.next().await {
                pause = REOPEN.0;
                if let sse::Frame::Event(event) = &frame {
                    last = event.id.clone().or(last);
                }
                if let Some(data) = wire::message_of(frame) {
                    self.say(data).await;
                }
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(longest);
        }
    }
}
