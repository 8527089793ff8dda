//! `logging/setLevel` for all members at once: remembered with the session, and told to those that keep a log. What becomes
//! of it there is a matter of their era: a modern member hears it with each request.

use std::time::Duration;

use futures::future::join_all;
use gateway_core::Permit;
use gateway_core::ports::Answered;
use gateway_core::session::Session;
use gateway_protocol::era::Level;
use gateway_protocol::{Message, Outcome, Request, RpcError, code};
use serde_json::{Map, Value, json};

use super::sessions::AggregateSession;
use super::{Aggregate, Member, answers};
use crate::ask;

/// A client waits for its answer, and a member that is slow to hear of it loses only some lines of its log.
const TIME: Duration = Duration::from_secs(2);

impl Aggregate {
    pub(super) async fn set_level(&self, permit: &Permit, request: &Request, session: &AggregateSession) -> Answered {
        let written = request.params.as_ref().and_then(|params| params.get("level")).and_then(Value::as_str);
        let Some(level) = written.and_then(|written| written.parse::<Level>().ok()) else {
            let known = Level::ALL.map(Level::as_str).join(", ");
            let error = RpcError::new(code::INVALID_PARAMS, format!("`params.level` must be one of {known}"));
            return answers::refused(request, 200, error);
        };
        // Remembered first: a member whose session is just being opened is told by whoever opens it, or waited for here.
        session.set_level(level);
        let each = self.members.iter().enumerate().map(|(place, member)| async move {
            if let Some(inside) = session.opened_at(place).await {
                tell(session, place, member, permit, &inside, level).await;
            }
        });
        // One that hangs while it is opened is told once it is open.
        let _ = tokio::time::timeout(TIME, join_all(each)).await;
        answers::empty(request)
    }
}

/// Tells one member in its session. One that keeps no log is not asked to.
pub(super) async fn tell(
    session: &AggregateSession,
    place: usize,
    member: &Member,
    permit: &Permit,
    inside: &Session,
    level: Level,
) {
    if !session.greeting(place).is_some_and(|said| said.contains_key("logging")) {
        return;
    }
    let params = Map::from_iter([("level".to_owned(), json!(level.as_str()))]);
    let message = Message::request(ask::own_id(), "logging/setLevel", Some(params));
    let question = permit.for_own(message, Some(inside.clone()));
    let telling = ask::question(member.upstream.as_ref(), &member.namespace, question);
    let problem = match tokio::time::timeout(TIME, telling).await {
        Ok(Ok((_, Outcome::Result(_)))) => return,
        Ok(Ok((_, Outcome::Error(error)))) => format!("error {}", error.code),
        Ok(Err(error)) => error.to_string(),
        Err(_) => "no answer in time".to_owned(),
    };
    tracing::debug!(namespace = %member.namespace, "does not take the log level: {problem}");
}
