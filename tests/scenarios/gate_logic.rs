//! What gates decide, over MCP: the truth tables on real evidence, the ways from stage to stage, and time that only triggers
//! tell. The engine's own tests have every row; here the rows meet providers, store and wire.

#![expect(clippy::needless_pass_by_value, reason = "documents are written where they are given")]

use portreeve_tests::{Agent, Kind, World};
use serde_json::{Value, json};

use super::gate::{done, refused};

/// `t` is there, `f` is something else, `u` may not be asked for; `n` is not set.
const VALUES: [(&str, &str); 2] = [("t", "yes"), ("f", "no")];

async fn stage() -> (World, Agent) {
    let gate = json!({
        "runpacks": ["packs"], "validation": { "enable_lexicographic": true, "enable_deep_equals": true },
        "providers": [
            { "name": "time" },
            { "name": "env", "config": { "allowlist": ["n"], "overrides": VALUES.into_iter().collect::<std::collections::BTreeMap<_, _>>() } },
            { "name": "json", "config": { "root": "evidence" } },
        ],
    });
    let world = World::on(Kind::Sqlite).set("gate", gate).file("evidence/values.json", &values().to_string()).start();
    let agent = world.agent("a-7", "A1");
    (world, agent)
}

fn values() -> Value {
    json!({
        "ten": 10, "most": i64::MAX, "half": 0.1, "date": "2024-01-02", "time": "2024-01-01T01:00:00+01:00",
        "text": "abc", "list": [1, 2], "object": { "a": 1, "b": 2 }, "nothing": null, "truth": true,
    })
}

fn predicate(id: &str, query: Value, comparator: &str, expected: Value) -> Value {
    json!({ "predicate": id, "query": query, "comparator": comparator, "expected": expected, "policy_tags": [] })
}

fn variable(id: &str) -> Value {
    let query = json!({ "provider_id": "env", "predicate": "get", "params": { "key": id } });
    predicate(id, query, "equals", json!("yes"))
}

fn scenario(id: &str, predicates: &[Value], stages: &[Value]) -> Value {
    json!({ "spec": {
        "scenario_id": id, "spec_version": "v1", "default_tenant_id": null, "policies": [], "schemas": [],
        "predicates": predicates, "stages": stages,
    } })
}

fn at_stage(id: &str, gates: &[(&str, Value)], advance: Value) -> Value {
    let gates: Vec<Value> = gates.iter().map(|(gate, tree)| json!({ "gate_id": gate, "requirement": tree })).collect();
    json!({
        "stage_id": id, "entry_packets": [], "gates": gates, "advance_to": advance, "timeout": null, "on_timeout": "fail",
    })
}

fn logical(tick: u64) -> Value {
    json!({ "kind": "logical", "value": tick })
}

/// Defines a scenario and starts its one run, at tick 1.
async fn run(agent: &Agent, define: Value) -> String {
    let id = define["spec"]["scenario_id"].as_str().unwrap().to_owned();
    done(agent, "scenario_define", define).await;
    let config = json!({
        "tenant_id": "acme", "run_id": id, "scenario_id": id, "dispatch_targets": [], "policy_tags": [],
    });
    let start =
        json!({ "scenario_id": id, "run_config": config, "started_at": logical(1), "issue_entry_packets": false });
    done(agent, "scenario_start", start).await;
    id
}

fn trigger(id: &str, name: &str, kind: &str, time: Value) -> Value {
    let event = json!({
        "trigger_id": name, "run_id": id, "kind": kind, "time": time, "source_id": "s", "payload_ref": null,
        "correlation_id": null,
    });
    json!({ "scenario_id": id, "trigger": event })
}

async fn outcome(agent: &Agent, id: &str, name: &str, kind: &str, time: Value) -> Value {
    done(agent, "scenario_trigger", trigger(id, name, kind, time)).await["decision"]["outcome"].clone()
}

/// How every gate of a run was judged, in their order.
async fn judged(world: &World, agent: &Agent, id: &str) -> Vec<(String, String)> {
    let export = json!({
        "scenario_id": id, "run_id": id, "output_dir": id, "generated_at": logical(9), "include_verification": true,
        "manifest_name": null,
    });
    assert_eq!(done(agent, "runpack_export", export).await["report"]["status"], "pass");
    let file = world.directory.path().join("packs").join(id).join("gate_eval_log.json");
    let log: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let told = |eval: &Value| {
        let text = |key: &str| eval["evaluation"][key].as_str().unwrap().to_owned();
        (text("gate_id"), text("status"))
    };
    log.iter().map(told).collect()
}

