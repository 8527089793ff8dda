//! What two nodes of one store write on a request that one of them carries to the other, and on its answer.
//!
//! The address that a session names may be somebody else's by now. So everything that tells who is asking is sealed with the key
//! of the store: an address that is not a node's learns no credential, cannot use what it was sent, and is not believed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use gateway_protocol::headers;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::digest;
use crate::home::{Home, Passage};
use crate::identity::Credential;
use crate::ports::{Carried, Clock, Seal};
use crate::refusal::Answer;

/// The header that says a request was carried, and that its answer is a node's.
pub const CARRIED: &str = "portreeve-carried";
/// How long a carried request may be under way.
const UNDER_WAY: SignedDuration = SignedDuration::from_secs(60);
/// Labels that were used are sorted out whenever there are this many more of them.
const SWEPT_AT: usize = 1024;

/// What the header of a request says once opened.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Label {
    to: Uuid,
    from: Uuid,
    /// It came on a wire without headers of its own.
    messages: bool,
    /// The caller's own: the peer checks it again.
    credential: Option<String>,
    /// The request that the label was written for. On another it is worth nothing.
    request: String,
    /// Good for one use.
    once: Uuid,
    until: Timestamp,
}

/// What the header of an answer says: only who could open the label knows its number.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Proof {
    answers: Uuid,
    by: Uuid,
}

/// A request that a peer brought.
pub struct Arrived {
    pub passage: Passage,
    pub messages: bool,
    pub credential: Credential,
    once: Uuid,
}

/// What the label of a request turned out to be.
pub enum Arrival {
    /// None of ours, too old, used before, or written for another request: it means nothing.
    Unlabelled,
    /// Meant for another process, as after a restart.
    Misdirected,
    Brought(Arrived),
}

/// What a forwarding node must hear back before it believes an answer.
pub struct Expected {
    once: Uuid,
    by: Uuid,
}

pub struct Crossings {
    seal: Arc<dyn Seal>,
    clock: Arc<dyn Clock>,
    node: Uuid,
    used: Mutex<Used>,
}

#[derive(Default)]
struct Used {
    labels: HashMap<Uuid, Timestamp>,
    sweep_at: usize,
}

impl Crossings {
    pub fn new(seal: Arc<dyn Seal>, clock: Arc<dyn Clock>, node: Uuid) -> Self {
        Self { seal, clock, node, used: Mutex::default() }
    }

    /// Labels a request that is about to leave for `to`.
    pub fn send(&self, to: &Home, credential: &Credential, messages: bool, request: &mut Carried) -> Expected {
        let until = self.clock.now().checked_add(UNDER_WAY).unwrap_or(Timestamp::MAX);
        let credential = match credential {
            Credential::Key(key) => Some(key.clone()),
            // What the gateway vouches for never leaves the process.
            Credential::None | Credential::Vouched(_) => None,
        };
        let (once, request_digest) = (self.clock.fresh_id(), fingerprint(request));
        let label = Label { to: to.node, from: self.node, messages, credential, request: request_digest, once, until };
        request.headers.push((CARRIED.to_owned(), self.sealed(&label)));
        Expected { once, by: to.node }
    }

    /// The label is spent by this.
    pub fn arrive(&self, label: &str, request: &Carried) -> Arrival {
        let Some(label) = self.open(label).filter(|label| label.request == fingerprint(request)) else {
            return Arrival::Unlabelled;
        };
        if label.to != self.node {
            return Arrival::Misdirected;
        }
        if !self.spend(&label) {
            return Arrival::Unlabelled;
        }
        let credential = label.credential.map_or(Credential::None, Credential::Key);
        let passage = Passage { from: label.from, to: label.to };
        Arrival::Brought(Arrived { passage, messages: label.messages, credential, once: label.once })
    }

    /// Whose request it is that bears this label, without spending it.
    pub fn credential(&self, label: &str) -> Option<Credential> {
        let label = self.open(label).filter(|label| label.to == self.node)?;
        Some(label.credential.map_or(Credential::None, Credential::Key))
    }

    /// The answer with the proof that a node gave it.
    pub fn answer(&self, arrived: &Arrived, answer: Answer) -> Answer {
        answer.with(CARRIED, self.sealed(&Proof { answers: arrived.once, by: self.node }))
    }

    /// The answer of the node that was asked, without the proof; `None` where anybody else gave it.
    pub fn believe(&self, expected: &Expected, mut answer: Answer) -> Option<Answer> {
        let place = answer.headers.iter().position(|(name, _)| *name == CARRIED)?;
        let (_, sealed) = answer.headers.swap_remove(place);
        let proof: Proof = serde_json::from_slice(&self.seal.open(&sealed)?).ok()?;
        (proof.answers == expected.once && proof.by == expected.by).then_some(answer)
    }

    fn sealed(&self, plain: &impl Serialize) -> String {
        // Plain data: serialising it cannot fail.
        self.seal.seal(&serde_json::to_vec(plain).unwrap_or_default())
    }

    fn open(&self, sealed: &str) -> Option<Label> {
        let label: Label = serde_json::from_slice(&self.seal.open(sealed)?).ok()?;
        (self.clock.now() < label.until).then_some(label)
    }

