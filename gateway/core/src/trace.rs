//! The audit record, and how each is hashed onto the one before.
//!
//! `event_hash` is SHA-256 over the RFC 8785 form of every field but itself, `previous_hash` included, so that changing,
//! dropping or reordering a trace shows. `seq` is dense per agent and orders the chain; it is not hashed.

mod time;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::canonical::{Canonical, Object};
use crate::classification::{Classification, scale};
use crate::digest;
use crate::names::{AgentId, TenantId, TraceId};

pub use time::written_time;

scale!(
    EventType, "decision, approval, escalation",
    { Decision = "decision", Approval = "approval", Escalation = "escalation", }
);

/// A trace before it has its place in a chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TraceDraft {
    pub tenant: Option<TenantId>,
    pub agent: AgentId,
    pub trace_id: TraceId,
    pub event_type: EventType,
    pub classification: Option<Classification>,
    pub description: Option<String>,
    pub reasoning: Option<String>,
    pub authorization: Canonical,
    pub context: Canonical,
    /// Whole milliseconds: what is hashed is what the database gives back.
    pub timestamp: Timestamp,
}

/// A trace in its chain, as stored and as exported.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    pub seq: i64,
    #[serde(flatten)]
    pub event: Event,
    pub event_hash: String,
}

/// Exactly what is hashed. Absent values are null, an absent context is `{}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    pub trace_id: String,
    pub agent_id: String,
    pub event_type: String,
    pub decision_type: Option<String>,
    pub risk_level: Option<String>,
    pub reversibility: Option<String>,
    pub classification_code: Option<String>,
    pub description: Option<String>,
    pub reasoning: Option<String>,
    pub authorization: Value,
    pub context: Value,
    pub previous_hash: Option<String>,
    pub timestamp: String,
}

#[derive(Debug, thiserror::Error)]
#[error("the trace cannot be written in canonical form")]
pub struct Unhashable(#[source] serde_json::Error);

impl Event {
    pub fn hash(&self) -> Result<String, Unhashable> {
        let authorization = Canonical::of(&self.authorization).map_err(Unhashable)?;
        let context = Canonical::of(&self.context).map_err(Unhashable)?;
        let parts = Parts {
            trace_id: &self.trace_id,
            agent_id: &self.agent_id,
            event_type: &self.event_type,
            decision_type: self.decision_type.as_deref(),
            risk_level: self.risk_level.as_deref(),
            reversibility: self.reversibility.as_deref(),
            classification_code: self.classification_code.as_deref(),
            description: self.description.as_deref(),
            reasoning: self.reasoning.as_deref(),
            authorization: authorization.as_str(),
            context: context.as_str(),
            previous_hash: self.previous_hash.as_deref(),
            timestamp: &self.timestamp,
        };
        Ok(parts.hash())
    }
}

/// An event over borrowed parts, the two JSON values already canonical: hashing copies nothing.
struct Parts<'a> {
    trace_id: &'a str,
    agent_id: &'a str,
    event_type: &'a str,
    decision_type: Option<&'a str>,
    risk_level: Option<&'a str>,
    reversibility: Option<&'a str>,
    classification_code: Option<&'a str>,
    description: Option<&'a str>,
    reasoning: Option<&'a str>,
    authorization: &'a str,
    context: &'a str,
    previous_hash: Option<&'a str>,
    timestamp: &'a str,
}

impl Parts<'_> {
    fn hash(&self) -> String {
        let mut event = Object::with_capacity(768 + self.authorization.len() + self.context.len());
        // In the order that the RFC gives the keys.
        event.text("agent_id", Some(self.agent_id));
        event.raw("authorization", self.authorization);
        event.text("classification_code", self.classification_code);
        event.raw("context", self.context);
        event.text("decision_type", self.decision_type);
        event.text("description", self.description);
        event.text("event_type", Some(self.event_type));
        event.text("previous_hash", self.previous_hash);
        event.text("reasoning", self.reasoning);
        event.text("reversibility", self.reversibility);
        event.text("risk_level", self.risk_level);
        event.text("timestamp", Some(self.timestamp));
        event.text("trace_id", Some(self.trace_id));
        digest::named(event.end().as_str().as_bytes())
    }
}

/// The end of a chain: where the next trace goes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Head {
    pub seq: i64,
    pub event_hash: Option<String>,
}

