//! The upstreams: how each is reached, what it speaks, and whether it answers.
//!
//! The API shows all of it to administrators. The page, which asks nobody for a key, leaves out where an upstream is and what
//! went wrong with it.

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde::Serialize;
use serde_json::json;

use crate::auth::Administrator;
use crate::{Shared, html};

/// What is known of one upstream. Nothing in it is a secret: no headers, no arguments, no query of a URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShownUpstream {
    pub namespace: String,
    /// `streamable_http`, `sse`, `stdio` or `built_in`.
    pub transport: &'static str,
    pub address: Option<String>,
    /// `modern`, `legacy`, `both`; none until somebody asked.
    pub era: Option<&'static str>,
    /// The newest first.
    pub revisions: Vec<String>,
    /// `configured` or `probed`: how the era is known.
    pub found: Option<&'static str>,
    pub found_at: Option<String>,
    pub seen_at: Option<String>,
    /// `up`, `down` or `unknown`.
    pub state: &'static str,
    pub reason: Option<String>,
}

pub(crate) fn api() -> Router<Shared> {
    Router::new().route("/upstreams", get(list))
}

pub(crate) fn pages() -> Router<Shared> {
    Router::new().route("/upstreams", get(page))
}

async fn list(_who: Administrator, State(console): State<Shared>) -> Response {
    let document = axum::Json(json!({ "upstreams": console.node.upstreams() }));
    ([(axum::http::header::CACHE_CONTROL, "no-store")], document).into_response()
}

async fn page(State(console): State<Shared>) -> Response {
    html(written(&console.node.upstreams()))
}

/// Nothing on it comes from outside: namespaces are letters, digits, `-` and `_`, the rest are our own words and times.
fn written(upstreams: &[ShownUpstream]) -> String {
    let rows: String = upstreams.iter().map(row).collect();
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Upstreams - Portreeve</title>\
         <meta name=\"color-scheme\" content=\"light dark\"></head><body><h1>Upstreams</h1>\
         <table><thead><tr><th>namespace</th><th>transport</th><th>speaks</th><th>known by</th><th>last seen</th>\
         <th>state</th></tr></thead><tbody>{rows}</tbody></table>\
         <p>Where they are and what went wrong: <code>GET /api/upstreams</code> with an administrator's key, or \
         <code>portreeve doctor</code>.</p><p><a href=\"/\">Portreeve</a></p></body></html>"
    )
}

fn row(upstream: &ShownUpstream) -> String {
    let speaks = match (upstream.revisions.as_slice(), upstream.era) {
        ([], era) => era.unwrap_or("not asked yet").to_owned(),
        (revisions, _) => revisions.join(", "),
    };
    let cells = [
        upstream.namespace.as_str(),
        upstream.transport,
        &speaks,
        upstream.found.unwrap_or("-"),
        upstream.seen_at.as_deref().unwrap_or("-"),
        upstream.state,
    ];
    let cells: String = cells.iter().map(|cell| format!("<td>{cell}</td>")).collect();
    format!("<tr>{cells}</tr>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_keeps_to_itself_where_an_upstream_is_and_what_is_wrong() {
        let upstream = ShownUpstream {
            namespace: "crm".into(),
            transport: "sse",
            address: Some("http://10.0.0.7/sse".into()),
            era: Some("legacy"),
            revisions: vec!["2024-11-05".into()],
            found: Some("probed"),
            found_at: None,
            seen_at: Some("2026-11-16T09:00:00Z".into()),
            state: "down",
            reason: Some("<b>is not reachable</b>".into()),
        };
        let page = written(&[upstream]);
        let row =
            "<td>crm</td><td>sse</td><td>2024-11-05</td><td>probed</td><td>2026-11-16T09:00:00Z</td><td>down</td>";
        assert!(page.contains(row), "{page}");
        assert!(!page.contains("10.0.0.7") && !page.contains("reachable"), "{page}");
    }
}
