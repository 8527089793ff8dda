//! Proofs over the policies in force.

use axum::extract::State;
use axum::routing::{get, post};
use axum::{Json, Router};
use gateway_core::AgentMode;
use gateway_core::desk::{ProofScope, Proved};
use gateway_core::ports::Proof;
use serde::Deserialize;

use super::{ApiError, Strict};
use crate::Shared;
use crate::auth::Administrator;

pub(super) fn routes() -> Router<Shared> {
    Router::new().route("/prove", post(prove)).route("/proofs/latest", get(latest))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    mode: Option<AgentMode>,
}

/// Whether it holds is in the answer: having asked is no failure.
async fn prove(
    State(console): State<Shared>,
    admin: Administrator,
    Strict(asked): Strict<Asked>,
) -> Result<Json<Proved>, ApiError> {
    let scope = ProofScope { tenant: Some(admin.tenant), mode: asked.mode };
    Ok(Json(console.desk.prove(&admin.who(), &scope).await?))
}

async fn latest(State(console): State<Shared>, admin: Administrator) -> Result<Json<Proof>, ApiError> {
    Ok(Json(console.desk.latest_proof(&admin.who()).await?))
}
