//! Gates before tools: where the bound run is, is asked when a call is judged and remembered by nobody; what came of the
//! call is noted in the run's transcript.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use futures::StreamExt;
use futures::stream::BoxStream;
use gateway_protocol::{Message, Outcome, Reply, ReplyKind, sse};
use serde_json::{Map, Value, json};

use super::{Gateway, Ports};
use crate::exchange::Exchange;
use crate::gate::binding::{GateBinding, GateFacts, Gates, RUN_META, RunFacts, RunFrom};
use crate::gate::records::{CallError, Outcome as Decided, Target};
use crate::gate::{Correlation, Digest, GateTime, Head, Id, RunStatus};
use crate::names::TenantId;
use crate::ports::{GateStore, NewCall, RunQuery, StoreError};
use crate::rules::RuleSet;

/// An agent that leaves more runs open than this must name the one it means.
const OPEN_RUNS: i64 = 20;
/// So many may stand before one call.
const GATES: usize = 8;
/// Deeper than any answer that was let through.
const DEPTH: usize = 256;

impl Gateway {
    /// Whatever stands before the tool, as it is now. Costs nothing where nothing does.
    pub(super) async fn look_at_gates(&self, rules: &RuleSet, exchange: &mut Exchange) -> Result<(), StoreError> {
        look(self.ports.runs.as_ref(), rules, exchange).await
    }

    /// The upstream could not be asked, or gave no answer.
    pub(super) async fn note_failure(&self, exchange: &Exchange) {
        if !stands_before(exchange) {
            return;
        }
        let message = "the upstream failed";
        let error = CallError { code: "upstream_failed".into(), message: message.into(), details: None };
        note_outcome(&self.ports, exchange, &json!({ "message": message }), Some(error)).await;
    }
}

async fn look(runs: &dyn GateStore, rules: &RuleSet, exchange: &mut Exchange) -> Result<(), StoreError> {
    let bindings = bindings(rules, exchange);
    if bindings.is_empty() {
        return Ok(());
    }
    let mut looked = Vec::with_capacity(bindings.len());
    for binding in bindings {
        let named = named(&binding, exchange);
        let head = match (exchange.principal.tenant, &named, &binding.run_from) {
            (None, _, _) => None,
            (Some(tenant), Some(named), _) => runs.run(tenant, named, None).await?.map(|found| found.head),
            (Some(tenant), None, RunFrom::Agent) => newest(runs, tenant, &binding, exchange).await?,
            (Some(_), None, _) => None,
        };
        let run = head.map(|head| facts(&head, exchange));
        looked.push(GateFacts { binding, named, run });
    }
    exchange.gates = Gates::Looked(looked);
    Ok(())
}

/// What the tool's manifest and the rules put before it, each once. Nothing stands before the gateway's own tools, which
/// are what opens gates.
fn bindings(rules: &RuleSet, exchange: &Exchange) -> Vec<Arc<GateBinding>> {
    let Some(tool) = exchange.tool().filter(|tool| !tool.governs()) else { return Vec::new() };
    let own = tool.classified.as_ref().and_then(|known| known.handling.gate.clone());
    let mut all: Vec<Arc<GateBinding>> = own.into_iter().collect();
    let mut add = |binding: &Arc<GateBinding>| {
        // What is not looked at stays closed.
        if all.len() < GATES && !all.contains(binding) {
            all.push(Arc::clone(binding));
        }
    };
    rules.gates(exchange, &mut add);
    exchange.rules.rules.gates(exchange, &mut add);
    all
}

/// Which run the call says it belongs to.
fn named(binding: &GateBinding, exchange: &Exchange) -> Option<String> {
    let found = match &binding.run_from {
        RunFrom::Fixed(run) => return Some(run.to_string()),
        RunFrom::Agent => return None,
        RunFrom::Meta => exchange.message()?.params()?.get("_meta")?.get(RUN_META)?,
        RunFrom::Argument(path) => path.split('.').try_fold(exchange.arguments()?, |value, step| value.get(step))?,
    };
    // What could name no run is not repeated to anybody.
    found.as_str().and_then(|text| Id::try_from(text).ok()).map(String::from)
}

/// The newest active run of the scenario that names the caller.
async fn newest(
    runs: &dyn GateStore,
    tenant: TenantId,
    binding: &GateBinding,
    exchange: &Exchange,
) -> Result<Option<Head>, StoreError> {
    let scenario = Some(binding.scenario.to_string());
    let query = RunQuery { tenant, scenario, status: Some(RunStatus::Active), limit: OPEN_RUNS };
    for line in runs.runs(&query).await? {
        if line.spec_hash != binding.spec_hash.hex() {
            continue;
        }
        let found = runs.run(tenant, &line.run_id, None).await?.map(|found| found.head);
        if let Some(head) = found.filter(|head| head.is_active() && (binding.anyone || names(head, exchange))) {
            return Ok(Some(head));
        }
    }
    Ok(None)
}

