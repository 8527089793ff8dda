#![allow(clippy::unwrap_used, clippy::panic)]

use futures::FutureExt;
use uuid::Uuid;

use super::*;
use crate::exchange::{Ask, Route, Subject, ToolSubject};
use crate::gate::TenantText;
use crate::gate::records::Entry;
use crate::gate::run::Counts;
use crate::identity::Principal;
use crate::manifest::{AgentMode, RiskLevel, ToolManifest};
use crate::names::TraceId;
use crate::policies::{ClassifiedTool, Handling};
use crate::rules::AgentPolicy;
use crate::testing::Runs;

const TENANT: TenantId = TenantId(Uuid::from_u128(1));

fn id(text: &str) -> Id {
    Id::try_from(text).unwrap()
}

fn head(run: &str, agent: &str) -> Head {
    Head {
        tenant_id: TenantText::Text(id("tenant-001")),
        run_id: id(run),
        scenario_id: id("release"),
        spec_hash: Digest::of_bytes(b"spec"),
        current_stage_id: id("write"),
        stage_entered_at: GateTime::Logical(1),
        entered_by: None,
        status: RunStatus::Active,
        dispatch_targets: vec![Target::Agent { agent_id: id(agent) }],
        counts: Counts::default(),
        last_decision: None,
        issued_packet_ids: Vec::new(),
    }
}

fn call(run_from: Option<RunFrom>, params: Value) -> Exchange {
    let manifest = ToolManifest {
        id: "crm/update".parse().unwrap(),
        domain: "crm".into(),
        risk_level: RiskLevel::LowWrite,
        side_effects: true,
        allowed_modes: AgentMode::ALL.to_vec(),
    };
    let gate = run_from.map(|run_from| {
        let (scenario, spec_hash) = (id("release"), Digest::of_bytes(b"spec"));
        Arc::new(GateBinding { scenario, spec_hash, run_from, stages: vec![id("write")], anyone: false })
    });
    let tool = ClassifiedTool::new(manifest, None).handled(Handling { gate, ..Handling::default() });
    let subject = Subject::Tool(ToolSubject::new("crm/update".parse().unwrap(), Some(Arc::new(tool)), false));
    let principal = Principal { tenant: Some(TENANT), agent: "a-1".parse().unwrap(), ..Principal::anonymous() };
    let Value::Object(params) = params else { panic!("params are an object") };
    let ask = Ask::Message(Message::request(7, "tools/call", Some(params)));
    Exchange::new(TraceId::from_uuid(Uuid::nil()), Arc::new(principal), Route::All, ask, subject)
}

fn looked(runs: &Runs, mut exchange: Exchange) -> Result<Option<String>, StoreError> {
    look(runs, &RuleSet::default(), &mut exchange).now_or_never().unwrap()?;
    Ok(match &exchange.gates {
        Gates::Looked(facts) => Some(match facts.as_slice() {
            [GateFacts { run: Some(run), .. }] => run.run_id.to_string(),
            [GateFacts { named, .. }] => format!("not {named:?}"),
            _ => "several".into(),
        }),
        Gates::NotLooked | Gates::Imagined => None,
    })
}

#[test]
fn a_call_names_its_run_as_its_gate_wants_it() {
    let runs = Runs::default();
    for (run, agent) in [("run-1", "a-1"), ("run-2", "a-1"), ("run-3", "a-2")] {
        runs.put(TENANT, head(run, agent));
    }
    runs.put(TenantId(Uuid::from_u128(2)), head("run-9", "a-1"));
    let params =
        json!({ "name": "update", "arguments": { "job": { "run": "run-2" } }, "_meta": { RUN_META: "run-1" } });
    for (run_from, expected) in [
        (Some(RunFrom::Meta), Some("run-1")),
        (Some(RunFrom::Argument("job.run".into())), Some("run-2")),
        (Some(RunFrom::Argument("job.id".into())), Some("not None")),
        (Some(RunFrom::Fixed(id("run-3"))), Some("run-3")),
        (Some(RunFrom::Agent), Some("run-2")),
        // Another tenant's run is not there.
        (Some(RunFrom::Fixed(id("run-9"))), Some("not Some(\"run-9\")")),
        (None, None),
    ] {
        let found = looked(&runs, call(run_from.clone(), params.clone())).unwrap();
        assert_eq!(found.as_deref(), expected, "{run_from:?}");
    }
}

