//! What a run will do, once everything about it has been checked: the first thing that is wrong is the answer.

use std::time::Duration;

use futures::FutureExt;
use futures::future::{self, BoxFuture, Shared};
use gateway_core::agents::ToolAgent;
use gateway_core::ports::{Actor, BuildError, BuildRequest, StoreError};
use gateway_core::{Namespace, Route, TenantId};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::call::Caller;
use super::descriptor::{self, Configuration};
use super::interpolate::{self, Scope};
use super::merge::{self, Merged};
use super::run::{RunLimits, ToolAgentRunner};
use super::validate;

/// How long a server may take to say that it is there: a program that has to be started first takes its time, and who is
/// gone is told at once.
const THERE_WITHIN: Duration = Duration::from_secs(20);

/// One tool of a run that is ready to be called.
pub(super) struct Ready {
    pub(super) full: String,
    pub(super) namespace: Namespace,
    pub(super) tool: String,
    pub(super) params: Map<String, Value>,
}

/// Everything that a run needs once it has been checked.
pub(super) struct Plan {
    pub(super) agent: ToolAgent,
    pub(super) configured: Configuration,
    pub(super) merged: Merged,
    pub(super) tools: Vec<Ready>,
    pub(super) continues: Option<Uuid>,
    pub(super) limits: RunLimits,
    pub(super) cut_off: Shared<BoxFuture<'static, ()>>,
}

impl Plan {
    pub(super) fn is_cut_off(&self) -> bool {
        self.cut_off.clone().now_or_never().is_some()
    }
}

impl ToolAgentRunner {
    /// Nothing has run when this says no.
    pub(super) async fn checked(
        &self,
        tenant: TenantId,
        slug: &str,
        actor: &Actor,
        request: &BuildRequest,
    ) -> Result<Plan, BuildError> {
        let limits = (self.limits)();
        validate::mode(&request.mode, true)?;
        let agent = self.agents.get(tenant, slug).await.map_err(|error| match error {
            StoreError::NotFound(_) => BuildError::UnknownAgent(slug.to_owned()),
            other => BuildError::Store(other),
        })?;
        validate::runnable(&agent)?;
        let configured = descriptor::read(&agent.agent.yaml)?;
        validate::mode(&request.mode, configured.supports_build)?;
        if request.conversation_id.as_deref().is_some_and(|id| !descriptor::one_line(id)) {
            return Err(BuildError::Payload("conversationId: expected one line of at most 255 letters".into()));
        }
        let merged = merge::merge(&configured, &request.payload)?;
        let named = validate::names(&merged.tools, limits.tools)?;
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
        self.there(&needed, &self.caller(actor, limits)).await?;
        let mut tools = Vec::with_capacity(named.len());
        for (one, params) in named.iter().zip(filled) {
            let unknown =
                || BuildError::UnknownNamespace { namespace: one.namespace.to_owned(), available: Vec::new() };
            let namespace = one.namespace.parse::<Namespace>().map_err(|_| unknown())?;
            tools.push(Ready { full: one.full.to_owned(), namespace, tool: one.tool.to_owned(), params });
        }
        drop(named);
        let cut_off = (self.cut_off)().shared();
        Ok(Plan { agent, configured, merged, tools, continues, limits, cut_off })
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
    async fn there(&self, needed: &[Namespace], caller: &Caller<'_>) -> Result<(), BuildError> {
        let asked: Vec<BoxFuture<'_, bool>> =
            needed.iter().map(|namespace| self.answers(caller, namespace).boxed()).collect();
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
}
