//! What the rows say while the gateway runs: tenants' policies and manifests, pins, suspensions. One immutable set, swapped
//! whole; a call reads the one it arrived under to its end.

mod standing;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, LazyLock};

use arc_swap::ArcSwap;
use event_listener::Event;

use crate::access::{AccessRules, NoAccessRules};
use crate::definitions::PinSet;
use crate::digest;
use crate::dlp::DlpSet;
use crate::names::{TenantId, ToolName};
use crate::policies::{ClassifiedTool, ToolMap};
use crate::rules::RuleSet;
use crate::verdict::{Objection, Opinion, PolicyMode, Remedy, Verdict};

pub use standing::{Suspended, Suspension, SuspensionKind};

#[derive(Debug, Clone)]
pub struct Live {
    /// The store's counter when this was read.
    pub revision: i64,
    tenants: HashMap<TenantId, Arc<TenantRules>>,
    /// For whoever has no tenant, and for tenants without rows.
    pub nobody: Arc<TenantRules>,
    pub pins: Arc<PinSet>,
    pub standing: Suspended,
}

impl Live {
    pub fn new(
        revision: i64,
        tenants: HashMap<TenantId, Arc<TenantRules>>,
        pins: Arc<PinSet>,
        standing: Suspended,
    ) -> Self {
        Self { revision, tenants, nobody: TenantRules::none(), pins, standing }
    }

    /// No rows at all.
    pub fn empty() -> Self {
        Self::new(0, HashMap::new(), Arc::default(), Suspended::default())
    }

    /// Shared, for whoever needs no rows.
    pub fn none() -> Arc<Self> {
        static NONE: LazyLock<Arc<Live>> = LazyLock::new(|| Arc::new(Live::empty()));
        Arc::clone(&NONE)
    }

    /// The same with nobody stopped: for whoever asks about policies alone.
    #[must_use]
    pub fn unsuspended(live: &Arc<Self>) -> Arc<Self> {
        if live.standing.is_empty() {
            return Arc::clone(live);
        }
        Arc::new(Self { standing: Suspended::default(), ..Self::clone(live) })
    }

    pub fn rules_of(&self, tenant: Option<TenantId>) -> &Arc<TenantRules> {
        tenant.and_then(|tenant| self.tenants.get(&tenant)).unwrap_or(&self.nobody)
    }

    pub fn tenants(&self) -> impl Iterator<Item = (&TenantId, &Arc<TenantRules>)> {
        self.tenants.iter()
    }
}

/// Which tenant rules are read for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TenantFacts {
    pub id: Option<TenantId>,
    pub name: String,
}

/// One tenant's rows, compiled.
#[derive(Clone)]
pub struct TenantRules {
    pub tenant: TenantFacts,
    pub rules: RuleSet,
    pub access: Arc<dyn AccessRules>,
    /// The tenant's own manifests: of tools that no file classifies, or stricter than the file.
    pub tools: ToolMap,
    /// What the tenant itself looks for in content, and does about it.
    pub dlp: Option<Arc<dyn DlpSet>>,
    /// Rows that could not be compiled.
    pub broken: Vec<Broken>,
    /// Names everything above.
    pub digest: Arc<str>,
    /// Names what of it is obeyed.
    pub enforced: Arc<str>,
}

/// A row that says nothing anybody could follow. Where it is to be obeyed, nothing passes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    pub policy: String,
    pub why: String,
    pub mode: PolicyMode,
}

impl Broken {
    /// What a broken access policy is called; all other rows are told of by the judge of agent policies.
    pub fn access(name: &str) -> String {
        format!("access policy `{name}`")
    }

    /// What a tenant looks for in content, and cannot: what it was meant to hide would pass.
    pub fn dlp(name: &str, why: impl Into<String>) -> Self {
        Self { policy: format!("dlp config `{name}`"), why: why.into(), mode: PolicyMode::Enforce }
    }

    pub fn is_access(&self) -> bool {
        self.policy.starts_with("access policy ")
    }

    /// Nobody knows what it would have said, so it says no.
    pub fn opinion(&self) -> Opinion {
        let message = format!("{} cannot be followed: {}", self.policy, self.why);
        let objection = Objection::new("broken", message).cured_by(Remedy::Policy(self.policy.clone()));
        Opinion::new(Verdict::Deny(objection), self.mode)
    }
}

