//! What tool agents made.

use axum::extract::{Path, State};
use axum::routing::get;
use axum::{Json, Router};
use gateway_core::agents::Deliverable;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{ApiError, Asked};
use crate::Shared;
use crate::auth::TenantCaller;

pub(super) fn routes() -> Router<Shared> {
    Router::new().route("/deliverables", get(list)).route("/deliverables/{id}", get(one))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    agent: Option<String>,
    limit: Option<i64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Which {
    version: Option<i32>,
}

async fn list(
    State(console): State<Shared>,
    caller: TenantCaller,
    Asked(listed): Asked<Listed>,
) -> Result<Json<Value>, ApiError> {
    let Listed { agent, limit } = listed;
    let asker = caller.asker();
    let found = console.desk.deliverables(&asker, caller.tenant, agent.as_deref(), limit.unwrap_or(50)).await?;
    let lines: Vec<Value> = found.iter().map(line).collect();
    Ok(Json(json!({ "deliverables": lines })))
}

/// A list does not show what they say.
fn line(deliverable: &Deliverable) -> Value {
    let mut line = json!(deliverable);
    if let Some(fields) = line.as_object_mut() {
        fields.remove("content");
    }
    line
}

async fn one(
    State(console): State<Shared>,
    caller: TenantCaller,
    Path(id): Path<String>,
    Asked(which): Asked<Which>,
) -> Result<Json<Deliverable>, ApiError> {
    // What is no id names nothing.
    let id: Uuid = id.parse().map_err(|_| ApiError::NotFound(format!("Deliverable '{id}' was not found")))?;
    Ok(Json(console.desk.deliverable(&caller.asker(), caller.tenant, id, which.version).await?))
}
