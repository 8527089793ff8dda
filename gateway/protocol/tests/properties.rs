//! What holds for every input: no chunking changes a stream, what is written is read back, and the two readers agree.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use bytes::{Bytes, BytesMut};
use gateway_protocol::era::{self, Filter, Greeting, Handshake, InputKind, Level};
use gateway_protocol::headers::{self, McpHeaders, decode_value, encode_value};
use gateway_protocol::json::{check, parse_strict};
use gateway_protocol::message::parse;
use gateway_protocol::sse::{Decoder, Event, Frame};
use gateway_protocol::{Body, Id, Message, Notification, Outcome, Reply, Request, Revision, RpcError};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value};

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        vec(any::<char>(), 0..8).prop_map(|chars| chars.into_iter().collect()),
        Just("isError".into()),
        Just("resultType".into()),
        Just("input_required".into()),
        Just("a".into())
    ]
}

fn tree() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            vec((text(), inner), 0..5).prop_map(|members| Value::Object(members.into_iter().collect()))
        ]
    })
}

fn id() -> impl Strategy<Value = Id> {
    prop_oneof![any::<i64>().prop_map(Id::from), any::<u64>().prop_map(Id::from), text().prop_map(Id::from)]
}

/// Params whose keys cannot collide in case.
fn params() -> impl Strategy<Value = Option<Map<String, Value>>> {
    proptest::option::of(
        vec(tree(), 0..4)
            .prop_map(|values| values.into_iter().enumerate().map(|(n, value)| (format!("k{n}"), value)).collect()),
    )
}

fn message() -> impl Strategy<Value = Message> {
    prop_oneof![
        (id(), text(), params()).prop_map(|(id, method, params)| Message::request(id, method, params)),
        (text(), params()).prop_map(|(method, params)| Message::notification(method, params)),
        (id(), tree()).prop_map(|(id, result)| Message::result(id, result)),
        (proptest::option::of(id()), any::<i64>(), text(), proptest::option::of(tree()))
            .prop_map(|(id, code, message, data)| Message::error(id, RpcError { code, message, data })),
    ]
}

/// Text near JSON: pieces of it in any order, so that most faults come up.
fn nearly_json() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop_oneof![
            Just("{"),
            Just("}"),
            Just("["),
            Just("]"),
            Just(","),
            Just(":"),
            Just(" "),
            Just("\"a\""),
            Just("\"b\"")
        ],
        prop_oneof![
            Just("0"),
            Just("-"),
            Just("12"),
            Just("."),
            Just("e"),
            Just("E+3"),
            Just("true"),
            Just("null"),
            Just("\n")
        ],
        prop_oneof![
            Just("\""),
            Just("\\"),
            Just("\\n"),
            Just("\\u0061"),
            Just("\\ud83d"),
            Just("\\ude00"),
            Just("é"),
            Just("\u{1}")
        ],
        prop_oneof![
            Just("{\"a\":"),
            Just("{\"jsonrpc\":\"2.0\","),
            Just("\"id\":1"),
            Just("\"result\":{}"),
            Just("\"method\":\"m\"")
        ],
    ];
    vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

/// A valid envelope with members left out, doubled, misspelt or replaced.
fn nearly_message() -> impl Strategy<Value = String> {
    let member = prop_oneof![
        Just(r#""jsonrpc":"2.0""#.to_owned()),
        Just(r#""jsonrpc":"2.0""#.to_owned()),
        tree().prop_map(|value| format!("\"jsonrpc\":{value}")),
        prop_oneof![tree(), any::<i64>().prop_map(Value::from)].prop_map(|value| format!("\"id\":{value}")),
        prop_oneof![tree(), Just(Value::from("m"))].prop_map(|value| format!("\"method\":{value}")),
        tree().prop_map(|value| format!("\"result\":{value}")),
        prop_oneof![tree(), Just(serde_json::json!({ "code": 1, "message": "x" }))]
            .prop_map(|value| format!("\"error\":{value}")),
        tree().prop_map(|value| format!("\"params\":{value}")),
        prop_oneof![
            Just("\"Result\":1".to_owned()),
            Just("\"extra\":1".to_owned()),
            Just("\"error\":{\"code\":-0,\"message\":\"\"}".to_owned())
        ],
    ];
    vec(member, 0..6).prop_map(|members| format!("{{{}}}", members.join(",")))
}

fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        prop_oneof![Just("\n"), Just("\r"), Just("\r\n"), Just("\n\n"), Just("\r\r")],
        prop_oneof![
            Just("data: a"),
            Just("data:b"),
            Just("data"),
            Just("id: 1"),
            Just("id"),
            Just("event: e"),
            Just("retry: 5")
        ],
        prop_oneof![Just(":"), Just(": c"), Just(" "), Just("\u{feff}"), Just("x: y"), Just("é"), Just("\0")],
    ];
    vec(piece, 0..30).prop_map(|pieces| pieces.concat().into_bytes())
}