    /// False if it was spent before: whoever saw a request pass cannot send it again.
    fn spend(&self, label: &Label) -> bool {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if used.labels.len() >= used.sweep_at {
            let now = self.clock.now();
            used.labels.retain(|_, until| now < *until);
            used.sweep_at = used.labels.len() + SWEPT_AT;
        }
        used.labels.insert(label.once, label.until).is_none()
    }
}

/// What a label is bound to: everything that says what is asked for, and of which session.
fn fingerprint(request: &Carried) -> String {
    let named = |wanted: &str| {
        let found = request.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.map_or("", |(_, value)| value.as_str())
    };
    let (session, event) = (named(headers::SESSION_ID), named(headers::LAST_EVENT_ID));
    let parts =
        [request.method.as_bytes(), request.path.as_bytes(), session.as_bytes(), event.as_bytes(), &request.body];
    let mut whole = Vec::with_capacity(parts.iter().map(|part| part.len() + 8).sum());
    for part in parts {
        whole.extend_from_slice(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        whole.extend_from_slice(part);
    }
    digest::hex(&whole)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]
    use bytes::Bytes;

    use super::*;
    use crate::testing::{FixedClock, PlainSeal};

    fn node(number: u128) -> (Home, Crossings, Arc<FixedClock>) {
        let (home, clock) = (Home { node: Uuid::from_u128(number), at: None }, Arc::new(FixedClock::default()));
        let crossings = Crossings::new(Arc::new(PlainSeal), Arc::clone(&clock) as _, home.node);
        (home, crossings, clock)
    }

    fn request() -> Carried {
        let headers = vec![(headers::SESSION_ID.to_owned(), "session".to_owned())];
        Carried { method: "POST", path: "/notes/mcp".into(), body: Bytes::from_static(b"{}"), headers }
    }

    fn key() -> Credential {
        Credential::Key("prv_secret".into())
    }

    fn label(request: &Carried) -> &str {
        request.headers.iter().find(|(name, _)| name == CARRIED).map_or("", |(_, value)| value)
    }

    #[test]
    fn a_label_is_good_once_for_one_request_at_one_node() {
        let ((_, from, _), (home, to, clock), (_, third, _)) = (node(1), node(2), node(3));
        let sent = || {
            let mut request = request();
            from.send(&home, &key(), true, &mut request);
            request
        };
        let request = sent();
        assert_eq!(to.credential(label(&request)), Some(key()), "looking does not spend it");
        let Arrival::Brought(arrived) = to.arrive(label(&request), &request) else { panic!("it was for this node") };
        assert!(arrived.messages && arrived.credential == key());
        assert_eq!((arrived.passage.from, arrived.passage.to), (Uuid::from_u128(1), home.node));
        assert!(matches!(to.arrive(label(&request), &request), Arrival::Unlabelled), "used before");

        let (elsewhere, late) = (sent(), sent());
        assert!(matches!(third.arrive(label(&elsewhere), &elsewhere), Arrival::Misdirected));
        assert_eq!(third.credential(label(&elsewhere)), None);
        for other in [
            Carried { body: Bytes::from_static(b"{ }"), ..sent() },
            Carried { path: "/crm/mcp".into(), ..sent() },
            Carried { method: "DELETE", ..sent() },
            Carried { headers: vec![(CARRIED.into(), label(&sent()).into())], ..sent() },
        ] {
            assert!(matches!(to.arrive(label(&other), &other), Arrival::Unlabelled), "written for another request");
        }
        clock.pass(UNDER_WAY);
        assert!(matches!(to.arrive(label(&late), &late), Arrival::Unlabelled), "too old");
        assert!(matches!(to.arrive("post", &late), Arrival::Unlabelled), "no node wrote it");
    }

    #[test]
    fn only_the_node_that_was_asked_is_believed() {
        let ((_, from, _), (home, to, _), (_, third, _)) = (node(1), node(2), node(3));
        let (mut first, mut second) = (request(), request());
        let (expected, another) =
            (from.send(&home, &key(), false, &mut first), from.send(&home, &key(), false, &mut second));
        let Arrival::Brought(arrived) = to.arrive(label(&first), &first) else { panic!("it was for this node") };
        let answer = || Answer::empty(202).with("retry-after", "1");
        assert!(from.believe(&expected, answer()).is_none(), "no proof");
        assert!(from.believe(&expected, answer().with(CARRIED, label(&first))).is_none(), "our own label given back");
        assert!(from.believe(&another, to.answer(&arrived, answer())).is_none(), "the proof of another answer");
        assert!(from.believe(&expected, third.answer(&arrived, answer())).is_none(), "another node");
        let believed = from.believe(&expected, to.answer(&arrived, answer())).map(|answer| answer.headers);
        assert_eq!(believed, Some(vec![("retry-after", "1".to_owned())]), "the proof stays among us");
    }

    #[test]
    fn used_labels_are_forgotten_when_they_could_not_be_used_anyway() {
        let ((_, from, sent_at), (home, to, clock)) = (node(1), node(2));
        for _ in 0..3 * SWEPT_AT {
            let mut request = request();
            from.send(&home, &key(), false, &mut request);
            assert!(matches!(to.arrive(label(&request), &request), Arrival::Brought(_)));
            for time in [&sent_at, &clock] {
                time.pass(SignedDuration::from_secs(1));
            }
        }
        let kept = to.used.lock().map_or(0, |used| used.labels.len());
        assert!(kept <= SWEPT_AT + 60, "{kept}");
    }
}
