//! Policies of the tenant: who may do what, and what a policy's word is worth.

use axum::Router;

use crate::Shared;

pub(super) fn routes() -> Router<Shared> {
    Router::new()
}