fn frames(chunks: &[&[u8]], limit: usize) -> (Vec<Frame>, bool) {
    let mut decoder = Decoder::new(limit);
    let mut frames = Vec::new();
    for chunk in chunks {
        decoder.push(Bytes::copy_from_slice(chunk));
        loop {
            match decoder.next_frame() {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(_) => return (frames, true),
            }
        }
    }
    (frames, false)
}

fn line() -> impl Strategy<Value = String> {
    text().prop_map(|text| text.replace(['\r', '\n', '\0'], ""))
}

fn frame() -> impl Strategy<Value = Frame> {
    let event = (
        proptest::option::of(line()),
        proptest::option::of(line()),
        proptest::option::of(any::<u64>()),
        vec(line(), 0..4),
    )
        .prop_map(|(id, event, retry, lines)| {
            // Without any field there is no event to speak of.
            let dataless = lines.is_empty() && (id.is_some() || event.is_some() || retry.is_some());
            Event { id, event, retry, data: lines.join("\n").into(), dataless }
        });
    prop_oneof![event.prop_map(Frame::Event), line().prop_map(|comment| Frame::Comment(comment.into()))]
}

/// A key that the translation looks at, or any.
fn era_key() -> impl Strategy<Value = String> {
    let known = prop_oneof![
        prop_oneof![Just("_meta"), Just("content"), Just("type"), Just("tools"), Just("messages"), Just("contents")],
        prop_oneof![Just("inputRequests"), Just("requestState"), Just("resultType"), Just("method"), Just("params")],
        prop_oneof![
            Just("inputSchema"),
            Just("outputSchema"),
            Just("properties"),
            Just("x-mcp-header"),
            Just("required")
        ],
        prop_oneof![
            Just("mode"),
            Just("message"),
            Just("requestedSchema"),
            Just("oneOf"),
            Just("url"),
            Just("maxTokens")
        ],
        prop_oneof![
            Just("annotations"),
            Just("structuredContent"),
            Just("completion"),
            Just("values"),
            Just("elicitations")
        ],
        prop_oneof![Just("capabilities"), Just("protocolVersion"), Just("supportedVersions"), Just("notifications")],
        prop_oneof![
            Just("resourceSubscriptions"),
            Just("progressToken"),
            Just("resources"),
            Just("roots"),
            Just("action")
        ],
    ];
    prop_oneof![4 => known.prop_map(str::to_owned), 1 => text()]
}

fn era_leaf() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        prop_oneof![Just("text"), Just("audio"), Just("resource_link"), Just("resource"), Just("tool_result")],
        prop_oneof![Just("object"), Just("array"), Just("string"), Just("url"), Just("form"), Just("input_required")],
        prop_oneof![
            Just("2026-07-28"),
            Just("2025-06-18"),
            Just("elicitation/create"),
            Just("roots/list"),
            Just("accept")
        ],
    ];
    prop_oneof![
        word.prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        Just(Value::Null)
    ]
}

/// Trees that look like MCP's, with everything in the wrong place.
fn era_tree() -> impl Strategy<Value = Value> {
    era_leaf().prop_recursive(5, 48, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((era_key(), inner), 0..6).prop_map(|members| Value::Object(members.into_iter().collect()))
        ]
    })
}

