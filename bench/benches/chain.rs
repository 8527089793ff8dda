//! Judging one tool call: the plugins that ship, over the policies that ship with the matrix.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use gateway_core::exchange::ToolSubject;
use gateway_core::matrix::Matrix;
use gateway_core::policies::ClassifiedTool;
use gateway_core::{
    AgentMode, Ask, Chain, Exchange, PluginMode, Policies, Principal, PrincipalKind, RiskLevel, Route, Subject,
    ToolManifest, ToolName, TraceId,
};
use gateway_protocol::Message;
use serde_json::json;

fn exchange(name: &ToolName, tool: &Arc<ClassifiedTool>) -> Exchange {
    let params = json!({ "name": name.tool(), "arguments": { "query": "teapots", "limit": 10 } });
    let principal = Arc::new(Principal { kind: PrincipalKind::Agent, ..Principal::anonymous() });
    let ask = Ask::Message(Message::request(1, "tools/call", params.as_object().cloned()));
    let subject = Subject::Tool(ToolSubject::new(name.clone(), Some(Arc::clone(tool)), false));
    Exchange::new(TraceId::from_uuid(uuid::Uuid::nil()), principal, Route::All, ask, subject)
}

fn admit(criterion: &mut Criterion) {
    let Ok(name) = "notes/search".parse::<ToolName>() else {
        return;
    };
    let manifest = ToolManifest {
        id: name.clone(),
        domain: "notes".into(),
        risk_level: RiskLevel::ReadOnly,
        side_effects: false,
        allowed_modes: AgentMode::ALL.to_vec(),
    };
    let tool = Arc::new(ClassifiedTool::new(manifest, None));
    let policies = Policies::new(BTreeMap::from([(name.clone(), Arc::clone(&tool))]), Matrix::standard());
    let chain = Chain::new(gateway_plugins::all(&policies, |_| PluginMode::Enforce), Arc::new(policies));
    criterion.bench_function("Chain::admit", |bencher| {
        let fresh = || Box::new(exchange(&name, &tool));
        bencher.iter_batched(fresh, |exchange| black_box(chain.admit(exchange).is_ok()), BatchSize::SmallInput);
    });
}

criterion_group!(benches, admit);
criterion_main!(benches);
