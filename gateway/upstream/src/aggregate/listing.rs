//! One list out of many: asked of all members at once, named for the client, cut into pages.

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

/// What members have lists of.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Kind {
    method: &'static str,
    /// Where the result has its entries.
    key: &'static str,
    /// What an entry is known by.
    name: &'static str,
}

const KINDS: [Kind; 4] = [
    Kind { method: "tools/list", key: "tools", name: "name" },
    Kind { method: "prompts/list", key: "prompts", name: "name" },
    Kind { method: "resources/list", key: "resources", name: "uri" },
    Kind { method: "resources/templates/list", key: "resourceTemplates", name: "uriTemplate" },
];

impl Kind {
    pub(super) fn of(method: &str) -> Option<&'static Self> {
        KINDS.iter().find(|kind| kind.method == method)
    }

    fn listed(&self, member: &Member, separator: &str, own: &str) -> String {
        match self.key {
            "tools" => member.listed_name(separator, own),
            "prompts" => format!("{}{separator}{own}", member.namespace),
            _ => member.speaker().outward(own),
        }
    }
}

impl Aggregate {
    pub(super) async fn list(
        &self,
        kind: &'static Kind,
        permit: &Permit,
        request: &Request,
        standing: &Standing,
    ) -> Answered {
        let each = self.members.iter().enumerate().map(|(place, member)| async move {
            match tokio::time::timeout(MEMBER_TIMEOUT, member_entries(kind, place, member, permit, standing)).await {
                Ok(listed) => listed,
                Err(_) => Err(UpstreamError::TimedOut(member.namespace.clone())),
            }
        });
        let mut found = Vec::with_capacity(self.members.len());
        let mut unavailable = Vec::new();
        for (member, listed) in self.members.iter().zip(join_all(each).await) {
            match listed {
                Ok(entries) => found.push((member, entries)),
                Err(error) => {
                    log_failure(&member.namespace, &error);
                    unavailable.push(&member.namespace);
                }
            }
        }
        match page(kind, request, self.named(kind, found)) {
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

    /// Entries under the names clients see, namespace by namespace. A name taken twice belongs to the built-in family that
    /// keeps it, otherwise to the first: that is also how it is resolved.
    fn named(&self, kind: &Kind, found: Vec<(&Member, Vec<Value>)>) -> Vec<(String, Value)> {
        let own_name = |entry: &Value| entry.get(kind.name).and_then(Value::as_str).map(str::to_owned);
        let kept: HashSet<String> = found
            .iter()
            .filter(|(member, _)| member.keeps_names())
            .flat_map(|(_, entries)| entries.iter().filter_map(own_name))
            .collect();
        let mut taken = HashSet::new();
        let mut named = Vec::new();
        for (member, entries) in found {
            for mut entry in entries {
                let Some(name) = own_name(&entry) else { continue };
                let listed = kind.listed(member, &self.separator, &name);
                if (!member.keeps_names() && kept.contains(&listed)) || !taken.insert(listed.clone()) {
                    tracing::warn!(namespace = %member.namespace, "left out `{name}` of {}: `{listed}` is taken", member.namespace);
                    continue;
                }
                if let Some(slot) = entry.get_mut(kind.name) {
                    *slot = Value::String(listed.clone());
                }
                named.push((listed, entry));
            }
        }
        named
    }
}

/// A member without such a list has nothing to add to it.
async fn member_entries(
    kind: &Kind,
    place: usize,
    member: &Member,
    permit: &Permit,
    standing: &Standing,
) -> Result<Vec<Value>, UpstreamError> {
    let (upstream, namespace, what) = (member.upstream.as_ref(), &member.namespace, (kind.method, kind.key));
    let Standing::Session(session) = standing else {
        let described = described(permit);
        let listed =
            ask::entries(upstream, namespace, what, described.as_ref(), |message| permit.for_own(message, None));
        return Ok(listed.await?.unwrap_or_default());
    };
    let mut inside = session.member(place, member, permit).await?;
    let within = |message| permit.for_own(message, Some(inside.clone()));
    let listed = ask::entries(upstream, namespace, what, None, within).await;
    if !matches!(listed, Err(UpstreamError::SessionGone(_))) {
        return Ok(listed?.unwrap_or_default());
    }
    session.close(place, &inside).await;
    inside = session.member(place, member, permit).await?;
    let within = |message| permit.for_own(message, Some(inside.clone()));
    Ok(ask::entries(upstream, namespace, what, None, within).await?.unwrap_or_default())
}

/// The client's own description of itself, as members must hear it; its progress token is for us.
pub(super) fn described(permit: &Permit) -> Option<Map<String, Value>> {
    let mut described = permit.exchange().message()?.meta()?.clone();
    described.remove(meta::PROGRESS_TOKEN);
    Some(described)
}

fn page(kind: &Kind, request: &Request, entries: Vec<(String, Value)>) -> Result<Map<String, Value>, RpcError> {
    let digest = cursor::ListDigest::of(entries.iter().map(|(name, _)| name.as_str()));
    let length = entries.len();
    let start = match request.params.as_ref().and_then(|params| params.get("cursor")) {
        None => 0,
        Some(given) => given.as_str().and_then(|text| cursor::read(text, &digest, length)).ok_or_else(|| {
            RpcError::new(code::INVALID_PARAMS, "the cursor is not valid any more; list again without one")
        })?,
    };
    let page: Vec<Value> = entries.into_iter().skip(start).take(PAGE).map(|(_, entry)| entry).collect();
    let end = start + page.len();
    let mut result = Map::from_iter([(kind.key.into(), Value::Array(page))]);
    if end < length {
        result.insert("nextCursor".into(), Value::String(cursor::write(end, &digest)));
    }
    Ok(result)
}
