//! Documents that every parser reads alike, and those that are refused because some would not.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
use super::*;

fn nested(levels: usize) -> Vec<u8> {
    let mut text = vec![b'['; levels];
    text.extend(vec![b']'; levels]);
    text
}

#[test]
fn refuses_what_parsers_read_differently() {
    for (text, expected) in [
        (r#"{"a":1,"a":2}"#, "duplicate key `a` (byte 7)"),
        (r#"{"p":{"q":{"x":1,"x":2}}}"#, "duplicate key `x` in `p.q` (byte 17)"),
        (r#"{"p":[{"q":1},{"x":1,"\u0078":2}]}"#, "duplicate key `x` in `p.1` (byte 21)"),
        (r#"{"a":{"\/":1,"/":2}}"#, "duplicate key `/` in `a` (byte 13)"),
        (r#"{"":1,"":2}"#, "duplicate key `` (byte 6)"),
        (
            r#"{"n":18446744073709551616}"#,
            "an integer beyond 64 bits is read differently by different parsers; send it as a string in `n` (byte 5)",
        ),
        (
            r"[-9223372036854775809]",
            "an integer beyond 64 bits is read differently by different parsers; send it as a string in `0` (byte 1)",
        ),
        (r"[1e400]", "a number is too large for a double; send it as a string in `0` (byte 1)"),
        (r#"["\ud800"]"#, "a string holds half of a surrogate pair in `0` (byte 2)"),
        (r#"["\ud800\u0041"]"#, "a string holds half of a surrogate pair in `0` (byte 2)"),
        (r#"["\ud800\ud800"]"#, "a string holds half of a surrogate pair in `0` (byte 2)"),
        ("\"a line of ordinary length, and then\n\"", "a control character stands unescaped in a string (byte 36)"),
        (r#"["\udc00"]"#, "a string holds half of a surrogate pair in `0` (byte 2)"),
        (r#"{"\ud800":1}"#, "a string holds half of a surrogate pair (byte 2)"),
        ("\u{feff}{}", "the text starts with a byte order mark (byte 0)"),
        ("{} {}", "the text goes on after the end of the document (byte 3)"),
        ("[NaN]", "a value was expected in `0` (byte 1)"),
        ("[-Infinity]", "a digit was expected in `0` (byte 2)"),
    ] {
        assert_eq!(parse_strict(text.as_bytes(), 128).unwrap_err().to_string(), expected, "{text}");
    }
    assert_eq!(parse_strict(b"[\"a\xff\"]", 128).unwrap_err().to_string(), "the text is not valid UTF-8 (byte 3)");
}

/// serde_json's own tree takes this key for a document inside the document, whose duplicates nobody would have seen.
#[test]
fn no_key_is_special() {
    let text = r#"{"a":{"$serde_json::private::RawValue":"{\"b\":1,\"b\":2}"},"n":N}"#;
    for number in ["1", "1e30"] {
        let read = parse_strict(text.replace('N', number).as_bytes(), 128).unwrap();
        assert_eq!(read["a"]["$serde_json::private::RawValue"], r#"{"b":1,"b":2}"#, "{number}");
    }
}

#[test]
fn accepts_what_only_looks_strange() {
    for text in [
        r#"{"a":1,"A":2}"#,
        r#"[{"a":1},{"a":2}]"#,
        r#"{"a":{"a":{"a":1}}}"#,
        r#"{"n":[18446744073709551615,-9223372036854775808,0.1,-0,1e30,1E-7]}"#,
        r#"["\ud83d\ude00","😀","\u0000","\\\"\/\b\f\n\r\t"]"#,
        " [ ] ",
        "null",
        "\t{\r\n}\n",
    ] {
        assert_eq!(parse_strict(text.as_bytes(), 128).unwrap(), serde_json::from_str::<Value>(text).unwrap(), "{text}");
    }
}

#[test]
fn nests_to_the_limit_and_no_further() {
    for (levels, limit, accepted) in [
        (1, 1, true),
        (2, 1, false),
        (128, 128, true),
        (129, 128, false),
        (200, 200, true),
        (DEEPEST, usize::MAX, true),
        (DEEPEST + 1, usize::MAX, false),
        (1_000_000, usize::MAX, false),
    ] {
        let text = nested(levels);
        assert_eq!(parse_strict(&text, limit).is_ok(), accepted, "{levels} levels with a limit of {limit}");
        assert_eq!(check(&text, limit).is_ok(), accepted, "{levels} levels with a limit of {limit}");
    }
    assert_eq!(parse_strict(b"1", 0).unwrap(), 1);
    assert!(parse_strict(b"{}", 0).is_err());
}

#[test]
fn a_reply_is_not_refused_for_a_number() {
    for text in ["[123456789012345678901234567890]", "[1e400]", "[-1e-999]"] {
        assert!(check(text.as_bytes(), 128).is_ok(), "{text}");
    }
    assert_eq!(
        parse_reply(b"[123456789012345678901234567890]", 128).unwrap()[0].as_f64(),
        Some(123456789012345678901234567890.0)
    );
    assert_eq!(parse_reply(b"[1e400]", 128).unwrap_err().fault, Fault::NumberRange);
}

#[test]
fn numbers_survive_to_the_last_digit() {
    // serde_json's fast float reader is off by one here.
    let text = "[0.1,1.7976931348623157e308,5e-324,31.245270191439438,121.48791951161945]";
    let Value::Array(numbers) = parse_strict(text.as_bytes(), 8).unwrap() else { panic!("an array") };
    assert_eq!(numbers[3].as_f64(), Some(31.245270191439438));
    assert_eq!(numbers[4].as_f64(), Some(121.48791951161945));
    assert_eq!(serde_json::to_string(&numbers[1]).unwrap(), "1.7976931348623157e+308");
}

#[test]
fn a_large_object_is_checked_too() {
    let mut members: Vec<String> = (0..5_000).map(|n| format!("\"k{n}\":{n}")).collect();
    assert!(parse_strict(format!("{{{}}}", members.join(",")).as_bytes(), 2).is_ok());
    members.push("\"k17\":0".into());
    let error = parse_strict(format!("{{{}}}", members.join(",")).as_bytes(), 2).unwrap_err();
    assert_eq!(error.fault, Fault::DuplicateKey("k17".into()));
}
