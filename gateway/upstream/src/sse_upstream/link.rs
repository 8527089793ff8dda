//! One stream of the HTTP+SSE transport, and who waits for what on it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use gateway_core::ports::{StreamItem, UpstreamError};
use gateway_core::{BoxError, Namespace};
use gateway_protocol::revision::meta;
use gateway_protocol::sse::{Event, Frame};
use gateway_protocol::{Id, Message, Reply};
use http::uri::PathAndQuery;
use http::{Method, Uri};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use crate::http::carrier::Carrier;

/// What may wait for one reader; a reader that is further behind is cut off.
const WAITING: usize = 256;
/// News kept while nobody listens.
const BACKLOG: usize = 64;

type Item = Result<StreamItem, UpstreamError>;
pub(super) type Items = BoxStream<'static, Item>;

pub(super) struct Link {
    namespace: Namespace,
    carrier: Arc<Carrier>,
    endpoint: PathAndQuery,
    board: Arc<Board>,
    reader: AbortHandle,
}

pub(super) enum Opened {
    Link(Box<Link>),
    /// With this status, and without a stream.
    Refused(u16),
}

impl Drop for Link {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl Link {
    /// Opens the stream and waits for the address it names. Whoever opens it reads it, too: on the same runtime.
    pub(super) async fn open(
        namespace: Namespace,
        carrier: Arc<Carrier>,
        max_depth: usize,
    ) -> Result<Opened, UpstreamError> {
        let unreachable = |error: BoxError| UpstreamError::Unreachable(namespace.clone(), error);
        let not_mcp = |what: String| UpstreamError::NotMcp { namespace: namespace.clone(), what };
        let headers = [("accept", "text/event-stream")];
        let answer = carrier.send(Method::GET, None, &headers, Bytes::new()).await.map_err(unreachable)?;
        if !answer.is_stream() {
            let status = answer.status();
            return Ok(Opened::Refused(if status < 400 { 405 } else { status }));
        }
        let mut frames = answer.events();
        let endpoint = loop {
            match frames.next().await {
                Some(Ok(Frame::Event(event))) if event.event.as_deref() == Some("endpoint") => break event.data,
                Some(Ok(Frame::Comment(_))) => {}
                Some(Ok(Frame::Event(_))) => {
                    return Err(not_mcp("a stream that does not begin with `endpoint`".into()));
                }
                Some(Err(error)) => return Err(unreachable(error)),
                None => return Err(not_mcp("a stream that ended before it began".into())),
            }
        };
        let endpoint = own_address(carrier.outgoing().url(), &endpoint)
            .ok_or_else(|| not_mcp("an `endpoint` that is not an address of its own".into()))?;
        let board = Arc::new(Board { namespace: namespace.clone(), max_depth, state: Mutex::default() });
        let reading = Arc::clone(&board);
        let reader = tokio::spawn(async move {
            while let Some(Ok(frame)) = frames.next().await {
                if let Frame::Event(event) = frame
                    && let Err(what) = reading.arrived(event)
                {
                    tracing::warn!(namespace = %reading.namespace, "an upstream's stream is given up: {what}");
                    break;
                }
            }
            reading.over();
        });
        let reader = reader.abort_handle();
        Ok(Opened::Link(Box::new(Self { namespace, carrier, endpoint, board, reader })))
    }

    pub(super) fn is_over(&self) -> bool {
        self.board.lock().over
    }

    /// What will be said in answer to a request; `None` for what is not answered.
    pub(super) fn expect(&self, message: &Message) -> Option<Items> {
        let Message::Request(request) = message else {
            return None;
        };
        let token = message.meta().and_then(|given| Id::try_from(given.get(meta::PROGRESS_TOKEN)?.clone()).ok());
        let (sender, receiver) = mpsc::channel(WAITING);
        self.board.lock().waiting.push(Waiting { id: request.id.clone(), token, sender });
        Some(items(receiver))
    }

    /// The status alone: what there is to say comes on the stream.
    pub(super) async fn post(&self, message: &Message, carried: &[(String, String)]) -> Result<u16, UpstreamError> {
        let traced = carried.iter().filter(|(name, _)| matches!(name.as_str(), "traceparent" | "tracestate"));
        let headers: Vec<(&str, &str)> = traced.map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let sent = self.carrier.send(Method::POST, Some(&self.endpoint), &headers, message.to_vec().into()).await;
        let unreachable = |error| UpstreamError::Unreachable(self.namespace.clone(), error);
        let answer = sent.map_err(unreachable)?;
        let status = answer.status();
        // Read to its end, so that the connection can be used again.
        let _ = answer.whole().await;
        Ok(status)
    }

