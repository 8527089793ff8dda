//! Does an answer speak to the model that will read it?
//!
//! A heuristic over phrases (`policies/injection.yaml`) and no more than that: it finds what is said in the ways that people
//! usually say it, in the first part of each text, and nothing that is phrased as data. It warns the reader, or, where an
//! operator says so, keeps the answer back. It grants nothing and is no reason to trust what it passes.

mod passages;
mod reader;

use gateway_core::chain::PluginMode;
use gateway_core::content::Found;
use gateway_core::injection::{InjectionAction, InjectionRules, Suspicion};
use gateway_core::{Exchange, Mutator, Verdict};
use gateway_protocol::{Message, Outcome, Reply, ReplyKind, ResultKind};
use serde_json::{Map, Value, json};

pub use reader::{Reader, WrittenInjection};

pub const NAME: &str = "injection";

/// Where an answer says what is suspicious about it.
const WARNINGS: &str = "io.portreeve/warnings";
/// Texts of one answer that are read.
const MOST_TEXTS: usize = 1_000;

pub struct Injection {
    rules: InjectionRules,
    /// What is only observed is not changed either.
    observes: bool,
}

impl Injection {
    pub fn new(rules: InjectionRules, mode: PluginMode) -> Self {
        Self { rules, observes: mode == PluginMode::Observe }
    }

    fn action(&self, exchange: &Exchange) -> InjectionAction {
        let tool = exchange.tool().and_then(|tool| tool.classified.as_ref());
        tool.and_then(|tool| tool.handling.injection).unwrap_or(self.rules.action)
    }

    fn suspicion(&self, result: &Value) -> Option<Suspicion> {
        let mut texts = Vec::new();
        gather(result, &mut texts);
        let found = self.rules.reader.read(&mut texts.into_iter());
        (found.score >= self.rules.score).then_some(found)
    }
}

impl Mutator for Injection {
    fn name(&self) -> &'static str {
        NAME
    }

    fn on_request(&self, _: &mut Exchange) -> Verdict {
        Verdict::Pass
    }

    fn reviews_replies(&self) -> bool {
        // What is off for all may be on for one tool; without phrases there is nothing to look for.
        !self.rules.reader.digest().is_empty()
    }

    fn on_reply(&self, exchange: &Exchange, reply: &mut Reply, _: &mut Found) -> Verdict {
        if !is_read(exchange) || !matches!(reply.kind(), ReplyKind::Result { kind: ResultKind::Complete, .. }) {
            return Verdict::Pass;
        }
        let action = self.action(exchange);
        if action == InjectionAction::Off || !self.rules.reader.suspects(reply.raw()) {
            return Verdict::Pass;
        }
        let Ok(Message::Response(mut response)) = reply.message() else { return Verdict::Pass };
        let Outcome::Result(result) = &mut response.outcome else { return Verdict::Pass };
        let Some(found) = self.suspicion(result) else { return Verdict::Pass };
        let families = found.families.join(", ");
        tracing::info!(trace = %exchange.trace_id, score = found.score, "an answer reads like instructions ({families})");
        if action == InjectionAction::Block {
            let message = format!("the answer reads like instructions to whoever reads it ({families})");
            return Verdict::deny("instructions", message);
        }
        if !self.observes && warn(result, &found) {
            *reply = Reply::from_message(&Message::Response(response));
        }
        Verdict::Pass
    }
}

/// What a model reads: a tool's answer, a resource, a prompt. Our own tools speak for us.
fn is_read(exchange: &Exchange) -> bool {
    match exchange.tool() {
        Some(tool) => !tool.governs(),
        None => matches!(exchange.method(), Some("resources/read" | "prompts/get" | "tasks/result" | "tasks/get")),
    }
}

fn warn(result: &mut Value, found: &Suspicion) -> bool {
    let Some(result) = result.as_object_mut() else { return false };
    let meta = result.entry("_meta").or_insert_with(|| json!({}));
    let Some(meta) = meta.as_object_mut() else { return false };
    let warning = json!({ "rule": "instructions", "score": found.score, "families": found.families });
    match meta.get_mut(WARNINGS).and_then(Value::as_array_mut) {
        Some(warnings) => warnings.push(warning),
        None => drop(meta.insert(WARNINGS.into(), json!([warning]))),
    }
    true
}

/// Every text of a result that could be prose, in the order they come. Only the protocol's own words are left out, where they
/// stand: a tool's data may have members of the same names.
fn gather<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    match value {
        _ if texts.len() >= MOST_TEXTS => {}
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.iter().for_each(|item| gather(item, texts)),
        Value::Object(members) => {
            let read = |(name, value): &(&String, &Value)| !is_mark(name, value) && !is_binary(members, name, value);
            members.iter().filter(read).for_each(|(_, value)| gather(value, texts));
        }
        _ => {}
    }
}

/// One word that says what something is, or what to give back.
fn is_mark(name: &str, value: &Value) -> bool {
    let word = || value.as_str().is_some_and(|text| !text.contains(char::is_whitespace));
    matches!(name, "type" | "mimeType" | "requestState") && word()
}

/// Base64, which is no text and is large: what a block says of itself, unless there are words in it.
fn is_binary(block: &Map<String, Value>, name: &str, value: &Value) -> bool {
    let kind = || block.get("type").and_then(Value::as_str);
    let says_so = match name {
        "data" => matches!(kind(), Some("image" | "audio")),
        "blob" => block.contains_key("uri"),
        _ => false,
    };
    says_so && value.as_str().is_some_and(|text| !text.contains(' '))
}

#[cfg(test)]
mod tests;
