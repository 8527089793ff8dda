//! Who may use the API: a tenant's administrators, each inside the tenant of the key that was shown.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use gateway_core::TenantId;
use gateway_core::desk::Asker;
use gateway_core::desk::Who;
use gateway_core::identity::{Credential, Principal};

use crate::Shared;
use crate::api::ApiError;

const API_KEY: &str = "x-api-key";

/// Why nobody was recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stranger {
    Unknown,
    /// Too many strangers at once.
    Limited,
    /// Nobody can be asked right now.
    Unavailable,
}

/// An administrator, in the tenant of the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Administrator {
    pub tenant: TenantId,
    who: Who,
}

impl Administrator {
    /// As the desk knows who acts.
    pub fn who(&self) -> Who {
        self.who.clone()
    }
}

impl FromRequestParts<Shared> for Administrator {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, console: &Shared) -> Result<Self, ApiError> {
        let principal = known(console, &credential(&parts.headers)?).await?;
        let needed = || ApiError::Forbidden("this needs a key with the scope `admin`".into());
        let who = Who::administrator(&principal).ok_or_else(needed)?;
        let tenant = who.tenant().ok_or_else(needed)?;
        Ok(Self { tenant, who })
    }
}

/// Anybody of a tenant: an agent with its key, or an administrator.
#[derive(Debug, Clone)]
pub(crate) struct TenantCaller {
    pub tenant: TenantId,
    pub principal: Arc<Principal>,
    pub credential: Credential,
}

impl TenantCaller {
    /// As the desk knows who asks.
    pub fn asker(&self) -> Asker {
        match Who::administrator(&self.principal) {
            Some(who) => Asker::Desk(who),
            None => Asker::Agent { tenant: self.tenant, agent: self.principal.agent.clone() },
        }
    }
}

impl FromRequestParts<Shared> for TenantCaller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, console: &Shared) -> Result<Self, ApiError> {
        let credential = credential(&parts.headers)?;
        let principal = known(console, &credential).await?;
        let tenant = principal.tenant.ok_or_else(|| ApiError::Forbidden("this needs the key of a tenant".into()))?;
        Ok(Self { tenant, principal, credential })
    }
}

async fn known(console: &Shared, credential: &Credential) -> Result<Arc<Principal>, ApiError> {
    console.node.caller(credential).await.map_err(|stranger| match stranger {
        Stranger::Unknown => ApiError::Unauthenticated,
        Stranger::Limited => ApiError::Limited,
        Stranger::Unavailable => ApiError::Unavailable,
    })
}

/// One credential or none: two that differ would let somebody guess which one counts. Nobody is an administrator without one.
fn credential(headers: &HeaderMap) -> Result<Credential, ApiError> {
    let mut found: Option<&str> = None;
    let keys = headers.get_all(API_KEY).iter().map(|value| value.to_str().ok());
    let bearers = headers.get_all(header::AUTHORIZATION).iter().map(|value| {
        let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    for shown in keys.chain(bearers) {
        match (shown, found) {
            (Some(key), None) => found = Some(key),
            (Some(key), Some(before)) if key == before => {}
            _ => return Err(ApiError::Unauthenticated),
        }
    }
    found.map(|key| Credential::Key(key.to_owned())).ok_or(ApiError::Unauthenticated)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_credential_is_shown_in_one_way() {
        for (shown, expected) in [
            (&[][..], None),
            (&[("x-api-key", "k")], Some("k")),
            (&[("authorization", "Bearer k")], Some("k")),
            (&[("authorization", "bearer  k")], Some("k")),
            (&[("x-api-key", "k"), ("authorization", "Bearer k")], Some("k")),
            (&[("x-api-key", "k"), ("authorization", "Bearer other")], None),
            (&[("x-api-key", "k"), ("x-api-key", "other")], None),
            (&[("authorization", "Basic k")], None),
            (&[("authorization", "k")], None),
        ] {
            let mut headers = HeaderMap::new();
            for (name, value) in shown {
                headers.append(*name, axum::http::HeaderValue::from_static(value));
            }
            let found = credential(&headers).ok();
            assert_eq!(found, expected.map(|key| Credential::Key(key.into())), "{shown:?}");
        }
    }
}
