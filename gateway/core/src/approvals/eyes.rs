//! Two pairs of eyes: who is another person than the one behind an agent, as far as anybody said who that is.
//!
//! Names are compared, not people. What a name is worth depends on who says it: an administrator's is their key's, which only the
//! operator gives; at the operator's own machine it is the operator's word.

use crate::desk::Who;
use crate::keys::names_somebody;
use crate::names::AgentId;
use crate::ports::{AgentRecord, Registrar};

use super::NewApproval;

/// Who stands behind what is asked.
#[derive(Debug, Clone)]
pub struct Behind {
    agent: AgentId,
    /// Its owner's name and address, when it asked and now, and whoever registered it.
    names: Vec<String>,
    registered_with: Option<AgentId>,
}

/// Why somebody is no second pair of eyes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SameEyes {
    #[error("somebody other than the agent's own user must decide this")]
    User,
    #[error("the agent was registered with this key: somebody other than its holder must decide this")]
    Registrar,
    #[error(
        "this key names nobody, and the agent has an owner, who may be holding it: somebody other than the owner must decide \
         this, with a key of their own (`portreeve key add --tenant T --admin --name YOU@EXAMPLE.COM`)"
    )]
    Nameless,
}

impl Behind {
    /// `agent` is what the registry says now; `None` where it is gone.
    pub fn of(asked: &NewApproval, agent: Option<&AgentRecord>) -> Self {
        let known = agent.map(|record| &record.agent);
        let registrar = known.and_then(|agent| agent.registered_by.as_ref());
        let owners = known.into_iter().flat_map(|agent| [&agent.owner_email, &agent.owner_name]);
        let by = registrar.map(|Registrar { name, .. }| name);
        let names = owners.chain(by).chain([&asked.owner]).flatten().filter(|name| names_somebody(name));
        Self {
            agent: asked.agent.clone(),
            names: names.map(|name| folded(name)).collect(),
            registered_with: registrar.map(|registrar| registrar.key.clone()),
        }
    }

    /// Why this is nobody else's yes, if it is not.
    pub fn refuses(&self, who: &Who) -> Option<SameEyes> {
        let name = folded(who.name());
        if name == folded(self.agent.as_str()) || self.names.contains(&name) {
            return Some(SameEyes::User);
        }
        let Who::Administrator { key, .. } = who else { return None };
        if *key == self.agent || self.registered_with.as_ref() == Some(key) {
            return Some(SameEyes::Registrar);
        }
        // A key that many hold is the owner's as much as anybody's.
        (!self.names.is_empty() && !names_somebody(who.name())).then_some(SameEyes::Nameless)
    }
}

fn folded(name: &str) -> String {
    name.trim().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::TenantId;

    fn behind(names: &[&str], registered_with: Option<&str>) -> Behind {
        let id = |text: &str| text.parse().unwrap_or_else(|_| AgentId::operators());
        Behind {
            agent: id("a-4"),
            names: names.iter().map(|name| folded(name)).collect(),
            registered_with: registered_with.map(id),
        }
    }

    fn key(name: &str, key: &str) -> Who {
        let key = key.parse().unwrap_or_else(|_| AgentId::operators());
        Who::Administrator { tenant: TenantId(uuid::Uuid::nil()), name: name.into(), key }
    }

    #[test]
    fn only_somebody_else_says_yes() {
        let owned = behind(&["Ada@example.com", "Ada"], None);
        let registered = behind(&["grace@example.com"], Some("key-1"));
        let shared = behind(&[], Some("key-1"));
        let unknown = behind(&[], None);
        let operator = |name: &str| Who::Operator(name.into());
        for (behind, who, expected) in [
            (&owned, key("ada@EXAMPLE.com ", "key-1"), Some(SameEyes::User)),
            (&owned, key("ada", "key-1"), Some(SameEyes::User)),
            (&owned, key("A-4", "key-1"), Some(SameEyes::User)),
            (&owned, key("grace@example.com", "key-1"), None),
            (&owned, key("admin", "key-1"), Some(SameEyes::Nameless)),
            (&owned, key(" Admin", "key-1"), Some(SameEyes::Nameless)),
            (&owned, operator("ada"), Some(SameEyes::User)),
            (&owned, operator("grace"), None),
            // At the operator's machine the name is the operator's word, whatever it is.
            (&owned, operator("admin"), None),
            (&registered, key("grace@example.com", "key-2"), Some(SameEyes::User)),
            (&registered, key("renamed", "key-1"), Some(SameEyes::Registrar)),
            (&registered, key("admin", "key-2"), Some(SameEyes::Nameless)),
            (&registered, key("ada@example.com", "key-2"), None),
            (&shared, key("admin", "key-1"), Some(SameEyes::Registrar)),
            (&shared, key("admin", "key-2"), None),
            (&unknown, key("admin", "key-1"), None),
            (&unknown, key("grace@example.com", "key-1"), None),
            (&unknown, key("x", "a-4"), Some(SameEyes::Registrar)),
            (&unknown, operator("a-4"), Some(SameEyes::User)),
        ] {
            assert_eq!(behind.refuses(&who), expected, "{behind:?} {who:?}");
        }
    }
}
