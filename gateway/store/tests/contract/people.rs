//! The people and records that the tests talk about.

use bytes::Bytes;
use gateway_core::canonical::Canonical;
use gateway_core::keys::{AGENT_KEY, ApiKey};
use gateway_core::outcome::{AuditRow, JsonText, Status};
use gateway_core::ports::{AgentRecord, NewAgent, Record};
use gateway_core::trace::{EventType, TraceDraft};
use gateway_core::{AgentId, Autonomy, Classification, DecisionType, Reversibility, Risk, TenantId, TraceId};
use serde_json::json;
use uuid::Uuid;

use crate::stage::Stage;

pub fn id(text: &str) -> AgentId {
    text.parse().unwrap()
}

pub fn new_agent(name: &str) -> NewAgent {
    NewAgent {
        agent_id: id(name),
        name: "Billing Reconciliation Agent".into(),
        description: Some("Handles monthly billing reconciliation".into()),
        autonomy: Autonomy::A3,
        allowed_types: vec![DecisionType::D1, DecisionType::D2],
        max_risk: Risk::R2,
        owner_name: Some("Finance Team".into()),
        owner_email: Some("finance@example.com".into()),
        roles: Vec::new(),
        registered_by: None,
    }
}

pub fn key(seed: u8) -> ApiKey {
    ApiKey::from_random(AGENT_KEY, [seed; 32])
}

/// A tenant with one agent, and the agent's key.
pub async fn agent(stage: &Stage, tenant: &str, name: &str, seed: u8) -> (AgentRecord, ApiKey) {
    let tenants = stage.store.tenants();
    let tenant = match tenants.tenant(tenant).await {
        Ok(tenant) => tenant,
        Err(_) => tenants.add_tenant(tenant).await.unwrap(),
    };
    let key = key(seed);
    let record = tenants.add_agent(tenant.id, &new_agent(name), &key.hash(), &key.prefix()).await.unwrap();
    (record, key)
}

pub fn draft(tenant: Option<TenantId>, agent: &str, n: u128) -> TraceDraft {
    TraceDraft {
        tenant,
        agent: id(agent),
        trace_id: TraceId::from_uuid(Uuid::from_u128(n)),
        event_type: EventType::Decision,
        classification: Some(Classification::new(DecisionType::D2, Risk::R2, Reversibility::Partial)),
        description: Some("Selected vendor B over vendor A".into()),
        reasoning: Some("Vendor B offers 15% lower fees with equivalent SLA".into()),
        authorization: Canonical::of(&json!({"required": false, "matrix_result": "A3 x D2 = AUTHORIZED"})).unwrap(),
        context: Canonical::of(&json!({"tool": "notes/search", "nested": {"deep": [1, {"value": 2}]}})).unwrap(),
        timestamp: "2026-02-23T08:09:10.123Z".parse().unwrap(),
    }
}

pub fn traces(tenant: Option<TenantId>, agent: &str, numbers: std::ops::RangeInclusive<u128>) -> Vec<Record> {
    numbers.map(|n| Record::Trace(draft(tenant, agent, n))).collect()
}

pub fn row(tenant: Option<TenantId>, agent: &str, n: u128, tool: &str) -> AuditRow {
    let json = |text: &'static str| Some(JsonText::from_checked(Bytes::from_static(text.as_bytes())));
    AuditRow {
        trace_id: TraceId::from_uuid(Uuid::from_u128(n)),
        tenant,
        agent: id(agent),
        tool: Some(tool.parse().unwrap()),
        input: json(r#"{"query":"budget"}"#),
        output: json(r#"{"content":[]}"#),
        classification: Some(gateway_core::RiskLevel::ReadOnly.classification()),
        execution_time_ms: 12,
        status: Status::Ok,
        timestamp: "2026-02-23T08:09:10.456Z".parse().unwrap(),
    }
}
