//! What a rule in Rego sees of a call: the same document for every rule, and what `explain` prints.

use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use crate::exchange::Exchange;
use crate::identity::PrincipalKind;
use crate::live::TenantFacts;
use crate::rules::weekday;

/// What the document has beside `arguments`, which whoever evaluates reads where they stand.
pub const PARTS: [&str; 7] = ["principal", "tenant", "tool", "manifest", "classification", "method", "at"];

/// Everything, with the arguments.
pub fn input(exchange: &Exchange, tenant: &TenantFacts) -> Value {
    let parts = PARTS.iter().map(|name| ((*name).to_owned(), part(exchange, tenant, name)));
    let arguments = exchange.arguments().cloned().unwrap_or_else(|| json!({}));
    Value::Object(parts.chain([("arguments".to_owned(), arguments)]).collect::<Map<_, _>>())
}

/// One of [`PARTS`]: most rules look at few of them.
pub fn part(exchange: &Exchange, tenant: &TenantFacts, name: &str) -> Value {
    match name {
        "principal" => principal(exchange),
        // The caller's own tenant: rules of no tenant are asked for everybody.
        "tenant" => json!({"id": tenant.id.or(exchange.principal.tenant), "name": tenant.name}),
        "tool" => tool(exchange),
        "manifest" => manifest(exchange),
        "classification" => classification(exchange),
        "method" => json!(exchange.method()),
        "at" => at(exchange),
        _ => Value::Null,
    }
}

fn principal(exchange: &Exchange) -> Value {
    let principal = &exchange.principal;
    let kind = match principal.kind {
        PrincipalKind::Anonymous => "anonymous",
        PrincipalKind::Agent => "agent",
        PrincipalKind::Admin => "admin",
    };
    json!({
        "kind": kind,
        "agent": principal.agent,
        "tenant": principal.tenant,
        "autonomy": principal.autonomy,
        "mode": principal.mode(),
        "roles": principal.roles,
        "scopes": principal.scopes,
        "allowed_types": principal.allowed_types,
        "max_risk": principal.max_risk,
    })
}

fn tool(exchange: &Exchange) -> Value {
    let Some(tool) = exchange.tool() else { return Value::Null };
    json!({
        "name": tool.name,
        "namespace": tool.name.namespace(),
        "tool": tool.name.tool(),
        "action_type": tool.classified.as_ref().and_then(|known| known.handling.action_type.as_deref()),
    })
}

fn manifest(exchange: &Exchange) -> Value {
    let Some(known) = exchange.tool().and_then(|tool| tool.classified.as_ref()) else { return Value::Null };
    let about = known.metadata.as_ref();
    json!({
        "id": known.manifest.id,
        "domain": known.manifest.domain,
        "risk_level": known.manifest.risk_level,
        "side_effects": known.manifest.side_effects,
        "allowed_modes": known.manifest.allowed_modes,
        "category": about.and_then(|about| about.category.as_deref()),
        "tags": about.map(|about| about.tags.as_slice()).unwrap_or_default(),
    })
}

fn classification(exchange: &Exchange) -> Value {
    let part = exchange.classification();
    json!({
        "decision_type": part.decision_type,
        "risk": part.risk,
        "reversibility": part.reversibility,
        "code": part.code(),
        "risk_level": exchange.tool().map(|tool| tool.effective.risk_level),
    })
}

fn at(exchange: &Exchange) -> Value {
    json!({
        "unix_ms": exchange.at.as_millisecond(),
        "iso": exchange.at.to_string(),
        "hour": exchange.at.to_zoned(TimeZone::UTC).hour(),
        "weekday": weekday(exchange.at),
    })
}
