//! What a client and a server say of themselves: in the legacy era once, in `initialize`; in the modern era the client with each
//! request and the server when asked to `server/discover`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{InputKind, known};
use crate::revision::{Revision, meta};

/// What a legacy client said of itself; small enough to be sealed into its session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Handshake {
    pub revision: Revision,
    pub capabilities: Map<String, Value>,
    pub client_info: Value,
}

impl Handshake {
    /// From the params of an `initialize`. A version that is no legacy one is answered with the newest that is.
    pub fn of_initialize(params: &Map<String, Value>) -> Self {
        let capabilities = params.get("capabilities").and_then(Value::as_object);
        Self {
            revision: negotiated(params.get("protocolVersion").and_then(Value::as_str)),
            capabilities: capabilities.cloned().unwrap_or_default(),
            client_info: params.get("clientInfo").cloned().unwrap_or_default(),
        }
    }

    /// The params of an `initialize` that says this.
    pub fn to_params(&self) -> Map<String, Value> {
        let mut params = Map::new();
        params.insert("protocolVersion".into(), self.revision.as_str().into());
        params.insert("capabilities".into(), Value::Object(self.capabilities.clone()));
        params.insert("clientInfo".into(), known::implementation(&self.client_info, self.revision));
        params
    }

    /// Whether a server may turn back to this client with a question of any kind.
    pub fn can_be_asked(&self) -> bool {
        InputKind::ALL.into_iter().any(|kind| kind.declared_in(&self.capabilities))
    }

    /// Its revision has no forms, so that saying nothing of them says nothing. A server that knows them must not take it for a client
    /// that wants no questions and act unasked: it is let ask, and hears that nobody answered.
    pub fn predates_forms(&self) -> bool {
        self.revision < Revision::V2025_06_18
    }
}

/// What a server says of itself, whichever era it said it in.
#[derive(Debug, Clone, PartialEq)]
pub struct Greeting {
    pub revision: Revision,
    /// The versions as the server wrote them; it may know some that we do not.
    pub supported: Vec<String>,
    pub capabilities: Map<String, Value>,
    /// Null where a modern server did not say.
    pub server_info: Value,
    pub instructions: Option<String>,
}

/// The capabilities that mean the same in both eras. Tasks and extensions do not cross, so they are not promised.
const CAPABILITIES: [&str; 6] = ["completions", "experimental", "logging", "prompts", "resources", "tools"];

impl Greeting {
    /// `None` if this is no answer to `initialize`, or one in a version nobody here speaks.
    pub fn of_initialize(result: &Value) -> Option<Self> {
        let written = result.get("protocolVersion")?.as_str()?;
        let revision: Revision = written.parse().ok()?;
        if revision.is_modern() {
            return None;
        }
        Some(Self {
            revision,
            supported: vec![written.to_owned()],
            capabilities: result.get("capabilities")?.as_object()?.clone(),
            server_info: result.get("serverInfo").cloned().unwrap_or_default(),
            instructions: instructions(result),
        })
    }

    /// `None` if this is no answer to `server/discover`, or if no modern version is among those it names.
    pub fn of_discover(result: &Value) -> Option<Self> {
        let versions = result.get("supportedVersions")?.as_array()?;
        let supported: Vec<String> = versions.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        let spoken = supported.iter().filter_map(|version| version.parse::<Revision>().ok());
        let revision = spoken.filter(|revision| revision.is_modern()).max()?;
        Some(Self {
            revision,
            capabilities: result.get("capabilities")?.as_object()?.clone(),
            server_info: result.get("_meta").and_then(|meta| meta.get(meta::SERVER_INFO)).cloned().unwrap_or_default(),
            instructions: instructions(result),
            supported,
        })
    }

    /// The answer to a legacy client's `initialize`, and the version it settles on: the one offered if it is a legacy one, else
    /// the newest of those.
    pub fn to_initialize(&self, offered: Option<&str>) -> (Revision, Value) {
        let revision = negotiated(offered);
        let mut capabilities = known::capabilities(&self.capabilities, &CAPABILITIES);
        if revision < Revision::V2025_03_26 {
            capabilities.shift_remove("completions");
        }
        let mut result = json!({
            "protocolVersion": revision.as_str(),
            "capabilities": capabilities,
            "serverInfo": known::implementation(&self.server_info, revision),
        });
        if let (Some(instructions), Value::Object(result)) = (&self.instructions, &mut result) {
            result.insert("instructions".into(), instructions.as_str().into());
        }
        (revision, result)
    }

    /// The answer to a modern client's `server/discover`. It names one version: the gateway translates the others away.
    pub fn to_discover(&self) -> Value {
        let mut result = json!({
            "resultType": "complete",
            "supportedVersions": [Revision::LATEST.as_str()],
            "capabilities": known::capabilities(&self.capabilities, &CAPABILITIES),
            "ttlMs": 0,
            "cacheScope": "private",
        });
        if let Value::Object(result) = &mut result {
            if let Some(instructions) = &self.instructions {
                result.insert("instructions".into(), instructions.as_str().into());
            }
            self.sign(result);
        }
        result
    }

    /// Names the server in a modern result's `_meta`.
    pub(super) fn sign(&self, result: &mut Map<String, Value>) {
        super::with_meta(result, |given| {
            let info = Some(&self.server_info).filter(|info| known::is_implementation(info)).cloned();
            super::set_or_remove(given, meta::SERVER_INFO, info);
        });
    }
}

