//! Scenarios and runs: defined once, never forked, only added to, a tenant's own.

use std::collections::BTreeSet;

use gateway_core::gate::dispatch::DispatchRules;
use gateway_core::gate::engine::{self, Call, Rules};
use gateway_core::gate::evidence::EvidenceResult;
use gateway_core::gate::policies::AnchorRules;
use gateway_core::gate::records::{Entry, Outcome, TriggerEvent};
use gateway_core::gate::requests::SubmitRequest;
use gateway_core::gate::run::RunConfig;
use gateway_core::gate::runpack::pack;
use gateway_core::gate::{Digest, GateTime, Head, RunState, RunStatus, Scenario, Spec};
use gateway_core::ports::{FoundRun, GateStore, NewCall, NewScenario, RunQuery, ScenarioSource, StoreError};
use gateway_core::{AgentId, TenantId};
use serde_json::{Value, json};

use crate::stage::Stage;

/// Two stages: the second has a packet with a number that no float can hold.
fn spec() -> Value {
    let packet = json!({
        "packet_id": "p", "schema_id": "x", "content_type": "application/json", "visibility_labels": [],
        "policy_tags": [], "expiry": null,
        "payload": { "kind": "json", "value": { "n": 9_007_199_254_740_993_u64, "text": "\u{0}é" } },
    });
    let stage = |name: &str, packets: Vec<Value>, gates: Vec<Value>| {
        json!({ "stage_id": name, "entry_packets": packets, "gates": gates, "advance_to": { "kind": "linear" },
                "timeout": null, "on_timeout": "fail" })
    };
    json!({
        "scenario_id": "s", "spec_version": "v1", "default_tenant_id": null, "policies": [], "schemas": [],
        "predicates": [{ "predicate": "ready", "comparator": "equals", "expected": true, "policy_tags": [],
                         "query": { "provider_id": "json", "predicate": "path", "params": {} } }],
        "stages": [stage("one", vec![], vec![json!({ "gate_id": "g", "requirement": { "Predicate": "ready" } })]),
                   stage("two", vec![packet], vec![])],
    })
}

fn scenario() -> Scenario {
    Scenario::recompile(Spec::read(&spec()).unwrap()).unwrap()
}

fn new(scenario: &Scenario, source: ScenarioSource) -> NewScenario {
    let id = scenario.spec().scenario_id.to_string();
    NewScenario { id, hash: *scenario.hash(), text: scenario.spec().text(), by: "ada".into(), source }
}

struct House {
    tenant: TenantId,
    scenario: Scenario,
}

async fn house(stage: &Stage, name: &str) -> House {
    let tenant = stage.store.tenants().add_tenant(name).await.unwrap().id;
    let scenario = scenario();
    stage.store.gate().define(tenant, &new(&scenario, ScenarioSource::Defined), 1000).await.unwrap();
    House { tenant, scenario }
}

fn agent() -> AgentId {
    "a-4".parse().unwrap()
}

fn started(scenario: &Scenario, run: &str) -> (Head, Vec<Entry>) {
    let config = json!({ "tenant_id": "t", "run_id": run, "scenario_id": "s", "policy_tags": [],
                         "dispatch_targets": [{ "kind": "agent", "agent_id": "a-4" }] });
    let config = RunConfig::read(&config, "").unwrap();
    let (dispatch, anchors) = (DispatchRules::permit_all(), AnchorRules::default());
    let rules = Rules { dispatch: &dispatch, anchors: &anchors };
    engine::start(scenario, config, GateTime::Logical(0), true, rules).unwrap()
}

/// The step that a trigger makes of what was found.
fn stepped(scenario: &Scenario, found: &FoundRun, trigger: &str, ready: bool) -> (Head, Vec<Entry>) {
    let event = json!({ "trigger_id": trigger, "run_id": found.head.run_id, "kind": "tick", "source_id": "s",
                        "time": { "kind": "logical", "value": 1 }, "payload_ref": null, "correlation_id": null });
    let event = TriggerEvent::read(&event, "").unwrap().request;
    let (dispatch, anchors) = (DispatchRules::permit_all(), AnchorRules::default());
    let rules = Rules { dispatch: &dispatch, anchors: &anchors };
    let evidence = vec![EvidenceResult::json(ready.into(), "application/json")];
    let call = Call { method: "scenario.trigger", request: &event, at: event.time, correlation_id: None };
    let step = engine::advance(scenario, &found.head, event.clone(), evidence, rules).unwrap();
    let step = step.with_call(&call).unwrap();
    (step.head, step.entries)
}

