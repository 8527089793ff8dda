//! What the one pass over a reply notes on its way through the envelope.
//!
//! It must accept exactly what `message::envelope` accepts of an upstream; a property test holds the two together.

use bytes::Bytes;
use serde_json::Value;

use super::{Reply, ReplyKind, ResultKind, unnamed};
use crate::error::{Malformed, code};
use crate::json::{JsonError, Scan, Scanner, Under};
use crate::message::{Id, InvalidId, Origin, check_member};

/// What the pass over one message notes on its way.
#[derive(Default)]
pub(super) struct Noted {
    id: GivenId,
    method: Option<String>,
    version: bool,
    params: bool,
    result: Option<NotedResult>,
    error: Option<i64>,
}

#[derive(Default, Clone, Copy)]
struct NotedResult {
    tool_error: bool,
    kind: ResultKind,
}

#[derive(Default)]
enum GivenId {
    #[default]
    Absent,
    Null,
    Valid(Id),
}

impl Noted {
    pub(super) fn read(scanner: &mut Scanner<'_>) -> Result<Self, Malformed> {
        let mut noted = Self::default();
        if scanner.peek() != Some(b'{') {
            // Text that is no JSON at all is told so first.
            scanner.value().map_err(unnamed)?;
            return Err(invalid("a message must be an object"));
        }
        // A fault in the envelope waits until the text is known to be JSON, so that the code does not depend on the order.
        let mut refusal = None;
        let read = scanner.object(|scanner, key| match noted.member(scanner, key) {
            Ok(()) => Ok(()),
            Err(Stop::Json(error)) => Err(error),
            Err(Stop::Envelope(problem)) => {
                refusal.get_or_insert(problem);
                Ok(())
            }
        });
        read.map_err(unnamed)?;
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
            "result" => self.result = Some(NotedResult::read(scanner, first)?),
            "error" => self.error = Some(error_code(scanner, first)?),
            _ => {
                scanner.value()?;
                match key {
                    "params" => {
                        return Err(Stop::Envelope(Malformed::new(code::INVALID_PARAMS, "`params` must be an object")));
                    }
                    "method" => return Err(Stop::Envelope(invalid("`method` must be a string"))),
                    // A `jsonrpc` that is no string leaves `version` false.
                    _ => check_member(key, Origin::Upstream).map_err(Stop::Envelope)?,
                }
            }
        }
        Ok(())
    }

    pub(super) fn into_reply(self, raw: Bytes, max_depth: usize) -> Result<Reply, Malformed> {
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
                GivenId::Null => return Err(invalid(InvalidId.to_string())),
            },
            (None, Some(NotedResult { tool_error, kind }), None) => match &self.id {
                GivenId::Valid(_) => ReplyKind::Result { tool_error, kind },
                GivenId::Absent | GivenId::Null => {
                    return Err(invalid("a result must carry the id it answers"));
                }
            },
            (None, None, Some(code)) => ReplyKind::Error { code },
            (None, Some(_), Some(_)) => {
                return Err(invalid("`result` and `error` exclude each other"));
            }
            (Some(_), _, _) => return Err(invalid("`method` excludes `result` and `error`")),
            (None, None, None) => {
                return Err(invalid("one of `method`, `result` and `error` is needed"));
            }
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
        Err(Stop::Envelope(invalid(InvalidId.to_string())))
    }

    fn known(&self) -> Option<&Id> {
        match self {
            Self::Valid(id) => Some(id),
            Self::Absent | Self::Null => None,
        }
    }
}

impl NotedResult {
    fn read(scanner: &mut Scanner<'_>, first: Option<u8>) -> Scan<Self> {
        let mut noted = Self::default();
        if first != Some(b'{') {
            return scanner.value().map(|()| noted);
        }
        scanner.object(|scanner, key| {
            match (key, scanner.peek()) {
                ("isError", next) => noted.tool_error = next == Some(b't'),
                ("resultType", Some(b'"')) => {
                    noted.kind = ResultKind::named(&scanner.string()?);
                    return Ok(());
                }
                ("resultType", _) => noted.kind = ResultKind::Other,
                _ => {}
            }
            scanner.value()
        })?;
        Ok(noted)
    }
}

fn error_code(scanner: &mut Scanner<'_>, first: Option<u8>) -> Result<i64, Stop> {
    let (mut code, mut message) = (None, false);
    if first == Some(b'{') {
        scanner.object(|scanner, key| match (key, scanner.peek()) {
            ("code", Some(b'-' | b'0'..=b'9')) => {
                // Read as the tree would read it: `-0` and `1.0` are no integers there.
                code = serde_json::from_str::<Value>(scanner.number()?).ok().and_then(|value| value.as_i64());
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
    Json(Box<JsonError>),
    Envelope(Malformed),
}

impl From<Box<JsonError>> for Stop {
    fn from(error: Box<JsonError>) -> Self {
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
