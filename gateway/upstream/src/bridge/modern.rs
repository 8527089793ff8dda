//! A modern client before a legacy upstream.
//!
//! The client sees a stateless server of its own era. Behind it are sessions that it does not know of (`pool`), calls in
//! them (`running`), calls that rest while their caller is asked (`held`), and subscriptions (`listen`).

mod ending;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use async_stream::stream;
use futures::StreamExt;
use gateway_core::ports::{Answered, Content, StreamItem, Upstream, UpstreamError};
use gateway_core::{Ask, Permit};
use gateway_protocol::era::{self, Described, Filter, down};
use gateway_protocol::{Message, Notification, Reply, Request, Revision, RpcError, code, sse};
use serde_json::{Map, Value};

use super::BridgeSettings;
use super::errands::Errands;
use super::held::{AGAIN, HeldCalls};
use super::listen::{self, Reader};
use super::pool::{NotOpen, Pool};
use super::running::{Audience, Heard, Running};
use crate::ask;
use ending::conclude;

/// A stream that is over this soon is given as one message, with the status that belongs to it.
const BRIEFLY: Duration = Duration::from_millis(100);

pub(super) struct ModernOverLegacy {
    pool: Arc<Pool>,
    held: Arc<HeldCalls>,
    errands: Errands,
    settings: BridgeSettings,
}

impl ModernOverLegacy {
    pub(super) fn new(inner: Arc<dyn Upstream>, settings: BridgeSettings) -> Self {
        let errands = Errands::new(Arc::clone(&inner));
        let held = Arc::new(HeldCalls::new(&settings));
        let pool = Arc::new(Pool::new(inner, settings.clone(), errands.clone()));
        Self { pool, held, errands, settings }
    }

    pub(super) async fn call(&self, permit: &Permit) -> Result<Answered, UpstreamError> {
        match &permit.exchange().ask {
            Ask::Message(Message::Request(request)) => self.request(permit, request).await,
            Ask::Message(Message::Notification(notification)) => self.notification(permit, notification).await,
            // Nobody asks modern clients by request.
            Ask::Message(Message::Response(_)) => Ok(Answered::nothing(202)),
            // The modern era has neither.
            Ask::Listen { .. } | Ask::EndSession => Ok(Answered::nothing(405)),
        }
    }

    /// The revision that the upstream settled on last.
    pub(super) fn settled(&self) -> Option<Revision> {
        self.pool.settled()
    }

    /// Takes back what rests and ends the sessions; done when the upstream has been told. Calls under way go on.
    pub(super) async fn stop(&self) {
        self.held.end();
        self.pool.close();
        self.errands.all_done().await;
    }

    async fn request(&self, permit: &Permit, request: &Request) -> Result<Answered, UpstreamError> {
        let described = description(permit);
        match request.method.as_str() {
            "server/discover" => match self.pool.live(permit.exchange(), &described).await {
                Ok(live) => Ok(result(request, live.greeting().to_discover())),
                Err(problem) => self.not_open(request, problem),
            },
            "subscriptions/listen" => self.listen(permit, request, &described).await,
            method => match state(request).filter(|_| era::may_ask(method)) {
                Some(state) if state != AGAIN => self.resume(permit, request, &described, state).await,
                _ => self.begin(permit, request, &described).await,
            },
        }
    }

    async fn begin(
        &self,
        permit: &Permit,
        request: &Request,
        described: &Described,
    ) -> Result<Answered, UpstreamError> {
        let own = ask::own_id();
        let token = described.token.as_ref().map(|_| &own);
        let Ok(translated) = down::request(request, own.clone(), token) else {
            let error = RpcError::new(code::METHOD_NOT_FOUND, format!("Method not found: {}", request.method));
            return Ok(refused(request, 404, error));
        };
        let audience = Audience::new(request.id.clone(), described);
        for last in [false, true] {
            let live = match self.pool.live(permit.exchange(), described).await {
                Ok(live) => live,
                Err(problem) => return self.not_open(request, problem),
            };
            if let Some(level) = described.level {
                live.raise(level).await;
            }
            let running = Running::new(Arc::clone(&live), permit, translated.clone());
            let mut running = running.ok_or_else(|| self.not_mcp("a call in words that were not admitted"))?;
            match running.next(&audience).await {
                // It took nothing in, so the call may be made once more, in a new session.
                Heard::Gone(_) if !last => live.lose(),
                Heard::Gone(None) => return Err(self.not_mcp("a session that is gone as soon as it is open")),
                Heard::Gone(Some(reply)) => return self.respond(running, audience, Heard::Done(reply)).await,
                first => return self.respond(running, audience, first).await,
            }
        }
        Err(self.not_mcp("a session that is gone as soon as it is open"))
    }

    /// The caller has answered. What it leaves open it is asked again.
    async fn resume(
        &self,
        permit: &Permit,
        request: &Request,
        described: &Described,
        state: &str,
    ) -> Result<Answered, UpstreamError> {
        let owner = permit.exchange().principal.binding();
        let Some(mut running) = self.held.take(state, &owner, request) else {
            return Ok(bad_state(request));
        };
        let audience = Audience::new(request.id.clone(), described);
        let first = match running.answer(permit).await {
            Ok(true) => running.next(&audience).await,
            Ok(false) => Heard::Asked,
            Err(UpstreamError::SessionGone(_)) => {
                running.end();
                running.live().lose();
                return Ok(bad_state(request));
            }
            Err(error) => return Err(error),
        };
        match first {
            Heard::Gone(_) => Ok(bad_state(request)),
            first => self.respond(running, audience, first).await,
        }
    }