impl Head {
    /// Puts a draft at the end of the chain and moves the end. What a ledger stores besides the draft itself comes back;
    /// the event is not built.
    pub fn place(&mut self, draft: &TraceDraft) -> Result<Placed, Unhashable> {
        let part = draft.classification;
        let code = part.map(|part| part.code());
        let timestamp = written_time(draft.timestamp);
        let parts = Parts {
            trace_id: draft.trace_id.as_str(),
            agent_id: draft.agent.as_str(),
            event_type: draft.event_type.as_str(),
            decision_type: part.map(|part| part.decision_type.as_str()),
            risk_level: part.map(|part| part.risk.as_str()),
            reversibility: part.map(|part| part.reversibility.as_str()),
            classification_code: code.as_deref(),
            description: draft.description.as_deref(),
            reasoning: draft.reasoning.as_deref(),
            authorization: draft.authorization.as_str(),
            context: draft.context.as_str(),
            previous_hash: self.event_hash.as_deref(),
            timestamp: &timestamp,
        };
        let event_hash = parts.hash();
        self.seq += 1;
        let previous_hash = self.event_hash.replace(event_hash.clone());
        Ok(Placed { seq: self.seq, previous_hash, event_hash, code, timestamp })
    }

    /// Puts a draft at the end of the chain and moves the end.
    pub fn link(&mut self, draft: &TraceDraft) -> Result<Trace, Unhashable> {
        let part = draft.classification;
        let event = Event {
            trace_id: draft.trace_id.as_str().into(),
            agent_id: draft.agent.as_str().into(),
            event_type: draft.event_type.as_str().into(),
            decision_type: part.map(|part| part.decision_type.as_str().into()),
            risk_level: part.map(|part| part.risk.as_str().into()),
            reversibility: part.map(|part| part.reversibility.as_str().into()),
            classification_code: part.map(|part| part.code()),
            description: draft.description.clone(),
            reasoning: draft.reasoning.clone(),
            authorization: parsed(&draft.authorization)?,
            context: parsed(&draft.context)?,
            previous_hash: self.event_hash.clone(),
            timestamp: written_time(draft.timestamp),
        };
        let event_hash = event.hash()?;
        self.seq += 1;
        self.event_hash = Some(event_hash.clone());
        Ok(Trace { seq: self.seq, event, event_hash })
    }
}

fn parsed(json: &Canonical) -> Result<Value, Unhashable> {
    serde_json::from_str(json.as_str()).map_err(Unhashable)
}

/// A draft's place in its chain, and the texts that were hashed with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    pub seq: i64,
    pub previous_hash: Option<String>,
    pub event_hash: String,
    pub code: Option<String>,
    pub timestamp: String,
}

/// What a walk along a chain found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChainReport {
    pub valid: bool,
    pub chain_length: i64,
    pub checked: i64,
    pub first_trace: Option<String>,
    pub last_trace: Option<String>,
    pub broken_at: Option<String>,
}

/// Walks a chain in `seq` order, page by page, holding one hash.
#[derive(Debug, Default)]
pub struct ChainWalk {
    expected: Option<Head>,
    first: Option<String>,
    last: Option<String>,
    checked: i64,
    broken_at: Option<String>,
}

impl ChainWalk {
    /// From the very first trace.
    pub fn from_start() -> Self {
        Self { expected: Some(Head::default()), ..Self::default() }
    }

    /// From the middle: `before` is the trace in front of the first one checked.
    pub fn after(before: &Trace) -> Self {
        let head = Head { seq: before.seq, event_hash: Some(before.event_hash.clone()) };
        Self { expected: Some(head), ..Self::default() }
    }

    pub fn is_broken(&self) -> bool {
        self.broken_at.is_some()
    }

    pub fn step(&mut self, trace: &Trace) {
        if self.is_broken() {
            return;
        }
        self.checked += 1;
        self.first.get_or_insert_with(|| trace.event.trace_id.clone());
        self.last = Some(trace.event.trace_id.clone());
        let follows = self
            .expected
            .as_ref()
            .is_none_or(|head| head.seq + 1 == trace.seq && head.event_hash == trace.event.previous_hash);
        let intact = trace.event.hash().is_ok_and(|hash| hash == trace.event_hash);
        if !follows || !intact {
            self.broken_at = Some(trace.event.trace_id.clone());
        }
        self.expected = Some(Head { seq: trace.seq, event_hash: Some(trace.event_hash.clone()) });
    }