async fn step(gate: &dyn GateStore, house: &House, run: &str, trigger: &str, ready: bool) -> bool {
    let found = gate.run(house.tenant, run, Some(trigger)).await.unwrap().unwrap();
    let (head, entries) = stepped(&house.scenario, &found, trigger, ready);
    gate.append(house.tenant, run, found.version, &head, &entries).await.unwrap()
}

// acceptance 113 c
pub async fn a_scenario_is_defined_once(stage: &Stage) {
    let house = house(stage, "acme").await;
    let gate = stage.store.gate();
    let again = new(&house.scenario, ScenarioSource::Defined);
    assert!(matches!(gate.define(house.tenant, &again, 1000).await, Err(StoreError::Exists(_))));
    let changed = NewScenario { hash: Digest::of_bytes(b"other"), text: "{}".into(), ..again.clone() };
    assert!(matches!(gate.define(house.tenant, &changed, 1000).await, Err(StoreError::Exists(_))));
    let other = stage.store.tenants().add_tenant("other").await.unwrap().id;
    assert_eq!(gate.scenario(other, "s", None).await.unwrap(), None);
    gate.define(other, &again, 1000).await.unwrap();
    let stored = gate.scenario(house.tenant, "s", None).await.unwrap().unwrap();
    assert_eq!((stored.hash, &stored.text), (*house.scenario.hash(), &again.text));
    assert_eq!(Spec::from_text(&stored.text).unwrap(), *house.scenario.spec());
    let lines = gate.scenarios(house.tenant, 10).await.unwrap();
    assert_eq!(lines.len(), 1);
    assert_eq!((lines[0].source.as_str(), lines[0].defined_by.as_str()), ("defined", "ada"));
    let nobody = TenantId(uuid::Uuid::nil());
    assert!(gate.define(nobody, &again, 1000).await.is_err());
}

pub async fn a_files_scenario_may_change(stage: &Stage) {
    let tenant = stage.store.tenants().add_tenant("acme").await.unwrap().id;
    let (gate, scenario) = (stage.store.gate(), scenario());
    let file = new(&scenario, ScenarioSource::File);
    gate.define(tenant, &file, 1000).await.unwrap();
    gate.define(tenant, &file, 1000).await.unwrap();
    let newer = NewScenario { hash: Digest::of_bytes(b"newer"), ..file.clone() };
    gate.define(tenant, &newer, 1000).await.unwrap();
    assert_eq!(gate.scenario(tenant, "s", None).await.unwrap(), None, "nobody defined it");
    for hash in [file.hash, newer.hash] {
        assert_eq!(gate.scenario(tenant, "s", Some(&hash)).await.unwrap().unwrap().hash, hash);
    }
}

pub async fn a_tenant_has_so_many_scenarios(stage: &Stage) {
    let tenant = stage.store.tenants().add_tenant("acme").await.unwrap().id;
    let (gate, scenario) = (stage.store.gate(), scenario());
    for (at, fits) in [(0, true), (1, true), (2, false)] {
        let named = NewScenario { id: format!("s{at}"), ..new(&scenario, ScenarioSource::Defined) };
        assert_eq!(gate.define(tenant, &named, 2).await.is_ok(), fits, "{at}");
    }
}

