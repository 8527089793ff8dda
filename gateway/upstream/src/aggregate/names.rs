//! How a member's tools are called on the aggregated route, and which tool a name from there means.

use std::sync::Arc;

use gateway_core::ports::Upstream;
use gateway_core::{Namespace, ToolName};

use super::uris::Speaker;

/// One upstream among many.
#[derive(Clone)]
pub struct Member {
    pub namespace: Namespace,
    pub upstream: Arc<dyn Upstream>,
    pub naming: Naming,
    /// URI schemes that are this member's own, and keep their form at the aggregated door.
    pub schemes: &'static [&'static str],
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Naming {
    /// Listed as namespace, separator, tool.
    Prefixed,
    /// A built-in family: listed under its own names, which are these.
    Bare(Vec<String>),
}

impl Member {
    pub fn new(namespace: Namespace, upstream: Arc<dyn Upstream>) -> Self {
        Self { namespace, upstream, naming: Naming::Prefixed, schemes: &[] }
    }

    pub fn built_in(
        namespace: Namespace,
        upstream: Arc<dyn Upstream>,
        names: Vec<String>,
        schemes: &'static [&'static str],
    ) -> Self {
        Self { namespace, upstream, naming: Naming::Bare(names), schemes }
    }

    /// Whether a URI of this member's own says by its scheme that it is.
    pub(crate) fn owns(&self, uri: &str) -> bool {
        self.speaker().keeps(uri)
    }

    pub(super) fn speaker(&self) -> Speaker {
        Speaker { namespace: self.namespace.clone(), schemes: self.schemes }
    }

    pub(super) fn keeps_names(&self) -> bool {
        matches!(self.naming, Naming::Bare(_))
    }

    fn knows_bare(&self, name: &str) -> bool {
        matches!(&self.naming, Naming::Bare(names) if names.iter().any(|own| own == name))
    }

    pub(super) fn listed_name(&self, separator: &str, tool: &str) -> String {
        match &self.naming {
            Naming::Prefixed => format!("{}{separator}{tool}", self.namespace),
            Naming::Bare(_) => tool.into(),
        }
    }
}

/// A built-in's own name, `namespace/tool`, or the listed form. Where two namespaces fit, the longer one is meant; a name
/// nobody has is nobody's.
pub fn resolve_name(listed: &str, separator: &str, members: &[Member]) -> Option<ToolName> {
    let mut bare = members.iter().filter(|member| member.knows_bare(listed));
    if let Some(member) = bare.next() {
        // Two families with one name: guessing would call the wrong tool.
        return if bare.next().is_none() { tool_name(member, listed) } else { None };
    }
    let slashed = listed.split_once('/').and_then(|(space, tool)| Some((by_name(members, space)?, tool)));
    if let Some((member, tool)) = slashed {
        return tool_name(member, tool);
    }
    let fitting = members.iter().filter_map(|member| {
        let tool = listed.strip_prefix(member.namespace.as_str())?.strip_prefix(separator)?;
        (!tool.is_empty()).then_some((member, tool))
    });
    let (member, tool) = fitting.max_by_key(|(member, _)| member.namespace.as_str().len())?;
    tool_name(member, tool)
}

/// The same for a prompt, whose name is its upstream's own business: `namespace/prompt`, or the listed form.
pub fn resolve_prompt(listed: &str, separator: &str, members: &[Member]) -> Option<(Namespace, String)> {
    let slashed = listed.split_once('/').and_then(|(space, prompt)| Some((by_name(members, space)?, prompt)));
    let fitting = || {
        let fitting = members.iter().filter_map(|member| {
            Some((member, listed.strip_prefix(member.namespace.as_str())?.strip_prefix(separator)?))
        });
        fitting.max_by_key(|(member, _)| member.namespace.as_str().len())
    };
    let (member, prompt) = slashed.or_else(fitting)?;
    (!prompt.is_empty()).then(|| (member.namespace.clone(), prompt.into()))
}

