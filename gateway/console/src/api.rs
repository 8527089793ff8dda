//! The API: one module a subject, the same shapes for all of them.
//!
//! A body or a query that says more than it may is refused whole (422, `{"errors": [{"path", "what"}]}`); everything else
//! that goes wrong is `{"error": "..."}`. What belongs to another tenant is not there (404).

mod agents;
mod approvals;
mod deliverables;
mod dlp;
mod explain;
mod policies;
mod promotion;
mod prove;
mod standing;
mod tools;

use axum::Router;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::map_response;
use axum::response::{IntoResponse, Response};
use gateway_core::desk::DeskError;
use gateway_core::ports::{LedgerError, StoreError};
use gateway_protocol::json::parse_strict;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::Shared;

/// How deep a document may nest: rules and schemas do, a little.
const DEEPEST: usize = 32;

pub(crate) fn router() -> Router<Shared> {
    Router::new()
        .merge(agents::routes())
        .merge(approvals::routes())
        .merge(deliverables::routes())
        .merge(dlp::routes())
        .merge(explain::routes())
        .merge(policies::routes())
        .merge(promotion::routes())
        .merge(prove::routes())
        .merge(standing::routes())
        .merge(tools::routes())
        .merge(crate::upstreams::api())
        .fallback(async || ApiError::NotFound("there is nothing under this path".into()))
        .method_not_allowed_fallback(async || ApiError::Method)
        .layer(map_response(answers_are_not_kept))
}

/// Answers differ by key, and some name what should not lie in a cache.
async fn answers_are_not_kept(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// One thing that is wrong with what was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Wrong {
    pub path: String,
    pub what: String,
}

/// Every way an answer is no.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ApiError {
    Unauthenticated,
    Limited,
    Forbidden(String),
    NotFound(String),
    Method,
    Conflict(String),
    Frozen(String),
    Invalid(Vec<Wrong>),
    Unavailable,
    /// A tool agent was not run.
    Build {
        status: StatusCode,
        body: Value,
    },
}

impl ApiError {
    pub fn invalid(path: impl Into<String>, what: impl Into<String>) -> Self {
        Self::Invalid(vec![Wrong { path: path.into(), what: what.into() }])
    }
}

/// What is wrong with a policy begins with where: `rule.condition.amount: …`.
fn placed(error: DeskError) -> ApiError {
    match error {
        DeskError::Invalid(what) => match what.split_once(": ") {
            Some((path, rest)) if !path.contains(' ') => ApiError::invalid(path, rest),
            _ => ApiError::invalid("", what),
        },
        other => other.into(),
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Exists(_) => Self::Conflict(error.to_string()),
            StoreError::NotFound(_) => Self::NotFound(error.to_string()),
            StoreError::Invalid(what) => Self::invalid("", what),
            StoreError::Unavailable(_) => {
                tracing::error!(error = &error as &dyn std::error::Error, "the store did not answer the console");
                Self::Unavailable
            }
        }
    }
}

impl From<LedgerError> for ApiError {
    fn from(error: LedgerError) -> Self {
        tracing::error!(error = &error as &dyn std::error::Error, "the ledger did not take what the console did");
        Self::Unavailable
    }
}

impl From<DeskError> for ApiError {
    fn from(error: DeskError) -> Self {
        match error {
            DeskError::NotFound(_) => Self::NotFound(error.to_string()),
            DeskError::Invalid(what) => Self::invalid("", what),
            DeskError::Forbidden(what) => Self::Forbidden(what),
            DeskError::Conflict(what) => Self::Conflict(what),
            DeskError::Frozen(what) => Self::Frozen(what),
            DeskError::Store(error) => error.into(),
            DeskError::Ledger(error) => error.into(),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let said = |status: StatusCode, what: &str| (status, axum::Json(json!({ "error": what }))).into_response();
        match self {
            Self::Unauthenticated => {
                let what = "an administrator's key is needed: `x-api-key: KEY` or `Authorization: Bearer KEY`";
                let mut response = said(StatusCode::UNAUTHORIZED, what);
                let challenge = HeaderValue::from_static("Bearer realm=\"portreeve\"");
                response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
                response
            }
            Self::Limited => said(StatusCode::TOO_MANY_REQUESTS, "too many requests; try again shortly"),
            Self::Forbidden(what) => said(StatusCode::FORBIDDEN, &what),
            Self::NotFound(what) => said(StatusCode::NOT_FOUND, &what),
            Self::Method => said(StatusCode::METHOD_NOT_ALLOWED, "this path does not take this method"),
            Self::Conflict(what) => said(StatusCode::CONFLICT, &what),
            Self::Frozen(what) => said(StatusCode::LOCKED, &what),
            Self::Invalid(errors) => {
                (StatusCode::UNPROCESSABLE_ENTITY, axum::Json(json!({ "errors": errors }))).into_response()
            }
            Self::Build { status, body } => (status, axum::Json(body)).into_response(),
            Self::Unavailable => {
                said(StatusCode::SERVICE_UNAVAILABLE, "the store does not answer right now; try again shortly")
            }
        }
    }
}

/// A body that says what it should and nothing else. No body counts as `{}`.
pub(crate) struct Strict<T>(pub T);

impl<T: DeserializeOwned> FromRequest<Shared> for Strict<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, console: &Shared) -> Result<Self, ApiError> {
        let bytes = axum::body::Bytes::from_request(request, console).await;
        let bytes = bytes.map_err(|_| ApiError::invalid("", "the body could not be read"))?;
        read(&bytes).map(Self)
    }
}

/// The same for a query.
pub(crate) struct Asked<T>(pub T);

impl<T: DeserializeOwned> FromRequestParts<Shared> for Asked<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, console: &Shared) -> Result<Self, ApiError> {
        let query = axum::extract::Query::from_request_parts(parts, console).await;
        query.map(|axum::extract::Query(asked)| Self(asked)).map_err(|error| ApiError::invalid("?", error.body_text()))
    }
}

fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    let document = match bytes {
        [] => Value::Object(serde_json::Map::new()),
        bytes => parse_strict(bytes, DEEPEST).map_err(|error| ApiError::invalid(error.path(), error.to_string()))?,
    };
    typed(document)
}

/// A document as what it should be, or the place where it is not.
pub(crate) fn typed<T: DeserializeOwned>(document: Value) -> Result<T, ApiError> {
    serde_path_to_error::deserialize(document).map_err(|error| {
        let path = error.path().to_string();
        ApiError::invalid(if path == "." { "" } else { &path }, error.into_inner().to_string())
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Note {
        to: To,
        text: Option<String>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct To {
        name: String,
    }

    #[test]
    fn a_body_says_what_it_should_and_nothing_else() {
        let good: Note = read(br#"{"to": {"name": "n"}}"#).unwrap();
        assert_eq!(good, Note { to: To { name: "n".into() }, text: None });
        for (body, path, part) in [
            (&br#"{"to": {"name": 7}}"#[..], "to.name", "string"),
            (br#"{"to": {"name": "n", "nmae": "m"}}"#, "to.nmae", "unknown field"),
            (br#"{"to": {"name": "n"}, "to": {"name": "m"}}"#, "", "duplicate key `to`"),
            (b"{}", "", "missing field `to`"),
            (b"", "", "missing field `to`"),
            (b"{", "", "byte"),
            (b"[]", "", "invalid"),
        ] {
            let Err(ApiError::Invalid(errors)) = read::<Note>(body) else { unreachable!("{body:?}") };
            let [wrong] = errors.as_slice() else { unreachable!("{errors:?}") };
            assert!(wrong.path == path && wrong.what.contains(part), "{wrong:?}");
        }
    }
}
