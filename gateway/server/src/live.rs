//! Keeps the node's memory of live rows fresh: looks at their revision several times a second, reads them when it moved,
//! compiles what changed and swaps the set as a whole.
//!
//! On Postgres a notification ends the wait early; looking is what counts. While the store is away the last set stays.

pub mod compile;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use gateway_core::access::NoAccessRules;
use gateway_core::definitions::PinSet;
use gateway_core::live::{Broken, Live, LiveHandle, Suspended, TenantFacts, TenantRules};
use gateway_core::policies::ToolMap;
use gateway_core::ports::{AccessRow, AgentPolicyRow, DlpRow, LiveRows, LiveStore, ManifestRow, StoreError, Tenant};
use gateway_core::rules::RuleSet;
use gateway_core::verdict::PolicyMode;
use gateway_core::{TenantId, digest};
use gateway_store::CachedDirectory;
use serde::Serialize;

/// How often the revision is looked at: with reading and compiling, a change is in force within a second.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// How often a store that is away is complained of.
const COMPLAIN_EVERY: Duration = Duration::from_secs(10);
/// Rows older than this are not what an operator believes to be in force.
const STALE: Duration = Duration::from_secs(60);

/// Everything that rows say of one tenant: its own, and those of everybody.
#[derive(Debug, Clone, Serialize)]
pub struct TenantRows {
    pub id: TenantId,
    pub name: String,
    pub agent_policies: Vec<AgentPolicyRow>,
    pub access_policies: Vec<AccessRow>,
    pub manifests: Vec<ManifestRow>,
    pub dlp: Vec<DlpRow>,
}

/// Makes rules of one tenant's rows. Rego modules take a while, so it is not run where others wait.
pub type Compiler = Arc<dyn Fn(&TenantRows) -> TenantRules + Send + Sync>;

pub struct LiveRules {
    rows: Arc<dyn LiveStore>,
    directory: Arc<CachedDirectory>,
    handle: Arc<LiveHandle>,
    compiler: Mutex<Compiler>,
    /// Held while a set is made: two at once could swap in the older one last.
    compiled: tokio::sync::Mutex<HashMap<TenantId, Compiled>>,
    /// Something other than the rows changed and has not been taken in yet.
    again: AtomicBool,
    away_since: Mutex<Option<Instant>>,
}

#[derive(Clone)]
struct Compiled {
    /// Of the rows it was made of.
    digest: String,
    rules: Arc<TenantRules>,
}

impl LiveRules {
    /// Reads the rows for the first time: a node that cannot know what is stopped does not start.
    pub async fn start(
        rows: Arc<dyn LiveStore>,
        directory: Arc<CachedDirectory>,
        compiler: Compiler,
    ) -> Result<Arc<Self>, StoreError> {
        let made = Self {
            rows,
            directory,
            handle: Arc::default(),
            compiler: Mutex::new(compiler),
            compiled: tokio::sync::Mutex::default(),
            again: AtomicBool::new(false),
            away_since: Mutex::default(),
        };
        made.read().await?;
        Ok(Arc::new(made))
    }

    pub fn handle(&self) -> Arc<LiveHandle> {
        Arc::clone(&self.handle)
    }

    /// Until it is aborted.
    pub async fn watch(self: Arc<Self>) {
        let mut complained: Option<Instant> = None;
        loop {
            self.rows.wait_changed(LOOK_EVERY).await;
            match self.look().await {
                Ok(()) => {
                    *lock(&self.away_since) = None;
                    complained = None;
                }
                Err(error) => {
                    lock(&self.away_since).get_or_insert_with(Instant::now);
                    if complained.is_none_or(|last| last.elapsed() >= COMPLAIN_EVERY) {
                        complained = Some(Instant::now());
                        let error = &error as &dyn std::error::Error;
                        tracing::error!(error, "live rows cannot be read; what was read last stays in force");
                    }
                    tokio::time::sleep(LOOK_EVERY).await;
                }
            }
        }
    }

    async fn look(&self) -> Result<(), StoreError> {
        // A database that was restored from a copy may be behind: any other number is news.
        if self.again.load(Ordering::Acquire) || self.rows.revision().await? != self.handle.load().revision {
            self.read().await?;
        }
        Ok(())
    }

