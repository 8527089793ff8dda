//! What of a list is shown to whom.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::sync::Arc;

use super::*;
use crate::chain::{Judge, Plugin, PluginMode};
use crate::identity::Principal;
use crate::manifest::{AgentMode, ToolManifest};
use crate::matrix::Matrix;
use crate::names::{Namespace, TraceId};
use crate::policies::{Policies, ToolMetadata};
use crate::ports::Upstream;
use crate::verdict::Verdict;

fn manifest(id: &str, risk_level: RiskLevel) -> ToolManifest {
    ToolManifest {
        id: id.parse().unwrap(),
        domain: "crm".into(),
        risk_level,
        side_effects: risk_level.writes(),
        allowed_modes: AgentMode::ALL.to_vec(),
    }
}

#[test]
fn a_filter_wants_what_it_names_and_an_empty_one_everything() {
    let metadata = ToolMetadata { category: Some("sales".into()), ..ToolMetadata::default() };
    let plain = ClassifiedTool::new(manifest("crm/read", RiskLevel::ReadOnly), None);
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

/// Nothing stands behind it; whatever is resolved lives in `crm`.
struct Nowhere;

impl ExecutionEngine for Nowhere {
    fn upstream(&self, _route: &Route) -> Option<Arc<dyn Upstream>> {
        None
    }

    fn namespaces(&self) -> Vec<Namespace> {
        Vec::new()
    }

    fn resolve(&self, listed: &str) -> Option<ToolName> {
        listed.replace("__", "/").parse().ok()
    }
}

/// Denies what writes much, wants a human for what writes a little.
struct Strict;

impl Judge for Strict {
    fn name(&self) -> &'static str {
        "strict"
    }

    fn on_request(&self, exchange: &Exchange) -> Verdict {
        assert_eq!(exchange.method(), Some("tools/call"), "judges are asked about calls");
        match exchange.tool().and_then(|tool| tool.classified.as_ref()).map(|tool| tool.manifest.risk_level) {
            Some(RiskLevel::HighWrite) | None => Verdict::deny("strict", "no"),
            Some(RiskLevel::LowWrite) => Verdict::escalate("strict", "ask"),
            Some(_) => Verdict::Grant,
        }
    }
}

fn chain() -> Chain {
    let said =
        ToolMetadata { category: Some("sales".into()), description: Some("reads".into()), tags: vec!["x".into()] };
    let tools = [
        ClassifiedTool::new(manifest("crm/read", RiskLevel::ReadOnly), None).described(Some(said)),
        ClassifiedTool::new(manifest("crm/change", RiskLevel::LowWrite), None),
        ClassifiedTool::new(manifest("crm/drop", RiskLevel::HighWrite), None),
    ];
    let tools: BTreeMap<_, _> = tools.into_iter().map(|tool| (tool.manifest.id.clone(), Arc::new(tool))).collect();
    let policies = Arc::new(Policies::new(tools, Matrix::standard()));
    Chain::new(vec![(Plugin::Judge(Box::new(Strict)), PluginMode::Enforce)], policies)
}

fn list(revision: Option<Revision>, route: Route, meta: &Value) -> Exchange {
    let params = json!({ "_meta": meta }).as_object().cloned();
    let ask = Ask::Message(Message::request(7, "tools/list", params));
    let trace = TraceId::from_uuid(uuid::Uuid::nil());
    let plain = Exchange::new(trace, Arc::new(Principal::anonymous()), route, ask, Subject::Plain);
    Exchange { revision, ..plain }
}

fn crm() -> Route {
    Route::One("crm".parse().unwrap())
}

fn governed(exchange: &Exchange, result: &Value) -> (Value, Vec<ToolDefinition>) {
    let mut reply = Reply::from_message(&Message::result(7.into(), result.clone()));
    let seen =
        govern_list(exchange, &chain(), &Nowhere, &Definitions::default(), &ListFilter::default(), &mut reply).unwrap();
    let message: Value = serde_json::from_slice(reply.raw()).unwrap();
    (message["result"].clone(), seen)
}

