//! Proofs over the policies in force.

use axum::Router;

use crate::Shared;

pub(super) fn routes() -> Router<Shared> {
    Router::new()
}
