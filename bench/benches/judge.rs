//! Judging one call among a thousand manifests, a hundred agent policies and ten rules in Rego: what a call costs, and what
//! it costs to load all of it.

use std::cell::Cell;
use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use gateway_core::exchange::ToolSubject;
use gateway_core::live::{TenantFacts, TenantRules};
use gateway_core::matrix::Matrix;
use gateway_core::policies::{ClassifiedTool, Dialect, Handling, SqlArgument, ToolMap};
use gateway_core::ports::AccessRow;
use gateway_core::rules::{AgentPolicy, RuleSet, WrittenPolicy};
use gateway_core::sql::SqlHandling;
use gateway_core::verdict::PolicyMode;
use gateway_core::{
    AgentMode, Ask, Chain, Exchange, PluginMode, Policies, Principal, PrincipalKind, RiskLevel, Route, Subject,
    TenantId, ToolManifest, ToolName, TraceId,
};
use gateway_plugins::access;
use gateway_plugins::sql_guard::{Lists, SqlGrammars};
use gateway_protocol::Message;
use gateway_sql::WrittenList;
use serde_json::{Value, json};
use uuid::Uuid;

/// What the gateway itself runs with.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn name(place: usize) -> ToolName {
    let written = format!("crm-{}/tool_{place}", place % 20);
    written.parse().unwrap_or_else(|error| unreachable!("{error}"))
}

fn manifests() -> Vec<(ToolName, Arc<ClassifiedTool>)> {
    let one = |place: usize| {
        let manifest = ToolManifest {
            id: name(place),
            domain: format!("crm-{}", place % 20),
            risk_level: RiskLevel::ReadOnly,
            side_effects: false,
            allowed_modes: AgentMode::ALL.to_vec(),
        };
        let sql = SqlHandling::Argument(SqlArgument::new("sql", Dialect::Postgres));
        let handling = Handling { sql: if place == 1 { sql } else { SqlHandling::Unsaid }, ..Handling::default() };
        (name(place), Arc::new(ClassifiedTool::new(manifest, None).handled(handling)))
    };
    (0..1000).map(one).collect()
}

/// Sixty that name what they are for, forty that look at arguments.
fn policies() -> Vec<AgentPolicy> {
    let condition = |place: usize| match place {
        0..30 => json!({"tool": name(place * 7).as_str(), "arguments.limit": {"gt": 100}}),
        30..50 => json!({"domain": format!("crm-{}", place % 20), "amount": {"gt": 10_000}}),
        50..60 => json!({"action_type": "external_communication"}),
        60..80 => json!({"limit": {"gt": 1000 + place}}),
        _ => json!({"arguments.customer.region": ["EU", "UK"], "amount": {"gte": place}}),
    };
    let one = |place: usize| {
        let written = WrittenPolicy {
            id: None,
            policy_id: format!("POL-{place}"),
            name: format!("policy {place}"),
            category: None,
            severity: None,
            rule: json!({"condition": condition(place), "requirement": "human_approval"}),
            regulatory_mapping: Vec::new(),
            mode: Some(PolicyMode::Enforce),
        };
        AgentPolicy::compile(&written).unwrap_or_else(|error| unreachable!("{error}"))
    };
    (0..100).map(one).collect()
}

fn modules() -> Vec<AccessRow> {
    let one = |place: usize| AccessRow {
        id: Uuid::nil(),
        tenant: None,
        name: format!("rule-{place}"),
        rule_type: "ABAC".into(),
        rule_definition: json!({"rego": format!(
            "package rules.r{place}\n\
             limits := {{\"EU\": 100, \"UK\": 200, \"US\": 1{place}00}}\n\
             is_clerk if \"clerk\" in input.principal.roles\n\
             deny contains \"too many for this region\" if {{\n\
                 limit := limits[input.arguments.customer.region]\n\
                 input.arguments.limit > limit\n\
             }}\n\
             deny contains \"clerks read\" if {{\n\
                 is_clerk\n\
                 input.manifest.side_effects\n\
             }}\n"
        )}),
        is_active: true,
        mode: Some(PolicyMode::Enforce),
    };
    (0..10).map(one).collect()
}

