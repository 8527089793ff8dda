//! Who and what is stopped: looked at for every message, so that nothing is allocated and most calls look at one bool.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::classification::scale;
use crate::exchange::Route;
use crate::identity::Principal;
use crate::names::{AgentId, TenantId, ToolName};

scale!(
    SuspensionKind, "agent, tool, upstream, tenant",
    { Agent = "agent", Tool = "tool", Upstream = "upstream", Tenant = "tenant", }
);

/// One thing that is stopped, for one tenant or for all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suspension {
    pub id: Uuid,
    /// `None`: everywhere.
    pub tenant: Option<TenantId>,
    pub kind: SuspensionKind,
    /// The agent's id, `namespace/tool`, the namespace, or the tenant's id.
    pub subject: String,
    pub reason: Option<String>,
    pub by: String,
    pub since: String,
}

#[derive(Debug, Clone, Default)]
pub struct Suspended {
    any: bool,
    tenants: HashMap<TenantId, Suspension>,
    /// By agent, then by tenant, so that a lookup borrows both.
    agents: HashMap<AgentId, HashMap<Option<TenantId>, Suspension>>,
    upstreams: HashMap<String, HashMap<Option<TenantId>, Suspension>>,
    tools: HashMap<ToolName, HashMap<Option<TenantId>, Suspension>>,
}

impl Suspended {
    /// A subject that cannot be read stops nothing, and is given back so that somebody hears of it.
    pub fn new(suspensions: impl IntoIterator<Item = Suspension>) -> (Self, Vec<Suspension>) {
        let mut made = Self::default();
        let unreadable = suspensions.into_iter().filter_map(|one| made.add(one).err()).collect();
        (made, unreadable)
    }

    #[expect(clippy::result_large_err, reason = "read once per change, and the row goes back whole")]
    fn add(&mut self, one: Suspension) -> Result<(), Suspension> {
        let tenant = one.tenant;
        match one.kind {
            SuspensionKind::Tenant => match one.subject.parse() {
                Ok(id) => drop(self.tenants.insert(TenantId(id), one)),
                Err(_) => return Err(one),
            },
            SuspensionKind::Agent => match one.subject.parse::<AgentId>() {
                Ok(agent) => drop(self.agents.entry(agent).or_default().insert(tenant, one)),
                Err(_) => return Err(one),
            },
            SuspensionKind::Tool => match one.subject.parse::<ToolName>() {
                Ok(tool) => drop(self.tools.entry(tool).or_default().insert(tenant, one)),
                Err(_) => return Err(one),
            },
            SuspensionKind::Upstream => {
                self.upstreams.entry(one.subject.clone()).or_default().insert(tenant, one);
            }
        }
        self.any = true;
        Ok(())
    }

    pub fn is_empty(&self) -> bool {
        !self.any
    }

    pub fn all(&self) -> impl Iterator<Item = &Suspension> {
        let agents = self.agents.values().flat_map(HashMap::values);
        let upstreams = self.upstreams.values().flat_map(HashMap::values);
        let tools = self.tools.values().flat_map(HashMap::values);
        self.tenants.values().chain(agents).chain(upstreams).chain(tools)
    }

    /// What stops this caller here, if anything does; its tenant first, the tool last.
    pub fn why(&self, principal: &Principal, route: &Route, tool: Option<&ToolName>) -> Option<&Suspension> {
        if !self.any {
            return None;
        }
        let tenant = principal.tenant;
        let stopped = tenant.and_then(|tenant| self.tenants.get(&tenant));
        let agent = || self.agents.get(&principal.agent).and_then(|held| of(held, tenant));
        let upstream = |namespace: &str| self.upstreams.get(namespace).and_then(|held| of(held, tenant));
        let door = || match route {
            Route::One(namespace) => upstream(namespace.as_str()),
            Route::All => None,
        };
        let named = || tool.and_then(|tool| upstream(tool.namespace()));
        let itself = || tool.and_then(|tool| self.tools.get(tool)).and_then(|held| of(held, tenant));
        stopped.or_else(agent).or_else(door).or_else(named).or_else(itself)
    }
}

/// Everybody's, or this tenant's.
fn of(held: &HashMap<Option<TenantId>, Suspension>, tenant: Option<TenantId>) -> Option<&Suspension> {
    held.get(&None).or_else(|| tenant.and_then(|tenant| held.get(&Some(tenant))))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn stopped(kind: SuspensionKind, subject: &str, tenant: Option<u128>) -> Suspension {
        Suspension {
            id: Uuid::nil(),
            tenant: tenant.map(|id| TenantId(Uuid::from_u128(id))),
            kind,
            subject: subject.into(),
            reason: None,
            by: "op".into(),
            since: String::new(),
        }
    }

    #[test]
    fn each_kind_stops_what_it_names_and_nothing_else() {
        use SuspensionKind::{Agent, Tenant, Tool, Upstream};
        let agent = |id: &str, tenant| Principal {
            agent: id.parse().unwrap(),
            tenant: Some(TenantId(Uuid::from_u128(tenant))),
            ..Principal::anonymous()
        };
        let tool: ToolName = "crm/drop".parse().unwrap();
        let one = Route::One("crm".parse().unwrap());
        let nil = Uuid::from_u128(1).to_string();
        for (held, caller, route, tool, stops) in [
            (stopped(Agent, "a", Some(1)), agent("a", 1), &Route::All, None, true),
            (stopped(Agent, "a", Some(1)), agent("a", 2), &Route::All, None, false),
            (stopped(Agent, "a", None), agent("a", 2), &Route::All, None, true),
            (stopped(Agent, "a", Some(1)), agent("b", 1), &Route::All, None, false),
            (stopped(Tenant, &nil, None), agent("b", 1), &Route::All, None, true),
            (stopped(Tenant, &nil, None), agent("b", 2), &Route::All, None, false),
            (stopped(Upstream, "crm", None), agent("b", 2), &one, None, true),
            (stopped(Upstream, "crm", None), agent("b", 2), &Route::All, None, false),
            (stopped(Upstream, "crm", Some(2)), agent("b", 2), &Route::All, Some(&tool), true),
            (stopped(Tool, "crm/drop", None), agent("b", 2), &one, Some(&tool), true),
            (stopped(Tool, "crm/drop", Some(1)), agent("b", 2), &one, Some(&tool), false),
            (stopped(Tool, "crm/find", None), agent("b", 2), &one, Some(&tool), false),
        ] {
            let shown = format!("{held:?} {caller:?} {route:?} {tool:?}");
            let (suspended, unreadable) = Suspended::new([held]);
            assert!(unreadable.is_empty());
            assert_eq!(suspended.why(&caller, route, tool).is_some(), stops, "{shown}");
        }
        let (suspended, unreadable) = Suspended::new([stopped(Tenant, "acme", None), stopped(Tool, "drop", None)]);
        assert_eq!((suspended.is_empty(), unreadable.len()), (true, 2));
    }
}