/// And for a resource: a built-in's own scheme, or the listed form.
pub fn resolve_uri(listed: &str, members: &[Member]) -> Option<(Namespace, String)> {
    members.iter().find_map(|member| Some((member.namespace.clone(), member.speaker().inward(listed)?.to_owned())))
}

fn by_name<'a>(members: &'a [Member], namespace: &str) -> Option<&'a Member> {
    members.iter().find(|member| member.namespace.as_str() == namespace)
}

/// Parsed, because the tool's part came from outside.
fn tool_name(member: &Member, tool: &str) -> Option<ToolName> {
    format!("{}/{tool}", member.namespace).parse().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;
    use crate::testing::{FakeUpstream, space};

    #[test]
    fn a_listed_name_leads_to_one_tool() {
        let silent = || Arc::new(FakeUpstream::silent());
        let members = [
            Member::new(space("notes"), silent()),
            Member::new(space("notes__old"), silent()),
            Member::built_in(space("adp"), silent(), vec!["adp_log".into(), "same".into(), "notes__x".into()], &[]),
            Member::built_in(space("gate"), silent(), vec!["decide".into(), "same".into()], &[]),
        ];
        for (listed, expected) in [
            ("notes/search", Some("notes/search")),
            ("notes__search", Some("notes/search")),
            ("notes__old__search", Some("notes__old/search")),
            ("notes__search__deep", Some("notes/search__deep")),
            ("notes/a/b", Some("notes/a/b")),
            ("notes__a/b", Some("notes/a/b")),
            ("adp_log", Some("adp/adp_log")),
            ("adp/adp_log", Some("adp/adp_log")),
            ("gate__decide", Some("gate/decide")),
            ("notes__x", Some("adp/notes__x")),
            ("same", None),
            ("search", None),
            ("notes", None),
            ("notes__", None),
            ("notes/", None),
            ("other/search", None),
            ("other__search", None),
            ("notes_search", None),
            ("notes__a\u{7}", None),
        ] {
            let found = resolve_name(listed, "__", &members);
            assert_eq!(found.as_ref().map(ToolName::as_str), expected, "{listed}");
        }
        assert_eq!(resolve_name("notes.search", ".", &members).unwrap().as_str(), "notes/search");
    }

    #[test]
    fn prompts_and_resources_lead_to_one_member() {
        let silent = || Arc::new(FakeUpstream::silent());
        let members = [
            Member::new(space("notes"), silent()),
            Member::new(space("notes__old"), silent()),
            Member::built_in(space("adp"), silent(), Vec::new(), &["adp"]),
        ];
        for (listed, expected) in [
            ("notes__review", Some(("notes", "review"))),
            ("notes__old__review", Some(("notes__old", "review"))),
            ("notes/code/review", Some(("notes", "code/review"))),
            ("notes__code/review now", Some(("notes", "code/review now"))),
            ("notes__", None),
            ("notes/", None),
            ("other__review", None),
            ("review", None),
        ] {
            let expected = expected.map(|(member, prompt)| (space(member), prompt.to_owned()));
            assert_eq!(resolve_prompt(listed, "__", &members), expected, "{listed}");
        }
        let found = resolve_uri("portreeve://notes/file:///a", &members);
        assert_eq!(found, Some((space("notes"), "file:///a".into())));
        for listed in ["adp://registry", "portreeve://adp/adp://registry"] {
            assert_eq!(resolve_uri(listed, &members), Some((space("adp"), "adp://registry".into())), "{listed}");
        }
        let claimed = resolve_uri("portreeve://notes/adp://registry", &members);
        assert_eq!(
            claimed,
            Some((space("notes"), "adp://registry".into())),
            "whoever else uses the scheme stays wrapped"
        );
        for strange in ["adp://", "ADP://registry", "portreeve://nobody/file:///a", "file:///a", "portreeve://notes/"] {
            assert_eq!(resolve_uri(strange, &members), None, "{strange}");
        }
    }
}
