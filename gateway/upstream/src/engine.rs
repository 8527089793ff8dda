//! Which upstream stands behind which route, and which tool a listed name means. Built once from the configuration; a
//! changed configuration builds another.

use std::collections::BTreeMap;
use std::sync::Arc;

use gateway_core::ports::{ExecutionEngine, Spoken, Upstream};
use gateway_core::{Namespace, Route, ToolName};

use crate::aggregate::{Aggregate, Member, ServerInfo, resolve_name, resolve_prompt, resolve_uri};

pub struct Engine {
    members: Vec<Member>,
    by_name: BTreeMap<Namespace, Arc<dyn Upstream>>,
    all: Arc<Aggregate>,
    separator: String,
    /// What namespaces wait for before they can be used.
    lacking: BTreeMap<Namespace, Vec<String>>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    #[error("namespace `{0}` is used twice")]
    NamespaceTaken(Namespace),
    #[error("the tool separator must not be empty")]
    NoSeparator,
}

impl Engine {
    /// Every member under its own route, and all of them together under the route without a namespace.
    pub fn new(mut members: Vec<Member>, tool_separator: &str, server: ServerInfo) -> Result<Self, EngineError> {
        if tool_separator.is_empty() {
            return Err(EngineError::NoSeparator);
        }
        members.sort_by(|one, other| one.namespace.cmp(&other.namespace));
        let mut by_name = BTreeMap::new();
        for member in &members {
            if by_name.insert(member.namespace.clone(), Arc::clone(&member.upstream)).is_some() {
                return Err(EngineError::NamespaceTaken(member.namespace.clone()));
            }
        }
        let all = Arc::new(Aggregate::new(members.clone(), tool_separator, server));
        Ok(Self { members, by_name, all, separator: tool_separator.into(), lacking: BTreeMap::new() })
    }

    /// Variables of the environment that these namespaces wait for, mounted or not.
    #[must_use]
    pub fn lacking(self, lacking: BTreeMap<Namespace, Vec<String>>) -> Self {
        Self { lacking, ..self }
    }

    /// Another engine has taken this one's place. Calls under way finish; streams of all members' news end.
    pub fn retire(&self) {
        self.all.retire();
    }
}

impl ExecutionEngine for Engine {
    fn upstream(&self, route: &Route) -> Option<Arc<dyn Upstream>> {
        match route {
            Route::One(namespace) => self.by_name.get(namespace).map(Arc::clone),
            Route::All => Some(Arc::<Aggregate>::clone(&self.all)),
        }
    }

    /// Sorted, so that lists look the same on every node.
    fn namespaces(&self) -> Vec<Namespace> {
        self.by_name.keys().cloned().collect()
    }

    fn resolve(&self, listed: &str) -> Option<ToolName> {
        resolve_name(listed, &self.separator, &self.members)
    }

    fn resolve_prompt(&self, listed: &str) -> Option<(Namespace, String)> {
        resolve_prompt(listed, &self.separator, &self.members)
    }

    fn resolve_uri(&self, listed: &str) -> Option<(Namespace, String)> {
        resolve_uri(listed, &self.members)
    }

    /// A built-in family's own scheme, at its own door or at everybody's.
    fn governs_uri(&self, route: &Route, uri: &str) -> bool {
        let (home, own) = match route {
            Route::One(namespace) => (namespace.clone(), uri.to_owned()),
            Route::All => match resolve_uri(uri, &self.members) {
                Some(found) => found,
                None => return false,
            },
        };
        self.members.iter().any(|member| member.namespace == home && member.owns(&own))
    }

    fn lacks(&self, namespace: &Namespace) -> Option<&[String]> {
        self.lacking.get(namespace).filter(|names| !names.is_empty()).map(Vec::as_slice)
    }

    fn spoken(&self) -> Vec<(Namespace, Spoken)> {
        self.by_name.iter().map(|(namespace, upstream)| (namespace.clone(), upstream.spoken())).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;
    use crate::testing::{FakeUpstream, space};

    fn engine(names: &[&str]) -> Result<Engine, EngineError> {
        let one = |name: &&str| Member::new(space(name), Arc::new(FakeUpstream::silent()));
        Engine::new(names.iter().map(one).collect(), "__", ServerInfo::new(space("portreeve"), "1"))
    }

    #[test]
    fn finds_upstreams_by_route_and_lists_them_sorted() {
        let engine = engine(&["zeta", "alpha", "mid"]).unwrap();
        assert_eq!(engine.namespaces(), [space("alpha"), space("mid"), space("zeta")]);
        assert!(engine.upstream(&Route::One(space("mid"))).is_some());
        assert!(engine.upstream(&Route::One(space("nobody"))).is_none());
        assert!(engine.upstream(&Route::All).is_some());
        assert_eq!(engine.resolve("mid__x"), Some("mid/x".parse().unwrap()));
    }

    #[test]
    fn only_a_familys_own_resources_are_about_governance() {
        let own = Member::built_in(space("adp"), Arc::new(FakeUpstream::silent()), Vec::new(), &["adp"]);
        let members = vec![own, Member::new(space("notes"), Arc::new(FakeUpstream::silent()))];
        let engine = Engine::new(members, "__", ServerInfo::new(space("portreeve"), "1")).unwrap();
        let at = |name: &str| Route::One(space(name));
        for (route, uri, governs) in [
            (Route::All, "adp://traces", true),
            (Route::All, "portreeve://adp/adp://traces", true),
            (at("adp"), "adp://traces", true),
            (at("adp"), "file:///etc/passwd", false),
            (at("notes"), "adp://traces", false),
            (Route::All, "portreeve://notes/adp://traces", false),
            (Route::All, "file:///a", false),
        ] {
            assert_eq!(engine.governs_uri(&route, uri), governs, "{uri} at {route:?}");
        }
    }

    #[test]
    fn a_namespace_belongs_to_one_upstream() {
        assert_eq!(engine(&["notes", "notes"]).err(), Some(EngineError::NamespaceTaken(space("notes"))));
    }
}
