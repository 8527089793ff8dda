//! The console: administration pages and API over core's ports. For now it says that the node is here and whether it is
//! ready; pages come with their features.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use serde_json::json;

/// What the pages need of the node.
#[async_trait::async_trait]
pub trait Node: Send + Sync {
    async fn ready(&self) -> Result<(), String>;
    fn namespaces(&self) -> Vec<String>;
    /// Where MCP clients connect, `http://127.0.0.1:8080`.
    fn mcp_address(&self) -> String;
}

pub fn router(node: Arc<dyn Node>) -> Router {
    Router::new().route("/", get(front)).route("/health", get(health)).route("/ready", get(ready)).with_state(node)
}

async fn health() -> impl IntoResponse {
    axum::Json(json!({ "status": "ok" }))
}

async fn ready(State(node): State<Arc<dyn Node>>) -> Response {
    match node.ready().await {
        Ok(()) => axum::Json(json!({ "status": "ready" })).into_response(),
        Err(why) => {
            (StatusCode::SERVICE_UNAVAILABLE, axum::Json(json!({ "status": "not ready", "why": why }))).into_response()
        }
    }
}

/// Nothing on it comes from a caller: namespaces are letters, digits, `-` and `_`.
async fn front(State(node): State<Arc<dyn Node>>) -> Response {
    let address = node.mcp_address();
    let rows: String =
        node.namespaces().iter().map(|space| format!("<li><code>{address}/{space}/mcp</code></li>")).collect();
    let page = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Portreeve</title>\
         <meta name=\"color-scheme\" content=\"light dark\"></head><body><h1>Portreeve</h1>\
         <p>All tools together: <code>{address}/mcp</code></p><p>One upstream at a time:</p><ul>{rows}</ul></body></html>"
    );
    let policy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    ([(header::CONTENT_SECURITY_POLICY, policy), (header::X_CONTENT_TYPE_OPTIONS, "nosniff")], Html(page))
        .into_response()
}
