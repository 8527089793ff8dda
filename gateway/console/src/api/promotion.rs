//! What an agent has done so far, and a step up for it.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use gateway_core::desk::{Promotion, TrackRecord};
use gateway_core::{AgentId, Autonomy};
use serde::Deserialize;

use super::{ApiError, Strict};
use crate::Shared;
use crate::auth::Administrator;

pub(super) fn routes() -> Router<Shared> {
    Router::new().route("/agents/{agent}/history", get(history)).route("/agents/{agent}/promote", post(promote))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    to: Autonomy,
}

fn named(agent: &str) -> Result<AgentId, ApiError> {
    agent.parse().map_err(|_| ApiError::NotFound(format!("agent `{agent}` was not found")))
}

async fn history(
    State(console): State<Shared>,
    admin: Administrator,
    Path(agent): Path<String>,
) -> Result<Json<TrackRecord>, ApiError> {
    Ok(Json(console.desk.track_record(&admin.who(), admin.tenant, &named(&agent)?).await?))
}

/// 202 while a human's yes is missing.
async fn promote(
    State(console): State<Shared>,
    admin: Administrator,
    Path(agent): Path<String>,
    Strict(step): Strict<Step>,
) -> Result<(StatusCode, Json<Promotion>), ApiError> {
    let promotion = console.desk.promote(&admin.who(), admin.tenant, &named(&agent)?, step.to).await?;
    let status = match promotion {
        Promotion::ApprovalRequired { .. } => StatusCode::ACCEPTED,
        Promotion::Promoted { .. } => StatusCode::OK,
    };
    Ok((status, Json(promotion)))
}
