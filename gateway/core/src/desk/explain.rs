//! Why something was decided, and what would make it pass.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::{Desk, DeskError, Who, own};
use crate::agents::Step;
use crate::approvals::ApprovalRecord;
use crate::classification::{Autonomy, Classification, DecisionType, Risk};
use crate::explain::{Explained, explain};
use crate::imagine::{self, Imagined};
use crate::names::{AgentId, TenantId, ToolName};
use crate::ports::{RecordedCall, StoreError};
use crate::replay::{Kept, acting_as, arguments, declared};
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

/// What was decided, and, where the same rules are still in force, how they come to it.
#[derive(Debug, Clone, Serialize)]
pub struct TraceExplained {
    pub trace: Trace,
    pub tenant: Option<TenantId>,
    /// Whether what decided it is what decides now; without it there are no timings.
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
    /// The same call judged again.
    pub again: Option<Explained>,
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

/// Rounds that are followed back.
const MOST_ROUNDS: usize = 20;

impl Desk {
    /// A trace of another tenant is not there.
    pub async fn explain_trace(&self, who: &Who, id: &str) -> Result<TraceExplained, DeskError> {
        let missing = || DeskError::NotFound(format!("trace `{id}`"));
        let call = self.history.call(id).await?.filter(|call| who.may_see(call.tenant)).ok_or_else(missing)?;
        let (chain, live) = self.in_force();
        let context = &call.trace.event.context;
        let text = |key: &str| context.get(key).and_then(Value::as_str);
        let tool = text("tool").and_then(|tool| tool.parse::<ToolName>().ok());
        let rules = live.rules_of(call.tenant);
        let policies = match (text("policies"), text("rules")) {
            (Some(policies), Some(of)) if policies == chain.policies().digest && of == &*rules.enforced => {
                PoliciesNow::InForce
            }
            (Some(_), _) => PoliciesNow::Changed,
            _ => PoliciesNow::None,
        };
        let agent = call.trace.event.agent_id.parse::<AgentId>().ok();
        let principal = agent.zip(text("as")).and_then(|(agent, acting)| acting_as(acting, call.tenant, agent));
        let kept = tool.as_ref().map(|tool| arguments(&call, tool));
        let run = self.run_of(&call).await?;
        let mut again = None;
        if let (Some(tool), Some(principal), Some(Kept::Whole(arguments)), PoliciesNow::InForce) =
            (&tool, principal, &kept, policies)
            // What its agent forbids it besides, or says of it, is not in the trace, so that the answer might be another.
            && run.is_none()
            && text("context_hash").is_none()
            && let Ok(declared) = declared(context)
        {
            let tool = imagine::subject(&chain, &live, &principal, tool, self.watches(tool));
            let at = call.trace.event.timestamp.parse().unwrap_or_else(|_| self.clock.now());
            let (principal, arguments) = (Arc::new(principal), arguments.clone());
            let definition = imagine::definition(&live, &tool);
            let imagined = Imagined { principal, tool, arguments, at, declared, definition };
            again = Some(explain(&chain, &live, &imagined, &*self.stopwatch));
        }
        let approval = match text("approval").and_then(|id| id.parse().ok()) {
            Some(id) => self.approvals.find(call.tenant, id).await?,
            None => None,
        };
        Ok(TraceExplained {
            tenant: call.tenant,
            policies,
            input: call
                .input
                .as_ref()
                .map(|input| chain.recorder().value(rules, input).unwrap_or_else(|| input.clone())),
            input_missing: kept.and_then(|kept| match kept {
                Kept::Whole(_) => None,
                Kept::Not(why) => Some(why),
            }),
            status: call.status.clone(),
            approval,
            run,
            continues: self.rounds_before(&call).await?,
            again,
            trace: call.trace,
        })
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
