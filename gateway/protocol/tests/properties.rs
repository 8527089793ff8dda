//! What holds for every input: no chunking changes a stream, what is written is read back, and the two readers agree.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "properties/any.rs"]
mod any;

use any::{id, text, tree};
use bytes::{Bytes, BytesMut};
use gateway_protocol::headers::{decode_value, encode_value};
use gateway_protocol::json::{check, parse_strict};
use gateway_protocol::message::parse;
use gateway_protocol::sse::{Decoder, Event, Frame, SseError};
use gateway_protocol::{Body, Message, Reply, RpcError};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value};

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

fn frames(chunks: &[&[u8]], limit: usize) -> Vec<Result<Frame, SseError>> {
    let mut decoder = Decoder::new(limit);
    let read = |chunk: &&[u8]| {
        decoder.push(Bytes::copy_from_slice(chunk));
        decoder.frames().collect::<Vec<_>>()
    };
    chunks.iter().flat_map(read).collect()
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

proptest! {
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
        prop_assert_eq!(frames(&[&out], 1 << 20), sent.into_iter().map(Ok).collect::<Vec<_>>());
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