    /// The files changed under the rows: everything is compiled anew with what they say now, within moments.
    pub async fn recompile(&self, compiler: Compiler) {
        *lock(&self.compiler) = compiler;
        self.compiled.lock().await.clear();
        self.again.store(true, Ordering::Release);
        if let Err(error) = self.look().await {
            let error = &error as &dyn std::error::Error;
            tracing::error!(error, "live rows cannot be compiled under the changed files until the store is back");
        }
    }

    pub fn ready(&self) -> Result<(), String> {
        match *lock(&self.away_since) {
            Some(since) if since.elapsed() > STALE => Err("live rows could not be read for a minute".into()),
            _ => Ok(()),
        }
    }

    async fn read(&self) -> Result<(), StoreError> {
        let mut compiled = self.compiled.lock().await;
        let rows = self.rows.rows().await?;
        self.again.store(false, Ordering::Release);
        let (compiler, before) = (Arc::clone(&lock(&self.compiler)), std::mem::take(&mut *compiled));
        let made = tokio::task::spawn_blocking(move || make(rows, &before, &compiler)).await;
        let (live, tenants) = made.map_err(|error| StoreError::Unavailable(error.into()))?;
        *compiled = tenants;
        // First, so that whoever hears of the change and asks again is told what is so now.
        self.directory.invalidate_all();
        tracing::debug!(revision = live.revision, "live rows read");
        self.handle.replace(live);
        Ok(())
    }
}

/// The rows as they are now, for a command that is soon done.
pub async fn read_once(rows: &dyn LiveStore, compiler: &Compiler) -> Result<Live, StoreError> {
    Ok(make(rows.rows().await?, &HashMap::new(), compiler).0)
}

fn make(
    rows: LiveRows,
    before: &HashMap<TenantId, Compiled>,
    compiler: &Compiler,
) -> (Live, HashMap<TenantId, Compiled>) {
    let LiveRows { revision, tenants, agent_policies, access_policies, manifests, dlp, pins, suspensions } = rows;
    let of_tenant = |tenant: Tenant| TenantRows {
        agent_policies: agent_policies.iter().filter(|row| concerns(row.tenant, tenant.id)).cloned().collect(),
        access_policies: access_policies.iter().filter(|row| concerns(row.tenant, tenant.id)).cloned().collect(),
        manifests: manifests.iter().filter(|row| row.tenant == tenant.id).cloned().collect(),
        dlp: dlp.iter().filter(|row| concerns(row.tenant, tenant.id)).cloned().collect(),
        id: tenant.id,
        name: tenant.name,
    };
    let compiled: HashMap<_, _> = tenants
        .into_iter()
        .map(of_tenant)
        .map(|rows| {
            // Plain data: serialising it cannot fail, and an empty digest would only be compiled once too often.
            let digest = serde_json::to_vec(&rows).map(|text| digest::hex(&text)).unwrap_or_default();
            let known = before.get(&rows.id).filter(|known| known.digest == digest && !digest.is_empty());
            let fresh = || Arc::new(compiled_or_broken(&rows, compiler));
            let rules = known.map_or_else(fresh, |known| Arc::clone(&known.rules));
            (rows.id, Compiled { digest, rules })
        })
        .collect();
    let (standing, unreadable) = Suspended::new(suspensions);
    for one in unreadable {
        tracing::error!(suspension.id = %one.id, "a suspension names nothing that can be stopped: {} {}", one.kind, one.subject);
    }
    let rules = compiled.iter().map(|(id, compiled)| (*id, Arc::clone(&compiled.rules))).collect();
    (Live::new(revision, rules, Arc::new(PinSet::of(pins)), standing), compiled)
}

/// A row of no tenant is everybody's.
fn concerns(row: Option<TenantId>, tenant: TenantId) -> bool {
    row.is_none_or(|of| of == tenant)
}

