//! Policies of the tenant: who may do what, and what a policy's word is worth.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{delete, get, post};
use axum::{Json, Router};
use gateway_core::desk::PolicyLine;
use gateway_core::ports::{NewAccessPolicy, PolicyKind, RuleType};
use gateway_core::rules::WrittenPolicy;
use gateway_core::verdict::PolicyMode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{ApiError, Asked, Strict, placed};
use crate::Shared;
use crate::auth::Administrator;

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/policies", get(agent_policies).post(add_agent_policy))
        .route("/policies/{policy}", delete(remove))
        .route("/policies/{policy}/mode", post(set_mode))
        .route("/access-policies", get(access_policies).post(add_access_policy))
        .route("/access-policies/{policy}", delete(remove))
        .route("/access-policies/{policy}/mode", post(set_mode))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    mode: Option<PolicyMode>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewMode {
    mode: PolicyMode,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewAccess {
    name: String,
    rule_type: RuleType,
    rule_definition: Value,
}

async fn agent_policies(
    State(console): State<Shared>,
    admin: Administrator,
    Asked(listed): Asked<Listed>,
) -> Result<Json<Value>, ApiError> {
    Ok(Json(json!({ "policies": lines(&console, &admin, PolicyKind::Agent, listed.mode).await? })))
}

async fn access_policies(
    State(console): State<Shared>,
    admin: Administrator,
    Asked(listed): Asked<Listed>,
) -> Result<Json<Value>, ApiError> {
    Ok(Json(json!({ "policies": lines(&console, &admin, PolicyKind::Access, listed.mode).await? })))
}

async fn lines(
    console: &Shared,
    admin: &Administrator,
    kind: PolicyKind,
    mode: Option<PolicyMode>,
) -> Result<Vec<PolicyLine>, ApiError> {
    let mut lines = console.desk.policies_of(&admin.who(), admin.tenant).await?;
    lines.retain(|line| line.kind == kind && mode.is_none_or(|mode| mode == line.mode));
    Ok(lines)
}

async fn add_agent_policy(
    State(console): State<Shared>,
    admin: Administrator,
    Strict(policy): Strict<WrittenPolicy>,
) -> Result<(StatusCode, Json<PolicyLine>), ApiError> {
    let added = console.desk.add_agent_policy(&admin.who(), admin.tenant, &policy).await.map_err(placed)?;
    Ok((StatusCode::CREATED, Json(added)))
}

async fn add_access_policy(
    State(console): State<Shared>,
    admin: Administrator,
    Strict(new): Strict<NewAccess>,
) -> Result<(StatusCode, Json<PolicyLine>), ApiError> {
    let NewAccess { name, rule_type, rule_definition } = new;
    let policy = NewAccessPolicy { name, rule_type, rule_definition };
    let added = console.desk.add_access_policy(&admin.who(), admin.tenant, &policy).await.map_err(placed)?;
    Ok((StatusCode::CREATED, Json(added)))
}

async fn set_mode(
    State(console): State<Shared>,
    admin: Administrator,
    Path(policy): Path<String>,
    Strict(new): Strict<NewMode>,
) -> Result<Json<PolicyLine>, ApiError> {
    Ok(Json(console.desk.set_policy_mode(&admin.who(), admin.tenant, &policy, new.mode).await?))
}

async fn remove(
    State(console): State<Shared>,
    admin: Administrator,
    Path(policy): Path<String>,
) -> Result<Json<PolicyLine>, ApiError> {
    Ok(Json(console.desk.remove_policy(&admin.who(), admin.tenant, &policy).await?))
}
