//! A run of a tool agent, read top to bottom: load, merge, check everything, call, write down.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::{self, BoxFuture, Either};
use futures::{FutureExt, StreamExt, stream};
use gateway_core::agents::{
    Deliverable, DeliverableMetadata, DeliverableVersion, ExecutionMode, NewDeliverable, RunStep, Step, Task,
    TaskStatus,
};
use gateway_core::ports::{
    Actor, BuildError, BuildRequest, Built, Clock, Progress, Runner, StoreError, Told, ToolAgents,
};
use gateway_core::{Gateway, TenantId, TraceId};
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::call::{Caller, Ended};
use super::chain::Chained;
use super::format::{Bounds, Document};
use super::plan::{Plan, Ready};

/// Between tries to write down how a run ended.
const AGAIN_AFTER: [Duration; 3] = [Duration::from_millis(250), Duration::from_secs(1), Duration::from_secs(4)];
/// Letters of an error that are kept.
const LONGEST_ERROR: usize = 2000;
const LATE: &str = "the run's time was over";
const STOPPED: &str = "the node was stopped before the run ended";

#[derive(Debug, Clone, Copy)]
pub struct RunLimits {
    pub longest: Duration,
    pub tools: usize,
    pub at_once: usize,
    pub bounds: Bounds,
    pub reply_bytes: usize,
}

impl Default for RunLimits {
    fn default() -> Self {
        let (result_bytes, document_bytes) = (256 * 1024, 4 * 1024 * 1024);
        Self {
            longest: Duration::from_secs(600),
            tools: 2000,
            at_once: 64,
            bounds: Bounds { result_bytes, document_bytes },
            reply_bytes: 8 * 1024 * 1024,
        }
    }
}

/// The limits in force when a run begins: a changed configuration holds from the next one on.
pub type CurrentLimits = Arc<dyn Fn() -> RunLimits + Send + Sync>;
/// Resolves when whoever hosts runs can give them no more time.
pub type CutOff = Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

pub struct ToolAgentRunner {
    pub gateway: Arc<Gateway>,
    pub agents: Arc<dyn ToolAgents>,
    pub clock: Arc<dyn Clock>,
    pub limits: CurrentLimits,
    pub cut_off: CutOff,
}

type Attempted = (Step, Result<Value, String>);

#[async_trait]
impl Runner for ToolAgentRunner {
    async fn build(
        &self,
        tenant: TenantId,
        slug: &str,
        actor: Actor,
        request: BuildRequest,
        told: Told,
    ) -> Result<Built, BuildError> {
        let plan = self.checked(tenant, slug, &actor, &request).await?;
        let begun = self.begin(&plan, &actor, &request).await?;
        let (document, steps) = match plan.merged.mode {
            ExecutionMode::Sequential => self.one_by_one(&plan, &actor, &begun, &told).await,
            ExecutionMode::Parallel => self.at_once(&plan, &actor, &begun, &told).await,
        };
        self.finish(plan, begun, document, steps).await
    }
}

impl ToolAgentRunner {
    async fn begin(&self, plan: &Plan, actor: &Actor, request: &BuildRequest) -> Result<Task, BuildError> {
        let (agent, started_at) = (&plan.agent, self.clock.now());
        let task = Task {
            id: self.clock.fresh_id(),
            tenant: agent.tenant,
            organization_slug: agent.agent.organization_slug.clone(),
            agent_slug: agent.agent.slug.clone(),
            acts_as: actor.acts_as.clone(),
            started_by: actor.started_by.clone(),
            mode: "build".into(),
            status: TaskStatus::Running,
            conversation_id: request.conversation_id.clone(),
            error: None,
            deliverable: None,
            steps: Vec::new(),
            started_at,
            finished_at: None,
            deadline: started_at.checked_add(plan.limits.longest).unwrap_or(Timestamp::MAX),
        };
        self.agents.begin(&task).await.map_err(BuildError::Store)?;
        tracing::info!(
            agent.slug = %agent.agent.slug,
            agent.organization = %agent.agent.organization_slug,
            tools = plan.merged.tools.join(", "),
            mode = %plan.merged.mode,
            stop_on_error = plan.merged.stop_on_error,
            task = %task.id,
            "tool agent {} runs {} tools", agent.path(), plan.tools.len()
        );
        Ok(task)
    }

