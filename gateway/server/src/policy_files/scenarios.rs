//! `scenarios/<id>.json`: the operator's own scenarios, and what manifests say of the gates that run them.
//!
//! A gate before a tool is bound to a scenario by its hash, so nobody can open it with another under the same name.

use std::collections::BTreeMap;
use std::sync::Arc;

use gateway_core::gate::binding::{GateBinding, WrittenBinding};
use gateway_core::gate::{Digest, Id, Scenario, Spec};
use serde_json::Value;

use crate::config::{Problems, nearest, read};

/// What is read so far, by its id.
#[derive(Default)]
pub struct ScenarioFiles {
    all: BTreeMap<String, Arc<Scenario>>,
}

impl ScenarioFiles {
    pub fn all(&self) -> &BTreeMap<String, Arc<Scenario>> {
        &self.all
    }

    pub fn into_all(self) -> BTreeMap<String, Arc<Scenario>> {
        self.all
    }

    pub fn read_file(&mut self, id: &str, text: &str, problems: &mut Problems) {
        let submitted: Value = match serde_json::from_str(text) {
            Ok(submitted) => submitted,
            Err(error) => {
                problems.say("", format!("is not JSON: line {}, column {}", error.line(), error.column()));
                return;
            }
        };
        // Its providers are the configuration's, which is read elsewhere: they are held against it when a run asks them.
        let scenario = match Spec::read(&submitted).and_then(Scenario::recompile) {
            Ok(scenario) => scenario,
            Err(faults) => {
                for fault in faults {
                    problems.say(fault.path.clone(), format!("{} ({})", fault.what, fault.code.as_str()));
                }
                return;
            }
        };
        let own = scenario.spec().scenario_id.as_str();
        if own != id {
            problems.say("scenario_id", format!("`{own}` belongs in scenarios/{own}.json"));
            return;
        }
        self.all.insert(id.to_owned(), Arc::new(scenario));
    }
}

/// What a gate is bound to. Without a file of its scenario, whoever writes it must say which one is meant by its hash.
pub fn binding(
    written: Value,
    scenarios: &BTreeMap<String, Arc<Scenario>>,
    path: &str,
    problems: &mut Problems,
) -> Option<GateBinding> {
    let WrittenBinding { scenario, run_from, stage, spec_hash, anyone } = read(written, path, problems)?;
    let stages: Vec<Id> = stage.into();
    if stages.is_empty() {
        problems.say(format!("{path}.stage"), "must name the stage at which calls may pass");
    }
    if let Some(what) = run_from.fault() {
        problems.say(format!("{path}.run_from.argument"), what);
    }
    let said = match spec_hash.as_deref().map(|text| Digest::from_hex(text.trim_start_matches("sha256:"))) {
        Some(None) => {
            problems.say(format!("{path}.spec_hash"), "must be 64 lower-case hex digits");
            return None;
        }
        Some(Some(hash)) => Some(hash),
        None => None,
    };
    let file = scenarios.get(scenario.as_str());
    let spec_hash = match (said, file) {
        (Some(said), Some(file)) if said != *file.hash() => {
            let own = file.hash().hex();
            problems.say(format!("{path}.spec_hash"), format!("scenarios/{scenario}.json has the hash {own}"));
            return None;
        }
        (Some(said), _) => said,
        (None, Some(file)) => *file.hash(),
        (None, None) => {
            let known = scenarios.keys().map(String::as_str);
            let hint =
                nearest(scenario.as_str(), known).map_or(String::new(), |likely| format!("; did you mean `{likely}`?"));
            let what = format!("there is no scenarios/{scenario}.json, and no spec_hash says which one is meant{hint}");
            problems.say(format!("{path}.scenario"), what);
            return None;
        }
    };
    for stage in stages.iter().filter(|_| file.is_some()) {
        if file.is_some_and(|file| !file.spec().stages.iter().any(|known| known.stage_id == *stage)) {
            problems.say(format!("{path}.stage"), format!("scenario `{scenario}` has no stage `{stage}`"));
        }
    }
    Some(GateBinding { scenario, spec_hash, run_from, stages, anyone })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    fn file(id: &str) -> String {
        let stage = |name: &str, advance: &str| {
            json!({
                "stage_id": name, "entry_packets": [], "gates": [], "advance_to": { "kind": advance },
                "timeout": null, "on_timeout": "fail",
            })
        };
        json!({
            "scenario_id": id, "spec_version": "v1", "default_tenant_id": null, "policies": [], "schemas": [],
            "predicates": [], "stages": [stage("read", "linear"), stage("write", "terminal")],
        })
        .to_string()
    }

    fn told(read: impl FnOnce(&mut Problems)) -> Vec<String> {
        let mut problems = Problems::of("f");
        read(&mut problems);
        problems.into_found().into_iter().map(|problem| problem.path).collect()
    }

    fn files() -> ScenarioFiles {
        let mut files = ScenarioFiles::default();
        assert!(told(|problems| files.read_file("release", &file("release"), problems)).is_empty());
        files
    }

    #[test]
    fn a_scenario_lies_in_the_file_of_its_name() {
        let mut files = files();
        assert!(files.all().contains_key("release"));
        assert_eq!(told(|problems| files.read_file("other", &file("release"), problems)), ["scenario_id"]);
        assert_eq!(told(|problems| files.read_file("broken", "{", problems)), [""]);
        assert!(!told(|problems| files.read_file("empty", "{}", problems)).is_empty());
        assert_eq!(files.into_all().len(), 1);
    }

    #[test]
    fn a_gate_names_a_scenario_that_nobody_else_can_define() {
        let files = files();
        let hash = files.all().get("release").unwrap().hash().hex();
        let bound = |gate: Value| {
            let mut made = None;
            let paths = told(|problems| made = binding(gate, files.all(), "g", problems));
            (made, paths)
        };
        let (made, paths) = bound(json!({ "scenario": "release", "run_from": "meta", "stage": "write" }));
        assert_eq!((made.unwrap().spec_hash.hex(), paths), (hash.clone(), Vec::<String>::new()));
        let elsewhere = json!({ "scenario": "x", "run_from": "agent", "stage": ["a", "b"], "spec_hash": hash });
        assert_eq!(bound(elsewhere).0.unwrap().stages.len(), 2);
        for (gate, path) in [
            (json!({ "scenario": "x", "run_from": "meta", "stage": "write" }), "g.scenario"),
            (json!({ "scenario": "release", "run_from": "meta", "stage": "wrote" }), "g.stage"),
            (json!({ "scenario": "release", "run_from": "meta", "stage": [] }), "g.stage"),
            (json!({ "scenario": "x", "run_from": "meta", "stage": "write", "spec_hash": "12" }), "g.spec_hash"),
            (
                json!({ "scenario": "release", "run_from": "meta", "stage": "write", "spec_hash": "0".repeat(64) }),
                "g.spec_hash",
            ),
            (
                json!({ "scenario": "release", "run_from": { "argument": "a." }, "stage": "write" }),
                "g.run_from.argument",
            ),
        ] {
            assert_eq!(bound(gate.clone()).1, [path], "{gate}");
        }
        assert!(!bound(json!({ "scenario": "release", "run_from": "newest", "stage": "write" })).1.is_empty());
        assert!(
            !bound(json!({ "scenario": "release", "run_from": "meta", "stage": "write", "any": true })).1.is_empty()
        );
    }
}
