//! Envelopes that are read, and those that are refused with their code.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
use super::*;

/// acceptance 42: bad JSON -32700, bad envelope -32600, bad params -32602 (an unknown method is the router's -32601).
#[test]
fn each_kind_of_nonsense_has_its_code() {
    for (text, code, message) in [
        ("{", -32700, "a key in quotes was expected (byte 1)"),
        ("", -32700, "a value was expected (byte 0)"),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"m"} x"#,
            -32700,
            "the text goes on after the end of the document (byte 38)",
        ),
        ("\u{feff}{}", -32700, "the text starts with a byte order mark (byte 0)"),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}"#, -32600, "duplicate key `id` (byte 24)"),
        ("1", -32600, "a message must be an object"),
        ("[]", -32600, "a batch must not be empty"),
        ("[[]]", -32600, "a message must be an object"),
        (r#"{"id":1,"method":"m"}"#, -32600, "`jsonrpc` must be \"2.0\""),
        (r#"{"jsonrpc":2.0,"id":1,"method":"m"}"#, -32600, "`jsonrpc` must be \"2.0\""),
        (r#"{"jsonrpc":"2.1","id":1,"method":"m"}"#, -32600, "`jsonrpc` must be \"2.0\""),
        (r#"{"jsonrpc":"2.0","id":1,"method":"m","extra":1}"#, -32600, "unknown member `extra`"),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"m","Method":"n"}"#,
            -32600,
            "member `Method` differs from `method` only in case",
        ),
        (r#"{"jsonrpc":"2.0","ID":1,"method":"m"}"#, -32600, "member `ID` differs from `id` only in case"),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"m","param\u017f":{}}"#,
            -32600,
            "member `paramſ` differs from `params` only in case",
        ),
        (r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#, -32600, "an id must be a string or an integer"),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"m"}"#, -32600, "an id must be a string or an integer"),
        (
            r#"{"jsonrpc":"2.0","id":[],"error":{"code":1,"message":""}}"#,
            -32600,
            "an id must be a string or an integer",
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, -32600, "`method` must be a string"),
        (r#"{"jsonrpc":"2.0","id":1}"#, -32600, "one of `method`, `result` and `error` is needed"),
        (r#"{"jsonrpc":"2.0","id":1,"result":1,"error":{}}"#, -32600, "`result` and `error` exclude each other"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"m","result":1}"#, -32600, "`method` excludes `result` and `error`"),
        (r#"{"jsonrpc":"2.0","result":1}"#, -32600, "a result must carry the id it answers"),
        (r#"{"jsonrpc":"2.0","id":null,"result":1}"#, -32600, "an id must be a string or an integer"),
        (r#"{"jsonrpc":"2.0","id":1,"result":1,"params":{}}"#, -32600, "a response has no `params`"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}"#, -32602, "`params` must be an object"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":null}"#, -32602, "`params` must be an object"),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"Name":1}}"#,
            -32602,
            "`params.Name` differs from `name` only in case",
        ),
        (
            r#"{"jsonrpc":"2.0","method":"m","params":{"_META":1}}"#,
            -32602,
            "`params._META` differs from `_meta` only in case",
        ),
        (
            r#"{"jsonrpc":"2.0","method":"m","params":{"argument\u017f":1}}"#,
            -32602,
            "`params.argumentſ` differs from `arguments` only in case",
        ),
        (
            r#"{"jsonrpc":"2.0","method":"m","params":{"to\u212aen":1,"c":1,"token":2}}"#,
            -32602,
            "`params.token` and `params.to\u{212a}en` differ only in case",
        ),
    ] {
        let refusal = parse(text.as_bytes(), 128).unwrap_err();
        assert_eq!((refusal.code, refusal.message.as_str()), (code, message), "{text}");
    }
}

#[test]
fn a_refusal_names_the_request_when_it_can() {
    for (text, id) in [
        (r#"{"jsonrpc":"1.0","id":"a","method":"m"}"#, Some(Id::from("a"))),
        (r#"{"method":"m","params":[],"jsonrpc":"2.0","id":7}"#, Some(Id::from(7))),
        (r#"{"jsonrpc":"2.0","id":7.5,"method":"m"}"#, None),
        (r#"{"jsonrpc":"2.0","id":7"#, None),
    ] {
        assert_eq!(parse(text.as_bytes(), 128).unwrap_err().id, id, "{text}");
    }
}

#[test]
fn what_belongs_to_the_tool_is_left_alone() {
    for text in [
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":1,"A":2,"Name":"x"}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"vendor/x","params":{"anything":[{}],"_meta":{"Name":1,"name":2}}}"#,
        r#"{"jsonrpc":"2.0","id":-1,"method":"","params":{}}"#,
    ] {
        assert!(parse(text.as_bytes(), 128).is_ok(), "{text}");
    }
}

#[test]
fn a_batch_is_bounded_and_as_strict_as_its_members() {
    let member = r#"{"jsonrpc":"2.0","method":"m"}"#;
    let batch = |count: usize| format!("[{}]", vec![member; count].join(","));
    assert_eq!(parse(batch(64).as_bytes(), 128).unwrap().messages().len(), 64);
    assert_eq!(parse(batch(65).as_bytes(), 128).unwrap_err().message, "a batch of 65 messages is larger than 64");
    let refusal = parse(br#"[{"jsonrpc":"2.0","method":"m"},{"jsonrpc":"2.0","id":3,"method":1}]"#, 128).unwrap_err();
    assert_eq!(refusal.id, Some(Id::from(3)));
}

#[test]
fn an_upstream_may_add_members_but_not_hide_one() {
    let read = |text: &str| envelope(serde_json::from_str(text).unwrap(), Origin::Upstream);
    assert!(read(r#"{"jsonrpc":"2.0","id":1,"result":{},"trace":"x"}"#).is_ok());
    assert!(read(r#"{"jsonrpc":"2.0","id":1,"result":{},"Result":{}}"#).is_err());
}
