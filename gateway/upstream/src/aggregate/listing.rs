//! One list of tools out of many: asked of all members at once, named for the client, cut into pages.

use std::collections::HashSet;
use std::time::Duration;

use futures::future::join_all;
use gateway_core::ports::{Answered, UpstreamError};
use gateway_core::{Namespace, Permit};
use gateway_protocol::revision::meta;
use gateway_protocol::{Request, RpcError, code};
use serde_json::{Map, Value, json};

use super::{Aggregate, Member, Standing, answers, cursor, log_failure};
use crate::ask;

pub(super) const MEMBER_TIMEOUT: Duration = Duration::from_secs(10);
const PAGE: usize = 500;
/// Where a list says which members it lacks.
const UNAVAILABLE: &str = "io.portreeve/unavailable";

impl Aggregate {
    pub(super) async fn list_tools(&self, permit: &Permit, request: &Request, standing: &Standing) -> Answered {
        let each = self.members.iter().enumerate().map(|(place, member)| async move {
            match tokio::time::timeout(MEMBER_TIMEOUT, member_tools(place, member, permit, standing)).await {
                Ok(listed) => listed,
                Err(_) => Err(UpstreamError::TimedOut(member.namespace.clone())),
            }
        });
        let mut found = Vec::with_capacity(self.members.len());
        let mut unavailable = Vec::new();
        for (member, listed) in self.members.iter().zip(join_all(each).await) {
            match listed {
                Ok(tools) => found.push((member, tools)),
                Err(error) => {
                    log_failure(&member.namespace, &error);
                    unavailable.push(&member.namespace);
                }
            }
        }
        let tools = self.named(found);
        match page(request, tools) {
            Ok(mut result) => {
                if !unavailable.is_empty() {
                    let names: Vec<&str> = unavailable.into_iter().map(Namespace::as_str).collect();
                    result.insert("_meta".into(), json!({ UNAVAILABLE: names }));
                }
                answers::cacheable(request, result, permit.exchange().is_modern(), &self.server)
            }
            Err(refusal) => answers::refused(request, 200, refusal),
        }
    }

    /// Definitions under the names clients see, namespace by namespace. A name taken twice belongs to the built-in family
    /// that keeps it, otherwise to the first: that is also how it is resolved.
    fn named(&self, found: Vec<(&Member, Vec<Value>)>) -> Vec<(String, Value)> {
        let own_name = |tool: &Value| tool.get("name").and_then(Value::as_str).map(str::to_owned);
        let kept: HashSet<String> = found
            .iter()
            .filter(|(member, _)| member.keeps_names())
            .flat_map(|(_, tools)| tools.iter().filter_map(own_name))
            .collect();
        let mut taken = HashSet::new();
        let mut named = Vec::new();
        for (member, tools) in found {
            for mut tool in tools {
                let Some(name) = own_name(&tool) else { continue };
                let listed = member.listed_name(&self.separator, &name);
                if (!member.keeps_names() && kept.contains(&listed)) || !taken.insert(listed.clone()) {
                    tracing::warn!(namespace = %member.namespace, "left out `{name}` of {}: `{listed}` is taken", member.namespace);
                    continue;
                }
                if let Some(slot) = tool.get_mut("name") {
                    *slot = Value::String(listed.clone());
                }
                named.push((listed, tool));
            }
        }
        named
    }
}

async fn member_tools(
    place: usize,
    member: &Member,
    permit: &Permit,
    standing: &Standing,
) -> Result<Vec<Value>, UpstreamError> {
    let upstream = member.upstream.as_ref();
    let Standing::Session(session) = standing else {
        // The client's own description of itself; its progress token is for us.
        let described = permit.exchange().message().and_then(|message| message.meta()).map(|given| {
            let mut described = given.clone();
            described.remove(meta::PROGRESS_TOKEN);
            described
        });
        return ask::tools(upstream, &member.namespace, described.as_ref(), |message| permit.for_own(message, None))
            .await;
    };
    let mut inside = session.member(place, member, permit).await?;
    let listed =
        ask::tools(upstream, &member.namespace, None, |message| permit.for_own(message, Some(inside.clone()))).await;
    if !matches!(listed, Err(UpstreamError::SessionGone(_))) {
        return listed;
    }
    session.close(place, &inside).await;
    inside = session.member(place, member, permit).await?;
    ask::tools(upstream, &member.namespace, None, |message| permit.for_own(message, Some(inside.clone()))).await
}

fn page(request: &Request, tools: Vec<(String, Value)>) -> Result<Map<String, Value>, RpcError> {
    let digest = cursor::ListDigest::of(tools.iter().map(|(name, _)| name.as_str()));
    let length = tools.len();
    let start = match request.params.as_ref().and_then(|params| params.get("cursor")) {
        None => 0,
        Some(given) => given.as_str().and_then(|text| cursor::read(text, &digest, length)).ok_or_else(|| {
            RpcError::new(code::INVALID_PARAMS, "the cursor is not valid any more; list again without one")
        })?,
    };
    let page: Vec<Value> = tools.into_iter().skip(start).take(PAGE).map(|(_, tool)| tool).collect();
    let end = start + page.len();
    let mut result = Map::from_iter([("tools".into(), Value::Array(page))]);
    if end < length {
        result.insert("nextCursor".into(), Value::String(cursor::write(end, &digest)));
    }
    Ok(result)
}
