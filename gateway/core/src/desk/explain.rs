//! Why something was decided, and what would make it pass.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::{Desk, DeskError, Who, own};
use crate::agents::Step;
use crate::approvals::ApprovalRecord;
use crate::chain::Chain;
use crate::classification::{Autonomy, Classification, DecisionType, Risk};
use crate::explain::{Explained, JudgeSaid, Way, explain, explain_with};
use crate::imagine::{self, Imagined};
use crate::live::Live;
use crate::names::{AgentId, TenantId, ToolName};
use crate::ports::{RecordedCall, StoreError};
use crate::recorded::{Kept, Recorded, Unrepeatable, unrepeatable};
use crate::trace::Trace;

/// A call that nobody made yet.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hypothesis {
    pub agent: AgentId,
    pub tool: ToolName,
    #[serde(default)]
    pub arguments: Option<Value>,
    /// When it would be made; now unless it is said.
    #[serde(default)]
    pub at: Option<Timestamp>,
    /// What the agent itself would call it.
    #[serde(default)]
    pub declared: Option<Classification>,
    /// As if the agent were another: each replaces what the registry has.
    #[serde(default)]
    pub autonomy: Option<Autonomy>,
    #[serde(default)]
    pub max_risk: Option<Risk>,
    #[serde(default)]
    pub allowed_types: Option<Vec<DecisionType>>,
    #[serde(default)]
    pub roles: Option<Vec<String>>,
}

/// What was decided, and how the rules of today come to what they say of it.
#[derive(Debug, Clone, Serialize)]
pub struct TraceExplained {
    pub trace: Trace,
    pub tenant: Option<TenantId>,
    /// Whether what decided it is what decides now, and judged it again.
    pub policies: PoliciesNow,
    /// The arguments, without what should not be read.
    pub input: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_missing: Option<&'static str>,
    pub status: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalRecord>,
    /// Where it was a step of a tool agent's run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunShown>,
    /// The rounds before this one, newest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub continues: Vec<String>,
    /// The same call judged again, by the rules of today.
    pub again: Option<Explained>,
    /// Why it is not judged again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_again: Option<&'static str>,
    /// What would make it pass, where it is not judged again and that is known all the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub would_pass: Vec<Way>,
}

/// The run that a call was a step of, and its other steps.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunShown {
    /// `organization/slug`.
    pub agent: String,
    pub task: Uuid,
    pub step: u64,
    pub of: u64,
    /// As far as the run has written them down, which it does when it ends.
    pub steps: Vec<Step>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum PoliciesNow {
    #[serde(rename = "in force")]
    InForce,
    #[serde(rename = "changed since")]
    Changed,
    /// The trace is not of a call that was judged.
    #[serde(rename = "none")]
    None,
}

#[derive(Default)]
struct Again {
    again: Option<Explained>,
    not_again: Option<&'static str>,
    would_pass: Vec<Way>,
}

impl Again {
    fn not(why: &'static str) -> Self {
        Self { not_again: Some(why), ..Self::default() }
    }
}

/// Rounds that are followed back.
const MOST_ROUNDS: usize = 20;

impl Desk {
    /// A trace of another tenant is not there.
    pub async fn explain_trace(&self, who: &Who, id: &str) -> Result<TraceExplained, DeskError> {
        let missing = || DeskError::NotFound(format!("trace `{id}`"));
        let call = self.history.call(id).await?.filter(|call| who.may_see(call.tenant)).ok_or_else(missing)?;
        let (chain, live) = self.in_force();
        let text = |key: &str| call.trace.event.context.get(key).and_then(Value::as_str);
        let rules = live.rules_of(call.tenant);
        let policies = match (text("policies"), text("rules")) {
            (Some(policies), Some(of)) if policies == chain.policies().digest && of == &*rules.enforced => {
                PoliciesNow::InForce
            }
            (Some(_), _) => PoliciesNow::Changed,
            _ => PoliciesNow::None,
        };
        let Again { again, not_again, would_pass } = self.judged_again(&chain, &live, &call);
        let approval = match text("approval").and_then(|id| id.parse().ok()) {
            Some(id) => self.approvals.find(call.tenant, id).await?,
            None => None,
        };
        let hide = |input: &Value| chain.recorder().value(rules, input).unwrap_or_else(|| input.clone());
        let input_missing = Recorded::of(&call).ok().and_then(|recorded| match recorded.arguments {
            Kept::Whole(_) => None,
            Kept::Not(why) => Some(why),
        });
        Ok(TraceExplained {
            tenant: call.tenant,
            policies,
            input: call.input.as_ref().map(hide),
            input_missing,
            status: call.status.clone(),
            approval,
            run: self.run_of(&call).await?,
            continues: self.rounds_before(&call).await?,
            again,
            not_again,
            would_pass,
            trace: call.trace,
        })
    }

