//! The mutator over messages of every kind, with an address, a key and a card to look for.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod rows;
mod shipped;
mod streams;

use std::collections::BTreeMap;
use std::sync::Arc;

use gateway_core::content::{Action, Found};
use gateway_core::dlp::DlpHandling;
use gateway_core::exchange::{Ask, Exchange, Route, Subject, ToolSubject};
use gateway_core::identity::Principal;
use gateway_core::manifest::{AgentMode, RiskLevel, ToolManifest};
use gateway_core::matrix::Matrix;
use gateway_core::policies::{ClassifiedTool, Handling, Policies};
use gateway_core::{Mutator, PluginMode, TraceId, Verdict};
use gateway_dlp::{Boundary, Check, Detectors, Severity, WrittenDetector};
use gateway_protocol::{Message, Reply};
use serde_json::{Value, json};

use super::*;

const EMAIL: &str = "jane@example.org";
const KEY: &str = "sk_0123456789abcdef";

pub(super) fn rules(settings: DlpSettings) -> DlpRules {
    let detector = |id: &str, pattern: &str, anchor: &str, severity| WrittenDetector {
        id: id.into(),
        tier: 1,
        severity,
        pattern: Some(pattern.into()),
        anchors: vec![anchor.into()],
        ..WrittenDetector::default()
    };
    let card = WrittenDetector {
        digits: Some((16, 16)),
        check: vec![Check::Luhn],
        anchors: Vec::new(),
        boundary: Boundary::Digit,
        ..detector("card", "[0-9]{16}|[0-9]{4}(?: [0-9]{4}){3}", "", Severity::Critical)
    };
    let pem = WrittenDetector {
        until: Some("-----END PRIVATE KEY-----".into()),
        boundary: Boundary::None,
        ..detector("pem", "-----BEGIN PRIVATE KEY-----", "-----begin", Severity::Critical)
    };
    let detectors = vec![
        pem,
        detector("email", "[a-z.]+@[a-z]+[.][a-z]+", "@", Severity::Medium),
        detector("key", "sk_[0-9a-f]{16}", "sk_", Severity::Critical),
        card,
    ];
    let compiled = Detectors::compile(detectors);
    DlpRules::new(compiled.unwrap_or_else(|problems| panic!("{problems:?}")), settings)
}

pub(super) fn tool(name: &str, dlp: DlpHandling) -> Arc<ClassifiedTool> {
    let manifest = ToolManifest {
        id: name.parse().unwrap(),
        domain: "crm".into(),
        risk_level: RiskLevel::ReadOnly,
        side_effects: false,
        allowed_modes: AgentMode::ALL.to_vec(),
    };
    Arc::new(ClassifiedTool::new(manifest, None).handled(Handling { dlp, ..Handling::default() }))
}

pub(super) fn plugin(mode: PluginMode) -> Dlp {
    let policies =
        Policies::new(BTreeMap::new(), Matrix::standard()).with_dlp(rules(DlpSettings::default()).into_set());
    Dlp::new(&policies, mode, Arc::new(|_| [7; 32]))
}

#[expect(clippy::needless_pass_by_value, reason = "tests read better so")]
pub(super) fn exchange(method: &str, params: Value, handling: Option<DlpHandling>) -> Exchange {
    let ask = Ask::Message(Message::request(1, method, params.as_object().cloned()));
    let subject = match method {
        "tools/call" => {
            let known = tool("crm/read", handling.unwrap_or_default());
            Subject::Tool(ToolSubject::new("crm/read".parse().unwrap(), Some(known), false))
        }
        _ => Subject::Read,
    };
    let trace = TraceId::from_stored("trc_1");
    Exchange::new(trace, Arc::new(Principal::anonymous()), Route::One("crm".parse().unwrap()), ask, subject)
}

pub(super) fn reply(message: &Value) -> Reply {
    Reply::scan(message.to_string().into(), 64).unwrap()
}

fn told(found: &Found) -> Vec<(String, &'static str, u32)> {
    let mut told: Vec<_> = found.iter().map(|one| (one.rule.to_string(), one.action.as_str(), one.count)).collect();
    told.sort();
    told
}

