//! `adp_verify_chain`: recomputes an agent's chain from what is stored and names the first break.

use std::sync::Arc;

use async_trait::async_trait;
use gateway_core::AgentId;
use gateway_core::ports::{Ledger, TenantStore};
use gateway_core::verify::verify_chain;
use serde_json::{Map, Value, json};

use super::{NOT_FOUND, agent_id_schema, field, missing, registered, unavailable};
use crate::builtin::{BuiltinTool, Called, ToolFailure, ToolSpec, annotations};

pub(super) struct VerifyChain {
    spec: ToolSpec,
    tenants: Arc<dyn TenantStore>,
    ledger: Arc<dyn Ledger>,
}

impl VerifyChain {
    pub(super) fn new(tenants: Arc<dyn TenantStore>, ledger: Arc<dyn Ledger>) -> Self {
        Self { spec: spec(), tenants, ledger }
    }
}

#[async_trait]
impl BuiltinTool for VerifyChain {
    fn definition(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(
        &self,
        Called { caller, .. }: Called<'_>,
        arguments: &Map<String, Value>,
    ) -> Result<Value, ToolFailure> {
        let name = field(arguments, "agent_id").ok_or_else(|| missing("agent_id"))?;
        let (Some(tenant), Ok(agent)) = (caller.tenant, name.parse::<AgentId>()) else {
            return Err(ToolFailure::new(NOT_FOUND));
        };
        let limit = arguments.get("limit").and_then(Value::as_i64);
        let report =
            verify_chain(&*self.ledger, Some(tenant), &agent, limit).await.map_err(|error| unavailable(&error))?;
        // A chain outlives its agent's suspension; only an empty one needs an agent it could be the chain of.
        if report.chain_length == 0 && report.valid {
            registered(&*self.tenants, caller, name).await?;
        }
        Ok(json!(report))
    }
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "adp_verify_chain".into(),
        title: "Verify an agent's chain".into(),
        description:
            "Recomputes the hashes of an agent's traces, newest `limit` of them or all, and names the first that was \
                      changed, removed or put elsewhere. Changes nothing."
                .into(),
        input_schema: json!({
            "type": "object",
            "properties": {
                "agent_id": agent_id_schema(),
                "limit": { "type": "integer", "minimum": 1, "description": "How many of the newest traces to check; all when left out." },
            },
            "required": ["agent_id"],
        }),
        output_schema: Some(json!({
            "type": "object",
            "properties": {
                "valid": { "type": "boolean" },
                "chain_length": { "type": "integer" },
                "checked": { "type": "integer" },
                "first_trace": { "type": ["string", "null"] },
                "last_trace": { "type": ["string", "null"] },
                "broken_at": { "type": ["string", "null"] },
            },
            "required": ["valid", "chain_length", "checked", "first_trace", "last_trace", "broken_at"],
        })),
        annotations: annotations::reads(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use gateway_core::{Autonomy, Risk};

    use super::*;
    use crate::adp::fakes::{Chains, Registry, agent, agent_of, call};

    fn tool(chains: &Chains) -> VerifyChain {
        let registry = Registry::default().with("a", Autonomy::A1, &[], Risk::R1);
        VerifyChain::new(Arc::new(registry), Arc::new(chains.clone()))
    }

    // acceptance 23: the keys, the empty chain, the limit.
    #[tokio::test]
    async fn an_empty_chain_and_a_limited_look() {
        let chains = Chains::default();
        let empty = call(&tool(&chains), &agent("a"), json!({ "agent_id": "a" })).await.unwrap();
        let expected = json!({
            "valid": true, "chain_length": 0, "checked": 0, "first_trace": null, "last_trace": null, "broken_at": null,
        });
        assert_eq!(empty, expected);

        chains.grow("a", 5);
        let ids: Vec<_> = chains.traces_of("a").into_iter().map(|trace| trace.event.trace_id).collect();
        let whole = call(&tool(&chains), &agent("a"), json!({ "agent_id": "a" })).await.unwrap();
        assert_eq!((&whole["valid"], &whole["chain_length"], &whole["checked"]), (&json!(true), &json!(5), &json!(5)));
        assert_eq!((&whole["first_trace"], &whole["last_trace"]), (&json!(ids[0]), &json!(ids[4])));
        let newest = call(&tool(&chains), &agent("a"), json!({ "agent_id": "a", "limit": 2 })).await.unwrap();
        assert_eq!((&newest["chain_length"], &newest["checked"]), (&json!(5), &json!(2)));
        assert_eq!(newest["first_trace"], json!(ids[3]));
    }

    // acceptance 20: a nested change shows where it was made.
    #[tokio::test]
    async fn a_changed_trace_is_named() {
        let chains = Chains::default();
        chains.grow("a", 5);
        let third = chains.change("a", 2, |trace| trace.event.context = json!({ "nested": { "amount": 2 } }));
        let report = call(&tool(&chains), &agent("a"), json!({ "agent_id": "a" })).await.unwrap();
        assert_eq!((&report["valid"], &report["broken_at"]), (&json!(false), &json!(third)));
    }

    // acceptance 61: another tenant learns nothing, not even that the chain exists.
    #[tokio::test]
    async fn a_chain_is_its_tenants() {
        let chains = Chains::default();
        chains.grow("a", 1);
        for (caller, given, expected) in [
            (agent_of(9, "a"), json!({ "agent_id": "a" }), "Agent not found or inactive"),
            (agent("a"), json!({ "agent_id": "nobody" }), "Agent not found or inactive"),
            (gateway_core::Principal::anonymous(), json!({ "agent_id": "a" }), "Agent not found or inactive"),
            (agent("a"), json!({}), "Missing required fields: agent_id"),
            (agent("a"), json!({ "agent_id": "a", "limit": 0 }), "Invalid limit: must be at least 1"),
            (agent("a"), json!({ "agent_id": "a", "limit": "many" }), "Invalid limit: expected integer"),
        ] {
            assert_eq!(call(&tool(&chains), &caller, given).await.unwrap_err().to_string(), expected);
        }
    }
}
