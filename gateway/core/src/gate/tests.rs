//! The gate told from outside: hashes known beforehand, tables of the logic, laws of any run, packs of others.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value
)]

mod advance;
mod any;
mod binding;
mod compare;
mod flips;
mod golden;
mod hashes;
mod jcs;
mod laws;
mod limits;
mod logic;
mod policies;
mod requests;
mod specs;
mod submissions;
mod timeouts;
mod verify;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::contracts::{CheckContract, Contracts, ValueKind};
use super::dispatch::DispatchRules;
use super::engine::{Answer, Rules};
use super::evidence::EvidenceResult;
use super::policies::AnchorRules;
use super::records::{Outcome, TriggerEvent};
use super::requests::{NextRequest, SubmitRequest};
use super::run::RunConfig;
use super::runpack::{Pack, pack};
use super::spec::Predicate;
use super::{Comparator, GateTime, Refusal, RunState, Scenario, Spec};

pub fn example(name: &str) -> Value {
    let path = format!("{}/tests/data/gate-examples/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

pub fn open() -> (DispatchRules, AnchorRules) {
    (DispatchRules::permit_all(), AnchorRules::default())
}

/// What is known of `env`, `time` and of `json`, which may be anything.
pub struct Known(BTreeMap<(&'static str, &'static str), CheckContract>);

impl Known {
    pub fn new() -> Self {
        use Comparator::{Equals, Exists, GreaterThan, InSet, NotEquals, NotExists};
        let wants = |key: &'static str| -> super::contracts::ParamsCheck {
            Arc::new(move |params: &Value| match params.get(key) {
                Some(_) => Ok(()),
                None => Err(format!("`{key}` is missing")),
            })
        };
        let check = |check: &'static str, key, required, value, comparators: &[Comparator]| CheckContract {
            check: check.into(),
            params_required: required,
            params: wants(key),
            value,
            comparators: comparators.to_vec(),
        };
        let plain = [Equals, NotEquals, InSet, Exists, NotExists];
        let number = [Equals, GreaterThan, Exists];
        Self(BTreeMap::from([
            (("env", "get"), check("get", "key", true, ValueKind::Text, &plain)),
            (("time", "after"), check("after", "timestamp", true, ValueKind::Boolean, &plain)),
            (("time", "now"), check("now", "", false, ValueKind::Number, &number)),
            (("json", "path"), check("path", "file", true, ValueKind::Any, &Comparator::ALL)),
        ]))
    }
}

impl Contracts for Known {
    fn provider(&self, id: &str) -> bool {
        self.0.keys().any(|(provider, _)| *provider == id)
    }

    fn check(&self, provider: &str, check: &str) -> Option<&CheckContract> {
        self.0.iter().find(|((of, name), _)| *of == provider && *name == check).map(|(_, contract)| contract)
    }

    fn known(&self) -> Vec<String> {
        self.0.keys().map(|(provider, _)| (*provider).to_owned()).collect()
    }
}

pub fn scenario(spec: &Value) -> Scenario {
    Scenario::compile(Spec::read(spec).unwrap(), &Known::new()).unwrap_or_else(|faults| panic!("{faults:?}"))
}

pub fn ms(value: i64) -> GateTime {
    GateTime::UnixMillis(value)
}

pub fn tick(value: u64) -> GateTime {
    GateTime::Logical(value)
}

/// A run and the world around it.
pub struct Story {
    pub scenario: Scenario,
    pub run: RunState,
    pub env: BTreeMap<String, String>,
    /// What `json` says of a file; `Err` is the code of its error.
    pub files: BTreeMap<String, Result<Option<Value>, &'static str>>,
    pub dispatch: DispatchRules,
    pub anchors: AnchorRules,
}

impl Story {
    pub fn begin(spec: &Value, config: &Value, at: GateTime, issue: bool) -> Self {
        let scenario = scenario(spec);
        let (dispatch, anchors) = open();
        let rules = Rules { dispatch: &dispatch, anchors: &anchors };
        let config = RunConfig::read(config, "run_config").unwrap();
        let run = RunState::start(&scenario, config, at, issue, rules).unwrap();
        Self { scenario, run, env: BTreeMap::new(), files: BTreeMap::new(), dispatch, anchors }
    }

    /// The seed's own example.
    pub fn seed(issue: bool) -> Self {
        let start = example("start");
        let at = serde_json::from_value(start["started_at"].clone()).unwrap();
        let mut story = Self::begin(&example("define")["spec"], &start["run_config"], at, issue);
        story.env.insert("DEPLOY_ENV".into(), "production".into());
        story
    }

    pub fn next(&mut self, request: &Value) -> Result<Answer, Refusal> {
        let request = NextRequest::read(request, "request").unwrap().request;
        let rules = Rules { dispatch: &self.dispatch, anchors: &self.anchors };
        let collect = |wanted: &[&Predicate]| collected(wanted, request.time, &self.env, &self.files);
        self.run.next(&self.scenario, &request, collect, rules)
    }

