//! An MCP server as a provider: it is asked by `evidence_query`, in the gateway's own name, and shown to no agent.

mod capabilities;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use gateway_core::chain::EVIDENCE_QUERY;
use gateway_core::exchange::{Ask, Exchange, Route, Subject};
use gateway_core::gate::contracts::CheckContract;
use gateway_core::gate::evidence::EvidenceResult;
use gateway_core::ports::{EvidenceAsked, EvidenceProvider, Upstream};
use gateway_core::{Namespace, Permit, Principal, TraceId};
use gateway_protocol::{Message, Outcome, Revision};
use serde_json::{Map, Value, json};
use uuid::Uuid;

pub use capabilities::checks;

use crate::{ask, probe};

/// What it may say, as text.
const LARGEST_ANSWER: usize = 1024 * 1024;

/// In whose words it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ServerDialect {
    /// `query.predicate`, and tenants by name.
    #[default]
    Seed,
    /// `query.check_id`, and tenants and namespaces by number: everybody is number 1.
    Newer,
}

pub struct ServerSettings {
    /// With all its layers, so that it may be of any era.
    pub upstream: Arc<dyn Upstream>,
    pub namespace: Namespace,
    pub checks: Vec<CheckContract>,
    pub dialect: ServerDialect,
    pub timeout: Duration,
}

pub struct ServerProvider {
    settings: ServerSettings,
    principal: Arc<Principal>,
}

type Failed = (&'static str, String);

impl ServerProvider {
    pub fn new(settings: ServerSettings) -> Self {
        Self { settings, principal: Arc::new(Principal::anonymous()) }
    }

    async fn answer(&self, asked: &EvidenceAsked<'_>) -> Result<EvidenceResult, Failed> {
        let ServerSettings { upstream, namespace, timeout, .. } = &self.settings;
        let permit = Permit::for_evidence(self.question(asked));
        let outcome = match tokio::time::timeout(*timeout, ask::question(upstream.as_ref(), namespace, permit)).await {
            Ok(Ok((_, outcome))) => outcome,
            Ok(Err(error)) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "a provider could not be asked: {error}");
                return Err(("provider_unavailable", "the provider could not be reached".into()));
            }
            Err(_) => return Err(("timeout", "the provider did not answer in time".into())),
        };
        match outcome {
            Outcome::Result(result) => read(&result),
            Outcome::Error(error) => {
                // Its words are the provider's own and may hold anything.
                tracing::warn!(%namespace, code = error.code, words = error.message.len(), "a provider refused a question");
                Err(("provider_failed", format!("the provider answered with error {}", error.code)))
            }
        }
    }

    fn question(&self, asked: &EvidenceAsked<'_>) -> Exchange {
        let arguments = arguments(self.settings.dialect, asked);
        let params = Map::from_iter([
            ("name".into(), json!(EVIDENCE_QUERY)),
            ("arguments".into(), arguments),
            ("_meta".into(), Value::Object(probe::own_meta())),
        ]);
        let message = Message::request(ask::own_id(), "tools/call", Some(params));
        let route = Route::One(self.settings.namespace.clone());
        let trace_id = TraceId::from_uuid(Uuid::now_v7());
        let plain = Exchange::new(trace_id, Arc::clone(&self.principal), route, Ask::Message(message), Subject::Plain);
        Exchange { revision: Some(Revision::LATEST), ..plain }
    }
}

#[async_trait]
impl EvidenceProvider for ServerProvider {
    fn checks(&self) -> &[CheckContract] {
        &self.settings.checks
    }

    async fn query(&self, asked: &EvidenceAsked<'_>) -> EvidenceResult {
        let contract = self.settings.checks.iter().find(|contract| contract.check == asked.query.check);
        if let (Some(contract), Some(params)) = (contract, &asked.query.params)
            && let Err(words) = (contract.params)(params)
        {
            return EvidenceResult::failed("params_invalid", words);
        }
        match self.answer(asked).await {
            Ok(result) => result,
            Err((code, words)) => EvidenceResult::failed(code, words),
        }
    }
}

fn arguments(dialect: ServerDialect, asked: &EvidenceAsked<'_>) -> Value {
    let (query, context) = (asked.query, asked.context);
    let check = match dialect {
        ServerDialect::Seed => "predicate",
        ServerDialect::Newer => "check_id",
    };
    let mut said = json!({
        "query": { "provider_id": query.provider_id, check: query.check },
        "context": context,
    });
    if let (Some(params), Some(Value::Object(into))) = (&query.params, said.get_mut("query")) {
        into.insert("params".into(), params.clone());
    }
    if let (ServerDialect::Newer, Some(Value::Object(into))) = (dialect, said.get_mut("context")) {
        into.insert("tenant_id".into(), json!(1));
        into.insert("namespace_id".into(), json!(1));
    }
    said
}

/// The result in what the tool answered: as structured content, else as its first piece of content.
fn read(answer: &Value) -> Result<EvidenceResult, Failed> {
    if answer.get("isError").and_then(Value::as_bool).unwrap_or_default() {
        return Err(("provider_failed", "the provider answered with an error".into()));
    }
    let unreadable = || ("provider_failed", "the provider's answer is no evidence".to_owned());
    let first = answer.pointer("/content/0");
    let written;
    let result = match (answer.get("structuredContent"), first) {
        (Some(result), _) => result,
        (None, Some(first)) => match (first.get("json"), first.get("text").and_then(Value::as_str)) {
            (Some(result), _) => result,
            (None, Some(text)) if text.len() <= LARGEST_ANSWER => {
                written = serde_json::from_str(text).map_err(|_| unreadable())?;
                &written
            }
            (None, Some(_)) => return Err(too_large()),
            (None, None) => return Err(unreadable()),
        },
        (None, None) => return Err(unreadable()),
    };
    if result.to_string().len() > LARGEST_ANSWER {
        return Err(too_large());
    }
    // Neither a value nor an error nor anything else that belongs to evidence: then it is something else.
    if !result.as_object().is_some_and(|fields| fields.contains_key("value") || fields.contains_key("error")) {
        return Err(unreadable());
    }
    serde_json::from_value(result.clone()).map_err(|_| unreadable())
}

fn too_large() -> Failed {
    ("size_limit_exceeded", format!("the provider's answer has more than {LARGEST_ANSWER} bytes"))
}

#[cfg(test)]
mod tests;
