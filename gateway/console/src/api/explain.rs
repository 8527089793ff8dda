//! Why a call was decided as it was, what another one would come to, and what other policies would have said of both.

use std::collections::BTreeMap;

use axum::extract::{Path, State};
use axum::routing::{get, post};
use axum::{Json, Router};
use gateway_core::desk::{Hypothesis, ReplayScope, TraceExplained};
use gateway_core::explain::Explained;
use gateway_core::replay::Report;
use jiff::Timestamp;
use serde::Deserialize;

use super::{ApiError, Asked, Strict, Wrong};
use crate::Shared;
use crate::auth::Administrator;

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/explain", post(of_call))
        .route("/explain/{trace_id}", get(of_trace))
        .route("/replay", post(replay))
        .route("/replay/live", get(beside))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Trial {
    /// `manifests/crm.yaml` to its text; the whole body has at most 1 MiB.
    files: BTreeMap<String, String>,
    since: Option<Timestamp>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Since {
    since: Option<Timestamp>,
}

async fn of_trace(
    State(console): State<Shared>,
    admin: Administrator,
    Path(trace): Path<String>,
) -> Result<Json<TraceExplained>, ApiError> {
    Ok(Json(console.desk.explain_trace(&admin.who(), &trace).await?))
}

async fn of_call(
    State(console): State<Shared>,
    admin: Administrator,
    Strict(hypothesis): Strict<Hypothesis>,
) -> Result<Json<Explained>, ApiError> {
    Ok(Json(console.desk.explain_call(&admin.who(), admin.tenant, hypothesis).await?))
}

async fn replay(
    State(console): State<Shared>,
    admin: Administrator,
    Strict(trial): Strict<Trial>,
) -> Result<Json<Report>, ApiError> {
    let (chain, live) = console.node.candidate(trial.files).await.map_err(|unusable| {
        ApiError::Invalid(unusable.into_iter().map(|one| Wrong { path: one.at, what: one.what }).collect())
    })?;
    let scope = ReplayScope { tenant: Some(admin.tenant), since: trial.since };
    Ok(Json(console.desk.replay(&admin.who(), &scope, (&chain, &live)).await?))
}

/// What the candidate that runs beside the policies in force has said so far.
async fn beside(
    State(console): State<Shared>,
    admin: Administrator,
    Asked(asked): Asked<Since>,
) -> Result<Json<Report>, ApiError> {
    let missing =
        || ApiError::NotFound("no candidate runs beside the policies: the configuration has no `candidate`".into());
    let digest = console.node.beside().ok_or_else(missing)?;
    let scope = ReplayScope { tenant: Some(admin.tenant), since: asked.since };
    Ok(Json(console.desk.replay_beside(&admin.who(), &scope, &digest).await?))
}
