//! Evidence from an MCP server: how it is reached, and what its file says that it can be asked.

use std::path::Path;
use std::sync::Arc;

use gateway_core::Namespace;
use gateway_core::definitions::{Masked, PinRule, Schema, SchemaCompiler as _, SchemaFault};
use gateway_core::gate::contracts::{CheckContract, ParamsCheck};
use gateway_plugins::schema::Compiler;
use gateway_upstream::evidence::server::checks as capabilities;
use gateway_upstream::evidence::{ServerDialect, ServerSettings};
use gateway_upstream::{Commons, Layers, stack};
use serde_json::Value;

use crate::clock::SystemClock;
use crate::compose::{ComposeError, transport_for};
use crate::config::{Config, UpstreamConfig};

pub fn server(
    namespace: &Namespace,
    upstream: &UpstreamConfig,
    file: &Path,
    newer: bool,
    config: &Config,
    commons: &Commons,
) -> Result<ServerSettings, ComposeError> {
    let inner = transport_for(namespace, upstream, config, upstream.timeout, commons)?;
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
        commons: commons.clone(),
    };
    Ok(ServerSettings {
        upstream: stack(inner, &layers),
        namespace: namespace.clone(),
        checks: checks(namespace, file)?,
        dialect: if newer { ServerDialect::Newer } else { ServerDialect::Seed },
        timeout: upstream.timeout,
    })
}

fn checks(provider: &Namespace, file: &Path) -> Result<Vec<CheckContract>, ComposeError> {
    let wrong = |what: &dyn std::fmt::Display| {
        ComposeError::Gate(format!("provider `{provider}`: capabilities `{}`: {what}", file.display()))
    };
    let text = std::fs::read_to_string(file).map_err(|error| wrong(&error))?;
    capabilities(&text, compiled).map_err(|words| wrong(&words))
}

/// Parameters are held against their schema when a scenario is defined, and again before they are sent.
fn compiled(schema: &Value) -> Result<ParamsCheck, String> {
    match Compiler.compile(schema) {
        Schema::None => Ok(Arc::new(|_: &Value| Ok(()))),
        Schema::Unreadable(why) => Err(why),
        Schema::Compiled(check) => Ok(Arc::new(move |given: &Value| {
            let told = |faults: Vec<SchemaFault>| faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
            check.check(given, &Masked::default()).map_err(told)
        })),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use gateway_core::gate::contracts::ValueKind;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_file_says_what_may_be_asked() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("ci.json");
        let check = json!({
            "check_id": "passed", "params_required": true, "params_schema": { "type": "object", "required": ["build"] },
            "result_schema": { "type": "boolean" }, "allowed_comparators": ["equals"], "description": "whatever",
        });
        let provider: Namespace = "ci".parse().unwrap();
        std::fs::write(&file, json!({ "provider_id": "ci", "checks": [check] }).to_string()).unwrap();
        let contracts = checks(&provider, &file).unwrap();
        assert_eq!((contracts[0].check.as_str(), contracts[0].value), ("passed", ValueKind::Boolean));
        let told = (contracts[0].params)(&json!({})).unwrap_err();
        assert!(told.contains("build"), "{told}");
        assert_eq!((contracts[0].params)(&json!({ "build": 7 })), Ok(()));
        std::fs::write(&file, "{\"checks\": []}").unwrap();
        let told = checks(&provider, &file).err().unwrap().to_string();
        assert!(told.starts_with("gate.providers: provider `ci`: capabilities"), "{told}");
        assert!(told.ends_with("name no checks"), "{told}");
    }
}
