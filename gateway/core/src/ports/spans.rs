//! Calls as spans of somebody's trace, for whoever watches many services at once.
//!
//! A span says that a call was made, by whom, of what, and how it ended. What was asked and what was answered is never in
//! it: spans leave for other people's systems, where nobody's rules for records hold.

use std::time::SystemTime;

use gateway_protocol::Revision;
use uuid::Uuid;

use crate::classification::Classification;
use crate::names::{AgentId, Namespace, TenantId, ToolName, TraceId};
use crate::outcome::Status;
use crate::verdict::Decision;

/// Where spans go.
pub trait Spans: Send + Sync {
    /// From when on a call is measured; `None` where it is not followed, and nothing more is asked of it.
    fn begin(&self, place: &Place) -> Option<SystemTime>;
    /// Over now. Never waits, and may lose it.
    fn ended(&self, span: CallSpan);
}

/// A span's place in its trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub trace: [u8; 16],
    pub span: [u8; 8],
    pub parent: Option<Parent>,
}

/// The caller's own span, as its `traceparent` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parent {
    pub span: [u8; 8],
    /// Whether the caller has its trace kept.
    pub sampled: bool,
}

/// One call from question to answer.
#[derive(Debug, Clone, PartialEq)]
pub struct CallSpan {
    pub place: Place,
    pub began: SystemTime,
    /// `None`: the message could not be read so far.
    pub method: Option<String>,
    pub tool: Option<ToolName>,
    /// The upstream it was for, where the door or the message named one.
    pub namespace: Option<Namespace>,
    pub revision: Option<Revision>,
    pub tenant: Option<TenantId>,
    pub agent: AgentId,
    pub classification: Option<Classification>,
    pub decision: Decision,
    /// Who refused or escalated it, and by which rule; not in which words, which may repeat what was asked.
    pub reason: Option<(String, String)>,
    pub status: Status,
    /// Its trace in the ledger, and the place there where that is known already.
    pub audit: TraceId,
    pub seq: Option<i64>,
    /// The trace that this one goes on with, after somebody was asked.
    pub continues: Option<TraceId>,
    /// The run of a tool agent that it is a step of.
    pub run: Option<Uuid>,
}

impl Place {
    /// Below the caller's span where one is named, else at the top of a trace of its own that has the ledger's id: whoever
    /// holds the one finds the other.
    pub fn new(traceparent: Option<&str>, audit: &TraceId, fresh: Uuid) -> Self {
        // The lower half of a time-ordered id is the one that chance fills.
        let span = (fresh.as_u128() as u64).to_be_bytes();
        match traceparent.and_then(read) {
            Some((trace, parent)) => Self { trace, span, parent: Some(parent) },
            None => Self { trace: fresh.into_bytes(), span, parent: None }.of(audit),
        }
    }

    /// A trace of its own takes the ledger's id; the caller's keeps the caller's.
    #[must_use]
    pub fn of(mut self, audit: &TraceId) -> Self {
        let own = audit.as_str().strip_prefix("trc_").and_then(bytes).filter(|_| self.parent.is_none());
        self.trace = own.unwrap_or(self.trace);
        self
    }

    /// What those that are called next are told, so that their spans stand below this one.
    pub fn traceparent(&self) -> String {
        format!("00-{}-{}-01", hex::encode(self.trace), hex::encode(self.span))
    }
}

/// W3C Trace Context: version, trace, span and flags. What a later version adds stands behind these four.
fn read(text: &str) -> Option<([u8; 16], Parent)> {
    let mut parts = text.split('-');
    let [version] = bytes(parts.next()?)?;
    let (trace, span, [flags]) = (bytes(parts.next()?)?, bytes(parts.next()?)?, bytes(parts.next()?)?);
    let known = match version {
        0xff => false,
        0 => parts.next().is_none(),
        _ => true,
    };
    let named = trace != [0; 16] && span != [0; 8];
    (known && named).then_some((trace, Parent { span, sampled: flags & 1 == 1 }))
}

/// Lowercase digits alone, as the specification has it.
fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut read = [0; N];
    let lower = !text.bytes().any(|c| c.is_ascii_uppercase());
    (lower && hex::decode_to_slice(text, &mut read).is_ok()).then_some(read)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_callers_trace_goes_on_and_nonsense_begins_a_new_one() {
        let audit = TraceId::from_uuid(Uuid::from_u128(0x0a));
        let parent = |text| Place::new(Some(text), &audit, Uuid::from_u128(7)).parent.map(|parent| parent.sampled);
        for (text, expected) in [
            ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", Some(true)),
            ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", Some(false)),
            ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03", Some(true)),
            ("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more", Some(true)),
            ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more", None),
            ("ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", None),
            ("00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01", None),
            ("00-00000000000000000000000000000000-b7ad6b7169203331-01", None),
            ("00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", None),
            ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331", None),
            ("00-1", None),
            ("", None),
        ] {
            assert_eq!(parent(text), expected, "{text}");
        }
    }

    #[test]
    fn a_call_without_a_trace_has_that_of_the_ledger() {
        let audit = TraceId::from_uuid(Uuid::from_u128(0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c));
        let place = Place::new(None, &audit, Uuid::from_u128(0xff_b7ad_6b71_6920_3331));
        assert_eq!(place.traceparent(), "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
        assert_eq!(Place::new(Some(&place.traceparent()), &audit, Uuid::from_u128(9)).trace, place.trace);
    }
}
