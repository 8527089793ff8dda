//! Who may use the API: whoever shows an administrator's key.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use gateway_core::identity::Credential;
use serde_json::json;

use crate::Shared;

/// Why nobody was recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stranger {
    Unknown,
    /// Too many strangers at once.
    Limited,
    /// Nobody can be asked right now.
    Unavailable,
}

pub(crate) struct Administrator;

impl FromRequestParts<Shared> for Administrator {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, node: &Shared) -> Result<Self, Response> {
        let needed = || {
            let what = "an administrator's key is needed: `x-api-key: KEY` or `Authorization: Bearer KEY`";
            ([(header::WWW_AUTHENTICATE, "Bearer realm=\"portreeve\"")], said(StatusCode::UNAUTHORIZED, what))
        };
        let credential = credential(&parts.headers).ok_or_else(|| needed().into_response())?;
        let caller = node.caller(&credential).await.map_err(|stranger| match stranger {
            Stranger::Unknown => needed().into_response(),
            Stranger::Limited => said(StatusCode::TOO_MANY_REQUESTS, "too many requests; try again shortly"),
            Stranger::Unavailable => {
                said(StatusCode::SERVICE_UNAVAILABLE, "the store does not answer right now; try again shortly")
            }
        })?;
        if caller.is_admin() {
            return Ok(Self);
        }
        Err(said(StatusCode::FORBIDDEN, "this needs a key with the scope `admin`"))
    }
}

fn said(status: StatusCode, what: &str) -> Response {
    (status, axum::Json(json!({ "error": what }))).into_response()
}

/// One credential: two that differ would let somebody guess which one counts. Nobody is an administrator without one.
fn credential(headers: &HeaderMap) -> Option<Credential> {
    let keys = headers.get_all("x-api-key").iter().map(|value| value.to_str().ok());
    let bearers = headers.get_all(header::AUTHORIZATION).iter().map(|value| {
        let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    let shown: Option<Vec<&str>> = keys.chain(bearers).collect();
    let mut shown = shown?.into_iter();
    let first = shown.next()?;
    shown.all(|other| other == first).then(|| Credential::Key(first.to_owned()))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn one_credential_is_shown_in_one_way() {
        for (shown, expected) in [
            (&[][..], None),
            (&[("x-api-key", "k")], Some("k")),
            (&[("authorization", "bearer  k")], Some("k")),
            (&[("x-api-key", "k"), ("authorization", "Bearer k")], Some("k")),
            (&[("x-api-key", "k"), ("authorization", "Bearer other")], None),
            (&[("x-api-key", "k"), ("x-api-key", "other")], None),
            (&[("authorization", "Basic k")], None),
        ] {
            let mut headers = HeaderMap::new();
            for (name, value) in shown {
                headers.append(*name, HeaderValue::from_static(value));
            }
            assert_eq!(credential(&headers), expected.map(|key| Credential::Key(key.into())), "{shown:?}");
        }
    }
}
