//! Lists of tools on their way back: what this caller could not call, nobody classified or nobody asked for is not shown,
//! what an operator said of a tool is told with it, and everything seen is remembered.

use gateway_protocol::{Malformed, Message, Outcome, Reply, Revision, code};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::chain::Chain;
use crate::definitions::Definitions;
use crate::exchange::{Ask, Exchange, Route, Subject, ToolSubject};
use crate::manifest::RiskLevel;
use crate::names::ToolName;
use crate::policies::ClassifiedTool;
use crate::ports::{ExecutionEngine, ToolDefinition};

/// Where a listed tool carries what the operator said of it.
pub const TOLD: &str = "io.portreeve/tool";
/// Where a `tools/list` says which tools it wants.
pub const FILTER: &str = "io.portreeve/filter";

/// Which tools a caller wants to see of those it may; empty means all.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ListFilter {
    pub category: Option<String>,
    pub risk_level: Option<RiskLevel>,
}

impl ListFilter {
    /// The filter a question itself carries.
    fn within(exchange: &Exchange) -> Result<Self, Malformed> {
        let message = exchange.message();
        let Some(written) = message.and_then(Message::meta).and_then(|meta| meta.get(FILTER)) else {
            return Ok(Self::default());
        };
        Self::deserialize(written).map_err(|error| {
            let what = format!("`_meta[\"{FILTER}\"]`: {error}");
            Malformed::new(code::INVALID_PARAMS, what).answering(message.and_then(Message::id))
        })
    }

    /// A tool without a manifest has neither category nor level, and matches no filter.
    fn wants(&self, tool: Option<&ClassifiedTool>) -> bool {
        let category = || tool?.metadata.as_ref()?.category.as_ref();
        let level = || Some(tool?.manifest.risk_level);
        self.category.as_ref().is_none_or(|wanted| category() == Some(wanted))
            && self.risk_level.is_none_or(|wanted| level() == Some(wanted))
    }
}

/// Takes out of a `tools/list` result what this caller is not shown, tells what is known of the rest, and returns every
/// definition that was in it.
///
/// `nextCursor` stays even when a page becomes empty: the upstream's pages are its own.
pub fn govern_list(
    exchange: &Exchange,
    chain: &Chain,
    engine: &dyn ExecutionEngine,
    definitions: &Definitions,
    filter: &ListFilter,
    reply: &mut Reply,
) -> Result<Vec<ToolDefinition>, Malformed> {
    let Message::Response(mut response) = reply.message()? else {
        return Ok(Vec::new());
    };
    let Outcome::Result(Value::Object(result)) = &mut response.outcome else {
        return Ok(Vec::new());
    };
    let Some(tools) = result.get_mut("tools").and_then(Value::as_array_mut) else {
        return Ok(Vec::new());
    };
    let asked = ListFilter::within(exchange)?;
    let mut imagined = Imagined::new(exchange);
    let mut seen = Vec::with_capacity(tools.len());
    tools.retain_mut(|tool| {
        let Some(name) = canonical_name(exchange, engine, tool) else {
            return false;
        };
        let classified = exchange.rules.tool(&name).or_else(|| chain.policies().tool(&name)).cloned();
        let known = classified.as_deref();
        let wanted = filter.wants(known) && asked.wants(known);
        // The aggregated list is made of members' lists, under names that are not the upstreams' own.
        if matches!(exchange.route, Route::One(_)) {
            seen.push(ToolDefinition { name: name.clone(), definition: stored(tool, known) });
        }
        tell(exchange.revision, tool, known);
        let observed = engine.watches(&name);
        let listed = (classified.is_some() || observed) && wanted;
        let standing = definitions.standing(&exchange.live.pins, &name).0;
        listed && imagined.shown(chain, ToolSubject { standing, ..ToolSubject::new(name, classified, observed) })
    });
    // What is listed depends on who asks, so nobody may keep it for others.
    if exchange.is_modern() || result.contains_key("cacheScope") {
        result.insert("cacheScope".into(), "private".into());
    }
    *reply = Reply::from_message(&Message::Response(response));
    Ok(seen)
}

/// A call of each listed tool, as its caller might make it: the judges are asked about that.
struct Imagined(Exchange);

impl Imagined {
    fn new(exchange: &Exchange) -> Self {
        Self(exchange.clone())
    }

    fn shown(&mut self, chain: &Chain, tool: ToolSubject) -> bool {
        let params = Map::from_iter([("name".to_owned(), Value::from(tool.name.tool()))]);
        self.0.ask = Ask::Message(Message::request(0, "tools/call", Some(params)));
        self.0.subject = Subject::Tool(tool);
        chain.shows(&self.0)
    }
}

/// Puts what the operator said into the entry's `_meta`. What an upstream says there in the operator's name goes.
fn tell(revision: Option<Revision>, tool: &mut Value, known: Option<&ClassifiedTool>) {
    let Some(tool) = tool.as_object_mut() else { return };
    if let Some(meta) = tool.get_mut("_meta").and_then(Value::as_object_mut) {
        meta.shift_remove(TOLD);
    }
    // Earlier revisions have no `_meta` in the entries of a list.
    let (Some(known), true) = (known, revision.is_none_or(|spoken| spoken >= Revision::V2025_06_18)) else { return };
    let mut told = described(known);
    told.insert("risk_level".into(), known.manifest.risk_level.as_str().into());
    if let Some(meta) = tool.entry("_meta").or_insert_with(|| json!({})).as_object_mut() {
        meta.insert(TOLD.into(), Value::Object(told));
    }
}

/// The definition as the registry keeps it: the operator's category, tags and words instead of the upstream's.
fn stored(tool: &Value, known: Option<&ClassifiedTool>) -> Value {
    let mut definition = tool.clone();
    if let Some(members) = definition.as_object_mut() {
        for own in ["category", "tags"] {
            members.shift_remove(own);
        }
        members.extend(known.map(described).unwrap_or_default());
    }
    definition
}

fn described(known: &ClassifiedTool) -> Map<String, Value> {
    match known.metadata.as_ref().map(serde_json::to_value) {
        Some(Ok(Value::Object(members))) => members,
        _ => Map::new(),
    }
}

fn canonical_name(exchange: &Exchange, engine: &dyn ExecutionEngine, tool: &Value) -> Option<ToolName> {
    let listed = tool.get("name")?.as_str()?;
    match &exchange.route {
        Route::One(namespace) => format!("{namespace}/{listed}").parse().ok(),
        Route::All => engine.resolve(listed),
    }
}

#[cfg(test)]
mod tests;
