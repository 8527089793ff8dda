//! What the providers' tests share: a question, and short words for the answer.
#![allow(clippy::unwrap_used, clippy::panic)]

use gateway_core::gate::evidence::{EvidenceContext, EvidenceResult, EvidenceValue};
use gateway_core::gate::spec::EvidenceQuery;
use gateway_core::gate::{GateTime, Id, TenantText};
use gateway_core::ports::{AskingRun, EvidenceAsked, EvidenceProvider};
use gateway_core::{AgentId, TenantId};
use serde_json::Value;
use uuid::Uuid;

pub(super) fn id(text: &str) -> Id {
    Id::try_from(text).unwrap()
}

pub(super) const TENANT: TenantId = TenantId(Uuid::from_u128(1));

pub(super) async fn asked(provider: &dyn EvidenceProvider, check: &str, params: Option<Value>) -> EvidenceResult {
    asked_by(provider, GateTime::Logical(1), check, params, None).await
}

pub(super) async fn asked_at(
    provider: &dyn EvidenceProvider,
    at: GateTime,
    check: &str,
    params: Option<Value>,
) -> EvidenceResult {
    asked_by(provider, at, check, params, None).await
}

pub(super) async fn asked_by(
    provider: &dyn EvidenceProvider,
    at: GateTime,
    check: &str,
    params: Option<Value>,
    run: Option<AskingRun>,
) -> EvidenceResult {
    let by: AgentId = "agent-alpha".parse().unwrap();
    let query = EvidenceQuery { provider_id: "p".into(), check: check.into(), params };
    let context = EvidenceContext {
        tenant_id: TenantText::Text(id("tenant-001")),
        run_id: id("run-0001"),
        scenario_id: id("example"),
        stage_id: id("main"),
        trigger_id: id("trigger-0001"),
        trigger_time: at,
        correlation_id: None,
    };
    provider.query(&EvidenceAsked { tenant: TENANT, by: &by, query: &query, context: &context, run }).await
}

pub(super) fn value(result: &EvidenceResult) -> Option<Value> {
    match &result.value {
        None => None,
        Some(EvidenceValue::Json(value)) => Some(value.clone()),
        Some(EvidenceValue::Bytes(_)) => panic!("bytes"),
    }
}

pub(super) fn code(result: &EvidenceResult) -> &str {
    result.error.as_ref().map_or("", |error| error.code.as_str())
}

/// What the contract says of params.
pub(super) fn contracted(provider: &dyn EvidenceProvider, check: &str, params: &Value) -> Result<(), String> {
    let contract = provider.checks().iter().find(|contract| contract.check == check).unwrap();
    (contract.params)(params)
}
