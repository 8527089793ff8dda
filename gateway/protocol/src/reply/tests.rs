//! What a scan notes, what it refuses, and what it leaves alone.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
use super::*;

fn scan(text: &str) -> Result<Reply, Malformed> {
    Reply::scan(Bytes::copy_from_slice(text.as_bytes()), 128)
}

fn complete(tool_error: bool) -> ReplyKind {
    ReplyKind::Result { tool_error, kind: ResultKind::Complete }
}

#[test]
fn notes_what_a_result_says_of_itself() {
    for (result, kind) in [
        ("{}", ResultKind::Complete),
        ("null", ResultKind::Complete),
        ("[1]", ResultKind::Complete),
        (r#"{"resultType":"complete"}"#, ResultKind::Complete),
        (r#"{"resultType":"input_required","requestState":"s"}"#, ResultKind::InputRequired),
        (r#"{"result\u0054ype" : "input\u005frequired"}"#, ResultKind::InputRequired),
        (r#"{"resultType":"task"}"#, ResultKind::Task),
        (r#"{"resultType":"vendor/x"}"#, ResultKind::Other),
        (r#"{"resultType":null}"#, ResultKind::Other),
        (r#"{"a":{"resultType":"task"}}"#, ResultKind::Complete),
    ] {
        let reply = scan(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#)).unwrap();
        assert_eq!(reply.kind(), ReplyKind::Result { tool_error: false, kind }, "{result}");
        assert_eq!(Reply::from_message(&reply.message().unwrap()).kind(), reply.kind(), "{result}");
    }
}

#[test]
fn notes_what_every_reply_is_asked() {
    use ReplyKind::{Error, Notification, Request, Result};
    for (text, kind, id, method) in [
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, complete(false), Some(Id::from(1)), None),
        (r#"{"result":{"isError":true},"id":1,"jsonrpc":"2.0"}"#, complete(true), Some(Id::from(1)), None),
        (r#"{"result":{"isErro\u0072" : true},"id":1,"jsonrpc":"2.0"}"#, complete(true), Some(Id::from(1)), None),
        (r#"{"result":{"a":{"isError":true}},"id":1,"jsonrpc":"2.0"}"#, complete(false), Some(Id::from(1)), None),
        (r#"{"jsonrpc":"2.0","id":"1","result":[{"isError":true}]}"#, complete(false), Some(Id::from("1")), None),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":{"n":1e999,"m":123456789012345678901234567890}}"#,
            complete(false),
            Some(Id::from(1)),
            None,
        ),
        (
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x","data":[1]}}"#,
            Error { code: -32700 },
            None,
            None,
        ),
        (r#"{"jsonrpc":"2.0","error":{"message":"x","code":4}}"#, Error { code: 4 }, None, None),
        (r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#, Request, Some(Id::from(9)), Some("ping")),
        (r#"{"jsonrpc":"2.0","method":"a\/b","params":{},"extra":1}"#, Notification, None, Some("a/b")),
    ] {
        let reply = scan(text).unwrap_or_else(|refusal| panic!("{text}: {refusal}"));
        assert_eq!((reply.kind(), reply.id().cloned(), reply.method()), (kind, id, method), "{text}");
        assert_eq!(reply.is_final(), matches!(kind, Result { .. } | Error { .. }), "{text}");
        assert_eq!(reply.raw(), text, "kept as it came");
    }
}

#[test]
fn refuses_what_is_no_reply() {
    for (text, code, id) in [
        ("{", -32700, None),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}} "x""#, -32700, None),
        (r#"{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}"#, -32600, None),
        ("[]", -32600, None),
        ("7", -32600, None),
        (r#"{"id":1,"result":{}}"#, -32600, Some(Id::from(1))),
        (r#"{"jsonrpc":2,"id":1,"result":{}}"#, -32600, Some(Id::from(1))),
        (r#"{"jsonrpc":"2.0","id":1.5,"result":{}}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":null,"result":{}}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#, -32600, None),
        (r#"{"jsonrpc":"2.0","id":1,"result":{},"Result":{}}"#, -32600, Some(Id::from(1))),
        (r#"{"jsonrpc":"2.0","id":1,"error":{"code":1}}"#, -32600, Some(Id::from(1))),
        (r#"{"jsonrpc":"2.0","id":1,"error":{"code":1.0,"message":""}}"#, -32600, Some(Id::from(1))),
        (r#"{"jsonrpc":"2.0","id":1,"result":{},"params":{}}"#, -32600, Some(Id::from(1))),
        (r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}"#, -32600, Some(Id::from(1))),
        (r#"{"jsonrpc":"2.0","id":1,"result":{},"method":"m"}"#, -32600, Some(Id::from(1))),
        (r#"{"jsonrpc":"2.0","id":1,"error":"x"}"#, -32600, Some(Id::from(1))),
        (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[]}"#, -32602, Some(Id::from(1))),
        (r#"{"jsonrpc":"2.0","id":1,"method":3,"x":}"#, -32700, None),
    ] {
        let refusal = scan(text).unwrap_err();
        assert_eq!((refusal.code, refusal.id), (code, id), "{text}");
    }
}

#[test]
fn a_batch_is_taken_apart_without_copying() {
    let raw = Bytes::from_static(br#" [ {"jsonrpc":"2.0","method":"a"} , {"jsonrpc":"2.0","id":1,"result":{}} ] "#);
    let replies = Reply::scan_all(&raw, 128).unwrap();
    assert_eq!(replies.iter().map(Reply::kind).collect::<Vec<_>>(), [ReplyKind::Notification, complete(false)]);
    assert_eq!(replies[1].raw(), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    assert_eq!(replies[0].raw().as_ptr(), raw[3..].as_ptr());
    assert_eq!(Reply::scan_all(&replies[0].raw().clone(), 128).unwrap().len(), 1);
    assert!(Reply::scan_all(&Bytes::from_static(b"[{}]"), 128).is_err());
}

#[test]
fn progress_names_its_token() {
    for (text, expected) in [
        (
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}"#,
            Some(Id::from("t")),
        ),
        (r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":3}}"#, Some(Id::from(3))),
        (r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#, None),
        (r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"progressToken":3}}"#, None),
    ] {
        assert_eq!(scan(text).unwrap().progress_token(), expected, "{text}");
    }
}

#[test]
fn the_tree_is_built_on_request() {
    let reply = scan(r#"{"jsonrpc":"2.0","id":1,"result":{"n":123456789012345678901234567890},"more":1}"#).unwrap();
    let Message::Response(response) = reply.message().unwrap() else { panic!("a response") };
    let Outcome::Result(result) = response.outcome else { panic!("a result") };
    assert_eq!(result["n"], 123456789012345678901234567890.0);
    let refusal = scan(r#"{"jsonrpc":"2.0","id":1,"result":{"n":1e999}}"#).unwrap().message().unwrap_err();
    assert_eq!(refusal.id, Some(Id::from(1)));
}

#[test]
fn a_fault_of_a_reply_names_nothing_of_it() {
    for text in [
        r#"{"jsonrpc":"2.0","id":1,"result":{"jane@example.org":1,"jane@example.org":2}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"jane@example.org":{"a":tru}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"jane@example.org":[[[[[[[1]]]]]]]}}"#,
    ] {
        let batch = Bytes::from(format!("[{text}]"));
        let told = [Reply::scan(Bytes::from(text), 6).unwrap_err(), Reply::scan_all(&batch, 6).unwrap_err()];
        for refusal in told {
            assert!(refusal.message.contains("(byte "), "{refusal}: the place is told");
            assert!(!refusal.message.contains("jane"), "{refusal}");
        }
    }
}
