//! A message from an upstream: checked in one pass, kept as it came, taken apart only when somebody needs its tree.
//!
//! The pass refuses what the strict parser refuses except numbers (nobody is governed by an upstream's number), and notes what
//! the gateway's straight line asks of every reply: its kind, its id, its method. Most replies are never parsed further.

mod noted;

use bytes::Bytes;
use serde_json::Value;

use crate::error::Malformed;
use crate::json::{self, DEFAULT_MAX_DEPTH, JsonError, Numbers, Scanner};
use crate::message::{Id, Message, Origin, Outcome, envelope};
use crate::revision::Revision;
use noted::Noted;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyKind {
    /// `tool_error` is `result.isError`: the call reached the tool, and the tool failed.
    Result {
        tool_error: bool,
        kind: ResultKind,
    },
    Error {
        code: i64,
    },
    Request,
    Notification,
}

/// What a modern result says of itself in `resultType`. The legacy era has no word for it: all its results are complete.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ResultKind {
    #[default]
    Complete,
    /// The server asks something before it goes on.
    InputRequired,
    /// The result will be fetched later.
    Task,
    Other,
}

impl ResultKind {
    fn named(written: &str) -> Self {
        match written {
            "complete" => Self::Complete,
            "input_required" => Self::InputRequired,
            "task" => Self::Task,
            _ => Self::Other,
        }
    }

    fn of(result: &Value) -> Self {
        match result.get("resultType") {
            None => Self::Complete,
            Some(written) => written.as_str().map_or(Self::Other, Self::named),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    raw: Bytes,
    kind: ReplyKind,
    id: Option<Id>,
    method: Option<String>,
    max_depth: usize,
}

impl Reply {
    /// Checks one message; an array is refused (see `scan_all`).
    pub fn scan(raw: Bytes, max_depth: usize) -> Result<Self, Malformed> {
        let noted = {
            let mut scanner = Scanner::new(json::as_text(&raw).map_err(unnamed)?, max_depth, Numbers::Any);
            let noted = Noted::read(&mut scanner)?;
            scanner.end().map_err(unnamed)?;
            noted
        };
        noted.into_reply(raw, max_depth)
    }

    /// Checks what an upstream of 2025-03-26 may send: one message, or an array of them, each a slice of the same bytes.
    pub fn scan_all(raw: &Bytes, max_depth: usize) -> Result<Vec<Self>, Malformed> {
        let text = json::as_text(raw).map_err(unnamed)?;
        let mut scanner = Scanner::new(text, max_depth, Numbers::Any);
        if scanner.peek() != Some(b'[') {
            return Self::scan(raw.clone(), max_depth).map(|reply| vec![reply]);
        }
        let mut replies = Vec::new();
        scanner.array(|scanner, _| {
            scanner.peek();
            let start = scanner.position();
            let noted = Noted::read(scanner)?;
            replies.push(noted.into_reply(raw.slice(start..scanner.position()), max_depth)?);
            Ok::<(), Malformed>(())
        })?;
        scanner.end().map_err(unnamed)?;
        Ok(replies)
    }

    pub fn from_message(message: &Message) -> Self {
        let kind = match message {
            Message::Request(_) => ReplyKind::Request,
            Message::Notification(_) => ReplyKind::Notification,
            Message::Response(response) => match &response.outcome {
                Outcome::Error(error) => ReplyKind::Error { code: error.code },
                Outcome::Result(result) => ReplyKind::Result {
                    tool_error: result.get("isError").and_then(Value::as_bool).unwrap_or(false),
                    kind: ResultKind::of(result),
                },
            },
        };
        Self {
            raw: message.to_vec().into(),
            kind,
            id: message.id().cloned(),
            method: message.method().map(Into::into),
            max_depth: DEFAULT_MAX_DEPTH,
        }
    }

    /// The same message with other words in it: its kind, id and method were left alone.
    #[must_use]
    pub fn edited(&self, raw: Bytes) -> Self {
        debug_assert!(
            Self::scan(raw.clone(), self.max_depth)
                .is_ok_and(|again| (again.kind, &again.id, &again.method) == (self.kind, &self.id, &self.method)),
            "an edit changed what a message is"
        );
        Self { raw, ..self.clone() }
    }

    pub fn kind(&self) -> ReplyKind {
        self.kind
    }

    pub fn id(&self) -> Option<&Id> {
        self.id.as_ref()
    }

    pub fn method(&self) -> Option<&str> {
        self.method.as_deref()
    }

    pub fn raw(&self) -> &Bytes {
        &self.raw
    }

    /// The revision that an answer to `initialize` settles on.
    pub fn settled(&self) -> Option<Revision> {
        let Ok(Message::Response(response)) = self.message() else { return None };
        match response.outcome {
            Outcome::Result(result) => result.get("protocolVersion")?.as_str()?.parse().ok(),
            Outcome::Error(_) => None,
        }
    }

    /// Whether this ends the exchange it answers.
    pub fn is_final(&self) -> bool {
        matches!(self.kind, ReplyKind::Result { .. } | ReplyKind::Error { .. })
    }

    /// The tree, built now. An integer beyond 64 bits becomes the nearest double; one beyond doubles is refused.
    pub fn message(&self) -> Result<Message, Malformed> {
        let refused = |refusal: Malformed| refusal.answering(self.id.as_ref());
        let value = json::parse_reply(&self.raw, self.max_depth).map_err(|error| refused(unnamed(error)))?;
        envelope(value, Origin::Upstream)
    }

    /// Whose progress a `notifications/progress` reports; parses the message, since few replies are one.
    pub fn progress_token(&self) -> Option<Id> {
        if self.kind != ReplyKind::Notification || self.method() != Some("notifications/progress") {
            return None;
        }
        let message = self.message().ok()?;
        Id::try_from(message.params()?.get("progressToken")?.clone()).ok()
    }
}

/// A fault of a reply is told to its reader and to logs, and its keys are words of its server like any others.
fn unnamed(error: impl Into<JsonError>) -> Malformed {
    error.into().without_names().into()
}

#[cfg(test)]
mod tests;
