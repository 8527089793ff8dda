//! Why a call was decided as it was, and what another one would come to.

use axum::Router;

use crate::Shared;

pub(super) fn routes() -> Router<Shared> {
    Router::new()
}
