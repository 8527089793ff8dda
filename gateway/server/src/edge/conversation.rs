//! One client on a wire that carries messages both ways: a WebSocket, or the HTTP+SSE transport.
//!
//! Each message goes through the gateway as a request of its own, judged and recorded like any other; the wire only knows
//! how to bring bytes in and out. What HTTP says in headers (the session, the negotiated revision) is remembered here.

mod news;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use gateway_core::Gateway;
use gateway_core::gateway::{Inbound, Verb, Wire};
use gateway_core::refusal::{Answer, AnswerBody};
use gateway_protocol::headers::{self, McpHeaders};
use gateway_protocol::json::DEFAULT_MAX_DEPTH;
use gateway_protocol::wire::{self, Settled};
use gateway_protocol::{Body, Id, Message, RpcError, code, message};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use super::door::Door;
use super::drain::Drain;
use super::{ABANDONED_TIME, handled};

/// Requests of one conversation under way at once.
const AT_ONCE: usize = 64;
/// Messages that may wait to be taken up.
const WAITING: usize = 64;
/// How long a notification or an answer holds up what comes after it. Their order matters (`initialized` comes before the
/// first call), but an upstream that is slow to take one may not stop the rest.
const IN_ORDER: Duration = Duration::from_secs(2);

/// Too much is waiting already.
#[derive(Debug)]
pub struct Full;

/// The wire's hold on its conversation: letting go ends it, however the wire came to its end.
pub struct Held(pub Arc<Conversation>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.end();
    }
}

pub struct Conversation {
    gateway: Arc<Gateway>,
    door: Door,
    inbox: mpsc::Sender<Bytes>,
    out: mpsc::Sender<Bytes>,
    tasks: TaskTracker,
    drain: Arc<Drain>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    settled: Settled,
    running: HashMap<Id, Running>,
    /// Takes up what comes, and the stream of news.
    helpers: Vec<AbortHandle>,
    listening: bool,
}

struct Running {
    task: AbortHandle,
    /// Of the stateless era: to cancel it is to drop it.
    modern: bool,
}

impl Conversation {
    /// What is said to the client comes out of `out`'s other end, a message at a time.
    pub fn new(gateway: &Arc<Gateway>, door: Door, out: mpsc::Sender<Bytes>, drain: &Arc<Drain>) -> Arc<Self> {
        let (inbox, mut arriving) = mpsc::channel(WAITING);
        let conversation = Arc::new(Self {
            gateway: Arc::clone(gateway),
            door,
            inbox,
            out,
            tasks: TaskTracker::new(),
            drain: Arc::clone(drain),
            state: Mutex::default(),
        });
        let own = Arc::clone(&conversation);
        let reader = tokio::spawn(async move {
            while let Some(body) = arriving.recv().await {
                own.heard(body).await;
            }
        });
        conversation.lock().helpers.push(reader.abort_handle());
        conversation
    }

    /// One message from the client.
    pub fn take(&self, body: Bytes) -> Result<(), Full> {
        self.inbox.try_send(body).map_err(|_| Full)
    }

