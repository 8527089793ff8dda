//! Tool agents: administrators write them, agents and administrators run them and read what became of it.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use gateway_core::agents::{NewToolAgent, REQUIRED, Task, ToolAgent};
use gateway_core::desk::{Asker, DeskError};
use gateway_core::ports::{BuildError, BuildErrorKind, BuildRequest, Built};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{ApiError, Asked, Strict, Wrong, typed};
use crate::Shared;
use crate::auth::{Administrator, TenantCaller};

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/admin/agents", post(put).get(list))
        .route("/admin/agents/{slug}", get(whole))
        .route("/agents/{org}/{slug}", get(card))
        .route("/agents/{org}/{slug}/tasks", post(build).get(tasks))
        .route("/agents/{org}/{slug}/tasks/{id}", get(task))
}

/// 201 where it is new, 200 where it was changed.
async fn put(
    State(console): State<Shared>,
    admin: Administrator,
    Strict(document): Strict<Value>,
) -> Result<(StatusCode, Json<ToolAgent>), ApiError> {
    let new = read(document)?;
    let put = console.desk.put_tool_agent(&admin.who(), &new, None).await;
    let (agent, is_new) = put.map_err(|error| match error {
        DeskError::Invalid(what) => match what.split_once(": ") {
            Some((field, what)) => ApiError::invalid(field, what),
            None => ApiError::invalid("", what),
        },
        other => other.into(),
    })?;
    Ok((if is_new { StatusCode::CREATED } else { StatusCode::OK }, Json(agent)))
}

/// Everything that is missing is told at once.
fn read(document: Value) -> Result<NewToolAgent, ApiError> {
    if let Some(fields) = document.as_object() {
        let absent = REQUIRED.iter().filter(|field| fields.get(**field).is_none_or(Value::is_null));
        let wrong: Vec<Wrong> = absent.map(|&field| Wrong { path: field.into(), what: "is required".into() }).collect();
        if !wrong.is_empty() {
            return Err(ApiError::Invalid(wrong));
        }
    }
    typed(document)
}

async fn list(State(console): State<Shared>, admin: Administrator) -> Result<Json<Value>, ApiError> {
    let agents = console.desk.tool_agents(&admin.who(), admin.tenant).await?;
    Ok(Json(json!({ "agents": agents })))
}

async fn whole(
    State(console): State<Shared>,
    admin: Administrator,
    Path(slug): Path<String>,
) -> Result<Json<ToolAgent>, ApiError> {
    let (asker, own) = (Asker::Desk(admin.who()), admin.tenant.to_string());
    Ok(Json(console.desk.tool_agent(&asker, &own, &slug).await?))
}

/// What somebody needs to know to run it; what is configured in it is its administrators' business.
async fn card(
    State(console): State<Shared>,
    caller: TenantCaller,
    Path((org, slug)): Path<(String, String)>,
) -> Result<Json<Value>, ApiError> {
    let found = console.desk.tool_agent(&caller.asker(), &org, &slug).await?;
    let agent = &found.agent;
    Ok(Json(json!({
        "organization_slug": agent.organization_slug, "slug": agent.slug, "display_name": agent.display_name,
        "description": agent.description, "agent_type": agent.agent_type, "mode_profile": agent.mode_profile,
        "status": agent.status, "version": agent.version, "io_schema": agent.io_schema,
    })))
}

async fn build(
    State(console): State<Shared>,
    caller: TenantCaller,
    Path((org, slug)): Path<(String, String)>,
    Strict(request): Strict<BuildRequest>,
) -> Result<Json<Value>, ApiError> {
    let mode = request.mode.clone();
    let actor = console.desk.actor(&caller.asker(), &org, &slug, &caller.credential).await;
    let (tenant, actor) = actor.map_err(|error| not_begun(&mode, error))?;
    let built = console.runner.build(tenant, &slug, actor, request, Box::new(|_| ())).await;
    built.map(|built| Json(told(&mode, &built))).map_err(|error| refused(&mode, &error))
}

fn told(mode: &str, built: &Built) -> Value {
    let Built { task, deliverable, results, ignored } = built;
    let mut answer = json!({
        "success": true, "mode": mode, "task": task, "deliverable": deliverable, "results": results,
        "metadata": deliverable.metadata,
    });
    if let Some(fields) = answer.as_object_mut().filter(|_| !ignored.is_empty()) {
        fields.insert("ignored".into(), json!(ignored));
    }
    answer
}