async fn judges(world: &World, agent: &Agent, id: &str, predicates: &[Value], rows: &[(&str, Value, &str)]) {
    let gates: Vec<(&str, Value)> = rows.iter().map(|(name, tree, _)| (*name, tree.clone())).collect();
    let define = scenario(id, predicates, &[at_stage("main", &gates, json!({ "kind": "terminal" }))]);
    let run = run(agent, define).await;
    outcome(agent, &run, "t1", "external_event", logical(2)).await;
    let expected: Vec<(String, String)> =
        rows.iter().map(|(name, _, status)| ((*name).to_owned(), (*status).to_owned())).collect();
    assert_eq!(judged(world, agent, &run).await, expected, "{id}");
}

// acceptance 118 a-b
#[tokio::test(flavor = "multi_thread")]
async fn trees_follow_the_truth_tables() {
    let (world, agent) = stage().await;
    let predicates = ["t", "f", "u"].map(variable);
    let leaf = |name: char| json!({ "Predicate": name.to_string() });
    let leaves = |names: &str| names.chars().map(leaf).collect::<Vec<Value>>();
    let word = |name: char| match name {
        't' => "True",
        'f' => "False",
        _ => "Unknown",
    };
    let mut rows: Vec<(String, Value, &str)> = Vec::new();
    for (pair, and, or) in [
        ("tt", 't', 't'),
        ("tf", 'f', 't'),
        ("tu", 'u', 't'),
        ("ft", 'f', 't'),
        ("ff", 'f', 'f'),
        ("fu", 'f', 'u'),
        ("ut", 'u', 't'),
        ("uf", 'f', 'u'),
        ("uu", 'u', 'u'),
    ] {
        rows.push((format!("and-{pair}"), json!({ "And": leaves(pair) }), word(and)));
        rows.push((format!("or-{pair}"), json!({ "Or": leaves(pair) }), word(or)));
    }
    for (name, not) in [('t', 'f'), ('f', 't'), ('u', 'u')] {
        rows.push((format!("not-{name}"), json!({ "Not": leaf(name) }), word(not)));
    }
    for (names, status) in [("ttf", 't'), ("tuu", 'u'), ("tff", 'f'), ("ttu", 't'), ("fff", 'f')] {
        let group = json!({ "RequireGroup": { "min": 2, "reqs": leaves(names) } });
        rows.push((format!("two-of-{names}"), group, word(status)));
    }
    let nested = json!({ "Or": [{ "And": [leaf('t'), { "Not": leaf('u') }] }, { "Not": { "Or": leaves("ff") } }] });
    rows.push(("nested".into(), nested, "True"));
    let rows: Vec<(&str, Value, &str)> =
        rows.iter().map(|(name, tree, status)| (name.as_str(), tree.clone(), *status)).collect();
    judges(&world, &agent, "trees", &predicates, &rows).await;
}

