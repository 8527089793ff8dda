//! What an OAuth client must know of this resource (RFC 9728): who issues tokens for it, and for what.

use gateway_core::exchange::Route;
use serde_json::{Value, json};

use super::door::{self, Speaks};

pub const PATH: &str = "/.well-known/oauth-protected-resource";

/// The gateway as OAuth sees it. Without an issuer it is not there at all: a client that was sent to look for one would
/// only find nothing, where it could have asked its user for a key.
#[derive(Debug, Clone)]
pub struct Resource {
    public_url: Option<String>,
    scheme: &'static str,
    issuers: Vec<String>,
}

impl Resource {
    /// `public_url` is what clients call this listener; without it each request's own Host is believed.
    pub fn new(public_url: Option<String>, tls: bool, issuers: Vec<String>) -> Self {
        Self { public_url, scheme: if tls { "https" } else { "http" }, issuers }
    }

    /// Where the metadata of a route is, for a challenge.
    pub fn metadata_url(&self, host: Option<&str>, route: &Route) -> Option<String> {
        let base = self.base(host)?;
        Some(format!("{base}{PATH}{}", door::mcp_path(route)))
    }

    /// The document at `PATH` and below it. Nothing after `PATH` means the door to everything.
    pub fn document(&self, host: Option<&str>, below: &str) -> Option<Value> {
        let route = match below {
            "" | "/" => Route::All,
            path => match door::find(path)? {
                (route, Speaks::Http) => route,
                _ => return None,
            },
        };
        let base = self.base(host)?;
        Some(json!({
            "resource": format!("{base}{}", door::mcp_path(&route)),
            "authorization_servers": self.issuers,
            "scopes_supported": ["mcp:read"],
            "bearer_methods_supported": ["header"],
        }))
    }

    fn base(&self, host: Option<&str>) -> Option<String> {
        if self.issuers.is_empty() {
            return None;
        }
        if let Some(public) = &self.public_url {
            return Some(public.clone());
        }
        // It comes back in a header: nothing but a host and a port may pass.
        let authority: http::uri::Authority = host?.parse().ok()?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte);
        authority.as_str().bytes().all(plain).then(|| format!("{}://{authority}", self.scheme))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;

    fn issuers() -> Vec<String> {
        vec!["https://id.example.com".into()]
    }

    #[test]
    fn every_door_has_its_own_document() {
        let resource = Resource::new(None, false, issuers());
        for (below, expected) in [
            ("", Some("http://127.0.0.1:8080/mcp")),
            ("/mcp", Some("http://127.0.0.1:8080/mcp")),
            ("/notes/mcp", Some("http://127.0.0.1:8080/notes/mcp")),
            ("/notes/ws", None),
            ("/notes", None),
        ] {
            let document = resource.document(Some("127.0.0.1:8080"), below);
            assert_eq!(document.as_ref().and_then(|document| document["resource"].as_str()), expected, "{below}");
        }
        let document = resource.document(Some("h"), "/mcp").unwrap();
        assert_eq!(document["authorization_servers"], json!(["https://id.example.com"]));
        assert!(Resource::new(None, false, vec![]).document(Some("h"), "/mcp").is_none(), "nobody issues tokens");
    }

    #[test]
    fn a_challenge_names_the_document_and_nothing_a_caller_made_up() {
        let notes = Route::One("notes".parse().unwrap());
        let named = Resource::new(Some("https://gate.example".into()), false, issuers());
        let url = named.metadata_url(Some("127.0.0.1"), &notes);
        let expected = "https://gate.example/.well-known/oauth-protected-resource/notes/mcp";
        assert_eq!(url.as_deref(), Some(expected));
        let unnamed = Resource::new(None, true, issuers());
        for host in [Some("evil\"quote"), Some("user@host"), Some("a b"), None] {
            assert_eq!(unnamed.metadata_url(host, &notes), None, "{host:?}");
        }
        assert!(unnamed.metadata_url(Some("[::1]:8443"), &notes).unwrap().starts_with("https://[::1]:8443/"));
    }
}
