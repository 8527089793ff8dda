//! One modern client's call under way in a legacy session: under our own id and token there, under the client's here.
//!
//! A legacy server may ask in the middle of a call. Its questions are gathered, the client is given them as a result, and the
//! call rests, unread, until the client asks again with the answers. Letting go of a call that is not over takes it back.

mod hearing;
mod polling;

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use gateway_core::ports::{Answered, StreamItem, UpstreamError};
use gateway_core::{OwnAnswer, Permit};
use gateway_protocol::era::{self, Described, InputKind, Level, down};
use gateway_protocol::{Id, Message, Notification, Reply, Request, RpcError, code};
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::live::Live;
use crate::ask;
use polling::Polling;

/// Questions that are asked at once arrive one after another, sometimes on two streams.
const GATHER: Duration = Duration::from_millis(30);
/// Questions one call may have open.
const MOST_OPEN: usize = 64;

/// Whoever hears of the call in this round.
#[derive(Debug, Clone)]
pub(super) struct Audience {
    pub(super) id: Id,
    token: Option<Id>,
    /// Log messages are only for those who asked for them.
    level: Option<Level>,
}

impl Audience {
    pub(super) fn new(id: Id, described: &Described) -> Self {
        Self { id, token: described.token.clone(), level: described.level }
    }
}

/// What a server asked, under the key its answer will carry.
pub(super) struct Question {
    key: String,
    kind: InputKind,
    id: Id,
    params: Option<Map<String, Value>>,
}

pub(super) enum Heard {
    /// The answer begins, as a stream.
    Begun,
    Told(Notification),
    /// The open questions are complete, as far as one can tell.
    Asked,
    Done(Reply),
    /// The session does not exist any more, so nothing was taken in. Some servers have words for it.
    Gone(Option<Reply>),
    /// No message at all: core says what that means.
    Odd(Answered),
    Failed(UpstreamError),
}

pub(super) struct Running {
    live: Arc<Live>,
    owner: String,
    number: u64,
    request: Request,
    permit: Arc<Permit>,
    source: Source,
    /// From the session's own stream.
    overheard: mpsc::Receiver<Message>,
    polling: Polling,
    open: Vec<Question>,
    /// All that were asked so far, so that no key is used twice.
    asked: Vec<InputKind>,
    gather_until: Option<Instant>,
    started: Instant,
    over: bool,
}