/// The same, written so that only the interpreter can answer them.
fn interpreted() -> Vec<AccessRow> {
    let looped = |mut row: AccessRow| {
        let text = row.rule_definition.to_string();
        let text = text.replace("\\\"clerk\\\" in input.principal.roles", "input.principal.roles[_] == \\\"clerk\\\"");
        let text = text.replace("input.arguments.limit >", "abs(input.arguments.limit) >");
        row.rule_definition = serde_json::from_str(&text).unwrap_or_else(|error| unreachable!("{error}"));
        row
    };
    modules().into_iter().map(looped).collect()
}

fn tenant(rows: &[AccessRow], policies: Vec<AgentPolicy>) -> Arc<TenantRules> {
    let (access, broken) = access::compile(rows, &[], None);
    assert!(broken.is_empty(), "{broken:?}");
    let facts = TenantFacts { id: Some(TenantId(Uuid::nil())), name: "acme".into() };
    Arc::new(TenantRules::new(facts, RuleSet::compile(policies), access, ToolMap::new(), broken))
}

fn exchange(tool: &(ToolName, Arc<ClassifiedTool>), rules: &Arc<TenantRules>, arguments: &Value) -> Exchange {
    let params = json!({"name": tool.0.as_str(), "arguments": arguments});
    let principal =
        Principal { kind: PrincipalKind::Agent, tenant: Some(TenantId(Uuid::nil())), ..Principal::anonymous() };
    let ask = Ask::Message(Message::request(1, "tools/call", params.as_object().cloned()));
    let subject = Subject::Tool(ToolSubject::new(tool.0.clone(), Some(Arc::clone(&tool.1)), false));
    let mut exchange = Exchange::new(TraceId::from_uuid(Uuid::nil()), Arc::new(principal), Route::All, ask, subject);
    exchange.rules = Arc::clone(rules);
    exchange
}

/// A thousand calls that differ in what the rules look at, so that nobody is flattered by remembering the last one.
fn arguments() -> Vec<Value> {
    let one = |limit: usize| json!({"query": "teapots", "limit": limit, "customer": {"region": "US", "id": limit}});
    (0..1000).map(one).collect()
}

fn judge(criterion: &mut Criterion) {
    let tools = manifests();
    let [_, sql, plain, ..] = tools.as_slice() else { return };
    let written: Result<WrittenList, _> = serde_saphyr::from_str(include_str!("../../policies/sql/postgres.yaml"));
    let Ok(written) = written else { return };
    let reader = SqlGrammars::new(Lists { postgres: written.into(), ..Lists::default() });
    let loaded = Policies::new(tools.clone(), Matrix::standard()).with_sql(Arc::new(reader));
    let chain = Chain::new(gateway_plugins::all(&loaded, |_| PluginMode::Enforce), Arc::new(loaded));
    let mut run = |name: &str, tool: &(ToolName, Arc<ClassifiedTool>), rules: &Arc<TenantRules>, calls: &[Value]| {
        let turn = Cell::new(0);
        let fresh = || {
            turn.set((turn.get() + 1) % calls.len());
            Box::new(exchange(tool, rules, calls.get(turn.get()).unwrap_or(&Value::Null)))
        };
        // A call that is refused would measure the refusal.
        for _ in calls {
            if let Err((_, ruling)) = chain.admit(fresh()) {
                unreachable!("{name}: {:?}", ruling.reasons);
            }
        }
        criterion.bench_function(name, |bencher| {
            bencher.iter_batched(fresh, |exchange| black_box(chain.admit(exchange).is_ok()), BatchSize::SmallInput);
        });
    };
    run("judge/without_rules", plain, &TenantRules::none(), &arguments());
    run("judge/without_rego", plain, &tenant(&[], policies()), &arguments());
    run("judge/with_rego", plain, &tenant(&modules(), policies()), &arguments());
    run("judge/with_interpreted_rego", plain, &tenant(&interpreted(), policies()), &arguments());
    let query = format!("SELECT id, name FROM customers WHERE note <> '{}' ORDER BY id LIMIT 10", "x".repeat(430));
    run("judge/classify_sql_500B", sql, &TenantRules::none(), &[json!({ "sql": query })]);
    criterion.bench_function("judge/load", |bencher| bencher.iter(|| black_box(tenant(&modules(), policies()))));
}

criterion_group!(benches, judge);
criterion_main!(benches);
