//! Which arguments a modern upstream's tools want repeated in headers. A legacy client never heard of them, so the gateway looks
//! into the definitions: into those that pass by, and into the whole list when the upstream misses a header.

use std::sync::Arc;

use gateway_core::ports::{Answered, Content, Upstream, UpstreamError};
use gateway_core::{Namespace, Permit};
use gateway_protocol::headers::{Mirrored, mirrored};
use gateway_protocol::{Message, ReplyKind, code};
use moka::sync::Cache;
use serde_json::Value;

use super::eras;
use crate::{ask, probe};

const MAX_TOOLS: u64 = 20_000;

pub(super) struct Mirrors(Cache<String, Arc<[Mirrored]>>);

impl Mirrors {
    pub(super) fn new() -> Self {
        Self(Cache::builder().max_capacity(MAX_TOOLS).build())
    }

    /// Learns from a list of tools on its way to a client.
    pub(super) fn note(&self, method: &str, result: &Value) {
        if method == "tools/list" {
            self.learn(result.get("tools").and_then(Value::as_array).into_iter().flatten());
        }
    }

    fn learn<'a>(&self, definitions: impl IntoIterator<Item = &'a Value>) {
        for definition in definitions {
            let Some(name) = definition.get("name").and_then(Value::as_str) else { continue };
            let wanted = mirrored(definition);
            // Most tools want none, and need not be remembered for it.
            if wanted.is_empty() {
                self.0.invalidate(name);
            } else {
                self.0.insert(name.to_owned(), wanted.into());
            }
        }
    }

    /// Calls with the headers the tool is known to want. An upstream that misses one has done nothing yet: then its list says
    /// which, and it is called once more.
    pub(super) async fn call(
        &self,
        inner: &dyn Upstream,
        namespace: &Namespace,
        permit: &mut Permit,
    ) -> Result<Answered, UpstreamError> {
        let Some(tool) = tool(permit) else { return inner.call(permit).await };
        if let Some(wanted) = self.0.get(&tool) {
            *permit = permit.mirroring(&wanted);
        }
        let answered = inner.call(permit).await?;
        if !misses_a_header(&answered) {
            return Ok(answered);
        }
        let exchange = permit.exchange().clone();
        let meta = probe::own_meta();
        if let Ok(tools) = ask::tools(inner, namespace, Some(&meta), |message| eras::own(&exchange, message)).await {
            self.learn(&tools);
        }
        match self.0.get(&tool) {
            Some(wanted) => {
                *permit = permit.mirroring(&wanted);
                inner.call(permit).await
            }
            None => Ok(answered),
        }
    }
}

fn tool(permit: &Permit) -> Option<String> {
    match permit.exchange().message()? {
        Message::Request(request) => request.tool_name().map(str::to_owned),
        _ => None,
    }
}

fn misses_a_header(answered: &Answered) -> bool {
    let Content::One(reply) = &answered.content else { return false };
    reply.kind() == ReplyKind::Error { code: code::HEADER_MISMATCH }
}