    /// `head` is where the store believes the chain ends: a missing tail shows against it.
    pub fn finish(self, head: &Head, last_in_store: Option<String>) -> ChainReport {
        let reached = self.expected.unwrap_or_default();
        let tail_missing = self.broken_at.is_none() && reached != *head;
        let broken_at = match (self.broken_at, tail_missing) {
            (Some(trace), _) => Some(trace),
            (None, true) => Some(self.last.clone().unwrap_or_else(|| "the chain is empty but its head is not".into())),
            (None, false) => None,
        };
        ChainReport {
            valid: broken_at.is_none(),
            chain_length: head.seq,
            checked: self.checked,
            first_trace: self.first,
            last_trace: last_in_store.or(self.last),
            broken_at,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::classification::{DecisionType, Reversibility, Risk};
    use serde_json::json;
    use sha2::{Digest, Sha256};

    fn draft(n: u128) -> TraceDraft {
        TraceDraft {
            tenant: None,
            agent: "agent-billing-001".parse().unwrap(),
            trace_id: TraceId::from_uuid(uuid::Uuid::from_u128(n)),
            event_type: EventType::Decision,
            classification: Some(Classification::new(DecisionType::D2, Risk::R2, Reversibility::Partial)),
            description: Some("Selected vendor B over vendor A".into()),
            reasoning: Some("Vendor B offers 15% lower fees with equivalent SLA".into()),
            authorization: Canonical::of(&json!({"required": false, "matrix_result": "A3 x D2 = AUTHORIZED"})).unwrap(),
            context: Canonical::of(&json!({})).unwrap(),
            timestamp: "2026-02-23T00:00:00Z".parse().unwrap(),
        }
    }

    // acceptance 19: the vector that was computed independently.
    #[test]
    fn the_known_vector_hashes_as_known() {
        let trace = Head::default().link(&draft(1)).unwrap();
        assert_eq!(trace.event.trace_id, "trc_00000000000000000000000000000001");
        assert_eq!(trace.event.timestamp, "2026-02-23T00:00:00.000Z");
        assert_eq!(trace.event_hash, "sha256:5efe256c39fd60700ab981bcfdae5849447c5a5d4a8821c3c1eb4b103482f629");
    }

    // acceptance 19: the short way to the hash and the long one, which knows nothing of the order of keys, agree.
    #[test]
    fn the_hash_is_over_the_whole_event_in_canonical_form() {
        let mut plain = draft(2);
        (plain.classification, plain.description, plain.reasoning) = (None, None, Some("\u{1}\"ü".into()));
        plain.authorization = Canonical::null();
        plain.context = Canonical::of(&json!({"b": [1.5, {"z": 1, "a": 2}], "a": null})).unwrap();
        let (mut linked, mut placed) = (Head::default(), Head::default());
        for draft in [draft(1), plain, draft(3)] {
            let trace = linked.link(&draft).unwrap();
            let whole = serde_json_canonicalizer::to_vec(&trace.event).unwrap();
            assert_eq!(trace.event_hash, format!("sha256:{}", hex::encode(Sha256::digest(&whole))));
            let place = placed.place(&draft).unwrap();
            assert_eq!((place.seq, &place.event_hash), (trace.seq, &trace.event_hash));
            assert_eq!((place.previous_hash, place.timestamp), (trace.event.previous_hash, trace.event.timestamp));
            assert_eq!((placed.clone(), place.code), (linked.clone(), trace.event.classification_code));
        }
    }

    fn chain(length: u128) -> (Vec<Trace>, Head) {
        let mut head = Head::default();
        let traces = (1..=length).map(|n| head.link(&draft(n)).unwrap()).collect();
        (traces, head)
    }

    fn walk(traces: &[Trace], head: &Head) -> ChainReport {
        let mut walk = ChainWalk::from_start();
        traces.iter().for_each(|trace| walk.step(trace));
        walk.finish(head, None)
    }

    // acceptance 20, acceptance 21: nested changes, a missing link, a missing tail, a swap.
    #[test]
    fn whatever_is_done_to_a_chain_shows_at_the_first_break() {
        let (traces, head) = chain(5);
        assert!(walk(&traces, &head).valid);
        let id = |n: usize| Some(traces.get(n - 1).unwrap().event.trace_id.clone());

        let mut changed = traces.clone();
        let nested = changed.get_mut(2).unwrap().event.authorization.as_object_mut().unwrap();
        nested.insert("required".into(), json!(true));
        assert_eq!(walk(&changed, &head).broken_at, id(3));

        let mut cut = traces.clone();
        cut.remove(2);
        assert_eq!(walk(&cut, &head).broken_at, id(4));

        let mut swapped = traces.clone();
        swapped.swap(1, 2);
        assert_eq!(walk(&swapped, &head).broken_at, id(3));

        let mut tail = traces.clone();
        tail.pop();
        assert_eq!(walk(&tail, &head).broken_at, id(4));
        assert!(!walk(&[], &head).valid);
    }

    // acceptance 23: an empty chain is whole.
    #[test]
    fn an_empty_chain_is_valid() {
        let report = walk(&[], &Head::default());
        assert_eq!((report.valid, report.chain_length, report.first_trace, report.broken_at), (true, 0, None, None));
    }
}
