//! The adp tools' ports in memory, for their tests: a registry, chains with a queue in front, a clock that stands still.

#![allow(clippy::unwrap_used)]

mod chains;
mod rows;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use gateway_core::matrix::Matrix;
use gateway_core::ports::{
    AgentRecord, AgentStatus, Clock, KeyOwner, NewAgent, StoreError, StoredKey, Tenant, TenantKey, TenantStore,
};
use gateway_core::{AgentId, Autonomy, DecisionType, Principal, PrincipalKind, Risk, TenantId};
use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

pub(super) use self::chains::Chains;
pub(super) use self::rows::Rows;
use super::Ports;
use crate::builtin::{BuiltinTool, Called, ToolFailure, run_checked};

pub(super) fn tenant(n: u128) -> TenantId {
    TenantId(Uuid::from_u128(n))
}

pub(super) fn agent_of(tenant_number: u128, name: &str) -> Principal {
    let agent = name.parse().unwrap();
    Principal { kind: PrincipalKind::Agent, tenant: Some(tenant(tenant_number)), agent, ..Principal::anonymous() }
}

pub(super) fn agent(name: &str) -> Principal {
    agent_of(1, name)
}

pub(super) fn admin() -> Principal {
    Principal { kind: PrincipalKind::Admin, ..agent("admin") }
}

pub(super) async fn call(tool: &dyn BuiltinTool, caller: &Principal, arguments: Value) -> Result<Value, ToolFailure> {
    run_checked(tool, Called::by(caller), arguments.as_object().unwrap()).await
}

type Added = (AgentRecord, String, String);

#[derive(Clone, Default)]
pub(super) struct Registry {
    known: Arc<Mutex<Vec<AgentRecord>>>,
    added: Arc<Mutex<Vec<Added>>>,
}

impl Registry {
    pub(super) fn with(self, name: &str, autonomy: Autonomy, allowed_types: &[DecisionType], max_risk: Risk) -> Self {
        let agent = NewAgent {
            agent_id: name.parse().unwrap(),
            name: name.into(),
            description: None,
            autonomy,
            allowed_types: allowed_types.to_vec(),
            max_risk,
            owner_name: None,
            owner_email: None,
            roles: Vec::new(),
            registered_by: None,
        };
        self.known.lock().unwrap().push(record(tenant(1), &agent));
        self
    }

    pub(super) fn with_status(self, name: &str, status: AgentStatus) -> Self {
        for record in self.known.lock().unwrap().iter_mut().filter(|record| record.agent.agent_id.as_str() == name) {
            record.status = status;
        }
        self
    }

    pub(super) fn added(&self) -> Vec<Added> {
        self.added.lock().unwrap().clone()
    }

    pub(super) fn ports(self) -> Ports {
        let chains = Arc::new(Chains::default());
        Ports {
            tenants: Arc::new(self),
            audit: chains.clone(),
            ledger: chains,
            policies: Arc::new(Rows::default()),
            clock: Arc::new(FixedClock::default()),
            random: Arc::new(|| [7; 32]),
            matrix: Arc::new(|| Arc::new(Matrix::standard())),
        }
    }
}

fn record(tenant: TenantId, agent: &NewAgent) -> AgentRecord {
    let at = String::from("2026-02-23T00:00:00.000Z");
    let (agent, metadata) = (agent.clone(), json!({}));
    AgentRecord {
        id: Uuid::nil(),
        tenant,
        agent,
        status: AgentStatus::Active,
        metadata,
        created_at: at.clone(),
        updated_at: at,
    }
}

fn unused<T>() -> Result<T, StoreError> {
    Err(StoreError::Invalid("no adp tool asks this".into()))
}

#[async_trait]
impl TenantStore for Registry {
    async fn add_agent(
        &self,
        tenant: TenantId,
        agent: &NewAgent,
        hash: &str,
        prefix: &str,
    ) -> Result<AgentRecord, StoreError> {
        if self.agent(tenant, &agent.agent_id).await.is_ok() {
            return Err(StoreError::Exists(agent.agent_id.to_string()));
        }
        let record = record(tenant, agent);
        self.added.lock().unwrap().push((record.clone(), hash.into(), prefix.into()));
        Ok(record)
    }

    async fn agent(&self, tenant: TenantId, agent: &AgentId) -> Result<AgentRecord, StoreError> {
        let known = self.known.lock().unwrap();
        let found = known.iter().find(|record| record.tenant == tenant && record.agent.agent_id == *agent);
        found.cloned().ok_or_else(|| StoreError::NotFound(agent.to_string()))
    }

    async fn agents(&self, tenant: TenantId) -> Result<Vec<AgentRecord>, StoreError> {
        Ok(self.known.lock().unwrap().iter().filter(|record| record.tenant == tenant).cloned().collect())
    }

    async fn add_tenant(&self, _: &str) -> Result<Tenant, StoreError> {
        unused()
    }

    async fn tenants(&self) -> Result<Vec<Tenant>, StoreError> {
        unused()
    }

    async fn tenant(&self, _: &str) -> Result<Tenant, StoreError> {
        unused()
    }

    async fn add_tenant_key(&self, _: TenantId, _: &str, _: &str, _: &[String]) -> Result<Uuid, StoreError> {
        unused()
    }

    async fn tenant_keys(&self, _: TenantId) -> Result<Vec<TenantKey>, StoreError> {
        unused()
    }

    async fn tenant_keys_starting(&self, _: &str) -> Result<Vec<TenantKey>, StoreError> {
        unused()
    }

    async fn set_agent_autonomy(&self, _: TenantId, _: &AgentId, _: Autonomy) -> Result<(), StoreError> {
        unused()
    }

    async fn set_agent_roles(&self, _: TenantId, _: &AgentId, _: &[String]) -> Result<(), StoreError> {
        unused()
    }

    async fn set_agent_status(&self, _: TenantId, _: &AgentId, _: AgentStatus) -> Result<(), StoreError> {
        unused()
    }

    async fn add_key(&self, _: TenantId, _: &AgentId, _: &str, _: &str) -> Result<Uuid, StoreError> {
        unused()
    }

    async fn keys(&self, _: TenantId, _: &AgentId) -> Result<Vec<StoredKey>, StoreError> {
        unused()
    }

    async fn keys_starting(&self, _: &str) -> Result<Vec<StoredKey>, StoreError> {
        unused()
    }

    async fn revoke_key(&self, _: Uuid) -> Result<(), StoreError> {
        unused()
    }

    async fn key_owner(&self, _: &str) -> Result<Option<KeyOwner>, StoreError> {
        unused()
    }

    async fn touch_key(&self, _: Uuid) -> Result<(), StoreError> {
        unused()
    }

    async fn find_agent_anywhere(&self, _: &AgentId) -> Result<AgentRecord, StoreError> {
        unused()
    }
}

#[derive(Default)]
pub(super) struct FixedClock(AtomicU64);

impl Clock for FixedClock {
    /// With microseconds, which must not reach a trace.
    fn now(&self) -> Timestamp {
        "2026-02-23T00:00:00.000499Z".parse().unwrap()
    }

    fn fresh_id(&self) -> Uuid {
        Uuid::from_u128(u128::from(self.0.fetch_add(1, Ordering::Relaxed)) + 1)
    }
}
