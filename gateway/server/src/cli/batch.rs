//! One call a line, one decision a line: the door for whoever holds the gateway's decisions against a model of their own.
//!
//! A line says everything that is judged; nothing is looked up but the policy files. Left out: the most cautious agent
//! (A1, R1) with no roles, an unclassified tool, nothing stopped.

use std::collections::HashMap;
use std::sync::Arc;

use gateway_core::definitions::Standing;
use gateway_core::exchange::ToolSubject;
use gateway_core::imagine::Imagined;
use gateway_core::live::{Live, Suspended, Suspension, SuspensionKind};
use gateway_core::policies::ClassifiedTool;
use gateway_core::{
    Autonomy, Chain, Classification, DecisionType, Principal, PrincipalKind, Risk, ToolManifest, ToolName,
};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

pub struct Batch {
    chain: Chain,
    live: Arc<Live>,
    stopped: Arc<Live>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(default)]
    id: Value,
    #[serde(default = "cautious")]
    autonomy: Autonomy,
    #[serde(default)]
    administrator: bool,
    #[serde(default)]
    allowed_types: Vec<DecisionType>,
    #[serde(default = "smallest")]
    max_risk: Risk,
    #[serde(default)]
    roles: Vec<String>,
    #[serde(default)]
    tool: Tool,
    #[serde(default)]
    arguments: Option<Value>,
    /// What the agent itself calls it.
    #[serde(default)]
    declared: Option<Classification>,
    #[serde(default)]
    at: Option<Timestamp>,
    #[serde(default)]
    suspended: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Tool {
    /// A tool of the policy files by its name; without a manifest of the line's own.
    name: Option<ToolName>,
    manifest: Option<ToolManifest>,
    /// What the manifest's level is raised to.
    classification: Option<Classification>,
    /// The operator lets unclassified tools of this upstream through.
    watched: bool,
    standing: Option<Standing>,
}

fn cautious() -> Autonomy {
    Autonomy::A1
}

fn smallest() -> Risk {
    Risk::R1
}

impl Batch {
    pub fn new(chain: Chain) -> Self {
        let agent = Principal::anonymous().agent;
        let stop = Suspension {
            id: uuid::Uuid::nil(),
            tenant: None,
            kind: SuspensionKind::Agent,
            subject: agent.to_string(),
            reason: None,
            by: "batch".into(),
            since: String::new(),
        };
        let (standing, _) = Suspended::new([stop]);
        let stopped = Arc::new(Live::new(0, HashMap::new(), Arc::default(), standing));
        Self { chain, live: Live::none(), stopped }
    }

    pub fn answer(&self, line: &str) -> Value {
        match serde_json::from_str::<Line>(line) {
            Ok(line) => self.judged(line),
            Err(error) => json!({ "id": null, "error": error.to_string() }),
        }
    }

    fn judged(&self, line: Line) -> Value {
        let Line { id, autonomy, administrator, allowed_types, max_risk, roles, tool, .. } = line;
        let kind = if administrator { PrincipalKind::Admin } else { PrincipalKind::Agent };
        let principal = Principal { kind, autonomy, allowed_types, max_risk, roles, ..Principal::anonymous() };
        let contradictions = tool.manifest.as_ref().map(ToolManifest::contradictions).unwrap_or_default();
        if let Some(wrong) = contradictions.first() {
            return json!({ "id": id, "error": format!("tool.manifest.{wrong}") });
        }
        let subject = match self.subject(tool) {
            Ok(subject) => subject,
            Err(what) => return json!({ "id": id, "error": what }),
        };
        let imagined = Imagined {
            principal: Arc::new(principal),
            tool: subject,
            arguments: line.arguments,
            at: line.at.unwrap_or(Timestamp::UNIX_EPOCH),
            declared: line.declared,
            definition: None,
        };
        let mut exchange = imagined.exchange(if line.suspended { &self.stopped } else { &self.live });
        let ruling = self.chain.judge(&mut exchange, &mut |_, run| run());
        let code = exchange.classification().code();
        json!({ "id": id, "decision": ruling.decision, "classification": code, "reasons": ruling.reasons })
    }

    fn subject(&self, tool: Tool) -> Result<ToolSubject, String> {
        let Tool { name, manifest, classification, watched, standing } = tool;
        let name = match (&manifest, name) {
            (Some(manifest), _) => manifest.id.clone(),
            (None, Some(name)) => name,
            (None, None) => "batch/tool".parse().map_err(|error| format!("tool.name: {error}"))?,
        };
        let classified = match manifest {
            Some(manifest) => Some(Arc::new(ClassifiedTool::new(manifest, classification))),
            None => self.chain.policies().tool(&name).cloned(),
        };
        let mut subject = ToolSubject::new(name, classified, watched);
        subject.standing = standing.unwrap_or(subject.standing);
        Ok(subject)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;
    use crate::compose::chain;
    use crate::policy_files::load_policies;

    #[test]
    fn a_line_is_judged_by_what_it_says_alone() {
        let batch = Batch::new(chain(load_policies(None).unwrap()));
        let write = r#""manifest":{"id":"crm/x","domain":"crm","risk_level":"LOW_WRITE","side_effects":true,"allowed_modes":["PARTIAL_AUTO","FULL_AUTO"]}"#;
        for (line, decision) in [
            (format!(r#"{{"id":1,"autonomy":"A3","max_risk":"R4","tool":{{{write}}}}}"#), "allow"),
            (format!(r#"{{"id":2,"autonomy":"A3","tool":{{{write}}}}}"#), "approval_required"),
            (format!(r#"{{"id":3,"autonomy":"A1","tool":{{{write}}}}}"#), "deny"),
            (format!(r#"{{"id":4,"autonomy":"A3","max_risk":"R4","suspended":true,"tool":{{{write}}}}}"#), "deny"),
            (
                format!(r#"{{"id":5,"autonomy":"A3","max_risk":"R4","tool":{{{write},"standing":"quarantined"}}}}"#),
                "deny",
            ),
            (r#"{"id":6,"autonomy":"A5","tool":{"watched":true}}"#.to_owned(), "allow"),
            (r#"{"id":7,"autonomy":"A5"}"#.to_owned(), "deny"),
            (r#"{"id":8,"tool":{"name":"crm/get_contact"}}"#.to_owned(), "allow"),
        ] {
            let answer = batch.answer(&line);
            assert_eq!(answer["decision"], decision, "{line}: {answer}");
            assert!(answer["id"].is_number());
        }
        assert!(batch.answer("{\"autonomy\":\"A9\"}")["error"].as_str().unwrap().contains("A9"));
    }
}
