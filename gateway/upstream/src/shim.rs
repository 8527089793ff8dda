//! A stdio MCP server in front of a gateway that is reached over HTTP: lines in, messages out.
//!
//! It adds nothing and decides nothing. What HTTP wants in headers is derived from the messages themselves, the session is
//! remembered, and only messages ever go to the output.

mod answers;
mod known;
mod lines;
mod news;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use gateway_core::BoxError;
use gateway_protocol::json::DEFAULT_MAX_DEPTH;
use gateway_protocol::wire::{self, Settled};
use gateway_protocol::{Body, Id, Message, RpcError, code, headers, message};
use http::Method;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

use crate::http::HttpUpstreamError;
use crate::http::carrier::{Carried, Carrier};
use known::Known;

/// Messages for the client that may wait to be written.
const OUTGOING: usize = 256;
/// How long a notification holds up what comes after it: `initialized` must arrive before the first call.
const IN_ORDER: Duration = Duration::from_secs(2);
/// What is under way when the client ends may still finish.
const FAREWELL: Duration = Duration::from_secs(2);
const CONNECT: Duration = Duration::from_secs(10);

pub struct ShimOptions {
    /// The door: `http://127.0.0.1:8080/mcp`.
    pub url: String,
    pub key: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum ShimError {
    #[error("{0}")]
    Url(#[from] HttpUpstreamError),
    #[error("standard input cannot be read: {0}")]
    Input(std::io::Error),
    #[error("the gateway does not accept this key")]
    Unauthenticated,
}

/// Serves until the input ends.
pub async fn run(
    options: ShimOptions,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> Result<(), ShimError> {
    let key = options.key.map(|key| ("x-api-key".to_owned(), key));
    let carrier = Carrier::new(&options.url, key.as_slice(), CONNECT)?;
    let (out, outgoing) = mpsc::channel(OUTGOING);
    let writing = tokio::spawn(lines::write(output, outgoing));
    let shim = Arc::new(Shim { carrier, out, state: Mutex::default(), known: Known::default() });
    let mut tasks = JoinSet::new();
    let mut lines = lines::Lines::new(input);
    while let Some(line) = lines.next().await.map_err(ShimError::Input)? {
        shim.heard(line, &mut tasks).await;
        while tasks.try_join_next().is_some() {}
    }
    shim.end(tasks).await;
    let refused = shim.lock().refused;
    drop(shim);
    let _ = timeout(FAREWELL, writing).await;
    if refused { Err(ShimError::Unauthenticated) } else { Ok(()) }
}

struct Shim {
    carrier: Carrier,
    out: mpsc::Sender<Bytes>,
    state: Mutex<State>,
    known: Known,
}

#[derive(Default)]
struct State {
    settled: Settled,
    running: HashMap<Id, (AbortHandle, bool)>,
    news: Option<AbortHandle>,
    /// The gateway turned the key away, and nothing has been accepted since.
    refused: bool,
}

impl Shim {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn heard(self: &Arc<Self>, line: Bytes, tasks: &mut JoinSet<()>) {
        let own = Arc::clone(self);
        let Ok(Body::One(said)) = message::parse(&line, DEFAULT_MAX_DEPTH) else {
            // The gateway knows what is wrong with it.
            tasks.spawn(async move { own.pass(line, None).await });
            return;
        };
        if let Message::Request(request) = &said {
            let (id, modern) = (request.id.clone(), wire::is_modern(&said));
            let mut state = self.lock();
            let task = tasks.spawn(async move {
                let id = said.id().cloned();
                own.pass(line, Some(said)).await;
                if let Some(id) = id {
                    own.lock().running.remove(&id);
                }
            });
            state.running.insert(id, (task, modern));
            return;
        }
        if self.cancels(&said) {
            return;
        }
        let initialized = said.method() == Some("notifications/initialized");
        let (told, heard) = tokio::sync::oneshot::channel::<()>();
        tasks.spawn(async move {
            own.pass(line, Some(said)).await;
            drop(told);
        });
        let _ = timeout(IN_ORDER, heard).await;
        if initialized {
            self.listen();
        }
    }

    /// In the stateless era a call is cancelled by dropping its connection; nobody else must hear of it.
    fn cancels(&self, said: &Message) -> bool {
        let mut state = self.lock();
        let modern = |id: &Id| state.running.get(id).is_some_and(|(_, modern)| *modern);
        let Some(id) = wire::cancelled(said).filter(modern) else {
            return false;
        };
        if let Some((task, _)) = state.running.remove(&id) {
            task.abort();
        }
        true
    }

    async fn pass(&self, line: Bytes, said: Option<Message>) {
        let mut answer = self.post(&line, said.as_ref()).await;
        if let Some(said) = said.as_ref().filter(|said| said.method() == Some("tools/call") && wire::is_modern(said))
            && let Ok(refused) = &answer
            && refused.status() == 400
        {
            // Perhaps a copy of an argument was missing, because the tool was never listed here.
            answer = self.post_again(&line, said, answer).await;
        }
        if let Err(error) = self.relay(answer, said.as_ref()).await {
            eprintln!("the gateway cannot be reached: {error}");
            if let Some(Message::Request(request)) = said {
                let error = RpcError::new(code::INTERNAL, "the gateway cannot be reached");
                self.say(Message::error(Some(request.id), error).to_vec().into()).await;
            }
        }
    }

    async fn post(&self, line: &Bytes, said: Option<&Message>) -> Result<Carried, BoxError> {
        let headers = self.headers(said);
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        self.carrier.send(Method::POST, None, &headers, line.clone()).await
    }

    /// Learns the tools and tries once more, if what was refused was the headers; else the refusal stands.
    async fn post_again(
        &self,
        line: &Bytes,
        said: &Message,
        refused: Result<Carried, BoxError>,
    ) -> Result<Carried, BoxError> {
        let Some(tool) = said.params().and_then(|params| params.get("name")?.as_str()) else {
            return refused;
        };
        if self.known.knows(tool) {
            return refused;
        }
        let list = known::list_question(said);
        let listed = self.post(&list.to_vec().into(), Some(&list)).await?;
        let mut messages = answers::messages(listed).await?;
        while let Some(message) = messages.next().await {
            self.known.learn(&message?);
        }
        // Sent again only where it was refused before it was looked at.
        if self.known.mirrors(tool) { self.post(line, Some(said)).await } else { refused }
    }

    fn headers(&self, said: Option<&Message>) -> Vec<(String, String)> {
        let revision = said.and_then(|said| headers::body_revision(said).ok().flatten());
        if let (Some(said), Some(revision)) = (said, revision.filter(|revision| revision.is_modern())) {
            let derived = headers::derive(said, revision).into_iter().map(|(name, value)| (name.to_owned(), value));
            return derived.chain(self.known.headers(said)).collect();
        }
        let opens = said.and_then(Message::method) == Some("initialize");
        let state = self.lock();
        let session = state.settled.session.clone().filter(|_| !opens);
        let revision = state.settled.revision.filter(|revision| !opens && revision.has_version_header());
        let session = session.map(|id| (headers::SESSION_ID.to_owned(), id));
        let revision = revision.map(|revision| (headers::PROTOCOL_VERSION.to_owned(), revision.as_str().to_owned()));
        session.into_iter().chain(revision).collect()
    }

    async fn relay(&self, answer: Result<Carried, BoxError>, said: Option<&Message>) -> Result<(), BoxError> {
        let answer = answer?;
        self.noted(answer.status());
        let method = said.and_then(Message::method);
        let mut session = answer.header(headers::SESSION_ID).map(str::to_owned);
        let mut answered = !matches!(said, Some(Message::Request(_)));
        let mut messages = answers::messages(answer).await?;
        while let Some(message) = messages.next().await {
            let message = match said {
                Some(Message::Request(request)) => wire::addressed(message?, &request.id),
                _ => message?,
            };
            match method {
                Some("initialize") => self.lock().settled.learn(&message, &mut session),
                Some("tools/list") => self.known.learn(&message),
                _ => {}
            }
            answered = answered || said.is_some_and(|said| answers::answers(&message, said));
            self.say(message).await;
        }
        if answered { Ok(()) } else { Err("the answer broke off".into()) }
    }

    /// Says once on standard error what the user must do something about.
    fn noted(&self, status: u16) {
        let mut state = self.lock();
        if status == 401 && !state.refused {
            eprintln!("the gateway does not accept this key: give one with --key or PORTREEVE_KEY");
        }
        state.refused = status == 401;
    }

    async fn say(&self, message: Bytes) {
        let _ = self.out.send(message).await;
    }

    /// The client is gone: what it cannot hear any more is dropped, and its session ended.
    async fn end(&self, mut tasks: JoinSet<()>) {
        let news = self.lock().news.take();
        if let Some(news) = news {
            news.abort();
        }
        for (task, modern) in self.lock().running.values() {
            if *modern {
                task.abort();
            }
        }
        let _ = timeout(FAREWELL, async { while tasks.join_next().await.is_some() {} }).await;
        tasks.abort_all();
        if self.lock().settled.session.is_none() {
            return;
        }
        let headers = self.headers(None);
        let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let _ = timeout(FAREWELL, self.carrier.send(Method::DELETE, None, &headers, Bytes::new())).await;
    }
}
