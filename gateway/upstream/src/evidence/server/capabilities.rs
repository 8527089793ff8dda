//! What an external provider says it can be asked: a JSON file beside the configuration.
//!
//! `{"checks": [{"check_id", "params_required", "params_schema", "result_schema": {"type"}, "allowed_comparators"}]}`

use std::collections::BTreeSet;
use std::sync::Arc;

use gateway_core::gate::Comparator;
use gateway_core::gate::contracts::{CheckContract, ParamsCheck, ValueKind};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Capabilities {
    #[serde(alias = "predicates")]
    checks: Vec<Check>,
}

/// Further fields are the provider's own to have.
#[derive(Deserialize)]
struct Check {
    #[serde(alias = "predicate", alias = "name")]
    check_id: String,
    #[serde(default)]
    params_required: bool,
    params_schema: Option<Value>,
    result_schema: Option<Value>,
    allowed_comparators: Vec<Comparator>,
}

/// The contracts in a file of capabilities. `compile` makes a check of a JSON Schema.
pub fn checks(
    text: &str,
    compile: impl Fn(&Value) -> Result<ParamsCheck, String>,
) -> Result<Vec<CheckContract>, String> {
    let written: Capabilities =
        serde_json::from_str(text).map_err(|error| format!("its capabilities cannot be read: {error}"))?;
    let mut seen = BTreeSet::new();
    let mut contracts = Vec::with_capacity(written.checks.len());
    for Check { check_id, params_required, params_schema, result_schema, allowed_comparators } in written.checks {
        if check_id.trim().is_empty() || !seen.insert(check_id.clone()) {
            return Err(format!("its capabilities name the check `{check_id}` twice, or not at all"));
        }
        if allowed_comparators.is_empty() {
            return Err(format!("check `{check_id}` allows no comparator, so it could open nothing"));
        }
        let params: ParamsCheck = match &params_schema {
            None => Arc::new(|_: &Value| Ok(())),
            Some(schema) => {
                compile(schema).map_err(|words| format!("check `{check_id}`: params_schema cannot be used: {words}"))?
            }
        };
        let value = kind(result_schema.as_ref());
        contracts.push(CheckContract {
            check: check_id,
            params_required,
            params,
            value,
            comparators: allowed_comparators,
        });
    }
    match contracts.is_empty() {
        true => Err("its capabilities name no checks".into()),
        false => Ok(contracts),
    }
}

fn kind(schema: Option<&Value>) -> ValueKind {
    match schema.and_then(|schema| schema.get("type")).and_then(Value::as_str) {
        Some("boolean") => ValueKind::Boolean,
        Some("integer") => ValueKind::Integer,
        Some("number") => ValueKind::Number,
        Some("string") => ValueKind::Text,
        _ => ValueKind::Any,
    }
}