/// What is read is what was written, to the last digit; what was answered once can be answered again.
pub async fn a_run_is_kept_whole(stage: &Stage) {
    let house = house(stage, "acme").await;
    let gate = stage.store.gate();
    let (head, entries) = started(&house.scenario, "r");
    gate.begin(house.tenant, &head, &entries, &agent()).await.unwrap();
    let mut told = RunState::new(head, entries);
    for (trigger, ready) in [("t1", false), ("t2", true), ("t3", true)] {
        let found = gate.run(house.tenant, "r", Some(trigger)).await.unwrap().unwrap();
        assert_eq!((&found.head, &found.known, found.by.as_str()), (&told.head, &None, "a-4"));
        let (head, entries) = stepped(&house.scenario, &found, trigger, ready);
        assert!(gate.append(house.tenant, "r", found.version, &head, &entries).await.unwrap());
        told.head = head;
        told.logs.extend(entries);
    }
    let request = json!({ "run_id": "r", "submission_id": "one", "content_type": "text/plain", "correlation_id": null,
                          "payload": { "kind": "bytes", "bytes": [0, 255] },
                          "submitted_at": { "kind": "logical", "value": 9 } });
    let request = SubmitRequest::read(&request, "").unwrap().request;
    assert_eq!(gate.submission(house.tenant, "r", "one").await.unwrap(), None);
    let found = gate.run(house.tenant, "r", Some("t2")).await.unwrap().unwrap();
    let engine::Submitted::New(step) = engine::submit(&found.head, &request, None).unwrap() else {
        panic!("it is new");
    };
    assert!(gate.append(house.tenant, "r", found.version, &step.head, &step.entries).await.unwrap());
    assert_eq!(gate.submission(house.tenant, "r", "one").await.unwrap(), Some(step.answer.record));
    told.head = step.head;
    told.logs.extend(step.entries);
    let known = found.known.unwrap();
    assert_eq!(known.decision, told.logs.decisions[2]);
    assert_eq!(known.packets, told.logs.packets);
    assert_eq!(found.last_packets, [], "completion discloses none");
    let (head, logs) = gate.logs(house.tenant, "r").await.unwrap().unwrap();
    assert_eq!((&head, &logs), (&told.head, &told.logs));
    let at = GateTime::Logical(10);
    let packed =
        |head: &Head, logs| pack(house.scenario.spec(), head, logs, at, true, &AnchorRules::default()).unwrap();
    assert_eq!(packed(&head, &logs), packed(&told.head, &told.logs));
    assert!(packed(&head, &logs).is_sound());
}

// acceptance 115 b
pub async fn a_run_begins_once(stage: &Stage) {
    let house = house(stage, "acme").await;
    let gate = stage.store.gate();
    let (head, entries) = started(&house.scenario, "r");
    gate.begin(house.tenant, &head, &entries, &agent()).await.unwrap();
    assert!(matches!(gate.begin(house.tenant, &head, &entries, &agent()).await, Err(StoreError::Exists(_))));
    let (mut stray, entries) = started(&house.scenario, "other");
    stray.spec_hash = Digest::of_bytes(b"unknown");
    assert!(matches!(gate.begin(house.tenant, &stray, &entries, &agent()).await, Err(StoreError::NotFound(_))));
    assert_eq!(gate.run(house.tenant, "other", None).await.unwrap(), None, "nothing is left of it");
}

// acceptance 117 g, as far as the store goes: two nodes, fifty triggers at once, and nobody's step is lost or doubled.
pub async fn fifty_steps_make_one_log(stage: &Stage) {
    let house = house(stage, "acme").await;
    let other = stage.another_node().await;
    let (head, entries) = started(&house.scenario, "r");
    stage.store.gate().begin(house.tenant, &head, &entries, &agent()).await.unwrap();
    let nodes = [stage.store.gate(), other.gate()];
    let tries = (0..50).map(|at| {
        let (gate, house) = (&nodes[at % 2], &house);
        async move {
            let mut lost = 0;
            while !step(gate.as_ref(), house, "r", &format!("t{at}"), false).await {
                lost += 1;
                assert!(lost < 500, "somebody always wins");
            }
        }
    });
    futures::future::join_all(tries).await;
    let (head, logs) = other.gate().logs(house.tenant, "r").await.unwrap().unwrap();
    assert_eq!(stage.store.gate().run(house.tenant, "r", None).await.unwrap().unwrap().version, 51);
    let seqs: Vec<u64> = logs.decisions.iter().map(|decision| decision.seq).collect();
    assert_eq!(seqs, (0..=50).collect::<Vec<_>>());
    let triggers: BTreeSet<_> = logs.triggers.iter().map(|record| record.event.trigger_id.as_str()).collect();
    assert_eq!((triggers.len(), logs.tool_calls.len()), (51, 50));
    assert!(logs.decisions.iter().skip(1).all(|decision| matches!(decision.outcome, Outcome::Hold { .. })));
    assert!(
        pack(house.scenario.spec(), &head, &logs, GateTime::Logical(1), true, &AnchorRules::default())
            .unwrap()
            .is_sound()
    );
    other.close().await;
}

