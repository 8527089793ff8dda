//! What all members together can do: asked of each when it is first needed, and remembered for all clients.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use gateway_core::Permit;
use gateway_core::ports::UpstreamError;
use gateway_protocol::{Message, Outcome};
use moka::sync::Cache;
use serde_json::{Map, Value, json};

use super::listing::described;
use super::{Aggregate, Member, Standing};
use crate::ask;

type Capabilities = Map<String, Value>;

/// A client waits for its greeting, so members have little time for theirs.
const TIME: Duration = Duration::from_secs(2);
const KNOWN: Duration = Duration::from_secs(600);
const AWAY: Duration = Duration::from_secs(60);

/// By the member's place, and whether it was asked in the stateless era.
pub(super) struct Greetings {
    known: Cache<(usize, bool), Arc<Capabilities>>,
    /// Did not answer, and is not waited for again so soon.
    away: Cache<(usize, bool), ()>,
}

impl Greetings {
    pub(super) fn new() -> Self {
        let known = Cache::builder().time_to_live(KNOWN).build();
        Self { known, away: Cache::builder().time_to_live(AWAY).build() }
    }
}

impl Aggregate {
    pub(super) async fn capabilities(&self, permit: &Permit, standing: &Standing) -> Capabilities {
        let each = self.members.iter().enumerate().map(|(place, member)| self.greeted(place, member, permit, standing));
        united(join_all(each).await.iter().flatten().map(AsRef::as_ref))
    }

    async fn greeted(
        &self,
        place: usize,
        member: &Member,
        permit: &Permit,
        standing: &Standing,
    ) -> Option<Arc<Capabilities>> {
        let key = (place, matches!(standing, Standing::Modern));
        if let Some(known) = self.greetings.known.get(&key) {
            return Some(known);
        }
        if self.greetings.away.contains_key(&key) {
            return None;
        }
        match tokio::time::timeout(TIME, greet(place, member, permit, standing)).await {
            Ok(Ok(said)) => {
                let said = Arc::new(said);
                self.greetings.known.insert(key, Arc::clone(&said));
                Some(said)
            }
            Ok(Err(error)) => {
                tracing::debug!(namespace = %member.namespace, "does not say what it can do: {error}");
                self.greetings.away.insert(key, ());
                None
            }
            Err(_) => {
                self.greetings.away.insert(key, ());
                None
            }
        }
    }
}

async fn greet(
    place: usize,
    member: &Member,
    permit: &Permit,
    standing: &Standing,
) -> Result<Capabilities, UpstreamError> {
    if let Standing::Session(session) = standing {
        session.member(place, member, permit).await?;
        return Ok(session.greeting(place).unwrap_or_default());
    }
    let params = described(permit).map(|meta| Map::from_iter([("_meta".to_owned(), Value::Object(meta))]));
    let question = permit.for_own(Message::request(ask::own_id(), "server/discover", params), None);
    match ask::question(member.upstream.as_ref(), &member.namespace, question).await?.1 {
        Outcome::Result(result) => {
            Ok(result.get("capabilities").and_then(Value::as_object).cloned().unwrap_or_default())
        }
        Outcome::Error(error) => Err(ask::refused(&member.namespace, &error)),
    }
}

/// What any of them can do, of what is led to members here. There are always tools: the gateway has its own.
fn united<'a>(all: impl Iterator<Item = &'a Capabilities>) -> Capabilities {
    let mut united = Map::from_iter([("tools".to_owned(), json!({}))]);
    for said in all {
        for area in ["tools", "prompts", "resources", "completions", "logging"] {
            let Some(flags) = said.get(area).and_then(Value::as_object) else { continue };
            let Some(known) = united.entry(area).or_insert_with(|| json!({})).as_object_mut() else { continue };
            let on = flags
                .iter()
                .filter(|(name, on)| matches!(name.as_str(), "listChanged" | "subscribe") && **on == Value::Bool(true));
            known.extend(on.map(|(name, on)| (name.clone(), on.clone())));
        }
    }
    united
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;

    #[test]
    fn what_one_can_all_can() {
        let said = [
            json!({ "tools": { "listChanged": false }, "logging": {}, "resources": { "subscribe": true, "listChanged": false } }),
            json!({ "resources": { "listChanged": true }, "completions": {}, "prompts": { "other": true } }),
        ];
        let all = united(said.iter().map(|said| said.as_object().unwrap()));
        let expected = json!({
            "tools": {}, "resources": { "subscribe": true, "listChanged": true }, "completions": {}, "prompts": {},
            "logging": {},
        });
        assert_eq!(Value::Object(all), expected);
        assert_eq!(Value::Object(united(std::iter::empty())), json!({ "tools": {} }));
    }
}
