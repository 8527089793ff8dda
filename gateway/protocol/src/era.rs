//! What a client or a server says of itself, whichever era it says it in.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::revision::Revision;

/// What a legacy client said of itself; small enough to be sealed into its session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Handshake {
    pub revision: Revision,
    pub capabilities: Map<String, Value>,
    pub client_info: Value,
}