// acceptance 120 h, as far as the store goes
pub async fn runs_are_a_tenants_own(stage: &Stage) {
    let (mine, theirs) = (house(stage, "acme").await, house(stage, "other").await);
    let gate = stage.store.gate();
    let (head, entries) = started(&mine.scenario, "r");
    gate.begin(mine.tenant, &head, &entries, &agent()).await.unwrap();
    assert_eq!(gate.run(theirs.tenant, "r", Some("init")).await.unwrap(), None);
    assert_eq!(gate.logs(theirs.tenant, "r").await.unwrap(), None);
    assert!(!gate.append(theirs.tenant, "r", 1, &head, &[]).await.unwrap());
    let (same_name, entries) = started(&theirs.scenario, "r");
    gate.begin(theirs.tenant, &same_name, &entries, &agent()).await.unwrap();
    assert!(step(gate.as_ref(), &mine, "r", "t", true).await);
    let query = |tenant, status| RunQuery { tenant, scenario: Some("s".into()), status, limit: 10 };
    let lines = gate.runs(&query(mine.tenant, None)).await.unwrap();
    assert_eq!(lines.len(), 1);
    assert_eq!((lines[0].stage_id.as_str(), lines[0].version), ("two", 2));
    assert_eq!(gate.runs(&query(theirs.tenant, None)).await.unwrap()[0].stage_id, "one");
    assert!(gate.runs(&query(mine.tenant, Some(RunStatus::Failed))).await.unwrap().is_empty());
    if stage.is_postgres() {
        for table in ["scenarios", "runs", "run_events"] {
            let enter = format!("BEGIN; SELECT portreeve_enter('{}')", theirs.tenant);
            let count = format!("SELECT count(*)::text FROM {table} WHERE tenant_id = '{}'", mine.tenant);
            let seen = stage.alone(&stage.url, &[enter, count]).await.unwrap();
            assert_eq!(seen, [Some("0".to_owned())], "row security hides {table}");
        }
    }
}

pub async fn calls_are_noted_whatever_the_status(stage: &Stage) {
    let house = house(stage, "acme").await;
    let gate = stage.store.gate();
    let (head, entries) = started(&house.scenario, "r");
    gate.begin(house.tenant, &head, &entries, &agent()).await.unwrap();
    assert!(step(gate.as_ref(), &house, "r", "t1", true).await);
    assert!(step(gate.as_ref(), &house, "r", "t2", true).await);
    let call = NewCall {
        method: "crm/update".into(),
        request_hash: Digest::of_bytes(b"a"),
        response_hash: Digest::of_bytes(b"b"),
        called_at: GateTime::UnixMillis(7),
        correlation_id: None,
        error: None,
    };
    let noted = futures::future::join_all((0..8).map(|_| gate.note(house.tenant, "r", &call))).await;
    let ids: BTreeSet<_> = noted.into_iter().map(Result::unwrap).collect();
    assert_eq!(ids.len(), 8);
    let (head, logs) = gate.logs(house.tenant, "r").await.unwrap().unwrap();
    assert_eq!((head.status, logs.tool_calls.len(), logs.decisions.len()), (RunStatus::Completed, 10, 3));
    assert!(matches!(gate.note(house.tenant, "none", &call).await, Err(StoreError::NotFound(_))));
}

/// Not even whoever owns the database changes a run by accident.
pub async fn what_was_written_stays(stage: &Stage) {
    let house = house(stage, "acme").await;
    let (head, entries) = started(&house.scenario, "r");
    stage.store.gate().begin(house.tenant, &head, &entries, &agent()).await.unwrap();
    for forbidden in [
        "UPDATE run_events SET entry = '{}'",
        "DELETE FROM run_events",
        "UPDATE scenarios SET spec = '{}'",
        "DELETE FROM scenarios",
    ] {
        let error = stage.execute(forbidden).await.unwrap_err().to_string();
        assert!(error.contains("only appended"), "{forbidden}: {error}");
    }
    let again = "INSERT INTO run_events (tenant_id, run_id, log, seq, key, version, entry) \
                 SELECT tenant_id, run_id, log, seq + 10, key, version, entry FROM run_events WHERE log = 'decision'";
    assert!(stage.execute(again).await.is_err(), "one decision for a trigger");
}

pub async fn packs_have_one_owner(stage: &Stage) {
    let (mine, theirs) = (house(stage, "acme").await, house(stage, "other").await);
    let gate = stage.store.gate();
    assert_eq!(gate.shelved_by("packs/r").await.unwrap(), None);
    assert!(gate.shelve(mine.tenant, "packs/r").await.unwrap());
    assert!(gate.shelve(mine.tenant, "packs/r").await.unwrap());
    assert!(!gate.shelve(theirs.tenant, "packs/r").await.unwrap());
    assert_eq!(gate.shelved_by("packs/r").await.unwrap(), Some(mine.tenant));
}
