//! Whose list it is. What an upstream lists may depend on who asks, in which revision, and what that client can do.

use gateway_core::{Exchange, Permit};
use gateway_protocol::revision::meta;
use gateway_protocol::{Message, Revision};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// Everybody for whom one list is right.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Reader {
    /// `None`: whoever asks.
    owner: Option<String>,
    revision: Option<Revision>,
    client: Client,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Client {
    /// Digest of the capabilities it declares.
    Declares(Vec<u8>),
    /// What it declared was said to the upstream when this session began, and is not known here.
    InSession(String),
    Unknown,
}

impl Reader {
    pub(super) fn of(exchange: &Exchange, shared: bool) -> Self {
        let declared = exchange.message().and_then(Message::meta).and_then(|meta| meta.get(meta::CLIENT_CAPABILITIES));
        let session = exchange.session.as_ref();
        let client = match (declared, session.and_then(|session| session.handshake())) {
            (Some(declared), _) => Client::Declares(digest(declared)),
            (None, Some(handshake)) => Client::Declares(digest(&Value::Object(handshake.capabilities.clone()))),
            // The operator says that it does not matter.
            (None, None) if shared => Client::Unknown,
            (None, None) => session.map_or(Client::Unknown, |session| Client::InSession(session.upstream_id().into())),
        };
        let owner = (!shared).then(|| exchange.principal.binding());
        Self { owner, revision: exchange.revision, client }
    }

    /// Everybody like this one, where the upstream says that its list is for all. A session's list stays the session's.
    pub(super) fn public(&self) -> Option<Self> {
        match self.client {
            Client::InSession(_) => None,
            Client::Declares(_) | Client::Unknown => Some(Self { owner: None, ..self.clone() }),
        }
    }
}

fn digest(capabilities: &Value) -> Vec<u8> {
    Sha256::digest(capabilities.to_string().as_bytes()).to_vec()
}

/// What a change is announced for, together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Area {
    Tools,
    Prompts,
    Resources,
}

impl Area {
    pub(super) fn of_list(method: &str) -> Option<Self> {
        match method {
            "tools/list" => Some(Self::Tools),
            "prompts/list" => Some(Self::Prompts),
            "resources/list" | "resources/templates/list" => Some(Self::Resources),
            _ => None,
        }
    }

    pub(super) fn of_news(method: &str) -> Option<Self> {
        match method {
            "notifications/tools/list_changed" => Some(Self::Tools),
            "notifications/prompts/list_changed" => Some(Self::Prompts),
            "notifications/resources/list_changed" => Some(Self::Resources),
            _ => None,
        }
    }
}

/// One page of one list.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Page {
    pub(super) reader: Reader,
    pub(super) method: String,
    /// Its params without `_meta`, as JSON.
    params: String,
    first: bool,
}

impl Page {
    /// `None` for what is no list, or is part of a conversation about one.
    pub(super) fn asked_by(permit: &Permit, shared: bool) -> Option<Self> {
        let exchange = permit.exchange();
        let Some(Message::Request(request)) = exchange.message() else { return None };
        Area::of_list(&request.method)?;
        let mut params = request.params.clone().unwrap_or_default();
        params.shift_remove("_meta");
        if params.contains_key("inputResponses") || params.contains_key("requestState") {
            return None;
        }
        let first = !params.contains_key("cursor");
        let reader = Reader::of(exchange, shared);
        Some(Self { reader, method: request.method.clone(), params: written(params), first })
    }

    pub(super) fn public(&self) -> Option<Self> {
        Some(Self { reader: self.reader.public()?, ..self.clone() })
    }

    /// The page that the list of this one begins with; `None` if it is that page.
    pub(super) fn beginning(&self) -> Option<Self> {
        (!self.first).then(|| {
            let mut params: Map<String, Value> = serde_json::from_str(&self.params).unwrap_or_default();
            params.shift_remove("cursor");
            Self { params: written(params), first: true, ..self.clone() }
        })
    }

    pub(super) fn area(&self) -> Option<Area> {
        Area::of_list(&self.method)
    }
}

fn written(params: Map<String, Value>) -> String {
    Value::Object(params).to_string()
}
