//! Do the arguments fit what the tool says it takes, and its answer what it says it gives?
//!
//! The definition is the one that was accepted, so a server cannot widen what it takes between two calls. A schema that
//! cannot be read denies: nobody could say that the check was made. Our own tools check for themselves, in words of
//! their own (`builtin/check.rs`), and have no definition here.

mod compile;
mod excused;
mod survey;
mod told;

use std::sync::LazyLock;

use gateway_core::content::Found;
use gateway_core::definitions::{CheckJson, Defined, Masked, Schema, SchemaFault};
use gateway_core::verdict::{Objection, Remedy};
use gateway_core::{Exchange, Judge, Verdict};
use gateway_protocol::{Message, Outcome, Reply, ReplyKind, ResultKind};
use memchr::memmem;
use serde_json::{Value, json};

pub use compile::Compiler;

pub const NAME: &str = "schema";

/// Arguments that were not sent are none.
static NOTHING: LazyLock<Value> = LazyLock::new(|| json!({}));

pub struct Schemas;

impl Judge for Schemas {
    fn name(&self) -> &'static str {
        NAME
    }

    fn on_request(&self, exchange: &Exchange) -> Verdict {
        let (Some(tool), Some(defined)) = (exchange.tool(), checked(exchange)) else {
            return Verdict::Pass;
        };
        // Found out before anything happens: an answer that cannot be checked comes too late.
        for (side, schema) in [("input", defined.input(&Compiler)), ("output", defined.output(&Compiler))] {
            if let Schema::Unreadable(why) = schema {
                let name = &tool.name;
                let message = format!(
                    "the {side} schema of {name} cannot be checked: {why}; an operator can let it pass unchecked with `schema: off` in its handling"
                );
                let remedy = Remedy::Policy(format!("handling.{name}.schema"));
                return Verdict::Deny(Objection::new("unreadable", message).cured_by(remedy));
            }
        }
        let Schema::Compiled(schema) = defined.input(&Compiler) else {
            return Verdict::Pass;
        };
        let arguments = exchange.arguments().filter(|arguments| !arguments.is_null()).unwrap_or(&NOTHING);
        match faults(schema.as_ref(), arguments, "/params/arguments", &exchange.content.found) {
            None => Verdict::Pass,
            Some(faults) => {
                let remedy = Remedy::Arguments(faults.clone());
                Verdict::Deny(Objection::new("arguments", faults).cured_by(remedy))
            }
        }
    }

    fn judges_lists(&self) -> bool {
        false
    }

    fn reviews_replies(&self) -> bool {
        true
    }

    fn on_reply(&self, exchange: &Exchange, reply: &Reply, found: &Found) -> Verdict {
        // An upstream's own error, a question or a promise is no output, and passes as it is.
        if !matches!(reply.kind(), ReplyKind::Result { tool_error: false, kind: ResultKind::Complete }) {
            return Verdict::Pass;
        }
        let Some(Schema::Compiled(schema)) = checked(exchange).map(|defined| defined.output(&Compiler)) else {
            return Verdict::Pass;
        };
        // A server that describes its output and gives none has only text to offer, which nobody described.
        if !may_be_structured(reply.raw()) {
            return Verdict::Pass;
        }
        let Ok(Message::Response(response)) = reply.message() else {
            return Verdict::deny("output", "the answer could not be read as what its schema describes");
        };
        let Outcome::Result(result) = &response.outcome else { return Verdict::Pass };
        let Some((output, at)) = output_of(exchange, result) else { return Verdict::Pass };
        match faults(schema.as_ref(), output, at, found) {
            None => Verdict::Pass,
            Some(faults) => Verdict::deny("output", format!("the answer does not fit its schema: {faults}")),
        }
    }
}

/// The definition that a call is held against, unless the operator said that it is not.
fn checked(exchange: &Exchange) -> Option<&Defined> {
    let off = exchange.tool().and_then(|tool| tool.classified.as_ref()).is_some_and(|tool| tool.handling.schema_off);
    exchange.definition.as_deref().filter(|_| !off)
}

/// A call's own output, or that of a task which has come to its end, and where it stands in the message.
fn output_of<'a>(exchange: &Exchange, result: &'a Value) -> Option<(&'a Value, &'static str)> {
    match exchange.method()? {
        "tools/call" | "tasks/result" => Some((result.get("structuredContent")?, "/result/structuredContent")),
        "tasks/get" => {
            let result = result.get("result").filter(|result| result.get("isError") != Some(&Value::Bool(true)))?;
            Some((result.get("structuredContent")?, "/result/result/structuredContent"))
        }
        _ => None,
    }
}

/// Whether a member may be called `structuredContent`: it stands there, or some letter of a name may be written as `\u00xx`.
fn may_be_structured(raw: &[u8]) -> bool {
    let letter = |at: usize| matches!(raw.get(at + 4), Some(b'4' | b'6' | b'7'));
    memmem::find(raw, b"\"structuredContent\"").is_some() || memmem::find_iter(raw, br"\u00").any(letter)
}

/// What is wrong, in words for the caller; `found` knows the places of the message at which a mask stands instead of what
/// was there, and `at` is where in the message the value is.
fn faults(schema: &dyn CheckJson, value: &Value, at: &str, found: &Found) -> Option<String> {
    let faults = schema.check(value, &Masked::within(found.edited(), at)).err()?;
    let mut told: Vec<_> = faults.iter().map(SchemaFault::to_string).collect();
    // Closed, but not in silence: what is wrong there may be a mask's doing, and nobody could tell.
    if found.edited_more() {
        told.push(
            "more places of it were masked than are kept apart, so a mask may be what does not fit: ask for less at a time".into(),
        );
    }
    Some(told.join("; "))
}

#[cfg(test)]
mod tests;