// acceptance 118 c-d
#[tokio::test(flavor = "multi_thread")]
async fn comparators_compare_what_files_hold() {
    let (world, agent) = stage().await;
    let mut predicates = Vec::new();
    let mut rows = Vec::new();
    for (place, (name, comparator, expected, status)) in [
        ("ten", "equals", json!(10.0), "True"),
        ("ten", "equals", json!("10"), "False"),
        ("ten", "not_equals", json!("10"), "True"),
        ("most", "greater_than", json!(i64::MAX - 1), "True"),
        ("most", "less_than", json!(u64::MAX), "True"),
        ("half", "equals", json!(0.1), "True"),
        ("date", "less_than", json!("2024-01-10"), "True"),
        ("time", "greater_than_or_equal", json!("2024-01-01T00:00:00Z"), "True"),
        ("date", "less_than", json!("2024-01-10T00:00:00Z"), "Unknown"),
        ("text", "greater_than", json!("aaa"), "Unknown"),
        ("text", "lex_greater_than", json!("aaa"), "True"),
        ("ten", "lex_less_than", json!("a"), "Unknown"),
        ("text", "contains", json!("b"), "True"),
        ("list", "contains", json!([2]), "True"),
        ("object", "contains", json!("a"), "Unknown"),
        ("ten", "in_set", json!([9, 10]), "True"),
        ("text", "in_set", json!(["x"]), "False"),
        ("list", "in_set", json!([[1, 2]]), "Unknown"),
        ("list", "deep_equals", json!([1, 2]), "True"),
        ("object", "deep_equals", json!({ "b": 2, "a": 1 }), "True"),
        ("truth", "deep_not_equals", json!([true]), "Unknown"),
        ("nothing", "exists", Value::Null, "True"),
        ("away", "exists", Value::Null, "Unknown"),
        ("away", "not_exists", Value::Null, "Unknown"),
    ]
    .into_iter()
    .enumerate()
    {
        let params = json!({ "file": "values.json", "jsonpath": format!("$.{name}") });
        let query = json!({ "provider_id": "json", "predicate": "path", "params": params });
        let id = format!("{place:02}-{name}-{comparator}");
        predicates.push(predicate(&id, query, comparator, expected));
        rows.push((id.clone(), json!({ "Predicate": id }), status));
    }
    for (comparator, status) in [("exists", "False"), ("not_exists", "True")] {
        let query = json!({ "provider_id": "env", "predicate": "get", "params": { "key": "n" } });
        let id = format!("unset-{comparator}");
        predicates.push(predicate(&id, query, comparator, Value::Null));
        rows.push((id.clone(), json!({ "Predicate": id }), status));
    }
    let rows: Vec<(&str, Value, &str)> =
        rows.iter().map(|(name, tree, status)| (name.as_str(), tree.clone(), *status)).collect();
    judges(&world, &agent, "values", &predicates, &rows).await;
}

// acceptance 118 e
#[tokio::test(flavor = "multi_thread")]
async fn stages_lead_where_they_say() {
    let (_world, agent) = stage().await;
    let end = || at_stage("end", &[], json!({ "kind": "terminal" }));
    let gate = |name: &str| json!({ "Predicate": name });
    let branches = |default: Value| {
        let rule = |outcome: &str, to: &str| json!({ "gate_id": "g", "outcome": outcome, "next_stage_id": to });
        json!({ "kind": "branch", "branches": [rule("true", "on-true"), rule("false", "on-false")], "default": default })
    };
    let targets = || ["on-true", "on-false", "else"].map(|id| at_stage(id, &[], json!({ "kind": "terminal" })));
    let advance = |to: &str| json!({ "kind": "advance", "from_stage": "main", "to_stage": to, "timeout": false });
    let complete = json!({ "kind": "complete", "stage_id": "main" });
    let hold = |summary: Value| json!({ "kind": "hold", "summary": summary });
    let unmet = json!({ "status": "hold", "unmet_gates": ["g"], "retry_hint": "await_evidence", "policy_tags": [] });
    for (id, name, advance_to, further, expected) in [
        ("linear", "t", json!({ "kind": "linear" }), vec![end()], advance("end")),
        ("last", "t", json!({ "kind": "linear" }), vec![], complete.clone()),
        (
            "fixed",
            "t",
            json!({ "kind": "fixed", "stage_id": "end" }),
            vec![at_stage("between", &[], json!({ "kind": "linear" })), end()],
            advance("end"),
        ),
        ("terminal", "t", json!({ "kind": "terminal" }), vec![end()], complete),
        ("on-t", "t", branches(Value::Null), targets().into(), advance("on-true")),
        ("on-f", "f", branches(Value::Null), targets().into(), advance("on-false")),
        ("default", "u", branches(json!("else")), targets().into(), advance("else")),
        ("none", "u", branches(Value::Null), targets().into(), hold(unmet)),
    ] {
        let stages = [vec![at_stage("main", &[("g", gate(name))], advance_to)], further].concat();
        let run = run(&agent, scenario(id, &[variable(name)], &stages)).await;
        assert_eq!(outcome(&agent, &run, "t1", "external_event", logical(2)).await, expected, "{id}");
    }
    let only_false = json!({
        "kind": "branch", "branches": [{ "gate_id": "g", "outcome": "false", "next_stage_id": "end" }], "default": null,
    });
    let stages = [at_stage("main", &[("g", gate("t"))], only_false), end()];
    let run = run(&agent, scenario("nowhere", &[variable("t")], &stages)).await;
    let told = refused(&agent, "scenario_trigger", trigger(&run, "t1", "external_event", logical(2))).await;
    assert!(told.contains("no branch matched"), "{told}");
}