enum Source {
    Starting(BoxFuture<'static, Result<Answered, UpstreamError>>),
    Open(BoxStream<'static, Result<StreamItem, UpstreamError>>),
    /// The server ended the stream early, and will go on where it stopped.
    Resuming(BoxFuture<'static, Result<Answered, UpstreamError>>),
    Over,
}

enum Came {
    Answer(Result<Answered, UpstreamError>),
    Item(Option<Result<StreamItem, UpstreamError>>),
    Rest(Result<Answered, UpstreamError>),
}

impl Source {
    async fn next(&mut self) -> Came {
        match self {
            Self::Starting(answer) => Came::Answer(answer.await),
            Self::Open(items) => Came::Item(items.next().await),
            Self::Resuming(rest) => Came::Rest(rest.await),
            Self::Over => std::future::pending().await,
        }
    }
}

async fn reached(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

impl Running {
    /// Sends nothing before it is first asked what is heard. `None` if core does not see the admitted call in it.
    pub(super) fn new(live: Arc<Live>, permit: &Permit, request: Request) -> Option<Self> {
        let session = Some(live.session().clone());
        let permit = permit.in_era(Message::Request(request.clone()), live.greeting().revision, session)?;
        let (permit, inner) = (Arc::new(permit), Arc::clone(live.inner()));
        let sent = Arc::clone(&permit);
        let (number, overheard) = live.enter(era::may_ask(&request.method));
        Some(Self {
            owner: permit.exchange().principal.binding(),
            number,
            request,
            source: Source::Starting(async move { inner.call(&sent).await }.boxed()),
            permit,
            overheard,
            polling: Polling::default(),
            open: Vec::new(),
            asked: Vec::new(),
            gather_until: None,
            started: Instant::now(),
            over: false,
            live,
        })
    }

    pub(super) fn live(&self) -> &Arc<Live> {
        &self.live
    }

    pub(super) fn method(&self) -> &str {
        &self.request.method
    }

    pub(super) fn owner(&self) -> &str {
        &self.owner
    }

    pub(super) fn age(&self) -> Duration {
        self.started.elapsed()
    }

    /// Whether this principal's request is that call once more.
    pub(super) fn is_continued_by(&self, owner: &str, request: &Request) -> bool {
        let asks = |request: &Request| {
            let mut params = request.params.clone().unwrap_or_default();
            params.shift_remove("_meta");
            params
        };
        let again = down::request(request, self.request.id.clone(), None);
        self.owner == owner
            && again.is_ok_and(|again| again.method == self.request.method && asks(&again) == asks(&self.request))
    }

    /// The open questions, as a modern result words them.
    pub(super) fn questions(&self) -> Vec<era::Input> {
        self.open.iter().map(|open| (open.key.clone(), open.kind, open.params.clone())).collect()
    }

    /// Gives the server what this admitted retry answers; says whether that was all it waits for.
    pub(super) async fn answer(&mut self, retry: &Permit) -> Result<bool, UpstreamError> {
        let responses =
            retry.exchange().message().and_then(Message::params).and_then(|params| params.get("inputResponses"));
        let responses = responses.and_then(Value::as_object).cloned().unwrap_or_default();
        let (revision, session) = (self.live.greeting().revision, self.live.session().clone());
        for open in std::mem::take(&mut self.open) {
            let answered = responses.get(&open.key).is_some_and(|response| open.kind.is_answered_by(response));
            let id = open.id.clone();
            let given =
                answered.then(|| retry.input_response(open.kind, &open.key, id, revision, Some(session.clone())));
            match given.flatten() {
                Some(permit) => drop(self.live.inner().call(&permit).await?),
                None => self.open.push(open),
            }
        }
        Ok(self.open.is_empty())
    }

    /// What happens next. Nothing is lost if this is not waited for to its end.
    pub(super) async fn next(&mut self, audience: &Audience) -> Heard {
        loop {
            let heard = tokio::select! {
                biased;
                () = reached(self.gather_until) => {
                    self.gather_until = None;
                    Some(Heard::Asked)
                }
                Some(message) = self.overheard.recv() => self.take(message, audience),
                came = self.source.next() => self.came(came, audience),
            };
            if let Some(heard) = heard {
                return heard;
            }
        }
    }

    /// The server has nothing left to do for it.
    pub(super) fn end(&mut self) {
        self.over = true;
        self.source = Source::Over;
    }

    fn not_mcp(&self, what: &str) -> UpstreamError {
        ask::not_mcp(&self.live.settings().namespace, what)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.live.leave(self.number);
        let session = || Some(self.live.session().clone());
        let nobody = || OwnAnswer::Refuse(RpcError::new(code::INTERNAL, "nobody answered"));
        let mut permits: Vec<Permit> = Vec::new();
        // What came for it on the session's own stream while it was not read.
        while let Ok(message) = self.overheard.try_recv() {
            if let Message::Request(request) = message {
                permits.push(self.permit.own_answer(request.id, nobody(), session()));
            }
        }
        if !self.over {
            for open in &self.open {
                let answer = match open.kind {
                    InputKind::Elicitation => OwnAnswer::Cancel,
                    _ => nobody(),
                };
                permits.push(self.permit.own_answer(open.id.clone(), answer, session()));
            }
            let params = Map::from_iter([("requestId".to_owned(), Value::from(&self.request.id))]);
            let cancelled = Message::notification("notifications/cancelled", Some(params));
            permits.extend(self.permit.for_own(cancelled, session()));
        }
        if !permits.is_empty() {
            let source = std::mem::replace(&mut self.source, Source::Over);
            self.live.errands().run(permits, (source, Arc::clone(&self.live)));
        }
    }
}
