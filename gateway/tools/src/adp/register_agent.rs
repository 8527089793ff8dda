//! `adp_register_agent`: a new agent and its first key, for an administrator of the tenant.
//!
//! The key leaves in this answer and is never seen again: what is stored is its hash and its first eight characters.

use std::sync::Arc;

use async_trait::async_trait;
use gateway_core::keys::{AGENT_KEY, ApiKey, names_somebody};
use gateway_core::ports::{NewAgent, Registrar, StoreError, TenantStore};
use gateway_core::{AgentId, Principal, Risk};
use serde_json::{Map, Value, json};

use super::{
    Random, administered, agent_id_schema, autonomy_schema, decision_type_schema, field, missing, on_scale,
    risk_schema, unavailable,
};
use crate::builtin::{BuiltinTool, Called, ToolFailure, ToolSpec, annotations};

pub(super) struct RegisterAgent {
    spec: ToolSpec,
    tenants: Arc<dyn TenantStore>,
    random: Random,
}

impl RegisterAgent {
    pub(super) fn new(tenants: Arc<dyn TenantStore>, random: Random) -> Self {
        Self { spec: spec(), tenants, random }
    }
}

#[async_trait]
impl BuiltinTool for RegisterAgent {
    fn definition(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(
        &self,
        Called { caller, .. }: Called<'_>,
        arguments: &Map<String, Value>,
    ) -> Result<Value, ToolFailure> {
        let tenant = administered(caller)?;
        let agent = NewAgent { registered_by: Some(registrar(caller)), ..described(arguments)? };
        let key = ApiKey::from_random(AGENT_KEY, (self.random)());
        let record =
            self.tenants.add_agent(tenant, &agent, &key.hash(), &key.prefix()).await.map_err(|error| match error {
                StoreError::Exists(_) => ToolFailure::new("Agent ID already exists"),
                StoreError::Invalid(what) => ToolFailure::new(what),
                other => unavailable(&other),
            })?;
        Ok(json!({
            "agent_id": record.agent.agent_id,
            "api_key": key.reveal(),
            "status": record.status,
            "autonomy_level": record.agent.autonomy,
        }))
    }
}

fn described(arguments: &Map<String, Value>) -> Result<NewAgent, ToolFailure> {
    let text = |name| field(arguments, name).ok_or_else(|| missing(name));
    let owner = |name: &str| {
        let owner = arguments.get("owner")?.get(name)?;
        owner.as_str().map(String::from)
    };
    let mut allowed_types = Vec::new();
    for kind in arguments.get("allowed_types").and_then(Value::as_array).into_iter().flatten() {
        let kind = on_scale("allowed_types", kind.as_str().unwrap_or_default())?;
        if !allowed_types.contains(&kind) {
            allowed_types.push(kind);
        }
    }
    let max_risk = field(arguments, "max_risk").map(|risk| on_scale("max_risk", risk)).transpose()?;
    let agent_id: AgentId = on_scale("agent_id", text("agent_id")?)?;
    if agent_id.is_reserved() {
        return Err(ToolFailure::new(format!("Invalid agent_id: {agent_id} is the gateway's own name")));
    }
    let owner_email = owner("email");
    if owner_email.as_ref().is_some_and(|email| !is_address(email)) {
        return Err(ToolFailure::new("Invalid owner.email: expected an e-mail address"));
    }
    Ok(NewAgent {
        agent_id,
        name: text("name")?.into(),
        description: field(arguments, "description").map(Into::into),
        autonomy: on_scale("autonomy_level", text("autonomy_level")?)?,
        allowed_types,
        max_risk: max_risk.unwrap_or(Risk::R2),
        owner_name: owner("name"),
        owner_email,
        roles: Vec::new(),
        registered_by: None,
    })
}

/// Whoever makes an agent is not the second pair of eyes for what it does.
fn registrar(caller: &Principal) -> Registrar {
    Registrar { key: caller.agent.clone(), name: caller.owner.clone().filter(|name| names_somebody(name)) }
}

/// Only what catches a slip: whether an address exists, nobody can tell from its letters.
fn is_address(text: &str) -> bool {
    text.split_once('@').is_some_and(|(local, host)| !local.is_empty() && !host.is_empty())
        && !text.chars().any(char::is_whitespace)
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "adp_register_agent".into(),
        title: "Register an agent".into(),
        description:
            "Adds an agent to the caller's tenant and gives its API key, which is shown this once only. Needs an \
                      administrator's key."
                .into(),
        input_schema: json!({
            "type": "object",
            "properties": {
                "agent_id": agent_id_schema(),
                "name": { "type": "string", "minLength": 1, "description": "What people call the agent." },
                "autonomy_level": autonomy_schema(),
                "allowed_types": {
                    "type": "array",
                    "items": decision_type_schema(),
                    "description": "Leave it out or empty for no limit beyond the matrix.",
                },
                "max_risk": risk_schema(),
                "owner": {
                    "type": "object",
                    "description": "Who answers for the agent.",
                    "properties": { "name": { "type": "string" }, "email": { "type": "string" } },
                    "additionalProperties": false,
                },
                "description": { "type": "string" },
            },
            "required": ["agent_id", "name", "autonomy_level"],
            "additionalProperties": false,
        }),
        output_schema: Some(json!({
            "type": "object",
            "properties": {
                "agent_id": { "type": "string" },
                "api_key": { "type": "string" },
                "status": { "type": "string", "enum": ["active", "suspended", "revoked"] },
                "autonomy_level": autonomy_schema(),
            },
            "required": ["agent_id", "api_key", "status", "autonomy_level"],
        })),
        annotations: annotations::adds(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use gateway_core::{Autonomy, DecisionType};

    use super::*;
    use crate::adp::fakes::{Registry, admin, agent, call};

    fn example() -> Value {
        json!({
            "agent_id": "agent-billing-001",
            "name": "Billing Reconciliation Agent",
            "autonomy_level": "A3",
            "allowed_types": ["D1", "D2"],
            "max_risk": "R2",
            "owner": { "name": "Finance Team", "email": "finance@company.com" },
            "description": "Handles monthly billing reconciliation",
        })
    }

    fn tool(registry: &Registry) -> RegisterAgent {
        RegisterAgent::new(Arc::new(registry.clone()), Arc::new(|| [7; 32]))
    }

    // acceptance 7: the seed's example gives four fields and nothing else. acceptance 8: what is stored of the key.
    #[tokio::test]
    async fn the_seeds_example() {
        let registry = Registry::default();
        let answer = call(&tool(&registry), &admin(), example()).await.unwrap();
        let key = format!("adp_sk_{}", "07".repeat(32));
        let expected =
            json!({ "agent_id": "agent-billing-001", "api_key": key, "status": "active", "autonomy_level": "A3" });
        assert_eq!(answer, expected);

        let (record, hash, prefix) = registry.added().pop().unwrap();
        assert_eq!((hash, prefix.as_str()), (gateway_core::keys::hash(&key), "adp_sk_0"));
        assert_eq!(record.agent.autonomy, Autonomy::A3);
        assert_eq!(record.agent.allowed_types, [DecisionType::D1, DecisionType::D2]);
        assert_eq!(record.agent.max_risk, Risk::R2);
        assert_eq!(record.agent.owner_email.as_deref(), Some("finance@company.com"));
        let registrar = record.agent.registered_by.unwrap();
        assert_eq!((registrar.key.as_str(), registrar.name), ("admin", None), "and who made it");
    }

    #[tokio::test]
    async fn the_least_that_can_be_said() {
        let registry = Registry::default();
        let least = json!({ "agent_id": "a", "name": "A", "autonomy_level": "A1" });
        call(&tool(&registry), &admin(), least).await.unwrap();
        let (record, ..) = registry.added().pop().unwrap();
        assert_eq!((record.agent.allowed_types.len(), record.agent.max_risk), (0, Risk::R2));
        assert_eq!((record.agent.owner_name, record.agent.description), (None, None));
    }

    // acceptance 9: refused by name, and nothing is stored.
    #[tokio::test]
    async fn what_is_refused_leaves_nothing_behind() {
        let with = |name: &str, value: Value| {
            let mut given = example();
            given[name] = value;
            given
        };
        let without = |name: &str| {
            let mut given = example();
            given.as_object_mut().unwrap().remove(name);
            given
        };
        let registry = Registry::default().with("taken", Autonomy::A1, &[], Risk::R1);
        for (given, expected) in [
            (with("agent_id", json!("taken")), "Agent ID already exists"),
            (without("agent_id"), "Missing required fields: agent_id"),
            (without("name"), "Missing required fields: name"),
            (without("autonomy_level"), "Missing required fields: autonomy_level"),
            (with("name", json!("")), "Invalid name: must not be empty"),
            (with("autonomy_level", json!("A6")), "Invalid autonomy_level: A6 is not one of A1, A2, A3, A4, A5"),
            (with("autonomy_level", json!("A0")), "Invalid autonomy_level: A0 is not one of A1, A2, A3, A4, A5"),
            (with("max_risk", json!("R5")), "Invalid max_risk: R5 is not one of R1, R2, R3, R4"),
            (with("allowed_types", json!(["D9"])), "Invalid allowed_types[0]: D9 is not one of D1, D2, D3, D4"),
            (with("allowed_types", json!("D1")), "Invalid allowed_types: expected array"),
            (with("owner", json!("Finance")), "Invalid owner: expected object"),
            (with("owner", json!({ "name": 7 })), "Invalid owner.name: expected string"),
            (with("owner", json!({ "email": "nobody" })), "Invalid owner.email: expected an e-mail address"),
            (with("owner", json!({ "phone": "1" })), "Unknown field: owner.phone"),
            (with("status", json!("active")), "Unknown field: status"),
            (with("agent_id", json!("portreeve")), "Invalid agent_id: portreeve is the gateway's own name"),
            (with("name", json!("a\u{0}")), "Invalid name: NUL characters are not allowed"),
            (
                with("agent_id", json!("two words")),
                "Invalid agent_id: `two words` is not an agent id: 1 to 255 characters without spaces",
            ),
        ] {
            let refused = call(&tool(&registry), &admin(), given).await.unwrap_err();
            assert_eq!(refused.to_string(), expected);
        }
        assert!(registry.added().is_empty(), "a refused registration must leave nothing behind");
    }

    #[tokio::test]
    async fn only_an_administrator_registers() {
        let registry = Registry::default();
        for caller in [agent("a"), Principal::anonymous()] {
            let refused = call(&tool(&registry), &caller, example()).await.unwrap_err();
            assert!(refused.to_string().contains("needs an administrator's key"), "{refused}");
        }
        assert!(registry.added().is_empty());
    }
}