fn era_method() -> impl Strategy<Value = String> {
    let known = prop_oneof![
        prop_oneof![
            Just("tools/call"),
            Just("tools/list"),
            Just("prompts/get"),
            Just("prompts/list"),
            Just("resources/read")
        ],
        prop_oneof![
            Just("resources/list"),
            Just("resources/templates/list"),
            Just("completion/complete"),
            Just("vendor/x")
        ],
        prop_oneof![
            Just("notifications/progress"),
            Just("notifications/message"),
            Just("notifications/resources/updated")
        ],
    ];
    known.prop_map(str::to_owned)
}

fn revision() -> impl Strategy<Value = Revision> {
    (0..Revision::ALL.len()).prop_map(|index| Revision::ALL[index])
}

fn object(value: &Value) -> Option<Map<String, Value>> {
    value.as_object().cloned()
}

/// A legacy request: no modern words in it, and a `_meta` that is one.
fn legacy_request() -> impl Strategy<Value = Request> {
    let meta = vec((text(), tree()), 0..3);
    (id(), era_method(), vec((text(), tree()), 0..4), meta).prop_map(|(id, method, params, meta)| {
        let mut params: Map<String, Value> = params.into_iter().collect();
        if !meta.is_empty() {
            params.insert("_meta".into(), Value::Object(meta.into_iter().collect()));
        }
        Request { id, method, params: Some(params).filter(|params| !params.is_empty()) }
    })
}

