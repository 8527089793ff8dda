//! A message from an upstream: checked in one pass, kept as it came, taken apart only when somebody needs its tree.
//!
//! The pass refuses what the strict parser refuses except numbers (nobody is governed by an upstream's number), and notes what
//! the gateway's straight line asks of every reply: its kind, its id, its method. Most replies are never parsed further.

use bytes::Bytes;
use serde_json::Value;

use crate::error::{Malformed, code};
use crate::json::{self, DEFAULT_MAX_DEPTH, JsonError, Numbers, Scanner, Under};
use crate::message::{Id, Message, Origin, Outcome, check_member, envelope};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyKind {
    /// `tool_error` is `result.isError`: the call reached the tool, and the tool failed.
    Result { tool_error: bool },
    Error { code: i64 },
    Request,
    Notification,
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
        let text = json::as_text(&raw)?;
        let mut scanner = Scanner::new(text, max_depth, Numbers::Any);
        let noted = Noted::read(&mut scanner)?;
        scanner.end()?;
        noted.into_reply(raw, max_depth)
    }

    /// Checks what an upstream of 2025-03-26 may send: one message, or an array of them, each a slice of the same bytes.
    pub fn scan_all(raw: &Bytes, max_depth: usize) -> Result<Vec<Self>, Malformed> {
        let text = json::as_text(raw)?;
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
        scanner.end()?;
        Ok(replies)
    }

    pub fn from_message(message: &Message) -> Self {
        let kind = match message {
            Message::Request(_) => ReplyKind::Request,
            Message::Notification(_) => ReplyKind::Notification,
            Message::Response(response) => match &response.outcome {
                Outcome::Error(error) => ReplyKind::Error { code: error.code },
                Outcome::Result(result) => {
                    ReplyKind::Result { tool_error: result.get("isError").and_then(Value::as_bool).unwrap_or(false) }
                }
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

    /// Whether this ends the exchange it answers.
    pub fn is_final(&self) -> bool {
        matches!(self.kind, ReplyKind::Result { .. } | ReplyKind::Error { .. })
    }

    /// The tree, built now. An integer beyond 64 bits becomes the nearest double; one beyond doubles is refused.
    pub fn message(&self) -> Result<Message, Malformed> {
        let refused = |refusal: Malformed| refusal.answering(self.id.as_ref());
        let value = json::parse_reply(&self.raw, self.max_depth).map_err(|error| refused(error.into()))?;
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

/// What the pass over one message notes on its way.
#[derive(Default)]
struct Noted {
    id: GivenId,
    method: Option<String>,
    version: bool,
    params: bool,
    result: Option<bool>,
    error: Option<i64>,
}

#[derive(Default)]
enum GivenId {
    #[default]
    Absent,
    Null,
    Valid(Id),
}

impl Noted {
    fn read(scanner: &mut Scanner<'_>) -> Result<Self, Malformed> {
        let mut noted = Self::default();
        if scanner.peek() != Some(b'{') {
            // Text that is no JSON at all is told so first.
            scanner.value()?;
            return Err(invalid("a message must be an object"));
        }
        // A fault in the envelope waits until the text is known to be JSON, so that the code does not depend on the order.
        let mut refusal = None;
        scanner.object(|scanner, key| {
            match noted.member(scanner, key) {
                Ok(()) => Ok(()),
                Err(Stop::Json(error)) => Err(error),
                Err(Stop::Envelope(problem)) => {
                    refusal.get_or_insert(problem);
                    Ok(())
                }
            }
        })?;
        match refusal {
            Some(refusal) => Err(refusal.answering(noted.id.known())),
            None => Ok(noted),
        }
    }

    fn member(&mut self, scanner: &mut Scanner<'_>, key: &str) -> Result<(), Stop> {
        let first = scanner.peek();
        match key {
            "jsonrpc" if first == Some(b'"') => self.version = scanner.string()? == "2.0",
            "id" => self.id = GivenId::read(scanner, first)?,
            "method" if first == Some(b'"') => self.method = Some(scanner.string()?.into_owned()),
            "params" if first == Some(b'{') => {
                self.params = true;
                scanner.value()?;
            }
            "result" => self.result = Some(is_tool_error(scanner, first)?),
            "error" => self.error = Some(error_code(scanner, first)?),
            _ => {
                scanner.value()?;
                match key {
                    "params" => return Err(Stop::Envelope(Malformed::new(code::INVALID_PARAMS, "`params` must be an object"))),
                    "method" => return Err(Stop::Envelope(invalid("`method` must be a string"))),
                    // A `jsonrpc` that is no string leaves `version` false.
                    _ => check_member(key, Origin::Upstream).map_err(Stop::Envelope)?,
                }
            }
        }
        Ok(())
    }

    fn into_reply(self, raw: Bytes, max_depth: usize) -> Result<Reply, Malformed> {
        let kind = self.kind().map_err(|refusal| refusal.answering(self.id.known()))?;
        let id = match self.id {
            GivenId::Valid(id) => Some(id),
            GivenId::Absent | GivenId::Null => None,
        };
        Ok(Reply { raw, kind, id, method: self.method, max_depth })
    }

    fn kind(&self) -> Result<ReplyKind, Malformed> {
        if !self.version {
            return Err(invalid("`jsonrpc` must be \"2.0\""));
        }
        let kind = match (&self.method, self.result, self.error) {
            (Some(_), None, None) => match &self.id {
                GivenId::Valid(_) => ReplyKind::Request,
                GivenId::Absent => ReplyKind::Notification,
                GivenId::Null => return Err(invalid(crate::message::InvalidId.to_string())),
            },
            (None, Some(tool_error), None) => match &self.id {
                GivenId::Valid(_) => ReplyKind::Result { tool_error },
                GivenId::Absent | GivenId::Null => return Err(invalid("a result must carry the id it answers")),
            },
            (None, None, Some(code)) => ReplyKind::Error { code },
            (None, Some(_), Some(_)) => return Err(invalid("`result` and `error` exclude each other")),
            (Some(_), _, _) => return Err(invalid("`method` excludes `result` and `error`")),
            (None, None, None) => return Err(invalid("one of `method`, `result` and `error` is needed")),
        };
        if self.params && self.method.is_none() {
            return Err(invalid("a response has no `params`"));
        }
        Ok(kind)
    }
}

impl GivenId {
    fn read(scanner: &mut Scanner<'_>, first: Option<u8>) -> Result<Self, Stop> {
        match first {
            Some(b'"') => return Ok(Self::Valid(Id::Text(scanner.string()?.into_owned()))),
            Some(b'-' | b'0'..=b'9') => {
                let written = scanner.number()?;
                let id = serde_json::from_str::<Value>(written).ok().and_then(|value| Id::try_from(value).ok());
                if let Some(id) = id {
                    return Ok(Self::Valid(id));
                }
            }
            Some(b'n') => {
                scanner.value()?;
                return Ok(Self::Null);
            }
            _ => scanner.value()?,
        }
        Err(Stop::Envelope(invalid(crate::message::InvalidId.to_string())))
    }

    fn known(&self) -> Option<&Id> {
        match self {
            Self::Valid(id) => Some(id),
            Self::Absent | Self::Null => None,
        }
    }
}

fn is_tool_error(scanner: &mut Scanner<'_>, first: Option<u8>) -> Result<bool, JsonError> {
    let mut tool_error = false;
    if first != Some(b'{') {
        return scanner.value().map(|()| false);
    }
    scanner.object(|scanner, key| {
        if key == "isError" {
            tool_error = scanner.peek() == Some(b't');
        }
        scanner.value()
    })?;
    Ok(tool_error)
}

fn error_code(scanner: &mut Scanner<'_>, first: Option<u8>) -> Result<i64, Stop> {
    let (mut code, mut message) = (None, false);
    if first == Some(b'{') {
        scanner.object(|scanner, key| match (key, scanner.peek()) {
            ("code", Some(b'-' | b'0'..=b'9')) => {
                code = scanner.number()?.parse().ok();
                Ok(())
            }
            ("message", Some(b'"')) => {
                message = true;
                scanner.value()
            }
            _ => scanner.value(),
        })?;
    } else {
        scanner.value()?;
    }
    match code {
        Some(code) if message => Ok(code),
        _ => Err(Stop::Envelope(invalid("`error` must be an object with an integer `code` and a string `message`"))),
    }
}

/// Why a member could not be noted: the text is no JSON, or it is no JSON-RPC.
enum Stop {
    Json(JsonError),
    Envelope(Malformed),
}

impl From<JsonError> for Stop {
    fn from(error: JsonError) -> Self {
        Self::Json(error)
    }
}

impl Under for Malformed {
    /// A refused envelope says what is wrong by name already.
    fn under(self, _: &str) -> Self {
        self
    }
}

fn invalid(message: impl Into<String>) -> Malformed {
    Malformed::new(code::INVALID_REQUEST, message)
}
