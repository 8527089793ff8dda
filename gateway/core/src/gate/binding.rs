//! A gate in front of a tool: which run must be where before a call of it may pass.
//!
//! The scenario is the operator's, named by its hash: whoever defines another under the same name opens nothing with it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Digest, Id, RunStatus};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GateBinding {
    pub scenario: Id,
    pub spec_hash: Digest,
    pub run_from: RunFrom,
    /// The run must be at one of them.
    pub stages: Vec<Id>,
    /// Also for agents that the run does not name among its targets.
    pub anyone: bool,
}

/// The same as operators write it. Where a file of the scenario is at hand its hash may be left out.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenBinding {
    pub scenario: Id,
    pub run_from: RunFrom,
    pub stage: Stages,
    /// 64 hex digits.
    pub spec_hash: Option<String>,
    #[serde(default)]
    pub anyone: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Stages {
    One(Id),
    Several(Vec<Id>),
}

impl From<Stages> for Vec<Id> {
    fn from(stages: Stages) -> Self {
        match stages {
            Stages::One(stage) => vec![stage],
            Stages::Several(stages) => stages,
        }
    }
}

/// How a call says which run it belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunFrom {
    /// `_meta["io.portreeve/run"]`.
    Meta,
    /// The newest active run of the scenario that names the caller.
    Agent,
    /// An argument of the call, as `a` or `a.b`.
    Argument(String),
    Fixed(Id),
}

/// Where a call names its run.
pub const RUN_META: &str = "io.portreeve/run";

/// What was found about the gates before a call, when it was judged.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Gates {
    /// Nobody looked: then a gate is closed.
    #[default]
    NotLooked,
    /// The call is only imagined, under no run: then gates have no word.
    Imagined,
    Looked(Vec<GateFacts>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateFacts {
    pub binding: Arc<GateBinding>,
    /// What the call said.
    pub named: Option<String>,
    pub run: Option<RunFacts>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFacts {
    pub run_id: Id,
    pub spec_hash: Digest,
    pub stage: Id,
    pub status: RunStatus,
    pub names_caller: bool,
    /// The last decision, where there is one.
    pub decision: Option<Id>,
    /// Gates that were not open when it was made.
    pub unmet: Vec<Id>,
}

impl RunFrom {
    /// What is wrong with how it is written.
    pub fn fault(&self) -> Option<&'static str> {
        match self {
            Self::Argument(path) if path.split('.').any(|step| step.trim().is_empty()) => {
                Some("must name an argument, as `run` or `job.run`")
            }
            _ => None,
        }
    }
}

impl Gates {
    /// Why this gate is closed to the call, if it is. One that nobody looked at is.
    pub fn objection(&self, binding: &GateBinding, tool: &str) -> Option<(&'static str, String)> {
        let facts = match self {
            Self::Imagined => return None,
            Self::NotLooked => None,
            Self::Looked(facts) => facts.iter().find(|facts| facts.binding.as_ref() == binding),
        };
        match facts {
            Some(facts) => facts.objection(tool),
            None => Some(("unknown", format!("nobody looked where the run before {tool} is"))),
        }
    }
}

impl GateFacts {
    /// Why the call may not pass: a rule's name, and words that say what to do.
    pub fn objection(&self, tool: &str) -> Option<(&'static str, String)> {
        let GateBinding { scenario, spec_hash, stages, anyone, .. } = self.binding.as_ref();
        let Some(run) = &self.run else {
            return Some(match &self.named {
                None => ("unnamed", format!("{tool} needs a run of scenario {scenario}; {}", self.how())),
                Some(named) => {
                    ("unknown_run", format!("{tool} needs a run of scenario {scenario}; there is no run `{named}`"))
                }
            });
        };
        if run.spec_hash != *spec_hash {
            let words = format!("{} does not run the scenario {scenario} that stands before {tool}", run.run_id);
            return Some(("other_spec", words));
        }
        if !run.names_caller && !anyone {
            return Some(("not_yours", format!("{} does not name this agent among its targets", run.run_id)));
        }
        if run.status != RunStatus::Active {
            return Some((
                "over",
                format!("{} is {}; start another run of {scenario}", run.run_id, run.status.as_str()),
            ));
        }
        if stages.contains(&run.stage) {
            return None;
        }
        let wanted = stages.iter().map(|stage| format!("`{stage}`")).collect::<Vec<_>>().join(" or ");
        let unmet = match run.unmet.as_slice() {
            [] => String::new(),
            gates => format!(" (unmet: {})", gates.iter().map(Id::as_str).collect::<Vec<_>>().join(", ")),
        };
        let words = format!(
            "{tool} waits for {} of scenario {scenario} to reach {wanted}; it is at `{}`{unmet}",
            run.run_id, run.stage
        );
        Some(("stage", words))
    }

    fn how(&self) -> String {
        match &self.binding.run_from {
            RunFrom::Meta => format!("name it in `_meta` as `{RUN_META}`"),
            RunFrom::Agent => "there is no active one that names this agent".into(),
            RunFrom::Argument(path) => format!("name it in the argument `{path}`"),
            RunFrom::Fixed(run) => format!("it is `{run}`"),
        }
    }
}