/// One tenant's rows must not keep a node from learning what is stopped elsewhere: rows over which the compiler loses its head
/// are as good as broken, and nothing of that tenant passes.
fn compiled_or_broken(rows: &TenantRows, compiler: &Compiler) -> TenantRules {
    catch_unwind(AssertUnwindSafe(|| compiler(rows))).unwrap_or_else(|_| {
        tracing::error!(tenant.id = %rows.id, "compiling a tenant's rows panicked");
        let why = "compiling them failed; the operator's log says why".to_owned();
        let broken = Broken { policy: "the tenant's rows".into(), why, mode: PolicyMode::Enforce };
        let tenant = TenantFacts { id: Some(rows.id), name: rows.name.clone() };
        TenantRules::new(tenant, RuleSet::default(), Arc::new(NoAccessRules), ToolMap::new(), vec![broken])
    })
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::atomic::AtomicUsize;

    use uuid::Uuid;

    use super::*;

    fn tenant(n: u128) -> TenantId {
        TenantId(Uuid::from_u128(n))
    }

    fn policy(of: Option<TenantId>, name: &str) -> AgentPolicyRow {
        AgentPolicyRow {
            id: Uuid::nil(),
            tenant: of,
            policy_id: name.into(),
            name: name.into(),
            category: None,
            severity: None,
            rule: serde_json::json!({}),
            regulatory_mapping: Vec::new(),
            is_active: true,
            mode: PolicyMode::Shadow,
            created_at: String::new(),
        }
    }

    fn rows(agent_policies: Vec<AgentPolicyRow>) -> LiveRows {
        let tenants = [1, 2].map(|n| Tenant { id: tenant(n), name: format!("t-{n}"), created_at: String::new() });
        LiveRows { revision: 5, tenants: tenants.to_vec(), agent_policies, ..LiveRows::default() }
    }

    #[test]
    fn only_tenants_whose_rows_changed_are_compiled_again() {
        let count = Arc::new(AtomicUsize::new(0));
        let compiler: Compiler = {
            let count = Arc::clone(&count);
            Arc::new(move |rows| {
                count.fetch_add(1, Ordering::Relaxed);
                compile::compile_tenant(rows, &ToolMap::new())
            })
        };
        let (live, before) = make(rows(vec![policy(Some(tenant(1)), "own")]), &HashMap::new(), &compiler);
        assert_eq!((live.revision, count.load(Ordering::Relaxed)), (5, 2));
        assert_eq!(live.rules_of(Some(tenant(2))).tenant.name, "t-2", "a tenant without rows has its name");
        for (policies, again) in [
            (vec![policy(Some(tenant(1)), "own")], 0),
            (vec![policy(Some(tenant(1)), "changed")], 1),
            (vec![policy(Some(tenant(1)), "own"), policy(None, "everybody's")], 2),
        ] {
            let earlier = count.load(Ordering::Relaxed);
            make(rows(policies), &before, &compiler);
            assert_eq!(count.load(Ordering::Relaxed) - earlier, again);
        }
    }

    #[test]
    fn rows_that_cannot_be_compiled_stop_their_tenant_alone() {
        let compiler: Compiler = Arc::new(|rows| {
            assert!(rows.agent_policies.is_empty(), "a compiler's bug");
            TenantRules::clone(&TenantRules::none())
        });
        let (live, _) = make(rows(vec![policy(Some(tenant(1)), "own")]), &HashMap::new(), &compiler);
        let modes = |n| live.rules_of(Some(tenant(n))).broken.iter().map(|broken| broken.mode).collect::<Vec<_>>();
        assert_eq!((modes(1), modes(2)), (vec![PolicyMode::Enforce], Vec::new()));
    }

    #[test]
    fn a_tool_with_a_definition_that_nobody_accepted_is_quarantined() {
        let pin = |tool: &str, hash: &str, state| gateway_core::ports::PinRow {
            tool: tool.parse().unwrap(),
            hash: hash.into(),
            state,
            definition: serde_json::Value::Null,
            findings: Vec::new(),
            seen_from: None,
            by: None,
            at: String::new(),
        };
        use gateway_core::ports::PinState::{Accepted, Quarantined};
        let set = PinSet::of(vec![pin("a/x", "1", Accepted), pin("a/y", "1", Accepted), pin("a/y", "2", Quarantined)]);
        assert_eq!(set.standing(&"a/x".parse().unwrap()), gateway_core::definitions::Standing::Pinned);
        assert_eq!(set.standing(&"a/y".parse().unwrap()), gateway_core::definitions::Standing::Quarantined);
        assert_eq!(set.standing(&"a/z".parse().unwrap()), gateway_core::definitions::Standing::Unpinned);
    }
}
