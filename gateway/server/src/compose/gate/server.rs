//! Evidence from an MCP server: how it is reached, and what its file says that it can be asked.

use std::path::Path;
use std::sync::Arc;

use gateway_core::Namespace;
use gateway_core::definitions::PinRule;
use gateway_core::gate::Comparator;
use gateway_core::gate::contracts::{CheckContract, ParamsCheck, ValueKind};
use gateway_upstream::evidence::{ServerDialect, ServerSettings};
use gateway_upstream::{Layers, stack};
use serde::Deserialize;
use serde_json::Value;

use crate::clock::SystemClock;
use crate::compose::{ComposeError, transport_for};
use crate::config::{Config, UpstreamConfig};

/// What a file of capabilities may hold; whatever else its author wrote there is not ours.
#[derive(Deserialize)]
struct Capabilities {
    #[serde(alias = "predicates")]
    checks: Vec<Check>,
}

#[derive(Deserialize)]
struct Check {
    #[serde(alias = "predicate", alias = "name")]
    check_id: String,
    #[serde(default)]
    params_required: bool,
    #[serde(default)]
    params_schema: Value,
    #[serde(default)]
    result_schema: Value,
    allowed_comparators: Vec<Comparator>,
}

pub fn server(
    namespace: &Namespace,
    upstream: &UpstreamConfig,
    capabilities: &Path,
    newer: bool,
    config: &Config,
) -> Result<ServerSettings, ComposeError> {
    let inner = transport_for(namespace, upstream, config, upstream.timeout)?;
    let layers = Layers {
        namespace: namespace.clone(),
        protocol: upstream.protocol,
        timeout: upstream.timeout,
        longest: upstream.timeout,
        hold: upstream.timeout,
        held_per_principal: config.limits.held_calls,
        cache: upstream.cache,
        // Nobody is shown its tools.
        definitions: Arc::default(),
        pins: PinRule::Off,
        clock: Arc::new(SystemClock),
    };
    Ok(ServerSettings {
        upstream: stack(inner, &layers),
        namespace: namespace.clone(),
        checks: checks(namespace, capabilities)?,
        dialect: if newer { ServerDialect::Newer } else { ServerDialect::Seed },
        timeout: upstream.timeout,
    })
}

fn checks(provider: &Namespace, file: &Path) -> Result<Vec<CheckContract>, ComposeError> {
    let wrong = |what: &dyn std::fmt::Display| {
        ComposeError::Gate(format!("provider `{provider}`: capabilities `{}`: {what}", file.display()))
    };
    let text = std::fs::read_to_string(file).map_err(|error| wrong(&error))?;
    let read: Capabilities = serde_json::from_str(&text).map_err(|error| wrong(&error))?;
    if read.checks.is_empty() {
        return Err(wrong(&"names no checks"));
    }
    Ok(read.checks.into_iter().map(contract).collect())
}

fn contract(check: Check) -> CheckContract {
    let value = match check.result_schema.get("type").and_then(Value::as_str) {
        Some("boolean") => ValueKind::Boolean,
        Some("integer") => ValueKind::Integer,
        Some("number") => ValueKind::Number,
        Some("string") => ValueKind::Text,
        _ => ValueKind::Any,
    };
    CheckContract {
        check: check.check_id,
        params_required: check.params_required,
        params: params(&check.params_schema),
        value,
        comparators: check.allowed_comparators,
    }
}

/// That all are there which must be; the rest is the server's own to judge, and its refusal is a provider's error.
fn params(schema: &Value) -> ParamsCheck {
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let required: Vec<String> = required.filter_map(|name| name.as_str().map(str::to_owned)).collect();
    Arc::new(move |given: &Value| {
        let Value::Object(given) = given else {
            return Err("must be an object".into());
        };
        match required.iter().find(|name| !given.contains_key(name.as_str())) {
            Some(name) => Err(format!("`{name}` is missing")),
            None => Ok(()),
        }
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use serde_json::json;

    use super::*;

    #[test]
    fn a_file_says_what_may_be_asked() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("ci.json");
        let check = json!({
            "check_id": "passed", "params_required": true, "params_schema": { "required": ["build"] },
            "result_schema": { "type": "boolean" }, "allowed_comparators": ["equals"], "description": "whatever",
        });
        let provider: Namespace = "ci".parse().unwrap();
        std::fs::write(&file, json!({ "provider_id": "ci", "checks": [check] }).to_string()).unwrap();
        let contracts = checks(&provider, &file).unwrap();
        assert_eq!((contracts[0].check.as_str(), contracts[0].value), ("passed", ValueKind::Boolean));
        assert_eq!((contracts[0].params)(&json!({})), Err("`build` is missing".into()));
        assert_eq!((contracts[0].params)(&json!({ "build": 7 })), Ok(()));
        std::fs::write(&file, "{\"checks\": []}").unwrap();
        let told = checks(&provider, &file).err().unwrap().to_string();
        assert!(told.starts_with("gate.providers: provider `ci`: capabilities") && told.ends_with("names no checks"));
    }
}
