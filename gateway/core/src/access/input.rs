//! What a rule in Rego sees of a call: the same document for every rule, and what `explain` prints.

use jiff::tz::TimeZone;
use serde_json::{Value, json};

use crate::exchange::Exchange;
use crate::identity::PrincipalKind;
use crate::live::TenantFacts;
use crate::rules::weekday;

/// Everything, with the arguments.
pub fn input(exchange: &Exchange, tenant: &TenantFacts) -> Value {
    let mut whole = facts(exchange, tenant);
    if let Value::Object(parts) = &mut whole {
        let arguments = exchange.arguments().cloned().unwrap_or_else(|| json!({}));
        parts.insert("arguments".into(), arguments);
    }
    whole
}

/// Everything but the arguments, which whoever evaluates reads where they stand.
pub fn facts(exchange: &Exchange, tenant: &TenantFacts) -> Value {
    let principal = &exchange.principal;
    let kind = match principal.kind {
        PrincipalKind::Anonymous => "anonymous",
        PrincipalKind::Agent => "agent",
        PrincipalKind::Admin => "admin",
    };
    let part = exchange.classification();
    let tool = exchange.tool();
    let classified = tool.and_then(|tool| tool.classified.as_ref());
    let at = exchange.at.to_zoned(TimeZone::UTC);
    json!({
        "principal": {
            "kind": kind,
            "agent": principal.agent,
            "tenant": principal.tenant,
            "autonomy": principal.autonomy,
            "mode": principal.mode(),
            "roles": principal.roles,
            "scopes": principal.scopes,
            "allowed_types": principal.allowed_types,
            "max_risk": principal.max_risk,
        },
        // The caller's own tenant: rules of no tenant are asked for everybody.
        "tenant": {"id": tenant.id.or(principal.tenant), "name": tenant.name},
        "tool": tool.map(|tool| json!({
            "name": tool.name,
            "namespace": tool.name.namespace(),
            "tool": tool.name.tool(),
            "action_type": classified.and_then(|tool| tool.handling.action_type.as_deref()),
        })),
        "manifest": classified.map(|tool| json!({
            "id": tool.manifest.id,
            "domain": tool.manifest.domain,
            "risk_level": tool.manifest.risk_level,
            "side_effects": tool.manifest.side_effects,
            "allowed_modes": tool.manifest.allowed_modes,
            "category": tool.metadata.as_ref().and_then(|about| about.category.as_deref()),
            "tags": tool.metadata.as_ref().map(|about| about.tags.as_slice()).unwrap_or_default(),
        })),
        "classification": {
            "decision_type": part.decision_type,
            "risk": part.risk,
            "reversibility": part.reversibility,
            "code": part.code(),
            "risk_level": tool.map(|tool| tool.effective.risk_level),
        },
        "method": exchange.method(),
        "at": {
            "unix_ms": exchange.at.as_millisecond(),
            "iso": exchange.at.to_string(),
            "hour": at.hour(),
            "weekday": weekday(exchange.at),
        },
    })
}
