//! Tools as this tenant sees them, and the manifests it wrote itself.

use axum::Router;

use crate::Shared;

pub(super) fn routes() -> Router<Shared> {
    Router::new()
}
