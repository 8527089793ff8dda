//! What the tenant looks for in content beyond what everybody does.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{delete, get};
use axum::{Json, Router};
use gateway_core::desk::DlpLine;
use gateway_core::ports::NewDlpConfig;
use serde_json::{Value, json};

use super::{ApiError, Strict, placed};
use crate::Shared;
use crate::auth::Administrator;

pub(super) fn routes() -> Router<Shared> {
    Router::new().route("/dlp", get(list).post(add)).route("/dlp/{config}", delete(remove))
}

async fn list(State(console): State<Shared>, admin: Administrator) -> Result<Json<Value>, ApiError> {
    Ok(Json(json!({ "dlp": console.desk.dlp_of(&admin.who(), admin.tenant).await? })))
}

async fn add(
    State(console): State<Shared>,
    admin: Administrator,
    Strict(new): Strict<NewDlpConfig>,
) -> Result<(StatusCode, Json<DlpLine>), ApiError> {
    let added = console.desk.add_dlp(&admin.who(), admin.tenant, &new).await.map_err(placed)?;
    Ok((StatusCode::CREATED, Json(added)))
}

async fn remove(
    State(console): State<Shared>,
    admin: Administrator,
    Path(config): Path<String>,
) -> Result<Json<DlpLine>, ApiError> {
    Ok(Json(console.desk.remove_dlp(&admin.who(), admin.tenant, &config).await?))
}
