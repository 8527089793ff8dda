//! Lists of tools on their way back: what nobody classified is not shown, and everything seen is remembered.

use gateway_protocol::{Malformed, Message, Outcome, Reply};
use serde_json::Value;

use crate::exchange::{Exchange, Route};
use crate::names::ToolName;
use crate::policies::Policies;
use crate::ports::{ExecutionEngine, ToolDefinition};

/// Takes unclassified tools out of a `tools/list` result and returns every definition that was in it.
///
/// `nextCursor` stays even when a page becomes empty: the upstream's pages are its own.
pub fn govern_tools(
    exchange: &Exchange,
    policies: &Policies,
    engine: &dyn ExecutionEngine,
    reply: &mut Reply,
) -> Result<Vec<ToolDefinition>, Malformed> {
    let Message::Response(mut response) = reply.message()? else {
        return Ok(Vec::new());
    };
    let Outcome::Result(result) = &mut response.outcome else {
        return Ok(Vec::new());
    };
    let Some(tools) = result.get_mut("tools").and_then(Value::as_array_mut) else {
        return Ok(Vec::new());
    };
    let before = tools.len();
    let mut seen = Vec::with_capacity(before);
    tools.retain(|tool| {
        let Some(name) = canonical_name(exchange, engine, tool) else {
            return false;
        };
        let shown = policies.tool(&name).is_some() || engine.watches(&name);
        // The aggregated list is made of members' lists, under names that are not the upstreams' own.
        if matches!(exchange.route, Route::One(_)) {
            seen.push(ToolDefinition { name, definition: tool.clone() });
        }
        shown
    });
    if tools.len() == before {
        return Ok(seen);
    }
    // A list that depends on who asks may not be shared between callers.
    if let Some(scope) = result.get_mut("cacheScope") {
        *scope = Value::from("private");
    }
    *reply = Reply::from_message(&Message::Response(response));
    Ok(seen)
}

fn canonical_name(exchange: &Exchange, engine: &dyn ExecutionEngine, tool: &Value) -> Option<ToolName> {
    let listed = tool.get("name")?.as_str()?;
    match &exchange.route {
        Route::One(namespace) => format!("{namespace}/{listed}").parse().ok(),
        Route::All => engine.resolve(listed),
    }
}