/// Whoever asks to run something gets one kind of answer, also where there is nothing to run.
fn not_begun(mode: &str, error: DeskError) -> ApiError {
    let status = match &error {
        DeskError::NotFound(_) => StatusCode::NOT_FOUND,
        DeskError::Conflict(_) => StatusCode::CONFLICT,
        _ => return error.into(),
    };
    ApiError::Build { status, body: json!({ "success": false, "mode": mode, "error": error.to_string() }) }
}

fn refused(mode: &str, error: &BuildError) -> ApiError {
    let status = match error.kind() {
        BuildErrorKind::NotFound => StatusCode::NOT_FOUND,
        BuildErrorKind::Refused => StatusCode::UNPROCESSABLE_ENTITY,
        BuildErrorKind::Conflict => StatusCode::CONFLICT,
        BuildErrorKind::Busy => StatusCode::TOO_MANY_REQUESTS,
        BuildErrorKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
    };
    if status.is_server_error() {
        tracing::warn!(error = error as &dyn std::error::Error, "a tool agent was not run");
    }
    let mut body = json!({ "success": false, "mode": mode, "error": error.to_string() });
    let data = error.data();
    if let Some(fields) = body.as_object_mut().filter(|_| !data.is_null()) {
        fields.insert("data".into(), data);
    }
    ApiError::Build { status, body }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    limit: Option<i64>,
}

async fn tasks(
    State(console): State<Shared>,
    caller: TenantCaller,
    Path((org, slug)): Path<(String, String)>,
    Asked(listed): Asked<Listed>,
) -> Result<Json<Value>, ApiError> {
    let tasks = console.desk.tool_tasks(&caller.asker(), &org, &slug, listed.limit.unwrap_or(50)).await?;
    Ok(Json(json!({ "tasks": tasks })))
}

async fn task(
    State(console): State<Shared>,
    caller: TenantCaller,
    Path((org, slug, id)): Path<(String, String, String)>,
) -> Result<Json<Task>, ApiError> {
    let id: Uuid = id.parse().map_err(|_| ApiError::NotFound(format!("task `{id}` was not found")))?;
    Ok(Json(console.desk.tool_task(&caller.asker(), &org, &slug, id).await?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;

    // acceptance 81: a missing field is named, and all of them at once.
    #[test]
    fn what_is_missing_is_named() {
        let full = json!({
            "organization_slug": "demo", "slug": "s", "display_name": "S", "agent_type": "tool", "mode_profile": "m",
            "status": "active", "yaml": "{}",
        });
        assert!(read(full.clone()).is_ok());
        for field in REQUIRED {
            let mut less = full.clone();
            less.as_object_mut().unwrap().remove(field);
            let expected = vec![Wrong { path: field.into(), what: "is required".into() }];
            assert_eq!(read(less).unwrap_err(), ApiError::Invalid(expected));
        }
        let Err(ApiError::Invalid(all)) = read(json!({})) else { unreachable!() };
        assert_eq!(all.len(), 7);
        let mut more = full.clone();
        more["tools"] = json!([]);
        let Err(ApiError::Invalid(unknown)) = read(more) else { unreachable!() };
        assert!(unknown[0].what.contains("unknown field `tools`"), "{unknown:?}");
        let mut taken = full;
        taken["slug"] = json!("history");
        let Err(ApiError::Invalid(wrong)) = read(taken) else { unreachable!() };
        assert_eq!(wrong[0].path, "slug");
    }

    // acceptance 83, acceptance 86: the text, the status, and the data beside it.
    #[test]
    fn a_refused_build_says_why() {
        let missing = vec!["SUPABASE_URL".to_owned()];
        let environment = BuildError::Environment { namespace: "supabase".into(), missing };
        let text = "Required environment variable SUPABASE_URL (or key) is not set";
        for (error, status, body) in [
            (
                BuildError::NoTools,
                StatusCode::UNPROCESSABLE_ENTITY,
                json!({ "success": false, "mode": "build", "error": "No tools configured for this agent" }),
            ),
            (
                environment,
                StatusCode::SERVICE_UNAVAILABLE,
                json!({ "success": false, "mode": "build", "error": text, "data": { "missing": ["SUPABASE_URL"] } }),
            ),
            (
                BuildError::UnknownAgent("demo/x".into()),
                StatusCode::NOT_FOUND,
                json!({ "success": false, "mode": "build", "error": "Agent 'demo/x' was not found" }),
            ),
        ] {
            assert_eq!(refused("build", &error), ApiError::Build { status, body });
        }
    }
}
