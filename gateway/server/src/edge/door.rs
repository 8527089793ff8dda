//! The doors of the gateway: which path leads to which upstreams, on which wire.

use gateway_core::exchange::Route;
use gateway_core::gateway::{Inbound, Verb, Wire};
use gateway_core::identity::Credential;
use gateway_core::lists::ListFilter;
use gateway_protocol::headers::McpHeaders;

/// What is spoken behind a door.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaks {
    /// `/mcp`: Streamable HTTP.
    Http,
    /// `/sse`: the HTTP+SSE transport of 2024-11-05.
    Events,
    /// `/ws`: a WebSocket.
    Socket,
}

/// Who knocks where.
#[derive(Debug, Clone)]
pub struct Door {
    pub route: Route,
    pub credential: Credential,
    /// `traceparent` and its kin.
    pub carried: Vec<(String, String)>,
    pub metadata_url: Option<String>,
    pub filter: ListFilter,
}

impl Door {
    pub fn inbound(&self, verb: Verb, headers: McpHeaders, wire: Wire) -> Inbound {
        Inbound {
            route: self.route.clone(),
            verb,
            headers,
            carried: self.carried.clone(),
            credential: self.credential.clone(),
            wire,
            metadata_url: self.metadata_url.clone(),
            filter: self.filter.clone(),
            run: None,
        }
    }
}

/// `/mcp` and `/{namespace}/mcp`, and their like for the other wires.
pub fn find(path: &str) -> Option<(Route, Speaks)> {
    let (space, last) = path.strip_prefix('/')?.rsplit_once('/').unwrap_or(("", path.strip_prefix('/')?));
    let speaks = match last {
        "mcp" => Speaks::Http,
        "sse" => Speaks::Events,
        "ws" => Speaks::Socket,
        _ => return None,
    };
    let all = path.bytes().filter(|byte| *byte == b'/').count() == 1;
    let route = if all { Route::All } else { Route::One(space.parse().ok()?) };
    Some((route, speaks))
}

/// The path of a route's Streamable HTTP door, which is the name of the resource on whichever wire it is used.
pub fn mcp_path(route: &Route) -> String {
    path(route, "mcp")
}

pub fn path(route: &Route, last: &str) -> String {
    match route {
        Route::All => format!("/{last}"),
        Route::One(namespace) => format!("/{namespace}/{last}"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_path_is_a_door_or_nothing() {
        let notes = || Route::One("notes".parse().unwrap());
        for (path, expected) in [
            ("/mcp", Some((Route::All, Speaks::Http))),
            ("/sse", Some((Route::All, Speaks::Events))),
            ("/ws", Some((Route::All, Speaks::Socket))),
            ("/notes/mcp", Some((notes(), Speaks::Http))),
            ("/notes/sse", Some((notes(), Speaks::Events))),
            ("/notes/ws", Some((notes(), Speaks::Socket))),
            ("/", None),
            ("", None),
            ("//mcp", None),
            ("/mcp/", None),
            ("/notes", None),
            ("/notes/more/mcp", None),
        ] {
            assert_eq!(find(path), expected, "{path}");
            if let Some((route, Speaks::Http)) = expected {
                assert_eq!(mcp_path(&route), path);
            }
        }
    }
}
