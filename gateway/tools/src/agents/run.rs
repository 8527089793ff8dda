//! A run of a tool agent, read top to bottom: load, merge, check everything, call, write down.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::{self, BoxFuture, Either};
use futures::{FutureExt, StreamExt, stream};
use gateway_core::agents::{
    Deliverable, DeliverableMetadata, DeliverableVersion, ExecutionMode, NewDeliverable, RunStep, Step, Task,
    TaskStatus, ToolAgent,
};
use gateway_core::ports::{
    Actor, BuildError, BuildRequest, Built, Clock, Progress, Runner, StoreError, Told, ToolAgents,
};
use gateway_core::{Gateway, Namespace, Route, TenantId, TraceId};
use jiff::Timestamp;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::call::{Caller, Ended};
use super::chain::Chained;
use super::descriptor::{self, Configuration};
use super::format::{Bounds, Document};
use super::interpolate::{self, Scope};
use super::merge::{self, Merged};
use super::validate;

/// How long a server may take to say that it is there.
const THERE_WITHIN: Duration = Duration::from_secs(5);
/// Between tries to write down how a run ended.
const AGAIN_AFTER: [Duration; 3] = [Duration::from_millis(250), Duration::from_secs(1), Duration::from_secs(4)];
const LATE: &str = "the run's time was over";

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

pub struct ToolAgentRunner {
    pub gateway: Arc<Gateway>,
    pub agents: Arc<dyn ToolAgents>,
    pub clock: Arc<dyn Clock>,
    pub limits: RunLimits,
}

/// One tool of a run that is ready to be called.
struct Ready {
    full: String,
    namespace: Namespace,
    tool: String,
    params: Map<String, Value>,
}

type Attempted = (Step, Result<Value, String>);

/// Everything that a run needs once it has been checked.
struct Plan {
    agent: ToolAgent,
    configured: Configuration,
    merged: Merged,
    tools: Vec<Ready>,
    continues: Option<Uuid>,
}

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
    /// Nothing has run when this says no.
    async fn checked(
        &self,
        tenant: TenantId,
        slug: &str,
        actor: &Actor,
        request: &BuildRequest,
    ) -> Result<Plan, BuildError> {
        validate::mode(&request.mode, true)?;
        let agent = self.agents.get(tenant, slug).await.map_err(|error| match error {
            StoreError::NotFound(_) => BuildError::UnknownAgent(slug.to_owned()),
            other => BuildError::Store(other),
        })?;
        validate::runnable(&agent)?;
        let configured = descriptor::read(&agent.agent.yaml)?;
        validate::mode(&request.mode, configured.supports_build)?;
        let merged = merge::merge(&configured, &request.payload)?;
        let named = validate::names(&merged.tools, self.limits.tools)?;
        let scope = Scope { payload: &request.payload, metadata: &request.metadata };
        let nothing = Map::new();
        let mut filled = Vec::with_capacity(named.len());
        for one in &named {
            let written = merged.tool_params.get(one.full).and_then(Value::as_object).unwrap_or(&nothing);
            filled.push(interpolate::params(one.full, written, scope)?);
        }
        let continues = self.known_deliverable(tenant, &agent, request).await?;
        let engine = self.gateway.engine();
        let needed = validate::namespaces(&named, &engine.namespaces(), |name| {
            let namespace: Namespace = name.parse().ok()?;
            engine.lacks(&namespace).map(<[String]>::to_vec)
        })?;
        self.there(&needed, actor).await?;
        let mut tools = Vec::with_capacity(named.len());
        for (one, params) in named.iter().zip(filled) {
            let unknown =
                || BuildError::UnknownNamespace { namespace: one.namespace.to_owned(), available: Vec::new() };
            let namespace = one.namespace.parse::<Namespace>().map_err(|_| unknown())?;
            tools.push(Ready { full: one.full.to_owned(), namespace, tool: one.tool.to_owned(), params });
        }
        drop(named);
        Ok(Plan { agent, configured, merged, tools, continues })
    }

    async fn known_deliverable(
        &self,
        tenant: TenantId,
        agent: &ToolAgent,
        request: &BuildRequest,
    ) -> Result<Option<Uuid>, BuildError> {
        let Some(id) = request.continues()? else {
            return Ok(None);
        };
        match self.agents.deliverable(tenant, id, None).await {
            Ok(found) if found.agent_slug == agent.agent.slug => Ok(Some(id)),
            Ok(_) | Err(StoreError::NotFound(_)) => Err(BuildError::UnknownDeliverable(id)),
            Err(error) => Err(BuildError::Store(error)),
        }
    }

    /// Every server that the run needs answers, asked all at once.
    async fn there(&self, needed: &[Namespace], actor: &Actor) -> Result<(), BuildError> {
        let caller = self.caller(actor);
        let asked: Vec<BoxFuture<'_, bool>> =
            needed.iter().map(|namespace| self.answers(&caller, namespace).boxed()).collect();
        let answers = future::join_all(asked).await;
        match needed.iter().zip(answers).find(|(_, there)| !there) {
            Some((namespace, _)) => Err(BuildError::ServerDown(namespace.to_string())),
            None => Ok(()),
        }
    }

    async fn answers(&self, caller: &Caller<'_>, namespace: &Namespace) -> bool {
        let Some(upstream) = self.gateway.engine().upstream(&Route::One(namespace.clone())) else {
            return false;
        };
        let reached = async { upstream.available().await.is_ok() && caller.is_there(namespace).await };
        self.within(THERE_WITHIN, reached).await.unwrap_or(false)
    }

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
            deadline: started_at.checked_add(self.limits.longest).unwrap_or(Timestamp::MAX),
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
        let mut document = Document::new(plan.configured.format, self.limits.bounds);
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
        let mut document = Document::new(plan.configured.format, self.limits.bounds);
        let mut steps = Vec::new();
        let attempt = |(place, ready): (usize, &'a Ready)| {
            self.attempt(plan, actor, begun, told, (place, ready), ready.params.clone()).boxed()
        };
        let attempts: Vec<BoxFuture<'a, Option<Attempted>>> = plan.tools.iter().enumerate().map(attempt).collect();
        let mut running = stream::iter(attempts).buffered(self.limits.at_once.max(1));
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
        let left = Duration::try_from(left).ok().filter(|left| !left.is_zero())?;
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
        let caller = self.caller(actor);
        let call = caller.call(&ready.namespace, &ready.tool, params, run);
        let late = || Ended { outcome: Err(LATE.to_owned()), approval: None };
        let Ended { outcome, approval } = self.within(left, call).await.unwrap_or_else(late);
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
        let longest = self.limits.longest.as_secs();
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
            status: if late { TaskStatus::Failed } else { TaskStatus::Completed },
            error: late.then(|| format!("the run took longer than {longest} seconds")),
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

    fn caller<'a>(&'a self, actor: &'a Actor) -> Caller<'a> {
        Caller { gateway: &self.gateway, credential: &actor.credential, reply_bytes: self.limits.reply_bytes }
    }

    /// `None`: it took longer. What is dropped unfinished is cancelled.
    async fn within<T>(&self, time: Duration, work: impl Future<Output = T> + Send) -> Option<T> {
        match future::select(Box::pin(work), self.clock.pause(time)).await {
            Either::Left((done, _)) => Some(done),
            Either::Right(_) => None,
        }
    }
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
