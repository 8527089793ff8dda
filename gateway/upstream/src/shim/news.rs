//! The stream of what the gateway says unasked, kept open while the client is there.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use gateway_protocol::wire;
use http::Method;

use super::Shim;

/// Between two tries of a stream that ended.
const REOPEN: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

impl Shim {
    pub(super) fn listen(self: &Arc<Self>) {
        let mut state = self.lock();
        if state.settled.session.is_some() && state.news.is_none() {
            let own = Arc::clone(self);
            state.news = Some(tokio::spawn(async move { own.news().await }).abort_handle());
        }
    }

    async fn news(&self) {
        let (mut pause, longest) = REOPEN;
        loop {
            let headers = self.headers(None);
            let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            if let Ok(answer) = self.carrier.send(Method::GET, None, &headers, Bytes::new()).await {
                if !answer.is_stream() {
                    return;
                }
                let mut events = answer.events();
                while let Some(Ok(frame)) = events.next().await {
                    pause = REOPEN.0;
                    if let Some(data) = wire::message_of(frame) {
                        self.say(data).await;
                    }
                }
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(longest);
        }
    }
}
