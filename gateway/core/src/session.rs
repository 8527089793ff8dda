//! Session ids that the gateway mints: sealed, bound to their principal, good on any node.

use gateway_protocol::Revision;
use gateway_protocol::era::Handshake;
use serde::{Deserialize, Serialize};

use crate::digest;
use crate::exchange::Route;
use crate::home::Home;
use crate::identity::Principal;
use crate::ports::Seal;

/// Longer than any session id of ours; a header that large is not worth opening.
const LONGEST_TOKEN: usize = 8 * 1024;
/// A larger handshake is not sealed, or its session id would outgrow the headers that clients and proxies accept.
const LARGEST_HANDSHAKE: usize = 2 * 1024;

/// What a session id says once opened. The client only ever sees it sealed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// The principal that initialised it; for anybody else it does not exist.
    binding: String,
    route: String,
    revision: String,
    /// The upstream's own id, which never leaves the gateway in clear.
    upstream: String,
    /// Where its state is, if that is in a process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    home: Option<Home>,
    /// What the client said of itself, so that a node can open the session anew once its home is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    handshake: Option<Handshake>,
    /// Which questions of ours its client can show a person: `FORM`, `URL`.
    #[serde(default, skip_serializing_if = "is_none")]
    asks: u8,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde wants it")]
fn is_none(asks: &u8) -> bool {
    *asks == 0
}

/// The client can show a form.
pub const FORM: u8 = 1;
/// The client can send a person to a page.
pub const URL: u8 = 2;

impl Session {
    /// A session whose state is the upstream's: every node can use it as it is.
    pub fn new(principal: &Principal, route: &Route, revision: Option<Revision>, upstream: String) -> Self {
        Self {
            binding: principal.binding(),
            route: route_key(route),
            revision: revision.map(|revision| revision.as_str().into()).unwrap_or_default(),
            upstream,
            home: None,
            handshake: None,
            asks: 0,
        }
    }

    #[must_use]
    pub fn asking(mut self, asks: u8) -> Self {
        self.asks = asks;
        self
    }

    /// Whether its client said that it can show a person such a question.
    pub fn may_ask(&self, kind: u8) -> bool {
        self.asks & kind != 0
    }

    /// A session whose state is in the process at `home`. A handshake too large to travel in a header is left out: such a
    /// session ends with its home.
    pub fn pinned(
        principal: &Principal,
        route: &Route,
        revision: Option<Revision>,
        upstream: String,
        home: Home,
        handshake: Option<Handshake>,
    ) -> Self {
        let small = |said: &Handshake| serde_json::to_vec(said).is_ok_and(|json| json.len() <= LARGEST_HANDSHAKE);
        let handshake = handshake.filter(small);
        Self { home: Some(home), handshake, ..Self::new(principal, route, revision, upstream) }
    }

    pub fn upstream_id(&self) -> &str {
        &self.upstream
    }

    pub fn revision(&self) -> Option<Revision> {
        self.revision.parse().ok()
    }

    pub fn home(&self) -> Option<&Home> {
        self.home.as_ref()
    }

    pub fn handshake(&self) -> Option<&Handshake> {
        self.handshake.as_ref()
    }

    /// Names the session in memory: the same for every sealing of it, and nothing that could be shown as an id.
    pub fn key(&self) -> String {
        digest::hex(&serde_json::to_vec(&(&self.binding, &self.route, &self.upstream)).unwrap_or_default())
    }

    pub fn seal(&self, seal: &dyn Seal) -> String {
        // Plain data: serialising it cannot fail.
        seal.seal(&serde_json::to_vec(self).unwrap_or_default())
    }

    /// `None` for a forged id, another principal's, or another route's: all look like an expired session.
    pub fn open(token: &str, seal: &dyn Seal, principal: &Principal, route: &Route) -> Option<Self> {
        if token.len() > LONGEST_TOKEN {
            return None;
        }
        let session: Self = serde_json::from_slice(&seal.open(token)?).ok()?;
        (session.binding == principal.binding() && session.route == route_key(route)).then_some(session)
    }
}

/// A door as sealed texts name it.
pub(crate) fn route_key(route: &Route) -> String {
    match route {
        Route::One(namespace) => namespace.to_string(),
        Route::All => String::new(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::{Value, json};
    use uuid::Uuid;

    use super::*;

    /// Hides nothing; what is sealed is tested where the sealing is.
    struct Plain;

    impl Seal for Plain {
        fn seal(&self, plain: &[u8]) -> String {
            String::from_utf8(plain.to_vec()).unwrap()
        }

        fn open(&self, sealed: &str) -> Option<Vec<u8>> {
            Some(sealed.as_bytes().to_vec())
        }

        fn derive(&self, _label: &str) -> [u8; 32] {
            [0; 32]
        }
    }

    fn pinned(client_info: Value) -> Session {
        let home = Home { node: Uuid::nil(), at: Some("http://10.0.0.7:8080".into()) };
        let revision = Revision::V2025_06_18;
        let capabilities = json!({ "elicitation": {} }).as_object().cloned().unwrap();
        let handshake = Handshake { revision, capabilities, client_info };
        let principal = Principal::anonymous();
        Session::pinned(&principal, &Route::All, Some(revision), "up-1".into(), home, Some(handshake))
    }

    #[test]
    fn a_pinned_session_says_where_it_lives_and_how_it_began() {
        let session = pinned(json!({ "name": "c", "version": "1" }));
        let opened = Session::open(&session.seal(&Plain), &Plain, &Principal::anonymous(), &Route::All).unwrap();
        assert_eq!(opened, session);
        assert_eq!(opened.home().and_then(|home| home.at.as_deref()), Some("http://10.0.0.7:8080"));
        assert!(opened.handshake().is_some_and(|said| said.capabilities.contains_key("elicitation")));
        let large = pinned(json!({ "name": "c".repeat(LARGEST_HANDSHAKE), "version": "1" }));
        assert!(large.handshake().is_none() && large.home().is_some(), "too large to travel");
        assert_eq!(large.key(), session.key(), "the same session however it is sealed");
    }

    #[test]
    fn a_session_of_before_opens_and_one_that_is_too_long_does_not() {
        let before = r#"{"binding":"anonymous::unauthenticated","route":"","revision":"2025-11-25","upstream":"u"}"#;
        let opened = Session::open(before, &Plain, &Principal::anonymous(), &Route::All).unwrap();
        assert!(opened.home().is_none() && opened.handshake().is_none());
        let padded = format!("{before}{}", " ".repeat(LONGEST_TOKEN));
        assert!(Session::open(&padded, &Plain, &Principal::anonymous(), &Route::All).is_none());
    }
}
