//! Everything that is checked before anything runs, in this order: the first that is wrong is the answer.

use std::collections::BTreeSet;

use gateway_core::Namespace;
use gateway_core::agents::ToolAgent;
use gateway_core::ports::BuildError;

/// BUILD is what there is; the others are known and refused.
pub fn mode(written: &str, supports_build: bool) -> Result<(), BuildError> {
    match written.to_ascii_lowercase().as_str() {
        "build" if supports_build => Ok(()),
        "build" => Err(BuildError::BuildNotSupported),
        "plan" => Err(BuildError::NotImplemented("PLAN")),
        "converse" => Err(BuildError::NotImplemented("CONVERSE")),
        _ => Err(BuildError::UnknownMode(written.chars().filter(|c| !c.is_control()).take(64).collect())),
    }
}

pub fn runnable(agent: &ToolAgent) -> Result<(), BuildError> {
    let (record, path) = (&agent.agent, agent.path());
    if record.agent_type != "tool" {
        return Err(BuildError::NotATool { agent: path, agent_type: record.agent_type.clone() });
    }
    if record.status != "active" {
        return Err(BuildError::NotActive { agent: path, status: record.status.clone() });
    }
    Ok(())
}

/// A tool as it was written, in its two halves. Whether somebody has that namespace is asked later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Named<'a> {
    pub full: &'a str,
    pub namespace: &'a str,
    pub tool: &'a str,
}

/// `mcp.server` adds no prefix: a name carries its namespace or it is wrong.
pub fn names(tools: &[String], most: usize) -> Result<Vec<Named<'_>>, BuildError> {
    if tools.is_empty() {
        return Err(BuildError::NoTools);
    }
    let named = tools.iter().map(|full| match full.split_once('/') {
        Some((namespace, tool)) if !namespace.is_empty() && !tool.is_empty() => Ok(Named { full, namespace, tool }),
        _ => Err(BuildError::NoNamespace(full.clone())),
    });
    let named: Vec<Named<'_>> = named.collect::<Result<_, _>>()?;
    match named.len() > most {
        true => Err(BuildError::TooManyTools { most, tools: named.len() }),
        false => Ok(named),
    }
}

/// The namespaces that a run needs, each once. `lacks` says which variables a namespace waits for, also where it is not
/// mounted for want of them.
pub fn namespaces(
    named: &[Named<'_>],
    available: &[Namespace],
    lacks: impl Fn(&str) -> Option<Vec<String>>,
) -> Result<Vec<Namespace>, BuildError> {
    let known: BTreeSet<&str> = available.iter().map(Namespace::as_str).collect();
    let mut needed: Vec<Namespace> = Vec::new();
    let mut waiting: Option<BuildError> = None;
    for Named { namespace, .. } in named {
        if let Some(missing) = lacks(namespace).filter(|missing| !missing.is_empty()) {
            waiting.get_or_insert(BuildError::Environment { namespace: (*namespace).to_owned(), missing });
            continue;
        }
        match namespace.parse::<Namespace>() {
            Ok(found) if known.contains(namespace) => {
                if !needed.contains(&found) {
                    needed.push(found);
                }
            }
            _ => {
                let available = known.iter().map(|&name| name.to_owned()).collect();
                return Err(BuildError::UnknownNamespace { namespace: (*namespace).to_owned(), available });
            }
        }
    }
    // A namespace that nobody has is told before what another one waits for.
    waiting.map_or(Ok(needed), Err)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use gateway_core::TenantId;
    use serde_json::json;

    use super::*;

    fn said<T: std::fmt::Debug>(result: Result<T, BuildError>) -> String {
        result.unwrap_err().to_string()
    }

    // acceptance 93
    #[test]
    fn only_build_is_run() {
        for written in ["build", "BUILD", "Build"] {
            assert!(mode(written, true).is_ok(), "{written}");
        }
        assert_eq!(said(mode("build", false)), "BUILD mode is not supported by this agent");
        assert_eq!(said(mode("plan", true)), "PLAN mode not yet implemented for tool agents");
        assert_eq!(said(mode("CONVERSE", true)), "CONVERSE mode not yet implemented for tool agents");
        assert_eq!(said(mode("run", true)), "Unknown mode 'run': expected build, plan or converse");
    }

    #[test]
    fn only_active_tool_agents_are_run() {
        let agent = |agent_type: &str, status: &str| ToolAgent {
            id: uuid::Uuid::nil(),
            tenant: TenantId(uuid::Uuid::nil()),
            agent: serde_json::from_value(json!({
                "organization_slug": "demo", "slug": "x", "display_name": "X", "agent_type": agent_type,
                "mode_profile": "m", "status": status, "yaml": "",
            }))
            .unwrap(),
            acts_as: None,
            created_at: String::new(),
            updated_at: String::new(),
        };
        assert!(runnable(&agent("tool", "active")).is_ok());
        assert_eq!(said(runnable(&agent("tool", "draft"))), "Agent 'demo/x' is not active (status: draft)");
        assert_eq!(said(runnable(&agent("api", "active"))), "Agent 'demo/x' is not a tool agent (agent_type: api)");
    }

    // acceptance 83, acceptance 84
    #[test]
    fn every_tool_carries_its_namespace() {
        let tools = |names: &[&str]| -> Vec<String> { names.iter().map(|&name| name.to_owned()).collect() };
        assert_eq!(said(names(&[], 10)), "No tools configured for this agent");
        for wrong in ["get-schema", "/get-schema", "supabase/", ""] {
            let expected = format!("Tool '{wrong}' must include namespace: expected 'namespace/tool'");
            assert_eq!(said(names(&tools(&["a/b", wrong]), 1)), expected);
        }
        assert_eq!(said(names(&tools(&["a/b", "a/c"]), 1)), "A run has at most 1 tools: this one has 2");
        let good = tools(&["a/b/c"]);
        assert_eq!(names(&good, 10).unwrap(), [Named { full: "a/b/c", namespace: "a", tool: "b/c" }]);
    }

    // acceptance 86, acceptance 89
    #[test]
    fn every_namespace_is_known_and_has_what_it_needs() {
        let available: Vec<Namespace> = ["slack", "notion"].iter().map(|name| name.parse().unwrap()).collect();
        let lacks = |namespace: &str| (namespace == "supabase").then(|| vec!["SUPABASE_URL".to_owned()]);
        let tools = |names: &[&str]| -> Vec<String> { names.iter().map(|&name| name.to_owned()).collect() };
        let asked = |written: &[String]| namespaces(&names(written, 10).unwrap(), &available, lacks);
        let good = asked(&tools(&["slack/a", "notion/b", "slack/c"])).unwrap();
        assert_eq!(good.iter().map(Namespace::as_str).collect::<Vec<_>>(), ["slack", "notion"]);
        assert_eq!(said(asked(&tools(&["x/a"]))), "Unknown namespace 'x'. Available: notion, slack");
        assert_eq!(said(asked(&tools(&["no name/a"]))), "Unknown namespace 'no name'. Available: notion, slack");
        let environment = asked(&tools(&["supabase/a", "slack/b"]));
        assert_eq!(said(environment), "Required environment variable SUPABASE_URL (or key) is not set");
        assert_eq!(said(asked(&tools(&["supabase/a", "x/b"]))), "Unknown namespace 'x'. Available: notion, slack");
    }
}
