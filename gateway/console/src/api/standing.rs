//! The kill switch and the live rows: what is stopped, and what this node has read.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{delete, get};
use axum::{Json, Router};
use gateway_core::desk::{DeskError, LONGEST_REASON, Target};
use gateway_core::live::{Suspension, SuspensionKind};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{ApiError, Asked, Strict};
use crate::Shared;
use crate::auth::Administrator;

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/suspensions", get(list).post(suspend))
        .route("/suspensions/{id}", delete(restore))
        .route("/live", get(live))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewSuspension {
    kind: SuspensionKind,
    subject: String,
    reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    kind: Option<SuspensionKind>,
}

async fn list(
    State(console): State<Shared>,
    admin: Administrator,
    Asked(listed): Asked<Listed>,
) -> Result<Json<Value>, ApiError> {
    let mut suspensions = console.desk.suspensions(&admin.who()).await?;
    suspensions.retain(|one| listed.kind.is_none_or(|kind| kind == one.kind));
    Ok(Json(json!({ "suspensions": suspensions })))
}

async fn suspend(
    State(console): State<Shared>,
    admin: Administrator,
    Strict(new): Strict<NewSuspension>,
) -> Result<(StatusCode, Json<Suspension>), ApiError> {
    if new.reason.as_ref().is_some_and(|reason| reason.chars().count() > LONGEST_REASON) {
        return Err(ApiError::invalid("reason", format!("must have at most {LONGEST_REASON} letters")));
    }
    let target = Target { kind: new.kind, subject: new.subject, tenant: Some(admin.tenant) };
    let suspended = console.desk.suspend(&admin.who(), target, new.reason).await.map_err(|error| match error {
        DeskError::Invalid(what) => ApiError::invalid("subject", what),
        other => other.into(),
    })?;
    Ok((StatusCode::CREATED, Json(suspended)))
}

async fn restore(
    State(console): State<Shared>,
    admin: Administrator,
    Path(id): Path<String>,
) -> Result<Json<Suspension>, ApiError> {
    // What is no id names nothing.
    let unknown = || ApiError::NotFound(format!("suspension `{id}` was not found"));
    let id: Uuid = id.parse().map_err(|_| unknown())?;
    Ok(Json(console.desk.restore(&admin.who(), id).await?))
}

/// What this node has read of the tenant's rows: whether a change has arrived, and which rows say nothing it can follow.
async fn live(State(console): State<Shared>, admin: Administrator) -> Json<Value> {
    let live = console.live.load();
    let rules = live.rules_of(Some(admin.tenant));
    let broken: Vec<_> = rules
        .broken
        .iter()
        .map(|broken| json!({ "policy": broken.policy, "why": broken.why, "mode": broken.mode }))
        .collect();
    let concerns = |one: &&Suspension| match one.kind {
        SuspensionKind::Tenant => one.subject == admin.tenant.to_string(),
        _ => one.tenant.is_none_or(|tenant| tenant == admin.tenant),
    };
    let suspensions: Vec<_> = live.standing.all().filter(concerns).collect();
    Json(json!({
        "revision": live.revision,
        "rules": rules.digest,
        "enforced": rules.enforced,
        "manifests": rules.tools.len(),
        "broken": broken,
        "suspensions": suspensions,
    }))
}