    async fn one_by_one(&self, plan: &Plan, actor: &Actor, begun: &Task, told: &Told) -> (Document, Vec<Step>) {
        let mut document = Document::new(plan.configured.format, plan.limits.bounds);
        let (mut steps, mut chained) = (Vec::new(), Chained::default());
        for (place, ready) in plan.tools.iter().enumerate() {
            let mut params = ready.params.clone();
            chained.fill(&ready.full, &mut params);
            let Some((step, outcome)) = self.attempt(plan, actor, begun, told, (place, ready), params).await else {
                break;
            };
            if let Ok(result) = &outcome {
                chained.remember(&ready.full, result);
            }
            let failed = outcome.is_err();
            document.push(&ready.full, outcome);
            steps.push(step);
            if failed && plan.merged.stop_on_error {
                break;
            }
        }
        (document, steps)
    }

    /// All of them run to their end, whatever becomes of the others; nothing is handed on.
    async fn at_once<'a>(
        &'a self,
        plan: &'a Plan,
        actor: &'a Actor,
        begun: &'a Task,
        told: &'a Told,
    ) -> (Document, Vec<Step>) {
        let mut document = Document::new(plan.configured.format, plan.limits.bounds);
        let mut steps = Vec::new();
        let attempt = |(place, ready): (usize, &'a Ready)| {
            self.attempt(plan, actor, begun, told, (place, ready), ready.params.clone()).boxed()
        };
        let attempts: Vec<BoxFuture<'a, Option<Attempted>>> = plan.tools.iter().enumerate().map(attempt).collect();
        let mut running = stream::iter(attempts).buffered(plan.limits.at_once.max(1));
        while let Some(attempted) = running.next().await {
            if let Some((step, outcome)) = attempted {
                document.push(&step.tool, outcome);
                steps.push(step);
            }
        }
        (document, steps)
    }

    /// `None`: its time is over before it began.
    async fn attempt(
        &self,
        plan: &Plan,
        actor: &Actor,
        begun: &Task,
        told: &Told,
        (place, ready): (usize, &Ready),
        params: Map<String, Value>,
    ) -> Option<Attempted> {
        let started_at = self.clock.now();
        let left = begun.deadline.duration_since(started_at);
        let left = Duration::try_from(left).ok().filter(|left| !left.is_zero() && !plan.is_cut_off())?;
        let (step, of) = (number(place + 1), number(plan.tools.len()));
        told(Progress::Started { step, of, tool: ready.full.clone() });
        let trace_id = TraceId::from_uuid(self.clock.fresh_id());
        let run = Arc::new(RunStep {
            organization: begun.organization_slug.clone(),
            slug: begun.agent_slug.clone(),
            task: begun.id,
            step,
            of,
            trace_id: trace_id.clone(),
            security: Arc::clone(&plan.configured.security),
        });
        let caller = self.caller(actor, plan.limits);
        let call = caller.call(&ready.namespace, &ready.tool, params, run).boxed();
        let call = self.within(left, future::select(call, plan.cut_off.clone()));
        let cut = |what: &str| Ended { outcome: Err(what.to_owned()), approval: None };
        let Ended { outcome, approval } = match call.await {
            Some(Either::Left((ended, _))) => ended,
            Some(Either::Right(_)) => cut(STOPPED),
            None => cut(LATE),
        };
        let outcome = outcome.map_err(|error| kept(&error));
        let error = outcome.as_ref().err().cloned();
        told(Progress::Ended { step, success: outcome.is_ok(), error: error.clone() });
        let finished_at = self.clock.now();
        let tool = ready.full.clone();
        let step =
            Step { tool, success: outcome.is_ok(), trace_id, approval_id: approval, error, started_at, finished_at };
        Some((step, outcome))
    }

    async fn finish(&self, plan: Plan, begun: Task, document: Document, steps: Vec<Step>) -> Result<Built, BuildError> {
        let now = self.clock.now();
        let late = now >= begun.deadline;
        let longest = plan.limits.longest.as_secs();
        let late = late.then(|| format!("the run took longer than {longest} seconds"));
        let late = late.or_else(|| plan.is_cut_off().then(|| STOPPED.to_owned()));
        let (successful, failed) = (document.successful(), document.failed());
        let metadata = DeliverableMetadata {
            tools_executed: successful + failed,
            successful_tools: successful,
            failed_tools: failed,
            execution_mode: plan.merged.mode,
            stop_on_error: plan.merged.stop_on_error,
            tools_used: plan.merged.tools.clone(),
            omitted: document.omitted(),
        };
        let (content, results) = document.finish();
        let usual = || format!("Tool Execution: {}", plan.agent.agent.display_name);
        let made = NewDeliverable {
            id: plan.continues,
            title: plan.merged.title.clone().unwrap_or_else(usual),
            r#type: plan.configured.r#type.clone(),
            format: plan.configured.format,
            content,
            metadata,
        };
        let ended = Task {
            status: if late.is_some() { TaskStatus::Failed } else { TaskStatus::Completed },
            error: late,
            finished_at: Some(now),
            steps,
            ..begun
        };
        let deliverable = self.written_down(&ended, &made).await?;
        tracing::info!(
            agent.slug = %ended.agent_slug,
            task = %ended.id,
            successful,
            failed,
            "tool agent {} finished: {successful} of {} succeeded", plan.agent.path(), successful + failed
        );
        let version = DeliverableVersion { id: deliverable.id, version: deliverable.version };
        let task = Task { deliverable: Some(version), ..ended };
        Ok(Built { task, deliverable, results, ignored: plan.merged.ignored })
    }

    /// A store that is away for a moment does not lose what a run did.
    async fn written_down(&self, ended: &Task, made: &NewDeliverable) -> Result<Deliverable, BuildError> {
        let mut pauses = AGAIN_AFTER.into_iter();
        loop {
            let error = match self.agents.finish(ended, Some(made)).await {
                Ok(Some(deliverable)) => return Ok(deliverable),
                Ok(None) => StoreError::NotFound("the deliverable".into()),
                Err(error) => error,
            };
            let pause = pauses.next().filter(|_| matches!(error, StoreError::Unavailable(_)));
            let Some(pause) = pause else {
                return Err(BuildError::NotStored { task: ended.id, error });
            };
            self.clock.pause(pause).await;
        }
    }

    pub(super) fn caller<'a>(&'a self, actor: &'a Actor, limits: RunLimits) -> Caller<'a> {
        Caller { gateway: &self.gateway, credential: &actor.credential, reply_bytes: limits.reply_bytes }
    }

    /// `None`: it took longer. What is dropped unfinished is cancelled.
    pub(super) async fn within<T>(&self, time: Duration, work: impl Future<Output = T> + Send) -> Option<T> {
        match future::select(Box::pin(work), self.clock.pause(time)).await {
            Either::Left((done, _)) => Some(done),
            Either::Right(_) => None,
        }
    }
}

/// As much of an error as is kept, without what Postgres keeps in no text.
fn kept(error: &str) -> String {
    let error = error.replace('\0', "\u{fffd}");
    match error.char_indices().nth(LONGEST_ERROR) {
        Some((end, _)) => format!("{}...", error.get(..end).unwrap_or_default()),
        None => error,
    }
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_kept_as_far_as_it_can_be() {
        assert_eq!(kept("a\0é"), "a\u{fffd}é");
        let long = kept(&"é".repeat(LONGEST_ERROR + 1));
        assert!(long.ends_with("é...") && long.chars().count() == LONGEST_ERROR + 3);
        assert_eq!(kept(&"é".repeat(LONGEST_ERROR)).chars().count(), LONGEST_ERROR);
    }
}