    pub fn trigger(&mut self, event: &Value) -> Result<Answer, Refusal> {
        let event = TriggerEvent::read(event, "trigger").unwrap().request;
        let rules = Rules { dispatch: &self.dispatch, anchors: &self.anchors };
        let collect = |wanted: &[&Predicate]| collected(wanted, event.time, &self.env, &self.files);
        self.run.trigger(&self.scenario, &event, collect, rules)
    }

    /// `scenario_trigger` with little to say.
    pub fn event(&mut self, id: &str, kind: &str, time: GateTime) -> Result<Answer, Refusal> {
        let run_id = self.run.head.run_id.clone();
        self.trigger(&json!({
            "trigger_id": id, "run_id": run_id, "kind": kind, "time": time, "source_id": "s",
            "payload_ref": null, "correlation_id": null,
        }))
    }

    pub fn submit(&mut self, request: &Value) -> Result<Value, Refusal> {
        let request = SubmitRequest::read(request, "request").unwrap().request;
        self.run.submit(&request).map(|recorded| serde_json::to_value(recorded).unwrap())
    }

    pub fn pack(&self, verified: bool) -> Pack {
        let at = GateTime::UnixMillis(1_710_000_000_000);
        pack(self.scenario.spec(), &self.run.head, &self.run.logs, at, verified, &self.anchors).unwrap()
    }

    pub fn root(&self) -> String {
        self.pack(false).manifest.integrity.root_hash.hex()
    }
}

/// What the built-in providers would say.
fn collected(
    wanted: &[&Predicate],
    time: GateTime,
    env: &BTreeMap<String, String>,
    files: &BTreeMap<String, Result<Option<Value>, &'static str>>,
) -> Vec<EvidenceResult> {
    let (kind, now) = match time {
        GateTime::UnixMillis(now) => ("trigger_time_unix_millis", now),
        GateTime::Logical(now) => ("trigger_time_logical", i64::try_from(now).unwrap()),
    };
    let answer = |predicate: &&Predicate| {
        let param = |key: &str| predicate.query.params.as_ref().and_then(|params| params.get(key)).cloned();
        match (predicate.query.provider_id.as_str(), predicate.query.check.as_str()) {
            ("time", "now") => EvidenceResult::json(now.into(), "application/json").anchored(kind, now.to_string()),
            ("time", "after") => {
                let after = now >= param("timestamp").unwrap().as_i64().unwrap();
                EvidenceResult::json(after.into(), "application/json").anchored(kind, now.to_string())
            }
            ("env", "get") => {
                let key = param("key").unwrap().as_str().unwrap().to_owned();
                let found = env.get(&key).map(|value| EvidenceResult::json(value.as_str().into(), "text/plain"));
                found.unwrap_or_default().anchored("env", key)
            }
            _ => match files.get(param("file").unwrap().as_str().unwrap()) {
                Some(Ok(Some(value))) => EvidenceResult::json(value.clone(), "application/json"),
                Some(Ok(None)) => EvidenceResult::default(),
                Some(Err(code)) => EvidenceResult::failed(code, "as told"),
                None => EvidenceResult::failed("file_not_found", "as told"),
            },
        }
    };
    wanted.iter().map(answer).collect()
}

pub fn outcome(answer: &Answer) -> &'static str {
    match answer.decision.outcome {
        Outcome::Start { .. } => "start",
        Outcome::Complete { .. } => "complete",
        Outcome::Advance { .. } => "advance",
        Outcome::Hold { .. } => "hold",
        Outcome::Fail { .. } => "fail",
    }
}

/// Of a run without targets.
pub fn config(scenario: &str) -> Value {
    json!({
        "tenant_id": "t", "run_id": "r", "scenario_id": scenario, "dispatch_targets": [], "policy_tags": [],
    })
}

/// A predicate that asks whether the file of its own name is true.
pub fn asks(name: &str) -> Value {
    json!({
        "predicate": name, "comparator": "equals", "expected": true, "policy_tags": [],
        "query": { "provider_id": "json", "predicate": "path", "params": { "file": name } },
    })
}

pub fn gate(name: &str, requirement: Value) -> Value {
    json!({ "gate_id": name, "requirement": requirement })
}

pub fn stage(name: &str, gates: Vec<Value>, advance_to: Value) -> Value {
    json!({
        "stage_id": name, "entry_packets": [], "gates": gates, "advance_to": advance_to,
        "timeout": null, "on_timeout": "fail",
    })
}

pub fn spec(predicates: Vec<Value>, stages: Vec<Value>) -> Value {
    json!({
        "scenario_id": "s", "spec_version": "v1", "default_tenant_id": null, "policies": [], "schemas": [],
        "predicates": predicates, "stages": stages,
    })
}

/// A file that makes [`asks`] say this.
pub fn says(status: super::Tri) -> Result<Option<Value>, &'static str> {
    match status {
        super::Tri::True => Ok(Some(json!(true))),
        super::Tri::False => Ok(Some(json!(false))),
        super::Tri::Unknown => Err("away"),
    }
}
