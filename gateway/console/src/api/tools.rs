//! Tools as this tenant sees them, and the manifests it wrote itself.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{delete, get};
use axum::{Json, Router};
use gateway_core::desk::{ManifestError, WrittenManifest};
use gateway_core::{ToolManifest, ToolName};
use serde_json::{Value, json};

use super::{ApiError, Strict};
use crate::Shared;
use crate::auth::Administrator;

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/tools", get(tools))
        .route("/manifests", get(manifests).post(write))
        .route("/manifests/{namespace}/{tool}", delete(remove))
}

async fn tools(State(console): State<Shared>, admin: Administrator) -> Result<Json<Value>, ApiError> {
    Ok(Json(json!({ "tools": console.desk.tools(admin.tenant).await? })))
}

async fn manifests(State(console): State<Shared>, admin: Administrator) -> Result<Json<Value>, ApiError> {
    Ok(Json(json!({ "manifests": console.desk.manifests(admin.tenant).await? })))
}

/// The five fields, and nothing else; or those as `manifest`, with `handling` and `metadata` beside it as a file has them.
async fn write(
    State(console): State<Shared>,
    admin: Administrator,
    Strict(document): Strict<Value>,
) -> Result<(StatusCode, Json<ToolManifest>), ApiError> {
    let written = if document.get("manifest").is_some() {
        super::typed::<WrittenManifest>(document)?
    } else {
        WrittenManifest { manifest: super::typed(document)?, handling: None, metadata: None }
    };
    let put = console.desk.put_manifest(&admin.who(), admin.tenant, &written).await;
    put.map_err(|error| match error {
        ManifestError::Wrong(wrong) => ApiError::invalid(wrong.field, wrong.what),
        ManifestError::Unsound(what) => match what.split_once(": ") {
            Some((place, what)) => ApiError::invalid(place, what),
            None => ApiError::invalid("", what),
        },
        ManifestError::Desk(error) => error.into(),
    })?;
    Ok((StatusCode::CREATED, Json(written.manifest)))
}

async fn remove(
    State(console): State<Shared>,
    admin: Administrator,
    Path((namespace, tool)): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    let name = format!("{namespace}/{tool}");
    let unknown = || ApiError::NotFound(format!("a manifest of `{name}` was not found"));
    let tool: ToolName = name.parse().map_err(|_| unknown())?;
    console.desk.remove_manifest(&admin.who(), admin.tenant, &tool).await?;
    Ok(StatusCode::NO_CONTENT)
}
