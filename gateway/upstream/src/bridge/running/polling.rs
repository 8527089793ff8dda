//! Streams that a legacy server ends before the answer, to be asked for the rest later: the polling of 2025-11-25. A modern
//! client knows nothing of it, so the gateway asks.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use gateway_core::ports::{Answered, Content, UpstreamError};
use gateway_protocol::sse;

use super::{Heard, Running, Source};

/// Where the server does not say how long it wants to be left alone, and the least and the most it may say.
const USUAL: Duration = Duration::from_secs(1);
const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(30);
/// Streams in a row that bring nothing new.
const MOST_EMPTY: u32 = 60;

/// What is known of a stream that may have to be asked for again.
#[derive(Default)]
pub(super) struct Polling {
    last: Option<String>,
    pause: Option<Duration>,
    empty: u32,
}

impl Polling {
    pub(super) fn saw(&mut self, event: &sse::Event) {
        if let Some(id) = event.id.as_ref().filter(|id| !id.is_empty()) {
            if self.last.as_ref() != Some(id) {
                self.empty = 0;
            }
            self.last = Some(id.clone());
        }
        if let Some(retry) = event.retry {
            self.pause = Some(Duration::from_millis(retry).clamp(SHORTEST, LONGEST));
        }
    }

    /// After which event to go on and when; `None` where the server named none, or has brought nothing for long.
    fn again(&mut self) -> Option<(String, Duration)> {
        self.empty += 1;
        let last = self.last.clone().filter(|_| self.empty <= MOST_EMPTY)?;
        Some((last, self.pause.unwrap_or(USUAL)))
    }
}

impl Running {
    /// The stream is over and the answer has not come.
    pub(super) fn ended_early(&mut self) -> Option<Heard> {
        let Some((last, pause)) = self.polling.again() else {
            self.source = Source::Over;
            return Some(Heard::Failed(self.not_mcp("a stream without an answer")));
        };
        let permit = self.permit.own_resumption(self.live.session().clone(), last);
        let inner = Arc::clone(self.live.inner());
        let rest = async move {
            tokio::time::sleep(pause).await;
            inner.call(&permit).await
        };
        self.source = Source::Resuming(rest.boxed());
        None
    }

    pub(super) fn resumed(&mut self, rest: Result<Answered, UpstreamError>) -> Option<Heard> {
        self.source = Source::Over;
        match rest {
            Ok(Answered { content: Content::Stream(items), .. }) => {
                self.source = Source::Open(items);
                None
            }
            Ok(_) => Some(Heard::Failed(self.not_mcp("a stream that ends early and cannot be resumed"))),
            // The call was taken in and may have been carried out, so it is not made again in another session.
            Err(UpstreamError::SessionGone(_)) => {
                self.end();
                self.live.lose();
                Some(Heard::Failed(self.not_mcp("a session that was gone before its answer came")))
            }
            Err(error) => Some(Heard::Failed(error)),
        }
    }
}