fn names(result: &Value) -> Vec<&str> {
    result["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[test]
fn what_would_be_denied_is_not_shown_and_what_a_human_may_allow_is() {
    let tools = json!([{ "name": "read" }, { "name": "change" }, { "name": "drop" }, { "name": "unknown" }, {}]);
    let result = json!({ "tools": tools, "nextCursor": "2", "cacheScope": "public" });
    let (shown, seen) = governed(&list(Some(Revision::V2026_07_28), crm(), &json!({})), &result);
    assert_eq!(names(&shown), ["read", "change"]);
    assert_eq!((&shown["nextCursor"], &shown["cacheScope"]), (&json!("2"), &json!("private")));
    let seen: Vec<&str> = seen.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(seen, ["crm/read", "crm/change", "crm/drop", "crm/unknown"], "what is hidden is remembered too");

    let all = json!({ "tools": [{ "name": "crm__drop" }, { "name": "crm__read" }] });
    let (shown, seen) = governed(&list(Some(Revision::V2026_07_28), Route::All, &json!({})), &all);
    assert_eq!((names(&shown), &shown["cacheScope"]), (vec!["crm__read"], &json!("private")));
    assert!(seen.is_empty());
    let (shown, _) = governed(&list(Some(Revision::V2025_11_25), Route::All, &json!({})), &all);
    assert_eq!(shown.get("cacheScope"), None, "the session eras have no such word");
}

#[test]
fn the_operators_words_travel_with_the_tool_and_nobody_elses() {
    let forged = json!({ TOLD: { "risk_level": "READ_ONLY" }, "vendor/x": 1 });
    let tools = json!([
        { "name": "read", "description": "theirs", "tags": ["forged"] }, { "name": "change", "_meta": forged, "category": "forged" }
    ]);
    let result = json!({ "tools": tools });
    let told = json!({ "category": "sales", "description": "reads", "tags": ["x"], "risk_level": "READ_ONLY" });
    for (revision, expected) in [
        (Some(Revision::V2025_03_26), [Value::Null, json!({ "vendor/x": 1 })]),
        (
            Some(Revision::V2025_06_18),
            [json!({ TOLD: told }), json!({ "vendor/x": 1, TOLD: { "risk_level": "LOW_WRITE" } })],
        ),
    ] {
        let (shown, seen) = governed(&list(revision, crm(), &json!({})), &result);
        let metas: Vec<Value> = shown["tools"].as_array().unwrap().iter().map(|tool| tool["_meta"].clone()).collect();
        assert_eq!(metas, expected, "{revision:?}");
        assert_eq!(shown["tools"][0]["description"], "theirs", "the upstream's own words stay its own");
        assert_eq!(
            seen[0].definition,
            json!({ "name": "read", "description": "reads", "category": "sales", "tags": ["x"] })
        );
        assert_eq!(seen[1].definition.get("category"), None);
    }
}

#[test]
fn a_question_may_carry_its_filter() {
    let result = json!({ "tools": [{ "name": "read" }, { "name": "change" }] });
    for (filter, expected) in [
        (json!({}), vec!["read", "change"]),
        (json!({ "category": "sales" }), vec!["read"]),
        (json!({ "risk_level": "LOW_WRITE" }), vec!["change"]),
        (json!({ "category": "sales", "risk_level": "LOW_WRITE" }), vec![]),
    ] {
        let exchange = list(Some(Revision::V2025_11_25), crm(), &json!({ FILTER: filter }));
        assert_eq!(names(&governed(&exchange, &result).0), expected, "{filter}");
    }
    for wrong in [json!("sales"), json!({ "risk_level": "SOME" }), json!({ "colour": "red" })] {
        let exchange = list(Some(Revision::V2025_11_25), crm(), &json!({ FILTER: wrong }));
        let mut reply = Reply::from_message(&Message::result(7.into(), result.clone()));
        let refused =
            govern_list(&exchange, &chain(), &Nowhere, &Definitions::default(), &ListFilter::default(), &mut reply)
                .unwrap_err();
        assert_eq!((refused.code, refused.id), (code::INVALID_PARAMS, Some(7.into())), "{wrong}");
    }
}