    /// The client is gone. What the stateless era began is dropped, which cancels it; a call of the session eras goes on,
    /// but not for ever, and then its session is ended.
    fn end(self: &Arc<Self>) {
        let legacy = {
            let mut state = self.lock();
            for helper in state.helpers.drain(..) {
                helper.abort();
            }
            state.running.retain(|_, running| {
                if running.modern {
                    running.task.abort();
                }
                !running.modern
            });
            state.settled.session.is_some() || !state.running.is_empty()
        };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        if !legacy {
            return;
        }
        let (own, busy) = (Arc::clone(self), self.drain.enter());
        runtime.spawn(async move {
            let _busy = busy;
            own.tasks.close();
            if timeout(ABANDONED_TIME, own.tasks.wait()).await.is_err() {
                tracing::warn!("calls whose client had left did not end and were cut off");
                own.lock().running.drain().for_each(|(_, running)| running.task.abort());
            }
            if let Some(inbound) = own.in_session(Verb::Delete) {
                handled(&own.gateway, inbound).await;
            }
        });
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn heard(self: &Arc<Self>, body: Bytes) {
        // Read here only to keep order and to know what can be cancelled; the gateway reads it again and judges.
        let read = message::parse(&body, DEFAULT_MAX_DEPTH).ok();
        match read {
            Some(Body::One(Message::Request(request))) => {
                let modern = wire::is_modern(&Message::Request(request.clone()));
                self.begin(request.id, request.method == "initialize", modern, body).await;
            }
            Some(Body::One(said)) => {
                if self.cancels(&said) {
                    return;
                }
                let initialized = said.method() == Some("notifications/initialized");
                let inbound = self.inbound(body, wire::is_modern(&said));
                let own = Arc::clone(self);
                let told = self.tasks.spawn(async move { own.speak(inbound, None, false).await });
                // It goes on by itself if it takes longer.
                let _ = timeout(IN_ORDER, told).await;
                if initialized {
                    self.listen();
                }
            }
            // A batch, or nothing that can be read: the gateway knows what to say.
            _ => {
                let inbound = self.inbound(body, false);
                let own = Arc::clone(self);
                self.tasks.spawn(async move { own.speak(inbound, None, false).await });
            }
        }
    }

    async fn begin(self: &Arc<Self>, id: Id, opens: bool, modern: bool, body: Bytes) {
        let inbound = self.inbound(body, modern);
        let refused = {
            let mut state = self.lock();
            if state.running.contains_key(&id) {
                Some(RpcError::new(code::INVALID_REQUEST, "another request with this id is under way"))
            } else if state.running.len() >= AT_ONCE {
                let text = format!("{AT_ONCE} requests of this conversation are under way already");
                Some(RpcError::new(code::LIMITED, text))
            } else {
                let (own, answered) = (Arc::clone(self), id.clone());
                // Registered under the same lock, so that even one that ends at once finds itself here and leaves.
                let task = self.tasks.spawn(async move {
                    own.speak(inbound, Some(&answered), opens).await;
                    own.lock().running.remove(&answered);
                });
                state.running.insert(id.clone(), Running { task: task.abort_handle(), modern });
                None
            }
        };
        if let Some(error) = refused {
            let _ = self.out.send(Message::error(Some(id), error).to_vec().into()).await;
        }
    }

    /// True when a request of the stateless era was cancelled: there is nobody else who would have to hear of it.
    fn cancels(&self, said: &Message) -> bool {
        let mut state = self.lock();
        match wire::cancelled(said) {
            Some(id) if state.running.get(&id).is_some_and(|running| running.modern) => {
                if let Some(running) = state.running.remove(&id) {
                    running.task.abort();
                }
                true
            }
            _ => false,
        }
    }

    fn inbound(&self, body: Bytes, modern: bool) -> Inbound {
        let verb = Verb::Post(body);
        if modern {
            return self.door.inbound(verb, McpHeaders::default(), Wire::Messages);
        }
        let headers = self.lock().settled.headers();
        // Once a revision is negotiated, it is what the header would have said on HTTP.
        let wire = if headers.protocol_version.is_some() { Wire::Http } else { Wire::Messages };
        self.door.inbound(verb, headers, wire)
    }

    fn in_session(&self, verb: Verb) -> Option<Inbound> {
        let headers = self.lock().settled.headers();
        headers.session_id.is_some().then(|| self.door.inbound(verb, headers, Wire::Http))
    }

    /// Asks the gateway and passes on all it answers. `id` is the request that must not stay without an answer.
    async fn speak(&self, inbound: Inbound, id: Option<&Id>, opens: bool) {
        let Answer { status, headers, body } = handled(&self.gateway, inbound).await;
        let session = headers.into_iter().find(|(name, _)| name.eq_ignore_ascii_case(headers::SESSION_ID));
        let mut session = session.map(|(_, value)| value);
        match body {
            AnswerBody::Empty => {
                if let Some(id) = id {
                    let error = RpcError::new(code::INTERNAL, format!("the answer was empty (status {status})"));
                    self.say(Message::error(Some(id.clone()), error).to_vec().into()).await;
                }
            }
            AnswerBody::Json(json) => {
                // Known before the client hears of it, because its next message relies on it.
                if opens {
                    self.lock().settled.learn(&json, &mut session);
                }
                self.say(match id {
                    Some(id) => wire::addressed(json, id),
                    None => json,
                })
                .await;
            }
            AnswerBody::Events(mut events) => {
                // To its end even if nobody listens any more: an answer of the session eras is still recorded.
                while let Some(frame) = events.next().await {
                    if let Some(data) = wire::message_of(frame) {
                        if opens {
                            self.lock().settled.learn(&data, &mut session);
                        }
                        self.say(data).await;
                    }
                }
            }
        }
    }

    async fn say(&self, message: Bytes) {
        let _ = self.out.send(message).await;
    }
}