fn said(pairs: &[(&str, Action)]) -> BTreeMap<String, Action> {
    pairs.iter().map(|(key, action)| ((*key).to_owned(), *action)).collect()
}

#[test]
fn what_is_done_to_a_request_is_its_tools_to_say() {
    let masked = DlpHandling { egress: true, ..DlpHandling::default() };
    let blocked = DlpHandling { request: said(&[("key", Action::Block)]), ..DlpHandling::default() };
    let open = DlpHandling { request: said(&[("*", Action::Observe)]), ..DlpHandling::default() };
    let off = DlpHandling { off: true, ..DlpHandling::default() };
    let text = format!("{EMAIL} {KEY}");
    for (handling, mode, expected, found) in [
        (None, PluginMode::Enforce, Some(format!("{EMAIL} [KEY]")), vec![("email", "observe"), ("key", "mask")]),
        (Some(masked), PluginMode::Enforce, Some("[EMAIL] [KEY]".into()), vec![("email", "mask"), ("key", "mask")]),
        (Some(open), PluginMode::Enforce, Some(text.clone()), vec![("email", "observe"), ("key", "observe")]),
        (Some(off), PluginMode::Enforce, Some(text.clone()), vec![]),
        (None, PluginMode::Observe, Some(text.clone()), vec![("email", "observe"), ("key", "observe")]),
        (Some(blocked), PluginMode::Enforce, None, vec![]),
    ] {
        let params = json!({ "name": "read", "arguments": { "a": [text], "cursor": KEY }, "requestState": KEY });
        let mut exchange = exchange("tools/call", params, handling.clone());
        let verdict = plugin(mode).on_request(&mut exchange);
        let Some(expected) = expected else {
            let Verdict::Deny(objection) = verdict else { panic!("{verdict:?}") };
            assert_eq!(objection.rule, "key");
            assert!(objection.message.contains("/arguments/") && !objection.message.contains(KEY), "{objection:?}");
            continue;
        };
        assert_eq!(verdict, Verdict::Pass);
        let params = exchange.message().unwrap().params().unwrap();
        assert_eq!(params["arguments"]["a"][0], expected, "{handling:?}");
        assert_eq!(params["requestState"], KEY, "what a server gave to be held is its own");
        let seen: Vec<_> = told(&exchange.content.found).into_iter().map(|(rule, action, _)| (rule, action)).collect();
        assert_eq!(seen, found.iter().map(|(rule, action)| ((*rule).to_owned(), *action)).collect::<Vec<_>>());
    }
}

#[test]
fn a_clients_answers_and_copies_are_read_like_its_questions() {
    let mut exchange = exchange("tools/call", json!({ "name": "read" }), None);
    exchange.carried = vec![
        ("mcp-param-key".into(), KEY.into()),
        ("mcp-param-odd".into(), gateway_protocol::headers::encode_value(&format!("é {KEY}"))),
        ("traceparent".into(), KEY.into()),
    ];
    exchange.ask = Ask::Message(Message::result(
        gateway_protocol::Id::from(1),
        json!({ "action": "accept", "content": { "key": KEY } }),
    ));
    assert_eq!(plugin(PluginMode::Enforce).on_request(&mut exchange), Verdict::Pass);
    let answered = serde_json::to_value(exchange.message().unwrap()).unwrap();
    assert_eq!(answered["result"], json!({ "action": "accept", "content": { "key": "[KEY]" } }));
    let odd = gateway_protocol::headers::decode_value(&exchange.carried[1].1).unwrap().into_owned();
    assert_eq!(
        (exchange.carried[0].1.as_str(), odd.as_str(), exchange.carried[2].1.as_str()),
        ("[KEY]", "é [KEY]", KEY)
    );
}

