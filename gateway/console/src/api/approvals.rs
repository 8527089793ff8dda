//! Approvals: what waits for a human, and the human's answer.

use axum::extract::{Path, State};
use axum::routing::{get, post};
use axum::{Json, Router};
use gateway_core::approvals::{ApprovalQuery, ApprovalRecord, ApprovalStatus, LONGEST_NOTE, Via};
use gateway_core::desk::DeskError;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{ApiError, Asked, Strict};
use crate::Shared;
use crate::auth::Administrator;

/// What one page holds.
const MOST: i64 = 200;

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/approvals", get(list))
        .route("/approvals/{id}", get(one))
        .route("/approvals/{id}/approve", post(approve))
        .route("/approvals/{id}/reject", post(reject))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    status: Option<ApprovalStatus>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    note: Option<String>,
}

async fn list(
    State(console): State<Shared>,
    admin: Administrator,
    Asked(listed): Asked<Listed>,
) -> Result<Json<Value>, ApiError> {
    let query = ApprovalQuery { status: listed.status, limit: MOST, ..ApprovalQuery::default() };
    let approvals = console.desk.approvals(&admin.who(), query).await?;
    Ok(Json(json!({ "approvals": approvals })))
}

async fn one(
    State(console): State<Shared>,
    admin: Administrator,
    Path(id): Path<String>,
) -> Result<Json<ApprovalRecord>, ApiError> {
    Ok(Json(console.desk.approval(&admin.who(), known(&id)?).await?))
}

async fn approve(
    State(console): State<Shared>,
    admin: Administrator,
    Path(id): Path<String>,
    Strict(answer): Strict<Answer>,
) -> Result<Json<ApprovalRecord>, ApiError> {
    decide(&console, &admin, &id, true, answer).await
}

async fn reject(
    State(console): State<Shared>,
    admin: Administrator,
    Path(id): Path<String>,
    Strict(answer): Strict<Answer>,
) -> Result<Json<ApprovalRecord>, ApiError> {
    decide(&console, &admin, &id, false, answer).await
}

async fn decide(
    console: &Shared,
    admin: &Administrator,
    id: &str,
    approve: bool,
    answer: Answer,
) -> Result<Json<ApprovalRecord>, ApiError> {
    if answer.note.as_ref().is_some_and(|note| note.chars().count() > LONGEST_NOTE) {
        return Err(ApiError::invalid("note", format!("must have at most {LONGEST_NOTE} letters")));
    }
    let decided = console.desk.decide(&admin.who(), Via::Api, known(id)?, approve, answer.note).await;
    Ok(Json(decided.map_err(|error| match error {
        DeskError::Invalid(what) => ApiError::invalid("note", what),
        other => other.into(),
    })?))
}

/// What is no id names nothing.
fn known(id: &str) -> Result<Uuid, ApiError> {
    id.parse().map_err(|_| ApiError::NotFound(format!("approval `{id}` was not found")))
}
