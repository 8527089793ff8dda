//! Who asks. A caller starts as nobody and becomes somebody only through the directory.

use std::fmt;

use crate::classification::{Autonomy, DecisionType, Risk};
use crate::manifest::AgentMode;
use crate::names::{AgentId, TenantId};
use crate::reach::Reach;

/// What a caller showed. The secret is never printed.
#[derive(Clone, PartialEq, Eq)]
pub enum Credential {
    None,
    Key(String),
    /// No secret at all: the gateway itself speaks for one of its agents. Never read off a wire, never sent on one.
    Vouched(Vouched),
}

/// An agent that somebody who administers it lets act. Only the desk makes these, and it asks who that is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vouched {
    tenant: TenantId,
    agent: AgentId,
}

impl Vouched {
    pub(crate) fn new(tenant: TenantId, agent: AgentId) -> Self {
        Self { tenant, agent }
    }

    pub fn tenant(&self) -> TenantId {
        self.tenant
    }

    pub fn agent(&self) -> &AgentId {
        &self.agent
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "Credential::None",
            Self::Key(_) => "Credential::Key(hidden)",
            Self::Vouched(_) => "Credential::Vouched",
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PrincipalKind {
    Anonymous,
    Agent,
    /// Holds a tenant key with the `admin` scope: may register agents, may not call governed tools.
    Admin,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    pub kind: PrincipalKind,
    pub tenant: Option<TenantId>,
    pub agent: AgentId,
    pub autonomy: Autonomy,
    pub allowed_types: Vec<DecisionType>,
    pub max_risk: Risk,
    pub scopes: Vec<String>,
    /// How far the credential itself reaches, beside what binds its agent.
    pub reach: Reach,
    pub roles: Vec<String>,
    /// Whose agent it is, by e-mail address or name: who may not be the second pair of eyes.
    pub owner: Option<String>,
}

impl Principal {
    /// Nobody: no tenant, the lowest autonomy, the smallest risk.
    pub fn anonymous() -> Self {
        Self {
            kind: PrincipalKind::Anonymous,
            tenant: None,
            agent: AgentId::unauthenticated(),
            autonomy: Autonomy::A1,
            allowed_types: Vec::new(),
            max_risk: Risk::R1,
            scopes: Vec::new(),
            reach: Reach::Whole,
            roles: Vec::new(),
            owner: None,
        }
    }

    pub fn mode(&self) -> AgentMode {
        AgentMode::of(self.autonomy)
    }

    pub fn is_admin(&self) -> bool {
        self.kind == PrincipalKind::Admin
    }

    /// Names this principal across nodes and restarts: what sealed tokens are bound to.
    pub fn binding(&self) -> String {
        let kind = match self.kind {
            PrincipalKind::Anonymous => "anonymous",
            PrincipalKind::Agent => "agent",
            PrincipalKind::Admin => "admin",
        };
        match self.tenant {
            Some(tenant) => format!("{kind}:{tenant}:{}", self.agent),
            None => format!("{kind}::{}", self.agent),
        }
    }
}