// acceptance 118 f
#[tokio::test(flavor = "multi_thread")]
async fn only_ticks_run_out_of_time() {
    let (_world, agent) = stage().await;
    let branch = json!({
        "kind": "branch", "branches": [{ "gate_id": "g", "outcome": "unknown", "next_stage_id": "late" }],
        "default": null,
    });
    let advance = |to: &str| json!({ "kind": "advance", "from_stage": "main", "to_stage": to, "timeout": true });
    for (policy, to, expected) in [
        ("fail", json!({ "kind": "linear" }), json!({ "kind": "fail", "reason": "timeout" })),
        ("advance_with_flag", json!({ "kind": "linear" }), advance("late")),
        ("alternate_branch", branch, advance("late")),
    ] {
        let mut main = at_stage("main", &[("g", json!({ "Predicate": "f" }))], to);
        main["timeout"] = json!({ "timeout_ms": 10, "policy_tags": [] });
        main["on_timeout"] = json!(policy);
        let late = at_stage("late", &[], json!({ "kind": "terminal" }));
        let run = run(&agent, scenario(policy, &[variable("f")], &[main, late])).await;
        let early = outcome(&agent, &run, "t1", "tick", logical(10)).await;
        assert_eq!(early["kind"], "hold", "{policy}: the deadline is 11");
        let other = outcome(&agent, &run, "t2", "external_event", logical(50)).await;
        assert_eq!(other["kind"], "hold", "{policy}: only a tick runs out");
        let millis = json!({ "kind": "unix_millis", "value": 1_710_000_000_000_i64 });
        let told = refused(&agent, "scenario_trigger", trigger(&run, "t3", "tick", millis)).await;
        assert!(told.starts_with("time_kinds: "), "{policy}: {told}");
        assert_eq!(outcome(&agent, &run, "t4", "tick", logical(11)).await, expected, "{policy}");
    }
}

// acceptance 118 g, 117 e: the same story told at two real times, in counted and in told time, is the same pack.
#[tokio::test(flavor = "multi_thread")]
async fn no_clock_but_the_triggers_own() {
    let mut roots = Vec::new();
    for kind in ["logical", "unix_millis"] {
        for _ in 0..2 {
            let (_world, agent) = stage().await;
            let at = |value: u64| json!({ "kind": kind, "value": value });
            let query = json!({ "provider_id": "time", "predicate": "after", "params": { "timestamp": 5 } });
            let late = predicate("late", query, "equals", json!(true));
            let stages = [at_stage("main", &[("g", json!({ "Predicate": "late" }))], json!({ "kind": "terminal" }))];
            done(&agent, "scenario_define", scenario("told", &[late], &stages)).await;
            let config = json!({
                "tenant_id": "acme", "run_id": "told", "scenario_id": "told", "dispatch_targets": [], "policy_tags": [],
            });
            let start = json!({ "scenario_id": "told", "run_config": config, "started_at": at(1), "issue_entry_packets": false });
            done(&agent, "scenario_start", start).await;
            assert_eq!(outcome(&agent, "told", "t1", "external_event", at(4)).await["kind"], "hold");
            let decision = done(&agent, "scenario_trigger", trigger("told", "t2", "backend_event", at(5))).await;
            assert_eq!(decision["decision"]["outcome"]["kind"], "complete");
            assert_eq!((&decision["decision"]["decided_at"], &decision["decision"]["seq"]), (&at(5), &json!(1)));
            let export = json!({
                "scenario_id": "told", "run_id": "told", "output_dir": "told", "generated_at": at(9),
                "include_verification": true, "manifest_name": null,
            });
            let exported = done(&agent, "runpack_export", export).await;
            roots.push(exported["manifest"]["integrity"]["root_hash"]["value"].clone());
        }
    }
    assert!(roots[0] == roots[1] && roots[2] == roots[3] && roots[0] != roots[2], "{roots:?}");
}
