//! Who lives in the demo: one tenant, one agent of each autonomy level, one administrator, and a small database to read.

use std::path::Path;
use std::sync::Arc;

use gateway_core::keys::{AGENT_KEY, ApiKey, NOBODYS, TENANT_KEY};
use gateway_core::ports::{NewAgent, ReadOnlyDatabase, StoreError, TenantStore};
use gateway_core::reach::ADMIN;
use gateway_core::{AgentId, AgentMode, Autonomy, Risk, TenantId};
use gateway_store::Store;

use crate::cli::Failure;
use crate::compose::random_bytes;

pub(super) const TENANT: &str = "demo";

pub(super) struct Residents {
    pub(super) tenant: TenantId,
    pub(super) agents: Vec<Resident>,
    /// Only when the tenant is new: a key is shown once.
    pub(super) admin_key: Option<ApiKey>,
}

pub(super) struct Resident {
    pub(super) id: AgentId,
    pub(super) autonomy: Autonomy,
    /// `None` for an agent from an earlier run, whose key was shown then.
    pub(super) key: Option<ApiKey>,
}

impl Residents {
    pub(super) fn of(&self, autonomy: Autonomy) -> Option<&Resident> {
        self.agents.iter().find(|agent| agent.autonomy == autonomy)
    }
}

impl Resident {
    pub(super) fn mode(&self) -> AgentMode {
        AgentMode::of(self.autonomy)
    }
}

/// Finds or makes everybody. `all_keys` gives agents of an earlier run another key, which the tour needs.
pub(super) async fn settle(store_url: &str, all_keys: bool) -> Result<Residents, Failure> {
    let store = Store::open(store_url).await?;
    let settled = settle_in(&*store.tenants(), all_keys).await;
    store.close().await;
    settled
}

async fn settle_in(tenants: &dyn TenantStore, all_keys: bool) -> Result<Residents, Failure> {
    let (tenant, admin_key) = match tenants.tenant(TENANT).await {
        Ok(known) => (known.id, None),
        Err(StoreError::NotFound(_)) => {
            let tenant = tenants.add_tenant(TENANT).await?.id;
            let key = fresh(TENANT_KEY);
            tenants.add_tenant_key(tenant, NOBODYS, &key.hash(), &[ADMIN.into()]).await?;
            (tenant, Some(key))
        }
        Err(error) => return Err(error.into()),
    };
    let mut agents = Vec::new();
    for autonomy in Autonomy::ALL {
        agents.push(resident(tenants, tenant, *autonomy, all_keys).await?);
    }
    Ok(Residents { tenant, agents, admin_key })
}

async fn resident(
    tenants: &dyn TenantStore,
    tenant: TenantId,
    autonomy: Autonomy,
    all_keys: bool,
) -> Result<Resident, Failure> {
    let name = format!("demo-{}", autonomy.as_str().to_lowercase());
    let id: AgentId = name.parse().map_err(|error| Failure::of(&error as &gateway_core::names::NameError))?;
    match tenants.agent(tenant, &id).await {
        Ok(_) if !all_keys => return Ok(Resident { id, autonomy, key: None }),
        Ok(_) => {
            let key = fresh(AGENT_KEY);
            tenants.add_key(tenant, &id, &key.hash(), &key.prefix()).await?;
            return Ok(Resident { id, autonomy, key: Some(key) });
        }
        Err(StoreError::NotFound(_)) => {}
        Err(error) => return Err(error.into()),
    }
    let agent = NewAgent {
        agent_id: id.clone(),
        name: format!("Demo agent {autonomy}"),
        description: Some(format!("{} agent of the demo", AgentMode::of(autonomy))),
        autonomy,
        allowed_types: Vec::new(),
        max_risk: if autonomy >= Autonomy::A4 { Risk::R3 } else { Risk::R2 },
        owner_name: None,
        owner_email: None,
        roles: Vec::new(),
        registered_by: None,
    };
    let key = fresh(AGENT_KEY);
    tenants.add_agent(tenant, &agent, &key.hash(), &key.prefix()).await?;
    Ok(Resident { id, autonomy, key: Some(key) })
}

fn fresh(kind: &str) -> ApiKey {
    ApiKey::from_random(kind, random_bytes())
}

/// The database that the demo's tools may read, made if it is not there.
pub(super) async fn database(file: &Path) -> Result<Arc<dyn ReadOnlyDatabase>, Failure> {
    if !file.exists() {
        gateway_store::create_demo_database(file).await?;
    }
    Ok(Arc::new(gateway_store::SqliteReader::new(file)))
}