    /// One message if it comes soon, else a stream.
    async fn respond(&self, mut running: Running, audience: Audience, first: Heard) -> Result<Answered, UpstreamError> {
        let first = match first {
            Heard::Odd(answered) => return Ok(answered),
            Heard::Begun => tokio::time::timeout(BRIEFLY, running.next(&audience)).await.ok(),
            first => Some(first),
        };
        let mut heard = match first {
            None | Some(Heard::Told(_) | Heard::Begun) => first,
            Some(last) => {
                let (status, message) = conclude(&self.held, running, &audience, last)?;
                return Ok(Answered::one(status, &message));
            }
        };
        let held = Arc::clone(&self.held);
        let items = stream! {
            loop {
                let now = match heard.take() {
                    Some(now) => now,
                    None => running.next(&audience).await,
                };
                match now {
                    Heard::Told(told) => yield Ok(event(&Message::Notification(told))),
                    Heard::Begun => {}
                    last => {
                        yield conclude(&held, running, &audience, last).map(|(_, message)| event(&message));
                        break;
                    }
                }
            }
        };
        Ok(Answered { status: 200, session: None, content: Content::Stream(items.boxed()) })
    }

    async fn listen(
        &self,
        permit: &Permit,
        request: &Request,
        described: &Described,
    ) -> Result<Answered, UpstreamError> {
        let Some(wanted) = Filter::of(request.params.as_ref().unwrap_or(&Map::new())) else {
            let error = RpcError::new(code::INVALID_PARAMS, "`notifications` must say what to listen for");
            return Ok(refused(request, 400, error));
        };
        for last in [false, true] {
            let live = match self.pool.live(permit.exchange(), described).await {
                Ok(live) => live,
                Err(problem) => return self.not_open(request, problem),
            };
            let reader = Reader::new(&self.pool, permit.exchange(), described, &wanted);
            match listen::listen(Arc::clone(&live), request.id.clone(), reader).await {
                Err(UpstreamError::SessionGone(_)) if !last => live.lose(),
                Err(UpstreamError::SessionGone(_)) => break,
                answered => return answered,
            }
        }
        Err(self.not_mcp("a session that is gone as soon as it is open"))
    }

    /// What a vendor's client tells its server goes into the session; what the eras themselves define has no meaning there.
    async fn notification(&self, permit: &Permit, told: &Notification) -> Result<Answered, UpstreamError> {
        let nothing = Ok(Answered::nothing(202));
        let of_the_era = ["notifications/cancelled", "notifications/initialized", "notifications/roots/list_changed"];
        if of_the_era.contains(&told.method.as_str()) {
            return nothing;
        }
        let Ok(live) = self.pool.live(permit.exchange(), &description(permit)).await else { return nothing };
        let (message, session) = (Message::Notification(told.clone()), live.session().clone());
        if let Some(permit) = permit.in_era(message, live.greeting().revision, Some(session)) {
            self.errands.run(vec![permit], live);
        }
        nothing
    }

    fn not_open(&self, request: &Request, problem: NotOpen) -> Result<Answered, UpstreamError> {
        match problem {
            NotOpen::Full => {
                let what =
                    format!("too many different clients of this agent use `{}` at once", self.settings.namespace);
                Ok(refused(request, 429, RpcError::new(code::LIMITED, what)))
            }
            // Its words are for a legacy client; this one has no session to lose.
            NotOpen::Failed(UpstreamError::SessionGone(_)) => Err(self.not_mcp("no session to a handshake")),
            NotOpen::Failed(error) => Err(error),
        }
    }

    fn not_mcp(&self, what: &str) -> UpstreamError {
        ask::not_mcp(&self.settings.namespace, what)
    }
}

impl Drop for ModernOverLegacy {
    fn drop(&mut self) {
        // Streams to clients hold these too.
        self.held.end();
        self.pool.close();
    }
}

/// A client that does not describe itself can be asked nothing.
fn description(permit: &Permit) -> Described {
    let said = permit.exchange().message().and_then(era::described);
    said.unwrap_or_else(|| Described { capabilities: Map::new(), client_info: None, level: None, token: None })
}

fn state(request: &Request) -> Option<&str> {
    request.params.as_ref()?.get("requestState").and_then(Value::as_str)
}

fn result(request: &Request, result: Value) -> Answered {
    Answered::one(200, &Message::result(request.id.clone(), result))
}

fn refused(request: &Request, status: u16, error: RpcError) -> Answered {
    Answered::one(status, &Message::error(Some(request.id.clone()), error))
}

fn bad_state(request: &Request) -> Answered {
    refused(request, 400, RpcError::new(code::INVALID_PARAMS, "Invalid or expired requestState"))
}

pub(super) fn event(message: &Message) -> StreamItem {
    let reply = Reply::from_message(message);
    StreamItem::Event { frame: sse::Event::message(reply.raw().clone()), reply: Some(reply) }
}
