//! Approvals: what waits for a human, and the human's answer.

use axum::Router;

use crate::Shared;

pub(super) fn routes() -> Router<Shared> {
    Router::new()
}
