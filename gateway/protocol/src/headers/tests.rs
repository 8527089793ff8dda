//! Header and body, agreeing and not.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use serde_json::{Value, json};

use super::*;
use crate::message::Id;

fn headers(given: &[(&str, &str)]) -> McpHeaders {
    McpHeaders::collect(given.iter().map(|(name, value)| (*name, value.as_bytes())))
}

fn request(method: &str, mut params: Value, version: Option<&str>) -> Message {
    if let Some(version) = version {
        params["_meta"] = json!({ meta::PROTOCOL_VERSION: version, meta::CLIENT_CAPABILITIES: {} });
    }
    Message::request(1, method, params.as_object().cloned())
}

fn modern(method: &str, params: Value) -> Message {
    request(method, params, Some("2026-07-28"))
}

#[test]
fn header_and_body_declare_one_revision() {
    let legacy = Revision::V2025_11_25;
    for (header, body, expected) in [
        (None, None, Ok(None)),
        (Some("2025-11-25"), None, Ok(Some(legacy))),
        (Some("2026-07-28"), None, Ok(Some(Revision::LATEST))),
        (Some("2026-07-28"), Some("2026-07-28"), Ok(Some(Revision::LATEST))),
        (Some(" 2026-07-28 "), Some("2026-07-28"), Ok(Some(Revision::LATEST))),
        (Some("2025-11-25"), Some("2025-11-25"), Ok(Some(legacy))),
        (None, Some("2025-11-25"), Ok(Some(legacy))),
        (None, Some("2026-07-28"), Err(code::HEADER_MISMATCH)),
        (None, Some("1900-01-01"), Err(code::HEADER_MISMATCH)),
        (Some("2025-11-25"), Some("2026-07-28"), Err(code::HEADER_MISMATCH)),
        (Some("2026-07-28"), Some("2025-11-25"), Err(code::HEADER_MISMATCH)),
        (Some("1900-01-01"), Some("2026-07-28"), Err(code::HEADER_MISMATCH)),
        (Some("2026-07-28"), Some("1900-01-01"), Err(code::HEADER_MISMATCH)),
        (Some("1900-01-01"), Some("1900-01-01"), Err(code::UNSUPPORTED_VERSION)),
        (Some("1900-01-01"), None, Err(code::UNSUPPORTED_VERSION)),
    ] {
        let given: Vec<_> = header.into_iter().map(|header| ("MCP-Protocol-Version", header)).collect();
        let declared = declared_revision(&headers(&given), &request("tools/list", json!({}), body));
        assert_eq!(declared.map_err(|refusal| refusal.code), expected, "header {header:?}, body {body:?}");
    }
}

#[test]
fn an_unknown_version_is_told_which_ones_there_are() {
    let message = request("server/discover", json!({}), Some("2031-01-01"));
    let refusal = declared_revision(&headers(&[("mcp-protocol-version", "2031-01-01")]), &message).unwrap_err();
    let expected = json!({
        "supported": ["2026-07-28"],
        "requested": "2031-01-01",
    });
    assert_eq!(refusal.data.as_deref(), Some(&expected));
    assert_eq!(refusal.id, Some(Id::from(1)));
    assert_eq!(body_revision(&message).unwrap_err().code, code::UNSUPPORTED_VERSION);
}

#[test]
fn a_version_that_is_no_string_is_a_bad_param() {
    let message = request("tools/list", json!({ "_meta": { meta::PROTOCOL_VERSION: 20260728 } }), None);
    assert_eq!(declared_revision(&McpHeaders::default(), &message).unwrap_err().code, code::INVALID_PARAMS);
}

#[test]
fn initialize_negotiates_in_its_params() {
    let message = request("initialize", json!({ "protocolVersion": "2031-01-01" }), None);
    assert_eq!(declared_revision(&headers(&[("mcp-protocol-version", "2031-01-01")]), &message), Ok(None));
}