    /// What is said without having been asked for. A newer listener takes over from an older one.
    pub(super) fn listen(&self) -> Items {
        let (sender, receiver) = mpsc::channel(WAITING);
        let mut state = self.board.lock();
        for item in state.backlog.drain(..) {
            let _ = sender.try_send(Ok(item));
        }
        if !state.over {
            state.listener = Some(sender);
        }
        items(receiver)
    }
}

fn items(receiver: mpsc::Receiver<Item>) -> Items {
    stream::unfold(receiver, |mut receiver| async { Some((receiver.recv().await?, receiver)) }).boxed()
}

/// The path of an address at the same scheme, host and port as the stream's.
fn own_address(stream: &Uri, written: &[u8]) -> Option<PathAndQuery> {
    let written = std::str::from_utf8(written).ok()?.trim();
    if written.contains("://") {
        let named: Uri = written.parse().ok()?;
        let port = |uri: &Uri| uri.port_u16().or_else(|| Some(if uri.scheme_str()? == "https" { 443 } else { 80 }));
        let same = named.scheme() == stream.scheme()
            && named.host().zip(stream.host()).is_some_and(|(one, other)| one.eq_ignore_ascii_case(other))
            && port(&named) == port(stream)
            && !named.authority()?.as_str().contains('@');
        return same.then(|| named.path_and_query().cloned()).flatten();
    }
    if written.starts_with("//") {
        return None;
    }
    if written.starts_with('/') {
        return written.parse().ok();
    }
    if written.starts_with('?') {
        return format!("{}{written}", stream.path()).parse().ok();
    }
    let (folder, _) = stream.path().rsplit_once('/')?;
    format!("{folder}/{written}").parse().ok()
}

struct Board {
    namespace: Namespace,
    max_depth: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The youngest last.
    waiting: Vec<Waiting>,
    listener: Option<mpsc::Sender<Item>>,
    backlog: VecDeque<StreamItem>,
    over: bool,
}

struct Waiting {
    id: Id,
    token: Option<Id>,
    sender: mpsc::Sender<Item>,
}

impl Board {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn arrived(&self, event: Event) -> Result<(), String> {
        if event.data.is_empty() {
            return Ok(());
        }
        let reply = Reply::scan(event.data.clone(), self.max_depth).map_err(|refusal| refusal.message)?;
        let mut state = self.lock();
        // Those whose callers have gone wait for nothing.
        state.waiting.retain(|waiting| !waiting.sender.is_closed());
        if reply.is_final() {
            let asked = state.waiting.iter().position(|waiting| reply.id() == Some(&waiting.id));
            if let Some(place) = asked {
                let waiting = state.waiting.remove(place);
                let _ = waiting.sender.try_send(Ok(item(event, reply)));
            }
            return Ok(());
        }
        let place = state.place_for(&reply);
        let item = item(event, reply);
        let Some(place) = place else {
            state.tell(item);
            return Ok(());
        };
        // One that does not keep up is cut off, and not waited for.
        if state.waiting.get(place).is_some_and(|waiting| waiting.sender.try_send(Ok(item)).is_err()) {
            state.waiting.remove(place);
        }
        Ok(())
    }

    /// Nothing more will come: whoever waits is told so.
    fn over(&self) {
        let mut state = self.lock();
        state.over = true;
        state.listener = None;
        for waiting in state.waiting.drain(..) {
            let error = UpstreamError::Unreachable(self.namespace.clone(), "the stream ended".into());
            let _ = waiting.sender.try_send(Err(error));
        }
    }
}

impl State {
    /// Whose call something belongs to that is no answer: progress says so itself, news belongs to nobody, and a question
    /// was most likely caused by the youngest call.
    fn place_for(&self, reply: &Reply) -> Option<usize> {
        if let Some(token) = reply.progress_token() {
            return self.waiting.iter().position(|waiting| waiting.token.as_ref() == Some(&token));
        }
        let news = reply
            .method()
            .is_some_and(|method| method.ends_with("/list_changed") || method == "notifications/resources/updated");
        let heard = news && self.listener.is_some();
        if heard { None } else { self.waiting.len().checked_sub(1) }
    }

    fn tell(&mut self, item: StreamItem) {
        if let Some(listener) = &self.listener {
            if listener.try_send(Ok(item)).is_err() {
                self.listener = None;
            }
            return;
        }
        if self.backlog.len() == BACKLOG {
            self.backlog.pop_front();
        }
        self.backlog.push_back(item);
    }
}

fn item(event: Event, reply: Reply) -> StreamItem {
    // Its name is the old transport's own; its id would promise a resumption that there is not.
    StreamItem::Event { frame: Event::message(event.data), reply: Some(reply) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn posts_go_to_the_server_itself_and_nowhere_else() {
        let stream: Uri = "http://tools.example:8080/v1/sse".parse().unwrap();
        for (written, expected) in [
            ("/messages?session=1", Some("/messages?session=1")),
            ("messages/7", Some("/v1/messages/7")),
            ("?session=1", Some("/v1/sse?session=1")),
            ("http://tools.example:8080/m", Some("/m")),
            ("http://TOOLS.example:8080/m", Some("/m")),
            ("http://tools.example/m", None),
            ("https://tools.example:8080/m", None),
            ("http://evil.example:8080/m", None),
            ("http://user@tools.example:8080/m", None),
            ("//evil.example/m", None),
            ("", Some("/v1/")),
        ] {
            let found = own_address(&stream, written.as_bytes());
            assert_eq!(found.as_ref().map(PathAndQuery::as_str), expected, "{written}");
        }
    }
}
