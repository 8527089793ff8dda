//! Session ids that the gateway mints: sealed, bound to their principal, good on any node.

use gateway_protocol::Revision;
use serde::{Deserialize, Serialize};

use crate::exchange::Route;
use crate::identity::Principal;
use crate::ports::Seal;

/// What a session id says once opened. The client only ever sees it sealed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// The principal that initialised it; for anybody else it does not exist.
    binding: String,
    route: String,
    revision: String,
    /// The upstream's own id, which never leaves the gateway in clear.
    upstream: String,
}

impl Session {
    pub fn new(principal: &Principal, route: &Route, revision: Option<Revision>, upstream: String) -> Self {
        Self {
            binding: principal.binding(),
            route: route_key(route),
            revision: revision.map(|revision| revision.as_str().into()).unwrap_or_default(),
            upstream,
        }
    }

    pub fn upstream_id(&self) -> &str {
        &self.upstream
    }

    pub fn revision(&self) -> Option<Revision> {
        self.revision.parse().ok()
    }

    pub fn seal(&self, seal: &dyn Seal) -> String {
        // Plain strings: serialising them cannot fail.
        seal.seal(&serde_json::to_vec(self).unwrap_or_default())
    }

    /// `None` for a forged id, another principal's, or another route's: all look like an expired session.
    pub fn open(token: &str, seal: &dyn Seal, principal: &Principal, route: &Route) -> Option<Self> {
        let session: Self = serde_json::from_slice(&seal.open(token)?).ok()?;
        (session.binding == principal.binding() && session.route == route_key(route)).then_some(session)
    }
}

fn route_key(route: &Route) -> String {
    match route {
        Route::One(namespace) => namespace.to_string(),
        Route::All => String::new(),
    }
}