fn negotiated(offered: Option<&str>) -> Revision {
    let offered = offered.and_then(|version| version.parse::<Revision>().ok());
    offered.filter(|revision| !revision.is_modern()).unwrap_or(Revision::LATEST_LEGACY)
}

fn instructions(result: &Value) -> Option<String> {
    result.get("instructions").and_then(Value::as_str).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;

    fn greeting() -> Greeting {
        Greeting::of_discover(&json!({
            "resultType": "complete",
            "supportedVersions": ["2027-01-01", "2026-07-28", "2025-11-25"],
            "capabilities": { "tools": { "listChanged": true }, "completions": {}, "extensions": { "x/y": {} }, "logging": 7 },
            "instructions": "be kind",
            "_meta": { meta::SERVER_INFO: { "name": "s", "version": "1", "title": "S", "icons": [] } },
        }))
        .unwrap()
    }

    #[test]
    fn a_version_is_echoed_if_it_is_a_legacy_one() {
        for (offered, revision) in [
            (Some("2024-11-05"), Revision::V2024_11_05),
            (Some("2025-06-18"), Revision::V2025_06_18),
            (Some("2026-07-28"), Revision::LATEST_LEGACY),
            (Some("1999-01-01"), Revision::LATEST_LEGACY),
            (None, Revision::LATEST_LEGACY),
        ] {
            let (settled, result) = greeting().to_initialize(offered);
            assert_eq!(settled, revision, "{offered:?}");
            assert_eq!(result["protocolVersion"], revision.as_str());
            let params = json!({ "protocolVersion": offered });
            assert_eq!(Handshake::of_initialize(params.as_object().unwrap()).revision, revision);
        }
    }

    #[test]
    fn a_modern_server_introduces_itself_to_legacy_clients() {
        for (offered, capabilities, info) in [
            ("2024-11-05", json!({ "tools": { "listChanged": true } }), json!({ "name": "s", "version": "1" })),
            (
                "2025-06-18",
                json!({ "tools": { "listChanged": true }, "completions": {} }),
                json!({ "name": "s", "version": "1", "title": "S" }),
            ),
            (
                "2025-11-25",
                json!({ "tools": { "listChanged": true }, "completions": {} }),
                json!({ "name": "s", "version": "1", "title": "S", "icons": [] }),
            ),
        ] {
            let (_, result) = greeting().to_initialize(Some(offered));
            assert_eq!(
                result,
                json!({ "protocolVersion": offered, "capabilities": capabilities, "serverInfo": info, "instructions": "be kind" })
            );
        }
        let unnamed = Greeting { server_info: Value::Null, ..greeting() };
        assert_eq!(unnamed.to_initialize(None).1["serverInfo"]["name"], "portreeve", "the schema insists on a name");
        assert!(unnamed.to_discover().get("_meta").is_none());
    }

    #[test]
    fn a_legacy_server_introduces_itself_to_modern_clients() {
        let greeting = Greeting::of_initialize(&json!({
            "protocolVersion": "2025-06-18",
            "capabilities": { "tasks": {}, "resources": { "subscribe": true } },
            "serverInfo": { "name": "s", "version": "1" },
        }))
        .unwrap();
        assert_eq!((greeting.revision, &*greeting.supported), (Revision::V2025_06_18, &["2025-06-18".to_owned()][..]));
        assert_eq!(
            greeting.to_discover(),
            json!({
                "resultType": "complete",
                "supportedVersions": ["2026-07-28"],
                "capabilities": { "resources": { "subscribe": true } },
                "ttlMs": 0,
                "cacheScope": "private",
                "_meta": { meta::SERVER_INFO: { "name": "s", "version": "1" } },
            })
        );
    }

    #[test]
    fn what_is_no_greeting_is_none() {
        for result in [
            json!(null),
            json!({}),
            json!({ "protocolVersion": "2026-07-28", "capabilities": {} }),
            json!({ "protocolVersion": "soon", "capabilities": {} }),
            json!({ "protocolVersion": "2025-06-18" }),
            json!({ "supportedVersions": ["2025-11-25"], "capabilities": {} }),
            json!({ "supportedVersions": "2026-07-28", "capabilities": {} }),
            json!({ "supportedVersions": ["2026-07-28"] }),
        ] {
            assert_eq!(Greeting::of_initialize(&result), None, "{result}");
            assert_eq!(Greeting::of_discover(&result), None, "{result}");
        }
    }

    #[test]
    fn a_handshake_says_what_the_client_said() {
        let params = json!({
            "protocolVersion": "2025-03-26",
            "capabilities": { "sampling": {}, "x": 1 },
            "clientInfo": { "name": "c", "version": "2" },
        });
        let handshake = Handshake::of_initialize(params.as_object().unwrap());
        assert_eq!(Value::Object(handshake.to_params()), params);
        assert!(handshake.can_be_asked());
        for (capabilities, asked) in
            [(json!({}), false), (json!({ "experimental": {} }), false), (json!({ "roots": {} }), true)]
        {
            let handshake = Handshake { capabilities: capabilities.as_object().unwrap().clone(), ..handshake.clone() };
            assert_eq!(handshake.can_be_asked(), asked, "{capabilities}");
        }
        for (revision, before) in
            [("2024-11-05", true), ("2025-03-26", true), ("2025-06-18", false), ("2025-11-25", false)]
        {
            let handshake = Handshake { revision: revision.parse().unwrap(), ..handshake.clone() };
            assert_eq!(handshake.predates_forms(), before, "{revision}");
        }
        let nobody = Handshake::of_initialize(&Map::new());
        assert_eq!(nobody.to_params()["clientInfo"]["name"], "portreeve");
    }
}