    fn judged_again(&self, chain: &Chain, live: &Arc<Live>, call: &RecordedCall) -> Again {
        let imagined = match self.imagined(chain, live, call) {
            Ok(imagined) => imagined,
            Err(why) => return Again::not(why),
        };
        let own = live.rules_of(call.tenant);
        let is_gate = |policy: &str| chain.policies().rules.gate_of(policy).or(own.rules.gate_of(policy)).is_some();
        let gone = unrepeatable(call, is_gate);
        // Nobody here knows what they depend on, so they stand as they were written down.
        let kept =
            |one: &&Unrepeatable| !matches!(one.judge, "standing" | "schema" | "dlp") && one.reason.rule != "drift";
        let kept: Vec<_> = gone.iter().filter(kept).map(Unrepeatable::heard).collect();
        let explained = explain_with(chain, live, &imagined, &kept, &*self.stopwatch);
        let said_again = |one: &Unrepeatable| {
            let same = |said: &JudgeSaid| said.verdict == "deny" && !said.observed && said.plugin == one.judge;
            explained.judges.iter().any(same)
        };
        match gone.iter().find(|one| !said_again(one)) {
            None => Again { again: Some(explained), ..Again::default() },
            Some(one) => Again { would_pass: explained.would_pass, ..Again::not(one.why) },
        }
    }

    fn imagined(&self, chain: &Chain, live: &Live, call: &RecordedCall) -> Result<Imagined, &'static str> {
        let context = &call.trace.event.context;
        let Recorded { principal, tool, arguments, at, declared } = Recorded::of(call)?;
        // What its agent forbids it besides, or says of it, is not in the trace, so that the answer might be another.
        if context.get("run").is_some() {
            return Err("it was a step of a run, under its agent's own limits");
        }
        if context.get("context_hash").is_some() {
            return Err("what its agent said of it besides was not kept");
        }
        let Kept::Whole(arguments) = arguments else {
            return Err("its arguments were not kept as they were sent");
        };
        let tool = imagine::subject(chain, live, &principal, &tool, self.watches(&tool));
        let definition = imagine::definition(live, &tool);
        Ok(Imagined { principal: Arc::new(principal), tool, arguments, at, declared, definition })
    }

    async fn run_of(&self, call: &RecordedCall) -> Result<Option<RunShown>, DeskError> {
        let run = call.trace.event.context.get("run");
        let number = |key: &str| run?.get(key)?.as_u64();
        let text = |key: &str| run?.get(key)?.as_str();
        let named = text("agent").zip(text("task").and_then(|task| task.parse::<Uuid>().ok()));
        let (Some((agent, task)), Some(step), Some(of), Some(tenant)) =
            (named, number("step"), number("of"), call.tenant)
        else {
            return Ok(None);
        };
        let steps = match self.agents.task(tenant, task).await {
            Ok(found) => found.steps,
            Err(StoreError::NotFound(_)) => Vec::new(),
            Err(error) => return Err(error.into()),
        };
        Ok(Some(RunShown { agent: agent.to_owned(), task, step, of, steps }))
    }

    async fn rounds_before(&self, call: &RecordedCall) -> Result<Vec<String>, DeskError> {
        let before = |trace: &Trace| trace.event.context.get("continues").and_then(Value::as_str).map(str::to_owned);
        let mut rounds = Vec::new();
        let mut next = before(&call.trace);
        while let Some(id) = next.take().filter(|_| rounds.len() < MOST_ROUNDS) {
            let found = self.history.trace(&id).await?.filter(|(tenant, _)| *tenant == call.tenant);
            next = found.and_then(|(_, trace)| before(&trace)).filter(|id| !rounds.contains(id));
            rounds.push(id);
        }
        Ok(rounds)
    }

    /// What would be decided, by whom and why; nothing is called and nothing is written down.
    pub async fn explain_call(
        &self,
        who: &Who,
        tenant: TenantId,
        hypothesis: Hypothesis,
    ) -> Result<Explained, DeskError> {
        own(who, tenant)?;
        let Hypothesis { agent, tool, arguments, at, declared, autonomy, max_risk, allowed_types, roles } = hypothesis;
        let record = self.tenants.agent(tenant, &agent).await.map_err(|error| match error {
            StoreError::NotFound(what) => DeskError::NotFound(what),
            other => other.into(),
        })?;
        let mut principal = imagine::principal(&record);
        principal.autonomy = autonomy.unwrap_or(principal.autonomy);
        principal.max_risk = max_risk.unwrap_or(principal.max_risk);
        principal.allowed_types = allowed_types.unwrap_or(principal.allowed_types);
        principal.roles = roles.unwrap_or(principal.roles);
        let (chain, live) = self.in_force();
        let tool = imagine::subject(&chain, &live, &principal, &tool, self.watches(&tool));
        let at = at.unwrap_or_else(|| self.clock.now());
        let definition = imagine::definition(&live, &tool);
        let imagined = Imagined { principal: Arc::new(principal), tool, arguments, at, declared, definition };
        Ok(explain(&chain, &live, &imagined, &*self.stopwatch))
    }

    fn watches(&self, tool: &ToolName) -> bool {
        (self.watched)().iter().any(|namespace| namespace.as_str() == tool.namespace())
    }
}