#[test]
fn a_store_that_is_away_is_asked_only_by_what_is_gated() {
    let runs = Runs::default();
    *runs.away.lock().unwrap() = true;
    let params = json!({ "name": "update", "_meta": { RUN_META: "run-1" } });
    assert!(looked(&runs, call(Some(RunFrom::Meta), params.clone())).is_err());
    assert!(looked(&runs, call(Some(RunFrom::Agent), params.clone())).is_err());
    assert_eq!(looked(&runs, call(None, params)).unwrap(), None);
}

// What went through under a run stands in its transcript, with the hashes of what was asked and answered.
#[test]
fn a_call_is_noted_in_its_run() {
    let bench = crate::testing::bench::Bench::new();
    let runs = &bench.world.runs;
    runs.put(TENANT, head("run-1", "a-1"));
    let params = json!({ "name": "update", "arguments": { "b": 1, "a": 2 }, "_meta": { RUN_META: "run-1" } });
    let mut exchange = call(Some(RunFrom::Meta), params);
    look(&**runs, &RuleSet::default(), &mut exchange).now_or_never().unwrap().unwrap();
    let answers = [
        Message::result(gateway_protocol::Id::from(7), json!({ "content": [] })),
        Message::result(gateway_protocol::Id::from(7), json!({ "content": [], "isError": true })),
        Message::error(Some(gateway_protocol::Id::from(7)), gateway_protocol::RpcError::new(-32000, "secret words")),
    ];
    for answer in &answers {
        let reply = Reply::from_message(answer);
        note(&bench.gateway.ports, &exchange, &reply).now_or_never().unwrap();
    }
    let noted = runs.entries.lock().unwrap();
    let calls: Vec<_> = noted
        .iter()
        .map(|(run, entry)| match entry {
            Entry::ToolCall(call) => {
                (run.as_str(), call.call_id.as_str(), call.error.as_ref().map(|error| error.code.as_str()))
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        calls,
        [("run-1", "call-1", None), ("run-1", "call-2", Some("tool_error")), ("run-1", "call-3", Some("-32000"))]
    );
    let Some((_, Entry::ToolCall(first))) = noted.first() else { panic!("nothing was noted") };
    assert_eq!(first.method, "crm/update");
    assert_eq!(first.request_hash, Digest::of_bytes(br#"{"a":2,"b":1}"#));
    assert_eq!(first.response_hash, Digest::of_bytes(br#"{"content":[]}"#));
    assert!(!format!("{noted:?}").contains("secret words"));
}

fn rules(mode: &str) -> RuleSet {
    let hash = Digest::of_bytes(b"spec").hex();
    let written = json!({
        "policy_id": "release-first", "name": "Releases first", "severity": "high", "mode": mode,
        "rule": {
            "condition": { "namespace": "crm" },
            "requirement": { "gate": { "scenario": "release", "spec_hash": hash, "run_from": "meta", "stage": "write" } },
        },
    });
    RuleSet::compile(vec![AgentPolicy::compile(&serde_json::from_value(written).unwrap()).unwrap()])
}

// A run that the call did not pass under, because its rule is only in shadow, is not written into.
#[test]
fn nothing_is_noted_in_a_run_whose_gate_was_closed() {
    let bench = crate::testing::bench::Bench::new();
    let runs = &bench.world.runs;
    runs.put(TENANT, head("run-1", "a-2"));
    let mut exchange = call(None, json!({ "name": "update", "_meta": { RUN_META: "run-1" } }));
    look(&**runs, &rules("shadow"), &mut exchange).now_or_never().unwrap().unwrap();
    let reply = Reply::from_message(&Message::result(gateway_protocol::Id::from(7), json!({ "content": [] })));
    note(&bench.gateway.ports, &exchange, &reply).now_or_never().unwrap();
    assert!(!stands_before(&exchange) && runs.entries.lock().unwrap().is_empty());
}

// A rule may put a gate before many tools; it weighs what was found with the worth its mode gives it.
#[test]
fn a_rules_gate_is_looked_at_and_weighed_by_the_rule() {
    let runs = Runs::default();
    runs.put(TENANT, head("run-1", "a-1"));
    runs.put(TENANT, Head { current_stage_id: id("read"), ..head("run-2", "a-1") });
    for (run, objects) in [("run-1", false), ("run-2", true), ("run-3", true)] {
        let mut exchange = call(None, json!({ "name": "update", "_meta": { RUN_META: run } }));
        let rules = rules("enforce");
        let mut unseen = 0;
        rules.judge(&exchange, &mut |_| unseen += 1);
        assert_eq!(unseen, 1, "what nobody looked at is closed");
        look(&runs, &rules, &mut exchange).now_or_never().unwrap().unwrap();
        let mut said = 0;
        rules.judge(&exchange, &mut |_| said += 1);
        assert_eq!(said == 1, objects, "{run}");
    }
}
