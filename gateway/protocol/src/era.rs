//! One message in another era's words: what a modern client (2026-07-28) says to a legacy upstream, what a legacy client says
//! to a modern one, and what comes back. Messages in, messages out.
//!
//! Whoever translates keeps the state (sessions, open questions, subscriptions) and decides what to send; nothing here waits or
//! remembers. `down` and `up` are about what a client asks, `up_results` and `down_results` about what it is told; the first word
//! says in which direction of time the message travels. What a revision does not know is left out or said in its own words, so
//! that every message fits the JSON Schema of the revision it is written for.

mod filter;
mod greeting;
mod inputs;
mod known;
mod level;
mod sampling;

pub mod down;
pub mod down_results;
pub mod up;
pub mod up_results;

#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use crate::message::{Id, Message, Notification};
use crate::revision::{Revision, meta};

pub use filter::{Filter, acknowledged, listened, tagged};
pub use greeting::{Greeting, Handshake};
pub use inputs::{Input, InputKind, InputRequired, asking, input_required, may_ask, question};
pub use level::{Level, UnknownLevel};

pub use crate::headers::Mirrored;
pub use crate::reply::ResultKind;

/// What a modern request says of its sender in `_meta`.
#[derive(Debug, Clone, PartialEq)]
pub struct Described {
    pub capabilities: Map<String, Value>,
    /// Self-reported, so never an identity.
    pub client_info: Option<Value>,
    pub level: Option<Level>,
    /// Where progress is to be reported.
    pub token: Option<Id>,
}

/// `None` for a message that does not describe itself, as those of the legacy era.
pub fn described(message: &Message) -> Option<Described> {
    let given = message.meta()?;
    given.get(meta::PROTOCOL_VERSION)?.as_str()?;
    Some(Described {
        capabilities: given.get(meta::CLIENT_CAPABILITIES).and_then(Value::as_object).cloned().unwrap_or_default(),
        client_info: given.get(meta::CLIENT_INFO).cloned(),
        level: given.get(meta::LOG_LEVEL).and_then(Value::as_str).and_then(|level| level.parse().ok()),
        token: given.get(meta::PROGRESS_TOKEN).and_then(|token| Id::try_from(token.clone()).ok()),
    })
}

impl Described {
    /// The handshake in which a legacy server is told the same. Capabilities are passed on, because a server that believes its
    /// client cannot be asked may act without asking.
    pub fn handshake(&self, revision: Revision) -> Handshake {
        Handshake {
            revision,
            capabilities: down::capabilities(&self.capabilities),
            client_info: self.client_info.clone().unwrap_or_default(),
        }
    }
}

/// A progress report under the token its reader chose; other notifications stay as they are.
pub fn under_token(mut notification: Notification, token: &Id) -> Notification {
    if notification.method == "notifications/progress"
        && let Some(params) = &mut notification.params
    {
        params.insert(meta::PROGRESS_TOKEN.into(), token.into());
    }
    notification
}

/// Changes `_meta` and takes it away when nothing is left in it. One that is no object is no `_meta` and goes.
fn with_meta(holder: &mut Map<String, Value>, change: impl FnOnce(&mut Map<String, Value>)) {
    let mut given = match holder.get_mut("_meta") {
        Some(Value::Object(given)) => std::mem::take(given),
        _ => Map::new(),
    };
    change(&mut given);
    if given.is_empty() {
        holder.shift_remove("_meta");
    } else {
        holder.insert("_meta".into(), Value::Object(given));
    }
}

fn set_or_remove(members: &mut Map<String, Value>, key: &str, value: Option<Value>) {
    match value {
        Some(value) => {
            members.insert(key.into(), value);
        }
        None => {
            members.shift_remove(key);
        }
    }
}
