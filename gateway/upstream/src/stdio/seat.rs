//! A place for one child: who it serves, how it is greeted, and how soon it may be started again.
//!
//! A seat outlives its child. Whoever needs the child and finds it dead starts another, greeted exactly like the first.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use gateway_core::ports::UpstreamError;
use gateway_protocol::{Message, Outcome, Reply, Revision, RpcError, code};
use serde_json::{Map, Value, json};

use super::Sharing;
use super::board::Board;
use super::process::{Launch, Process};
use super::queues::Queues;
use crate::{ask, probe};

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A child that lived this long was well; what ended it does not count against the next.
const HEALTHY: Duration = Duration::from_secs(10);
/// A caller waits this long for a pause to pass; beyond it, the upstream counts as unreachable.
const PATIENCE: Duration = Duration::from_secs(2);
/// Some programs of older revisions never answer what they do not know.
const DISCOVERY: Duration = Duration::from_secs(5);

/// How a fresh child is spoken to first.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Opening {
    /// The legacy handshake with these params.
    Handshake(Map<String, Value>),
    /// None: the child is only asked whether it speaks the modern revision.
    Discover,
}

pub(super) enum SeatError {
    Upstream(UpstreamError),
    /// The child itself said no.
    Refused(RpcError),
}

impl From<UpstreamError> for SeatError {
    fn from(error: UpstreamError) -> Self {
        Self::Upstream(error)
    }
}

pub(super) struct Seat {
    pub(super) key: String,
    launch: Arc<Launch>,
    opening: Opening,
    queues: Arc<Queues>,
    state: tokio::sync::Mutex<State>,
    /// The same child again, for those who cannot wait for the state.
    current: Mutex<Option<Arc<Process>>>,
}

#[derive(Default)]
struct State {
    greeting: Value,
    failures: u32,
    not_before: Option<Instant>,
}

impl Opening {
    /// A shared child is greeted by the gateway itself: no single client's capabilities hold for all.
    pub(super) fn handshake(mut params: Map<String, Value>, sharing: Sharing) -> Self {
        params.remove("_meta");
        if sharing == Sharing::Shared {
            let asked = params.get("protocolVersion").and_then(Value::as_str).and_then(|text| text.parse().ok());
            // Only revisions there are: a shared program must not be started once for every word a client thinks of.
            let known = asked.filter(|revision: &Revision| !revision.is_modern()).unwrap_or(Revision::LATEST_LEGACY);
            let version = json!(known.as_str());
            params = Map::from_iter([
                ("protocolVersion".into(), version),
                ("capabilities".into(), json!({})),
                ("clientInfo".into(), ask::own_client_info()),
            ]);
        }
        Self::Handshake(params)
    }

    /// Clients that ask for the same share a child.
    pub(super) fn key(&self, owner: &str) -> String {
        match self {
            Self::Discover => json!([owner]).to_string(),
            Self::Handshake(params) => {
                json!([owner, params.get("protocolVersion"), params.get("capabilities")]).to_string()
            }
        }
    }
}

impl Seat {
    pub(super) fn new(launch: Arc<Launch>, key: String, opening: Opening) -> Self {
        Self {
            key,
            launch,
            opening,
            queues: Arc::default(),
            state: tokio::sync::Mutex::default(),
            current: Mutex::default(),
        }
    }

    pub(super) fn queues(&self) -> &Queues {
        &self.queues
    }

    fn current(&self) -> Option<Arc<Process>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_current(&self, process: Option<Arc<Process>>) {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = process;
    }

    /// The child if it runs; never starts one.
    pub(super) fn running(&self) -> Option<Arc<Process>> {
        self.current().filter(|process| process.is_alive())
    }

    /// What the child answered to the handshake.
    pub(super) async fn greeting(&self) -> Value {
        self.state.lock().await.greeting.clone()
    }

    pub(super) fn stop(&self) {
        if let Some(process) = self.current() {
            process.stop();
        }
    }

    /// The child, started and greeted if need be. Those who come meanwhile wait for the same one.
    pub(super) async fn process(&self) -> Result<Arc<Process>, SeatError> {
        if let Some(process) = self.running() {
            return Ok(process);
        }
        let mut state = self.state.lock().await;
        if let Some(process) = self.running() {
            return Ok(process);
        }
        if let Some(ended) = self.current() {
            self.set_current(None);
            if ended.was_stopped() || ended.started.elapsed() >= HEALTHY {
                state.recover();
            } else {
                state.fail();
            }
        }
        self.pause(&state).await?;
        match self.open().await {
            Ok((process, greeting)) => {
                state.greeting = greeting;
                self.set_current(Some(Arc::clone(&process)));
                Ok(process)
            }
            Err(error) => {
                state.fail();
                Err(error)
            }
        }
    }