#[test]
fn every_kind_of_message_to_a_client_is_read_where_it_holds_words() {
    let result = |result: Value| json!({ "jsonrpc": "2.0", "id": KEY, "result": result });
    for (method, message, expected) in [
        ("tools/call", result(json!({ "content": [{ "type": "text", "text": EMAIL }] })), "/result/content/0/text"),
        ("tools/call", result(json!({ "structuredContent": { "cursor": KEY } })), "/result/structuredContent/cursor"),
        (
            "tools/call",
            result(
                json!({ "requestState": KEY, "inputRequests": { "a": { "method": "elicitation/create", "params": { "message": EMAIL } } } }),
            ),
            "/result/inputRequests/a/params/message",
        ),
        (
            "tools/call",
            json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": 1, "message": EMAIL } }),
            "/error/message",
        ),
        (
            "tools/call",
            json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": 1, "message": "no", "data": [EMAIL] } }),
            "/error/data/0",
        ),
        (
            "tools/call",
            json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": { "progressToken": KEY, "message": EMAIL } }),
            "/params/message",
        ),
        (
            "tools/call",
            json!({ "jsonrpc": "2.0", "id": KEY, "method": "elicitation/create", "params": { "message": EMAIL } }),
            "/params/message",
        ),
        (
            "tasks/get",
            result(json!({ "taskId": KEY, "result": { "content": [{ "type": "text", "text": EMAIL }] } })),
            "/result/result/content/0/text",
        ),
        (
            "prompts/get",
            result(json!({ "messages": [{ "role": "user", "content": { "type": "text", "text": EMAIL } }] })),
            "/result/messages/0/content/text",
        ),
        (
            "resources/read",
            result(json!({ "contents": [{ "uri": "a://b", "text": EMAIL }] })),
            "/result/contents/0/text",
        ),
        (
            "tools/list",
            result(
                json!({ "nextCursor": KEY, "tools": [{ "name": KEY, "description": EMAIL, "inputSchema": { "description": "x" } }] }),
            ),
            "/result/tools/0/description",
        ),
        (
            "tools/list",
            result(json!({ "tools": [{ "name": "a", "inputSchema": { "default": KEY } }] })),
            "/result/tools/0/inputSchema/default",
        ),
        (
            "initialize",
            result(json!({ "serverInfo": { "name": EMAIL }, "instructions": EMAIL })),
            "/result/instructions",
        ),
    ] {
        let exchange = exchange(method, json!({}), None);
        let mut message_back = reply(&message);
        let mut found = Found::default();
        assert_eq!(plugin(PluginMode::Enforce).on_reply(&exchange, &mut message_back, &mut found), Verdict::Pass);
        let now: Value = serde_json::from_slice(message_back.raw()).unwrap();
        let mut wanted = message.clone();
        let masked = if message.pointer(expected) == Some(&json!(KEY)) { "[KEY]" } else { "[EMAIL]" };
        *wanted.pointer_mut(expected).unwrap() = json!(masked);
        assert_eq!(now, wanted, "{method}: only {expected} is changed");
        assert_eq!(found.iter().map(|one| one.count).sum::<u32>(), 1, "{method} {expected}");
    }
}

#[test]
fn our_own_books_and_what_is_clean_pass_as_they_came() {
    let plugin = plugin(PluginMode::Enforce);
    let message = json!({ "jsonrpc": "2.0", "id": 1, "result": { "content": [{ "type": "text", "text": EMAIL }] } });
    let mut own = exchange("resources/read", json!({ "uri": "adp://agents" }), None);
    own.route = Route::One("adp".parse().unwrap());
    let mut back = reply(&message);
    let mut found = Found::default();
    assert_eq!(plugin.on_reply(&own, &mut back, &mut found), Verdict::Pass);
    assert!(found.is_empty() && plugin.follow(&own).is_none());
    assert_eq!(back, reply(&message));
    let recorder = plugin.recorder().unwrap();
    let kept = recorder.json(&own.rules, message.to_string().as_bytes()).unwrap();
    assert!(String::from_utf8(kept).unwrap().contains("[EMAIL]"), "the record of them is masked all the same");

    let clean = bytes::Bytes::from_static(
        br#"{ "result":{"content":[ {"type":"text","text":"nothing"}]},"id":1,"jsonrpc":"2.0" }"#,
    );
    let mut back = Reply::scan(clean.clone(), 64).unwrap();
    assert_eq!(plugin.on_reply(&exchange("tools/call", json!({}), None), &mut back, &mut found), Verdict::Pass);
    assert_eq!(back.raw().as_ptr(), clean.as_ptr(), "not even copied");
}
