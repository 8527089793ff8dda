//! Lists of tools on their way back: what nobody classified or nobody asked for is not shown, and everything seen is
//! remembered.

use gateway_protocol::{Malformed, Message, Outcome, Reply};
use serde_json::Value;

use crate::chain::Chain;
use crate::exchange::{Exchange, Route};
use crate::manifest::RiskLevel;
use crate::names::ToolName;
use crate::policies::ClassifiedTool;
use crate::ports::{ExecutionEngine, ToolDefinition};

/// Which tools a caller wants to see of those it may; empty means all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListFilter {
    pub category: Option<String>,
    pub risk_level: Option<RiskLevel>,
}

impl ListFilter {
    /// A tool without a manifest has neither category nor level, and matches no filter.
    fn wants(&self, tool: Option<&ClassifiedTool>) -> bool {
        let category = || tool?.metadata.as_ref()?.category.as_ref();
        let level = || Some(tool?.manifest.risk_level);
        self.category.as_ref().is_none_or(|wanted| category() == Some(wanted))
            && self.risk_level.is_none_or(|wanted| level() == Some(wanted))
    }
}

/// Takes unclassified tools and those the filter leaves out of a `tools/list` result, and returns every definition that
/// was in it.
///
/// `nextCursor` stays even when a page becomes empty: the upstream's pages are its own.
pub fn govern_list(
    exchange: &Exchange,
    chain: &Chain,
    engine: &dyn ExecutionEngine,
    filter: &ListFilter,
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
        let classified = chain.policies().tool(&name);
        let shown = (classified.is_some() || engine.watches(&name)) && filter.wants(classified.map(AsRef::as_ref));
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::manifest::{AgentMode, ToolManifest};
    use crate::policies::ToolMetadata;

    #[test]
    fn a_filter_wants_what_it_names_and_an_empty_one_everything() {
        let manifest = ToolManifest {
            id: "crm/read".parse().unwrap(),
            domain: "crm".into(),
            risk_level: RiskLevel::ReadOnly,
            side_effects: false,
            allowed_modes: AgentMode::ALL.to_vec(),
        };
        let metadata = ToolMetadata { category: Some("sales".into()), ..ToolMetadata::default() };
        let plain = ClassifiedTool::new(manifest, None);
        let tool = plain.clone().described(Some(metadata));
        for (category, risk_level, expected) in [
            (None, None, [true, true, true]),
            (Some("sales"), None, [true, false, false]),
            (Some("stock"), None, [false, false, false]),
            (None, Some(RiskLevel::ReadOnly), [true, true, false]),
            (None, Some(RiskLevel::HighWrite), [false, false, false]),
            (Some("sales"), Some(RiskLevel::HighWrite), [false, false, false]),
        ] {
            let filter = ListFilter { category: category.map(Into::into), risk_level };
            let wanted = [Some(&tool), Some(&plain), None].map(|tool| filter.wants(tool));
            assert_eq!(wanted, expected, "{filter:?}");
        }
    }
}
