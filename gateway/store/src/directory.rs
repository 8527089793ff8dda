//! Who a key belongs to, asked of the store at most about once a second per key.
//!
//! The short life of an entry is what makes a revocation by another process take effect within a second. Only hashes are
//! looked up, kept and compared; the key itself goes no further than `authenticate`.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use gateway_core::identity::{Credential, Principal};
use gateway_core::keys;
use gateway_core::ports::{AgentStatus, AuthError, Directory, KeyOwner, StoreError, TenantStore};
use gateway_core::{AgentId, TenantId};
use moka::future::Cache;
use subtle::ConstantTimeEq;
use tokio::runtime::Handle;
use uuid::Uuid;

use crate::records::agent_principal;

const KNOWN_FOR: Duration = Duration::from_millis(900);
const UNKNOWN_FOR: Duration = Duration::from_millis(500);
/// `last_used_at` is for people, who do not need it to the second.
const TOUCH_EVERY: Duration = Duration::from_secs(5);
const MOST: u64 = 10_000;

/// Why a key opens nothing; kept briefly, so that a caller who insists costs the store little.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Denied {
    Invalid,
    Inactive,
}

impl From<Denied> for AuthError {
    fn from(denied: Denied) -> Self {
        match denied {
            Denied::Invalid => Self::Invalid,
            Denied::Inactive => Self::Inactive,
        }
    }
}

#[derive(Debug, Clone)]
enum NotLoaded {
    Denied(Denied),
    Unavailable(Arc<StoreError>),
}

impl From<StoreError> for NotLoaded {
    fn from(error: StoreError) -> Self {
        Self::Unavailable(Arc::new(error))
    }
}

pub struct CachedDirectory {
    loader: Arc<Loader>,
    known: Cache<String, Arc<Principal>>,
    unknown: Cache<String, Denied>,
    anonymous: Option<AgentId>,
    /// Where the pool lives: connections made on a server's worker would die with it.
    home: Option<Handle>,
}

struct Loader {
    tenants: Arc<dyn TenantStore>,
    touched: Cache<Uuid, ()>,
}

impl CachedDirectory {
    /// `anonymous` is who callers without a credential act as; without it they are refused. To be made on the runtime
    /// that owns the store.
    pub fn new(tenants: Arc<dyn TenantStore>, anonymous: Option<AgentId>) -> Self {
        Self {
            loader: Arc::new(Loader {
                tenants,
                touched: Cache::builder().max_capacity(MOST).time_to_live(TOUCH_EVERY).build(),
            }),
            known: Cache::builder().max_capacity(MOST).time_to_live(KNOWN_FOR).build(),
            unknown: Cache::builder().max_capacity(MOST).time_to_live(UNKNOWN_FOR).build(),
            anonymous,
            home: Handle::try_current().ok(),
        }
    }

    /// After a change made by this process: the next caller is looked up anew.
    pub fn invalidate_all(&self) {
        self.known.invalidate_all();
        self.unknown.invalidate_all();
    }

    async fn find(&self, entry: String, question: Question) -> Result<Arc<Principal>, AuthError> {
        if let Some(principal) = self.known.get(&entry).await {
            return Ok(principal);
        }
        if let Some(denied) = self.unknown.get(&entry).await {
            return Err(denied.into());
        }
        let loaded = self.known.try_get_with_by_ref(&entry, self.load(question)).await;
        match loaded.as_ref().map_err(Arc::as_ref) {
            Ok(principal) => Ok(Arc::clone(principal)),
            Err(NotLoaded::Denied(denied)) => {
                self.unknown.insert(entry, *denied).await;
                Err((*denied).into())
            }
            Err(NotLoaded::Unavailable(error)) => Err(AuthError::Unavailable(Arc::clone(error).into())),
        }
    }
}

impl CachedDirectory {
    async fn load(&self, question: Question) -> Result<Arc<Principal>, NotLoaded> {
        let load = Arc::clone(&self.loader).load(question);
        match &self.home {
            Some(home) => {
                home.spawn(load).await.unwrap_or_else(|error| Err(StoreError::Unavailable(error.into()).into()))
            }
            None => load.await,
        }
    }
}

enum Question {
    Key(String),
    Agent(AgentId),
    Vouched(TenantId, AgentId),
}

impl Loader {
    async fn load(self: Arc<Self>, question: Question) -> Result<Arc<Principal>, NotLoaded> {
        match question {
            Question::Key(hash) => self.key(hash).await,
            Question::Agent(agent) => match self.tenants.find_agent_anywhere(&agent).await {
                Ok(record) if record.status == AgentStatus::Active => Ok(Arc::new(agent_principal(&record))),
                Ok(_) | Err(StoreError::NotFound(_)) => Err(NotLoaded::Denied(Denied::Inactive)),
                Err(error) => Err(error.into()),
            },
            Question::Vouched(tenant, agent) => match self.tenants.agent(tenant, &agent).await {
                Ok(record) if record.status == AgentStatus::Active => Ok(Arc::new(agent_principal(&record))),
                Ok(_) | Err(StoreError::NotFound(_)) => Err(NotLoaded::Denied(Denied::Inactive)),
                Err(error) => Err(error.into()),
            },
        }
    }

    async fn key(self: Arc<Self>, hash: String) -> Result<Arc<Principal>, NotLoaded> {
        let owner = self.tenants.key_owner(&hash).await?;
        let Some(KeyOwner { key_id, key_hash, principal, key_active, agent_status }) = owner else {
            return Err(NotLoaded::Denied(Denied::Invalid));
        };
        // The database found it by comparing; how long that takes must not be what decides.
        let same = bool::from(key_hash.as_bytes().ct_eq(hash.as_bytes()));
        if !same || !key_active {
            return Err(NotLoaded::Denied(Denied::Invalid));
        }
        if agent_status != AgentStatus::Active {
            return Err(NotLoaded::Denied(Denied::Inactive));
        }
        if self.touched.get(&key_id).await.is_none() {
            self.touched.insert(key_id, ()).await;
            let loader = Arc::clone(&self);
            tokio::spawn(async move {
                if let Err(error) = loader.tenants.touch_key(key_id).await {
                    tracing::warn!(error = &error as &dyn std::error::Error, key.id = %key_id, "the last use of a key was not noted");
                }
            });
        }
        Ok(Arc::new(principal))
    }
}

#[async_trait]
impl Directory for CachedDirectory {
    async fn authenticate(&self, credential: &Credential) -> Result<Arc<Principal>, AuthError> {
        match credential {
            Credential::Key(key) => {
                let hash = keys::hash(key);
                self.find(hash.clone(), Question::Key(hash)).await
            }
            Credential::None => match &self.anonymous {
                // No hash is empty, so this entry is nobody's key.
                Some(agent) => self.find(String::new(), Question::Agent(agent.clone())).await,
                None => Err(AuthError::Missing),
            },
            Credential::Vouched(vouched) => {
                let (tenant, agent) = (vouched.tenant(), vouched.agent().clone());
                // A hash has no colon, so this is no key's entry either.
                self.find(format!("vouched:{tenant}:{agent}"), Question::Vouched(tenant, agent)).await
            }
        }
    }
}
