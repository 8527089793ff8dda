//! The gate's ports in memory, for its tests: runs, two tenants, providers that say what they are told to, and shelves.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod runs;
mod shelves;
mod tenants;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use gateway_core::evidence::{EvidenceDesk, Provided, Providers};
use gateway_core::gate::contracts::{CheckContract, ParamsCheck, ValueKind};
use gateway_core::gate::dispatch::DispatchRules;
use gateway_core::gate::evidence::EvidenceResult;
use gateway_core::gate::policies::{AnchorRules, Disclosure};
use gateway_core::gate::{Comparator, GateTime};
use gateway_core::ports::{EvidenceAsked, EvidenceProvider};
use gateway_core::{Principal, PrincipalKind, TenantId};
use serde_json::{Value, json};
use uuid::Uuid;

pub(super) use runs::Runs;
pub(super) use shelves::Shelves;
use tenants::TwoTenants;

use super::{GateSettings, Ports};
use crate::builtin::{BuiltinServer, ToolFailure};

pub(super) fn tenant(number: u128) -> TenantId {
    TenantId(Uuid::from_u128(number))
}

/// An agent of `tenant-001`, or of the other one.
pub(super) fn agent(number: u128) -> Principal {
    let agent = "agent-alpha".parse().unwrap();
    Principal { kind: PrincipalKind::Agent, tenant: Some(tenant(number)), agent, ..Principal::anonymous() }
}

pub(super) fn example(name: &str) -> Value {
    let path = format!("{}/../core/tests/data/gate-examples/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Everything around the tools, and the tools.
pub(super) struct World {
    pub runs: Arc<Runs>,
    pub shelves: Arc<Shelves>,
    pub env: Arc<Env>,
    pub server: BuiltinServer,
}

impl World {
    pub(super) fn new() -> Self {
        Self::with(DispatchRules::permit_all(), Disclosure { allow_raw_values: true, require_provider_opt_in: true })
    }

    pub(super) fn with(dispatch: DispatchRules, disclosure: Disclosure) -> Self {
        let (runs, shelves, env) = (Arc::new(Runs::default()), Arc::new(Shelves::default()), Arc::new(Env::new()));
        env.set("DEPLOY_ENV", Some("production"));
        let provided = |provider: Arc<dyn EvidenceProvider>, allow_raw| Provided { provider, keys: None, allow_raw };
        let providers = Providers::from([
            ("env".to_owned(), provided(Arc::clone(&env) as _, true)),
            ("time".to_owned(), provided(Arc::new(Time::new()), false)),
        ]);
        let settings = Arc::new(GateSettings {
            evidence: EvidenceDesk::new(providers, AnchorRules::default(), disclosure),
            dispatch,
            shelves: Arc::clone(&shelves) as _,
            files: BTreeMap::new(),
        });
        let ports = Ports {
            runs: Arc::clone(&runs) as _,
            tenants: Arc::new(TwoTenants),
            settings: Arc::new(move || Arc::clone(&settings)),
        };
        Self { runs, shelves, env, server: super::server(ports).unwrap() }
    }

    pub(super) async fn call(&self, tool: &str, arguments: Value) -> Result<Value, String> {
        self.call_as(&agent(1), tool, arguments).await
    }

    pub(super) async fn call_as(&self, caller: &Principal, tool: &str, arguments: Value) -> Result<Value, String> {
        let answer = super::call(&self.server, tool, caller, arguments.as_object().unwrap()).await;
        answer.map_err(|failure: ToolFailure| failure.to_string())
    }

    /// The example's scenario and a run of it.
    pub(super) async fn started(&self, packets: bool) {
        self.call("scenario_define", example("define")).await.unwrap();
        let mut start = example("start");
        start["issue_entry_packets"] = json!(packets);
        self.call("scenario_start", start).await.unwrap();
    }

    /// The root hash of the example's run.
    pub(super) async fn root(&self, verified: bool) -> String {
        let mut request = export("packs/root");
        request["include_verification"] = json!(verified);
        let answer = self.call("runpack_export", request).await.unwrap();
        answer["manifest"]["integrity"]["root_hash"]["value"].as_str().unwrap().to_owned()
    }
}

pub(super) fn export(directory: &str) -> Value {
    json!({
        "generated_at": { "kind": "unix_millis", "value": 1_710_000_000_000_i64 }, "include_verification": false,
        "manifest_name": "manifest.json", "output_dir": directory, "run_id": "run-0001", "scenario_id": "example-scenario",
    })
}

fn contract(check: &str, key: Option<&'static str>, value: ValueKind) -> CheckContract {
    let params: ParamsCheck = Arc::new(move |given: &Value| match key {
        Some(key) if given.get(key).is_none() => Err(format!("`{key}` is missing")),
        _ => Ok(()),
    });
    let comparators = vec![Comparator::Equals, Comparator::NotEquals, Comparator::Exists, Comparator::NotExists];
    CheckContract { check: check.into(), params_required: key.is_some(), params, value, comparators }
}

/// An environment of its own.
pub(super) struct Env {
    checks: Vec<CheckContract>,
    variables: Mutex<BTreeMap<String, String>>,
}

impl Env {
    fn new() -> Self {
        Self { checks: vec![contract("get", Some("key"), ValueKind::Text)], variables: Mutex::default() }
    }

    pub(super) fn set(&self, key: &str, value: Option<&str>) {
        let mut variables = self.variables.lock().unwrap();
        match value {
            Some(value) => variables.insert(key.into(), value.into()),
            None => variables.remove(key),
        };
    }
}

#[async_trait]
impl EvidenceProvider for Env {
    fn checks(&self) -> &[CheckContract] {
        &self.checks
    }

    async fn query(&self, asked: &EvidenceAsked<'_>) -> EvidenceResult {
        let key = asked.query.params.as_ref().and_then(|params| params["key"].as_str()).unwrap_or_default();
        let value = self.variables.lock().unwrap().get(key).cloned();
        let result = value.map(|value| EvidenceResult::json(value.into(), "text/plain"));
        result.unwrap_or_default().anchored("env", key)
    }
}

struct Time {
    checks: Vec<CheckContract>,
}

impl Time {
    fn new() -> Self {
        Self { checks: vec![contract("after", Some("timestamp"), ValueKind::Boolean)] }
    }
}

#[async_trait]
impl EvidenceProvider for Time {
    fn checks(&self) -> &[CheckContract] {
        &self.checks
    }

    async fn query(&self, asked: &EvidenceAsked<'_>) -> EvidenceResult {
        let threshold = asked.query.params.as_ref().and_then(|params| params["timestamp"].as_i64()).unwrap_or(i64::MAX);
        let GateTime::UnixMillis(now) = asked.context.trigger_time else {
            return EvidenceResult::failed("params_invalid", "counted otherwise");
        };
        EvidenceResult::json((now >= threshold).into(), "application/json")
            .anchored("trigger_time_unix_millis", now.to_string())
    }
}
