//! The policies to start from, held against the tools that manifests are shipped for: each of the six speaks where it should, and
//! not where nothing is at stake.

use std::collections::BTreeSet;
use std::sync::Arc;

use gateway_core::exchange::ToolSubject;
use gateway_core::rules::CONTEXT_META;
use gateway_core::{
    Ask, Chain, Classification, DecisionType, Exchange, Principal, Reversibility, Risk, Route, Subject,
};
use gateway_protocol::Message;
use serde_json::{Value, json};

use super::*;

/// The shipped manifests, and the shipped policies as if somebody had raised them all.
fn enforced() -> Chain {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies");
    let dir = tempfile::tempdir().unwrap();
    for folder in ["manifests", "rules"] {
        fs::create_dir(dir.path().join(folder)).unwrap();
        for file in fs::read_dir(shipped.join(folder)).unwrap() {
            let file = file.unwrap();
            let text = fs::read_to_string(file.path()).unwrap().replace("mode: shadow", "mode: enforce");
            fs::write(dir.path().join(folder).join(file.file_name()), text).unwrap();
        }
    }
    crate::compose::chain(load_policies(Some(dir.path())).unwrap())
}

struct Call {
    tool: &'static str,
    arguments: Value,
    said: Value,
    hour: u8,
    declared: Option<Classification>,
}

fn call(tool: &'static str, arguments: Value) -> Call {
    Call { tool, arguments, said: json!({}), hour: 12, declared: None }
}

/// Which of them asked for a human.
fn asked(chain: &Chain, call: &Call) -> BTreeSet<String> {
    let name = tool(call.tool);
    let classified = chain.policies().tool(&name).cloned();
    assert!(classified.is_some(), "{name} is not shipped");
    let params = json!({ "name": name.tool(), "arguments": call.arguments, "_meta": { CONTEXT_META: call.said } });
    let ask = Ask::Message(Message::request(1, "tools/call", params.as_object().cloned()));
    let subject = Subject::Tool(ToolSubject::new(name, classified, false));
    let (trace, caller) = (gateway_core::TraceId::from_stored("trc_1"), Arc::new(Principal::anonymous()));
    let mut exchange = Exchange::new(trace, caller, Route::All, ask, subject);
    exchange.at = format!("2026-11-18T{:02}:30:00Z", call.hour).parse().unwrap();
    exchange.declared = call.declared;
    let ruling = chain.judge(&mut exchange, &mut |_, run| run());
    ruling.policy_ids.into_iter().filter(|id| id.starts_with("STD-")).collect()
}

#[test]
fn each_of_the_six_speaks_of_a_real_tool_and_is_silent_otherwise() {
    let chain = enforced();
    let d4 = Classification::new(DecisionType::D4, Risk::R3, Reversibility::Partial);
    let mut spoke = BTreeSet::new();
    for (call, expected) in [
        (call("slack/conversations_add_message", json!({ "channel_id": "C1", "text": "hello" })), "STD-COM-001"),
        (call("slack/slack_post_message", json!({ "channel_id": "C1", "text": "hello" })), "STD-COM-001"),
        (call("slack/conversations_history", json!({ "channel_id": "C1" })), ""),
        (call("supabase/create_project", json!({ "name": "new" })), "STD-FIN-001-a"),
        (call("supabase/create_branch", json!({ "name": "new" })), "STD-FIN-001-a"),
        (call("supabase/list_branches", json!({})), ""),
        (call("supabase/confirm_cost", json!({ "type": "project", "amount": 20_000 })), "STD-FIN-001-b"),
        (call("supabase/confirm_cost", json!({ "type": "project", "amount": 10 })), ""),
        (call("slack/users_search", json!({ "query": "bob" })), "STD-DAT-001"),
        (call("notion/API-get-users", json!({})), "STD-DAT-001"),
        (call("crm/update_contact", json!({ "id": 7 })), "STD-DAT-001"),
        (call("slack/users_search", json!({ "query": "bob", "limit": 10 })), "STD-DAT-001"),
        (call("slack/channels_me", json!({})), ""),
        (Call { declared: Some(d4), ..call("supabase/deploy_edge_function", json!({})) }, "STD-SELF-001"),
        (call("supabase/deploy_edge_function", json!({})), ""),
        (call("slack/channels_list", json!({ "limit": 5000 })), "STD-BULK-001-a"),
        (call("slack/channels_list", json!({ "limit": 50 })), ""),
        (
            Call { said: json!({ "row_count": 5000 }), ..call("supabase/execute_sql", json!({ "query": "select 1" })) },
            "STD-BULK-001-b",
        ),
        (call("supabase/execute_sql", json!({ "query": "select 1" })), ""),
        (Call { hour: 23, ..call("git/git_commit", json!({ "message": "done" })) }, "STD-HRS-001"),
        (call("git/git_commit", json!({ "message": "done" })), ""),
        (Call { hour: 23, ..call("git/git_log", json!({})) }, ""),
    ] {
        let found = asked(&chain, &call);
        let expected: BTreeSet<_> = Some(expected).filter(|id| !id.is_empty()).map(str::to_owned).into_iter().collect();
        assert_eq!(found, expected, "{} {}", call.tool, call.arguments);
        spoke.extend(found);
    }
    let all: BTreeSet<_> = chain.policies().rules.policies().iter().map(|policy| policy.policy_id.clone()).collect();
    assert_eq!(spoke, all, "every policy that is shipped has spoken");
}
