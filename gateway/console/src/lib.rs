//! The console: administration API and pages over core's ports. Whoever administers a tenant works here with its key; what
//! the command line can do for a tenant, this can do too, because both ask the same desk.

mod api;
mod approval_page;
mod auth;
mod metrics;
mod upstreams;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use gateway_core::Chain;
use gateway_core::desk::Desk;
use gateway_core::identity::{Credential, Principal};
use gateway_core::live::{Live, LiveHandle};
use gateway_core::ports::{Runner, Seal};
use serde_json::json;

pub use auth::Stranger;
pub use metrics::Counter;
pub use upstreams::ShownUpstream;

/// What the pages need of the node.
#[async_trait::async_trait]
pub trait Node: Send + Sync {
    async fn ready(&self) -> Result<(), String>;
    fn namespaces(&self) -> Vec<String>;
    /// What the node has counted since it began.
    fn counters(&self) -> Vec<Counter>;
    /// Where MCP clients connect, `http://127.0.0.1:8080`.
    fn mcp_address(&self) -> String;
    /// Every upstream, as far as it is known.
    fn upstreams(&self) -> Vec<ShownUpstream>;
    /// Policies on trial, by the names their files would have, over the rows as they are.
    async fn candidate(&self, files: BTreeMap<String, String>) -> Result<(Arc<Chain>, Arc<Live>), Vec<Unusable>>;
    /// The digest of the policies that are judged beside those in force, where any are.
    fn beside(&self) -> Option<String>;
    /// Whose credential this is. A stranger is written down before it is told no.
    async fn caller(&self, credential: &Credential) -> Result<Arc<Principal>, Stranger>;
}

/// What is wrong with policies on trial, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unusable {
    pub at: String,
    pub what: String,
}

/// Everything the console serves from.
pub struct Console {
    pub node: Arc<dyn Node>,
    pub desk: Arc<Desk>,
    pub live: Arc<LiveHandle>,
    /// Knows our own links again.
    pub seal: Arc<dyn Seal>,
    /// Runs tool agents.
    pub runner: Arc<dyn Runner>,
}

pub(crate) type Shared = Arc<Console>;

pub fn router(console: Console) -> Router {
    Router::new()
        .route("/", get(front))
        .route("/health", get(health))
        .route("/ready", get(ready))
        .route("/metrics", get(metrics::metrics))
        .merge(approval_page::routes())
        .merge(upstreams::pages())
        .nest("/api", api::router())
        .with_state(Arc::new(console))
}

async fn health() -> impl IntoResponse {
    axum::Json(json!({ "status": "ok" }))
}

async fn ready(State(console): State<Shared>) -> Response {
    match console.node.ready().await {
        Ok(()) => axum::Json(json!({ "status": "ready" })).into_response(),
        Err(why) => {
            (StatusCode::SERVICE_UNAVAILABLE, axum::Json(json!({ "status": "not ready", "why": why }))).into_response()
        }
    }
}

/// Nothing on it comes from a caller: namespaces are letters, digits, `-` and `_`.
async fn front(State(console): State<Shared>) -> Response {
    let address = console.node.mcp_address();
    let rows: String =
        console.node.namespaces().iter().map(|space| format!("<li><code>{address}/{space}/mcp</code></li>")).collect();
    let page = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Portreeve</title>\
         <meta name=\"color-scheme\" content=\"light dark\"></head><body><h1>Portreeve</h1>\
         <p>All tools together: <code>{address}/mcp</code></p><p>One upstream at a time:</p><ul>{rows}</ul>\
         <p><a href=\"/upstreams\">How they speak, and whether they answer</a></p></body></html>"
    );
    html(page)
}

/// A page that loads nothing, runs nothing and stands in no frame.
pub(crate) fn html(page: String) -> Response {
    let policy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    ([(header::CONTENT_SECURITY_POLICY, policy), (header::X_CONTENT_TYPE_OPTIONS, "nosniff")], Html(page))
        .into_response()
}