fn names(head: &Head, exchange: &Exchange) -> bool {
    let caller = exchange.principal.agent.as_str();
    head.dispatch_targets
        .iter()
        .any(|target| matches!(target, Target::Agent { agent_id } if agent_id.as_str() == caller))
}

fn facts(head: &Head, exchange: &Exchange) -> RunFacts {
    let unmet = match head.last_decision.as_ref().map(|decision| &decision.outcome) {
        Some(Decided::Hold { summary }) => summary.unmet_gates.clone(),
        _ => Vec::new(),
    };
    RunFacts {
        run_id: head.run_id.clone(),
        spec_hash: head.spec_hash,
        stage: head.current_stage_id.clone(),
        status: head.status,
        names_caller: names(head, exchange),
        decision: head.last_decision.as_ref().map(|decision| decision.decision_id.clone()),
        unmet,
    }
}

/// Whether there is a transcript that wants to know how it ends.
pub(super) fn stands_before(exchange: &Exchange) -> bool {
    !runs_of(exchange).is_empty()
}

/// The runs under which it passed, each once. One whose gate was closed, and only told so, has no part in it.
fn runs_of(exchange: &Exchange) -> Vec<&RunFacts> {
    let (Gates::Looked(looked), Some(tool)) = (&exchange.gates, exchange.tool()) else { return Vec::new() };
    let mut runs: Vec<&RunFacts> = Vec::new();
    for facts in looked.iter().filter(|facts| facts.objection(tool.name.as_str()).is_none()) {
        runs.extend(facts.run.as_ref().filter(|run| !runs.iter().any(|other| other.run_id == run.run_id)));
    }
    runs
}

/// Before the answer goes out: whoever has it finds it in the transcript.
pub(super) async fn note(ports: &Ports, exchange: &Exchange, reply: &Reply) {
    if !stands_before(exchange) {
        return;
    }
    let Ok(Message::Response(response)) = reply.message() else { return };
    let error = match reply.kind() {
        ReplyKind::Error { code } => Some((code.to_string(), "the call was answered with an error")),
        ReplyKind::Result { tool_error: true, .. } => {
            Some(("tool_error".to_owned(), "the tool answered with an error"))
        }
        _ => None,
    };
    // Its own words are in the answer, of which the hash is kept.
    let error = error.map(|(code, message)| CallError { code, message: message.into(), details: None });
    let answer = match response.outcome {
        Outcome::Result(result) => result,
        Outcome::Error(error) => json!(error),
    };
    note_outcome(ports, exchange, &answer, error).await;
}

/// The same for an answer that comes as a stream: noted when its last message passes.
pub(super) fn noting(
    frames: BoxStream<'static, sse::Frame>,
    ports: Arc<Ports>,
    exchange: Box<Exchange>,
) -> BoxStream<'static, sse::Frame> {
    let shared = Arc::new((ports, exchange));
    let each = move |frame: sse::Frame| {
        let shared = Arc::clone(&shared);
        async move {
            if let Some(reply) = last(&frame) {
                note(&shared.0, &shared.1, &reply).await;
            }
            frame
        }
    };
    frames.then(each).boxed()
}

fn last(frame: &sse::Frame) -> Option<Reply> {
    let sse::Frame::Event(event) = frame else { return None };
    if event.dataless || event.data.is_empty() {
        return None;
    }
    Reply::scan(event.data.clone(), DEPTH).ok().filter(Reply::is_final)
}

async fn note_outcome(ports: &Ports, exchange: &Exchange, answer: &Value, error: Option<CallError>) {
    let (Some(tenant), Some(tool)) = (exchange.principal.tenant, exchange.tool()) else { return };
    let nothing = Value::Object(Map::new());
    let arguments = exchange.arguments().unwrap_or(&nothing);
    let hashes = Digest::of_json(arguments).and_then(|request| Ok((request, Digest::of_json(answer)?)));
    let (request_hash, response_hash) = match hashes {
        Ok(hashes) => hashes,
        Err(refusal) => return tracing::error!(trace = %exchange.trace_id, "a call could not be noted: {refusal}"),
    };
    let call = NewCall {
        method: tool.name.to_string(),
        request_hash,
        response_hash,
        called_at: GateTime::UnixMillis(exchange.at.as_millisecond()),
        correlation_id: Correlation::try_from(exchange.trace_id.as_str()).ok(),
        error,
    };
    for run in runs_of(exchange) {
        // It was made, and its trace names the run: the answer goes out all the same.
        if let Err(error) = ports.runs.note(tenant, run.run_id.as_str(), &call).await {
            let (run, trace) = (&run.run_id, &exchange.trace_id);
            tracing::error!(%run, %trace, error = &error as &dyn std::error::Error, "a call could not be noted: {error}");
        }
    }
}