impl TenantRules {
    pub fn new(
        tenant: TenantFacts,
        rules: RuleSet,
        access: Arc<dyn AccessRules>,
        tools: ToolMap,
        broken: Vec<Broken>,
    ) -> Self {
        let (digest, enforced) = ("".into(), "".into());
        Self { tenant, rules, access, tools, dlp: None, broken, digest, enforced }.hashed()
    }

    #[must_use]
    pub fn with_broken(mut self, broken: Vec<Broken>) -> Self {
        self.broken.extend(broken);
        self.hashed()
    }

    #[must_use]
    pub fn with_dlp(mut self, dlp: Option<Arc<dyn DlpSet>>) -> Self {
        self.dlp = dlp;
        self.hashed()
    }

    fn hashed(mut self) -> Self {
        self.digest = self.named(|_| true, self.rules.digest(), self.access.digest());
        let obeyed = |mode| mode == PolicyMode::Enforce;
        self.enforced = self.named(obeyed, self.rules.enforced_digest(), self.access.enforced_digest());
        self
    }

    /// Shared, because most callers' tenants have no rows.
    pub fn none() -> Arc<Self> {
        static NONE: LazyLock<Arc<TenantRules>> = LazyLock::new(|| {
            let (rules, access) = (RuleSet::default(), Arc::new(NoAccessRules));
            Arc::new(TenantRules::new(TenantFacts::default(), rules, access, ToolMap::new(), Vec::new()))
        });
        Arc::clone(&NONE)
    }

    pub fn tool(&self, name: &ToolName) -> Option<&Arc<ClassifiedTool>> {
        // Most tenants have none, and hashing a name costs more than looking.
        if self.tools.is_empty() { None } else { self.tools.get(name) }
    }

    fn named(&self, counts: impl Fn(PolicyMode) -> bool, rules: &str, access: &str) -> Arc<str> {
        let tools: BTreeMap<_, _> = self.tools.iter().map(|(name, tool)| (name, &tool.digest)).collect();
        let broken = self.broken.iter().filter(|broken| counts(broken.mode));
        let broken: Vec<_> = broken.map(|broken| (&broken.policy, &broken.why)).collect();
        let dlp = self.dlp.as_ref().map_or("", |dlp| dlp.digest());
        if tools.is_empty() && broken.is_empty() && rules.is_empty() && access.is_empty() && dlp.is_empty() {
            return "".into();
        }
        // Plain data: serialising it cannot fail.
        let canonical = serde_json_canonicalizer::to_vec(&(rules, access, tools, broken, dlp));
        digest::named(&canonical.unwrap_or_default()).into()
    }
}

impl fmt::Debug for TenantRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TenantRules({:?}, {})", self.tenant, self.digest)
    }
}

/// The set in force, and news of the next.
pub struct LiveHandle {
    current: ArcSwap<Live>,
    changed: Event,
}

impl Default for LiveHandle {
    fn default() -> Self {
        Self::new(Live::empty())
    }
}

impl LiveHandle {
    pub fn new(live: Live) -> Self {
        Self { current: ArcSwap::from_pointee(live), changed: Event::new() }
    }

    pub fn load(&self) -> Arc<Live> {
        self.current.load_full()
    }

    pub fn replace(&self, live: Live) {
        self.current.store(Arc::new(live));
        self.changed.notify(usize::MAX);
    }

    /// Waits until `seen` is no longer the set in force; a change between looking and waiting is not missed.
    pub async fn changed(&self, seen: &Arc<Live>) -> Arc<Live> {
        loop {
            let listener = self.changed.listen();
            let now = self.load();
            if !Arc::ptr_eq(&now, seen) {
                return now;
            }
            listener.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn nobody_waits_for_a_change_that_was_made_already() {
        let handle = LiveHandle::default();
        let seen = handle.load();
        assert!(handle.changed(&seen).now_or_never().is_none(), "nothing changed");
        handle.replace(Live::new(7, HashMap::new(), Arc::default(), Suspended::default()));
        let revision = handle.changed(&seen).now_or_never().map(|live| live.revision);
        assert_eq!(revision, Some(7));
    }
}