    async fn pause(&self, state: &State) -> Result<(), UpstreamError> {
        let left = state.not_before.map_or(Duration::ZERO, |then| then.saturating_duration_since(Instant::now()));
        if left > PATIENCE {
            let text = format!("it failed {} times and is not started again for {left:.1?}", state.failures);
            return Err(UpstreamError::Unreachable(self.launch.namespace().clone(), text.into()));
        }
        tokio::time::sleep(left).await;
        Ok(())
    }

    async fn open(&self) -> Result<(Arc<Process>, Value), SeatError> {
        let shared = self.launch.sharing() == Sharing::Shared;
        let board = Arc::new(Board::new(Arc::clone(&self.queues), shared, self.launch.config.max_depth));
        let unreachable = |error| UpstreamError::Unreachable(self.launch.namespace().clone(), error);
        let process = self.launch.start(board).await.map_err(unreachable)?;
        let greeted = match &self.opening {
            Opening::Handshake(params) => self.greet(&process, params).await,
            Opening::Discover => self.discover(&process).await,
        };
        if greeted.is_err() {
            process.stop();
        }
        greeted.map(|greeting| (process, greeting))
    }

    async fn greet(&self, process: &Process, params: &Map<String, Value>) -> Result<Value, SeatError> {
        let answer = self.question(process, "initialize", params.clone(), self.launch.config.start_timeout).await?;
        let greeting = match answer {
            Outcome::Result(greeting) => greeting,
            Outcome::Error(error) => return Err(SeatError::Refused(error)),
        };
        process.send(&Message::notification("notifications/initialized", None)).await;
        Ok(greeting)
    }

    async fn discover(&self, process: &Process) -> Result<Value, SeatError> {
        let params = Map::from_iter([("_meta".into(), Value::Object(probe::own_meta()))]);
        let limit = DISCOVERY.min(self.launch.config.start_timeout);
        let refused = match self.question(process, "server/discover", params, limit).await {
            Ok(Outcome::Result(found)) if probe::speaks_modern(&found) => return Ok(found),
            // It may be broken and not old: the next caller finds out anew.
            Err(UpstreamError::Unreachable(..)) => RpcError::new(code::INTERNAL, "the program ended"),
            // A refusal, silence, an answer of another shape: all the marks of an older revision.
            _ => {
                self.launch.note_legacy();
                RpcError::new(code::METHOD_NOT_FOUND, "no modern revision")
            }
        };
        Err(SeatError::Refused(refused))
    }

    async fn question(
        &self,
        process: &Process,
        method: &str,
        params: Map<String, Value>,
        limit: Duration,
    ) -> Result<Outcome, UpstreamError> {
        let namespace = self.launch.namespace();
        let (number, answer) = process.board().ask();
        let asked = async {
            process.send(&Message::request(number, method, Some(params))).await;
            answer.await
        };
        match tokio::time::timeout(limit, asked).await {
            Err(_) => Err(UpstreamError::TimedOut(namespace.clone())),
            Ok(Err(_)) => Err(UpstreamError::Unreachable(namespace.clone(), "the program ended".into())),
            Ok(Ok(reply)) => outcome(&reply).ok_or_else(|| ask::not_mcp(namespace, "an answer that cannot be read")),
        }
    }
}

fn outcome(reply: &Reply) -> Option<Outcome> {
    match reply.message() {
        Ok(Message::Response(response)) => Some(response.outcome),
        _ => None,
    }
}

impl State {
    fn recover(&mut self) {
        self.failures = 0;
        self.not_before = None;
    }

    fn fail(&mut self) {
        let pause = FIRST_PAUSE.saturating_mul(1 << self.failures.min(16)).min(LONGEST_PAUSE);
        self.failures = self.failures.saturating_add(1);
        self.not_before = Some(Instant::now() + pause);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;

    #[test]
    fn pauses_double_up_to_half_a_minute() {
        let mut state = State::default();
        let mut pauses = Vec::new();
        for _ in 0..20 {
            state.fail();
            pauses.push(state.not_before.unwrap().saturating_duration_since(Instant::now()).as_secs_f64());
        }
        for (place, expected) in [(0, 0.1), (1, 0.2), (2, 0.4), (8, 25.6), (9, 30.0), (19, 30.0)] {
            assert!((pauses[place] - expected).abs() < 0.05, "{place}: {}", pauses[place]);
        }
        state.recover();
        assert_eq!((state.failures, state.not_before), (0, None));
    }

    #[test]
    fn a_shared_child_hears_of_no_client() {
        let said =
            json!({ "protocolVersion": "2025-06-18", "capabilities": { "roots": {} }, "clientInfo": { "name": "c" } });
        let params = said.as_object().unwrap();
        let Opening::Handshake(own) = Opening::handshake(params.clone(), Sharing::PerPrincipal) else {
            panic!("a handshake")
        };
        assert_eq!(&own, params);
        let Opening::Handshake(shared) = Opening::handshake(params.clone(), Sharing::Shared) else {
            panic!("a handshake")
        };
        assert_eq!(shared["protocolVersion"], "2025-06-18");
        assert_eq!(shared["capabilities"], json!({}));
        assert_eq!(shared["clientInfo"]["name"], "portreeve");
    }
}