#[test]
fn modern_headers_say_what_the_body_says() {
    let call = |name: &str| modern("tools/call", json!({ "name": name }));
    for (given, message, expected) in [
        (vec![("Mcp-Method", "tools/call"), ("Mcp-Name", "t")], call("t"), None),
        (vec![("mcp-method", "tools/call"), ("MCP-NAME", "=?base64?dA==?=")], call("t"), None),
        (vec![("Mcp-Method", "tools/call"), ("Mcp-Name", "=?base64?4piD?=")], call("☃"), None),
        (
            vec![
                ("Mcp-Method", "tools/call"),
                ("Mcp-Name", "t"),
                ("Mcp-Param-X", "1"),
                ("Accept", "a"),
                ("Accept", "b"),
            ],
            call("t"),
            None,
        ),
        (vec![("Mcp-Method", "tools/list")], modern("tools/list", json!({})), None),
        (vec![("Mcp-Method", "tools/list"), ("Mcp-Name", "t")], modern("tools/list", json!({})), None),
        (vec![("Mcp-Method", "prompts/get"), ("Mcp-Name", "p")], modern("prompts/get", json!({ "name": "p" })), None),
        (
            vec![("Mcp-Method", "resources/read"), ("Mcp-Name", "file:///a")],
            modern("resources/read", json!({ "uri": "file:///a" })),
            None,
        ),
        (vec![("Mcp-Method", "tasks/get"), ("Mcp-Name", "7")], modern("tasks/get", json!({ "taskId": "7" })), None),
        (vec![], call("t"), Some("header `Mcp-Method` is missing")),
        (vec![("Mcp-Method", "tools/call")], call("t"), Some("header `Mcp-Name` is missing")),
        (
            vec![("Mcp-Method", "Tools/Call"), ("Mcp-Name", "t")],
            call("t"),
            Some("header `Mcp-Method` is `Tools/Call` but the body says `tools/call`"),
        ),
        (
            vec![("Mcp-Method", "tools/call"), ("Mcp-Name", "T")],
            call("t"),
            Some("header `Mcp-Name` is `T` but `params.name` is `t`"),
        ),
        (
            vec![("Mcp-Method", "tools/call"), ("Mcp-Name", "☃")],
            call("☃"),
            Some("header `Mcp-Name` holds characters a header may not carry"),
        ),
        (
            vec![("Mcp-Method", "tools/call"), ("Mcp-Name", "=?base64?dA?=")],
            call("t"),
            Some("header `Mcp-Name` is not valid base64"),
        ),
        (
            vec![("Mcp-Method", "tools/call"), ("Mcp-Name", "t"), ("mcp-name", "t")],
            call("t"),
            Some("header `mcp-name` came more than once"),
        ),
        (
            vec![("Mcp-Method", "tools/call"), ("Mcp-Name", "t"), ("Mcp-Param-A", "1"), ("mcp-param-a", "2")],
            call("t"),
            Some("header `mcp-param-a` came more than once"),
        ),
        (
            vec![("Mcp-Method", "tools/call"), ("Mcp-Name", "t")],
            modern("tools/call", json!({})),
            Some("header `Mcp-Name` is `t` but the body has no `params.name`"),
        ),
        (
            vec![("Mcp-Method", "tasks/cancel")],
            modern("tasks/cancel", json!({ "taskId": "7" })),
            Some("header `Mcp-Name` is missing"),
        ),
    ] {
        let refusal = check_agreement(&headers(&given), &message).err();
        assert_eq!(refusal.as_ref().map(|refusal| refusal.message.as_str()), expected, "{given:?}");
        assert!(refusal.is_none_or(|refusal| refusal.code == code::HEADER_MISMATCH && refusal.id == Some(Id::from(1))));
    }
}

#[test]
fn a_modern_request_describes_itself() {
    let given = headers(&[("Mcp-Method", "tools/list")]);
    for params in [
        json!({}),
        json!({ "_meta": { meta::PROTOCOL_VERSION: "2026-07-28" } }),
        json!({ "_meta": { meta::CLIENT_CAPABILITIES: {} } }),
    ] {
        let refusal = check_agreement(&given, &request("tools/list", params.clone(), None)).unwrap_err();
        assert_eq!(refusal.code, code::INVALID_PARAMS, "{params}");
    }
}

#[test]
fn a_notification_may_leave_headers_out_but_not_lie() {
    let cancelled = Message::notification("notifications/cancelled", None);
    assert_eq!(check_agreement(&McpHeaders::default(), &cancelled), Ok(()));
    assert_eq!(check_agreement(&headers(&[("Mcp-Method", "notifications/cancelled")]), &cancelled), Ok(()));
    assert_eq!(
        check_agreement(&headers(&[("Mcp-Method", "tools/call")]), &cancelled).unwrap_err().code,
        code::HEADER_MISMATCH
    );
}

#[test]
fn a_repeated_header_is_refused_in_every_era() {
    let given = headers(&[("mcp-session-id", "a"), ("Mcp-Session-Id", "b")]);
    assert_eq!(given.repeated.as_deref(), Some("mcp-session-id"));
    let refusal = declared_revision(&given, &Message::request(1, "ping", None)).unwrap_err();
    assert_eq!(refusal.code, code::HEADER_MISMATCH);
}

#[test]
fn upstream_headers_come_from_what_is_sent() {
    let version = |text: &str| ("MCP-Protocol-Version", text.to_owned());
    let call = modern("tools/call", json!({ "name": "wörld" }));
    for (message, revision, expected) in [
        (
            &call,
            Revision::V2026_07_28,
            vec![
                version("2026-07-28"),
                ("Mcp-Method", "tools/call".into()),
                ("Mcp-Name", "=?base64?d8O2cmxk?=".into()),
            ],
        ),
        (&call, Revision::V2025_11_25, vec![version("2025-11-25")]),
        (&call, Revision::V2025_03_26, vec![]),
        (&Message::request(1, "initialize", None), Revision::V2025_11_25, vec![]),
        (&Message::request(1, "a\r\nb: c", None), Revision::V2026_07_28, vec![version("2026-07-28")]),
        (
            &Message::notification("notifications/x", None),
            Revision::V2026_07_28,
            vec![version("2026-07-28"), ("Mcp-Method", "notifications/x".into())],
        ),
    ] {
        assert_eq!(derive(message, revision), expected);
    }
    let sent = derive(&call, Revision::LATEST);
    let read_back = McpHeaders::collect(sent.iter().map(|(name, value)| (*name, value.as_bytes())));
    assert_eq!(check_agreement(&read_back, &call), Ok(()), "what we send we would accept");
}

#[test]
fn without_headers_a_request_still_describes_itself() {
    assert!(check_meta(&modern("tools/list", json!({}))).is_ok());
    let refusal = check_meta(&request("tools/list", json!({}), None)).unwrap_err();
    assert_eq!((refusal.code, refusal.id), (code::INVALID_PARAMS, Some(Id::from(1))));
    assert!(check_meta(&Message::notification("notifications/cancelled", None)).is_ok());
    assert!(check_meta(&Message::result(Id::from(1), json!({}))).is_ok());
}