proptest! {
    #[test]
    fn a_legacy_request_comes_back_from_the_modern_era(request in legacy_request(), own in id(), token in proptest::option::of(id()), said in era_tree(), revision in revision()) {
        let handshake = Handshake { revision, capabilities: object(&said).unwrap_or_default(), client_info: said };
        let risen = era::up::request(&request, own.clone(), token.as_ref(), &handshake, Some(Level::Info));
        prop_assert!(headers::check_meta(&Message::Request(risen.clone())).is_ok());
        prop_assert_eq!(era::described(&Message::Request(risen.clone())).unwrap().token, token);
        let asked_again = era::up::retry(&risen, own, Map::from_iter([("k".to_owned(), Value::Null)]), Some("s".into()));
        for modern in [risen, asked_again] {
            prop_assert_eq!(era::down::request(&modern, request.id.clone(), None).unwrap(), request.clone());
        }
    }

    #[test]
    fn a_complete_legacy_result_comes_back_from_the_modern_era(members in vec((text(), tree()), 0..4), server in era_tree()) {
        let mut result: Map<String, Value> = members.into_iter().collect();
        result.shift_remove("resultType");
        let result = Value::Object(result);
        let greeting = Greeting { revision: Revision::LATEST_LEGACY, supported: vec![], capabilities: Map::new(), server_info: server, instructions: None };
        let risen = era::up_results::result("vendor/x", result.clone(), &greeting, Default::default());
        prop_assert_eq!(&risen["resultType"], "complete");
        prop_assert_eq!(era::down_results::result("vendor/x", risen, Revision::LATEST_LEGACY), result);
    }

    #[test]
    fn no_tree_makes_the_translation_panic(tree in era_tree(), other in era_tree(), method in era_method(), to in revision(), own in id()) {
        let handshake = Handshake::of_initialize(&object(&tree).unwrap_or_default());
        let _ = handshake.to_params();
        let greeting = Greeting::of_initialize(&tree).or_else(|| Greeting::of_discover(&tree)).unwrap_or(Greeting {
            revision: to, supported: vec![], capabilities: object(&tree).unwrap_or_default(), server_info: other.clone(), instructions: None,
        });
        let _ = (greeting.to_discover(), greeting.to_initialize(Some(to.as_str())));
        let request = Request { id: own.clone(), method: method.clone(), params: object(&tree) };
        let _ = era::described(&Message::Request(request.clone()));
        let _ = era::down::request(&request, own.clone(), Some(&own));
        let _ = era::up::request(&request, own.clone(), Some(&own), &handshake, None);
        let _ = era::down_results::result(&method, tree.clone(), to);
        let _ = era::up_results::result(&method, tree.clone(), &greeting, Default::default());
        let _ = era::up_results::error(&method, &RpcError { code: -32042, message: String::new(), data: Some(tree.clone()) });
        let notification = Notification { method, params: object(&tree) };
        let _ = (Level::of(&notification), era::down_results::notification(notification.clone(), to));
        let _ = era::tagged(era::under_token(notification.clone(), &own), &own);
        if let Some(filter) = Filter::of(&object(&tree).unwrap_or_default()) {
            let _ = (filter.wants(&notification), era::acknowledged(&filter.within(&greeting), &own));
        }
        if let Some(asked) = era::input_required(&tree) {
            let _ = era::asking(asked.inputs, asked.state.as_deref(), &greeting);
        }
        for kind in InputKind::ALL {
            let _ = era::question(kind, object(&tree).as_ref(), own.clone(), to);
            let _ = kind.may_ask(object(&tree).as_ref(), &object(&other).unwrap_or_default());
            let _ = (era::down::answer(kind, &tree), era::up::answer(kind, &Outcome::Result(tree.clone())));
        }
        let mirrored = headers::mirrored(&tree);
        let derived = headers::derive_mirrored(&mirrored, Some(&other));
        let headers = McpHeaders::collect(derived.iter().map(|(name, value)| (name.as_str(), value.as_bytes())));
        prop_assert!(headers::check_mirrored(&headers, &mirrored, Some(&other)).is_ok());
    }

    #[test]
    fn what_is_written_is_read_back(message in message()) {
        prop_assert_eq!(parse(&message.to_vec(), 128).unwrap(), Body::One(message.clone()));
        let scanned = Reply::scan(message.to_vec().into(), 128).unwrap();
        prop_assert_eq!(scanned.message().unwrap(), message.clone());
        prop_assert_eq!(scanned, Reply::from_message(&message));
    }

    #[test]
    fn our_scanner_and_serde_json_agree(text in nearly_json()) {
        let ours = check(text.as_bytes(), 128);
        match serde_json::from_str::<Value>(&text) {
            Ok(value) => match parse_strict(text.as_bytes(), 128) {
                Ok(strict) => prop_assert_eq!(strict, value),
                Err(error) => prop_assert!(!error.is_syntax(), "{}", error),
            },
            Err(_) => prop_assert!(ours.is_err(), "only we accept {:?}", text),
        }
    }

    #[test]
    fn scan_and_parse_agree_on_validity(text in prop_oneof![nearly_message(), nearly_json()]) {
        let scanned = Reply::scan(Bytes::from(text.clone()), 128);
        match &scanned {
            Ok(reply) => prop_assert_eq!(Reply::from_message(&reply.message().unwrap()).kind(), reply.kind(), "{}", text),
            Err(_) => prop_assert!(!matches!(parse(text.as_bytes(), 128), Ok(Body::One(_))), "only parse accepts {}", text),
        }
    }

    #[test]
    fn no_chunking_changes_a_stream(stream in stream(), cuts in vec(any::<prop::sample::Index>(), 0..6), limit in prop_oneof![Just(1 << 20), 4_usize..40]) {
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        places.extend([0, stream.len()]);
        places.sort_unstable();
        let chunks: Vec<&[u8]> = places.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect();
        let bytes: Vec<&[u8]> = stream.chunks(1).collect();
        let whole = frames(&[&stream], limit);
        prop_assert_eq!(&frames(&chunks, limit), &whole);
        prop_assert_eq!(&frames(&bytes, limit), &whole);
    }

    #[test]
    fn frames_survive_the_wire(sent in vec(frame(), 0..5)) {
        let mut out = BytesMut::new();
        for frame in &sent {
            frame.encode(&mut out);
        }
        prop_assert_eq!(frames(&[&out], 1 << 20), (sent, false));
    }

    #[test]
    fn header_values_survive_the_wire(value in text()) {
        let header = encode_value(&value);
        prop_assert!(header.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~')));
        prop_assert_eq!(header.trim_matches([' ', '\t']), &header);
        prop_assert_eq!(decode_value(&header).unwrap(), value);
    }

    #[test]
    fn nothing_makes_us_panic(bytes in vec(any::<u8>(), 0..64)) {
        let _ = parse(&bytes, 128);
        let _ = Reply::scan_all(&Bytes::from(bytes.clone()), 128);
        let _ = frames(&[&bytes], 32);
    }
}
