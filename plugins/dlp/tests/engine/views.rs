//! The same value in every dress. None of them may hide it.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

use super::{CARD, EMAIL, IBAN, TOKEN, detectors, found};

type Dress = (&'static str, fn(&str) -> String);

fn each(value: &str, letter: impl Fn(char) -> String) -> String {
    value.chars().map(letter).collect()
}

fn wide(c: char) -> String {
    if c.is_ascii_graphic() { char::from_u32(u32::from(c) + 0xfee0).unwrap().to_string() } else { c.to_string() }
}

const DRESSES: [Dress; 22] = [
    ("bare", |value| value.to_owned()),
    ("zero width", |value| each(value, |c| format!("{c}\u{200b}"))),
    ("soft hyphen", |value| each(value, |c| format!("{c}\u{ad}"))),
    ("byte order mark", |value| each(value, |c| format!("{c}\u{feff}"))),
    ("joiner", |value| each(value, |c| format!("{c}\u{2060}"))),
    ("variation selector", |value| each(value, |c| format!("{c}\u{fe0f}"))),
    ("full width", |value| each(value, wide)),
    ("mathematical digits", |value| {
        each(value, |c| c.to_digit(10).map_or(c.into(), |d| char::from_u32(0x1d7ce + d).unwrap().to_string()))
    }),
    ("arabic digits", |value| {
        each(value, |c| c.to_digit(10).map_or(c.into(), |d| char::from_u32(0x660 + d).unwrap().to_string()))
    }),
    ("circled digits", |value| {
        each(value, |c| match c.to_digit(10) {
            Some(0) => "⓪".into(),
            Some(d) => char::from_u32(0x245f + d).unwrap().to_string(),
            None => c.into(),
        })
    }),
    ("unicode escapes", |value| each(value, |c| format!("\\u{:04x}", u32::from(c)))),
    ("doubled unicode escapes", |value| each(value, |c| format!("\\\\u{:04X}", u32::from(c)))),
    ("hex escapes", |value| each(value, |c| format!("\\x{:02x}", u32::from(c)))),
    ("percent", |value| each(value, |c| format!("%{:02X}", u32::from(c)))),
    ("percent twice", |value| each(value, |c| format!("%25{:02X}", u32::from(c)))),
    ("entities", |value| each(value, |c| format!("&#{};", u32::from(c)))),
    ("hex entities", |value| each(value, |c| format!("&#x{:x};", u32::from(c)))),
    ("base64", |value| STANDARD.encode(value)),
    ("base64 for urls, in a sentence", |value| URL_SAFE_NO_PAD.encode(format!("it is {value}, you know"))),
    ("base64 twice", |value| STANDARD.encode(STANDARD.encode(value))),
    ("hexadecimal", |value| hex::encode(value)),
    ("json in base64", |value| STANDARD.encode(format!("{{\"v\":\"{value}\"}}"))),
];

#[test]
fn every_value_is_found_in_every_dress() {
    let set = detectors();
    let mut missed = Vec::new();
    for (rule, value) in [("payment_card", CARD), ("email", EMAIL), ("github_token", TOKEN), ("iban", IBAN)] {
        for (name, dress) in DRESSES {
            for (before, after) in [("", ""), ("see: ", " ok"), ("<b>", "</b>"), ("(", ")")] {
                let text = format!("{before}{}{after}", dress(value));
                let hits = found(&set, &text, None);
                if !hits.iter().any(|(by, _)| by == rule) {
                    missed.push(format!("{rule} {name} {text}: {hits:?}"));
                }
            }
        }
    }
    assert!(missed.is_empty(), "{} missed:\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn separators_of_all_kinds_stand_inside_numbers() {
    let set = detectors();
    for separator in [
        " ", "-", ".", "/", " - ", "\u{a0}", "\u{2009}", "\u{3000}", "\u{2011}", "\u{2013}", "\u{b7}", "_", "%20",
        "&nbsp;",
    ] {
        let text = ["4111", "1111", "1111", "1111"].join(separator);
        assert_eq!(found(&set, &text, None), [("payment_card".to_owned(), text.as_str())], "{separator:?}");
    }
}

#[test]
fn an_encoded_value_is_hit_whole_and_an_escaped_one_exactly() {
    let set = detectors();
    for (text, expected) in [
        ("a jo%2Edoe%40example.org b", "jo%2Edoe%40example.org"),
        ("x am8uZG9lQGV4YW1wbGUub3Jn= y", "am8uZG9lQGV4YW1wbGUub3Jn="),
        ("t=6a6f2e646f65406578616d706c652e6f7267&u=1", "6a6f2e646f65406578616d706c652e6f7267"),
        ("to jo.doe&#64;example.org now", "jo.doe&#64;example.org"),
        ("to jo.doe=40example.org=20now", "jo.doe=40example.org"),
        ("/login/am8uZG9lQGV4YW1wbGUub3Jn/x", "am8uZG9lQGV4YW1wbGUub3Jn"),
        // A sign of quoted-printable elsewhere makes no letters of the first digits of a setting.
        ("a =3D b&n=4111%201111%201111%201111&c=1", "4111%201111%201111%201111"),
        ("a =3D b 4111=201111=201111=201111 c", "4111=201111=201111=201111"),
    ] {
        let hits = found(&set, text, None);
        assert_eq!(hits.iter().map(|(_, value)| *value).collect::<Vec<_>>(), [expected], "{text}");
    }
}

#[test]
fn mail_breaks_base64_into_lines() {
    let set = detectors();
    let letter = STANDARD
        .encode(format!("Dear colleague, the number that you asked for yesterday is {CARD}, and that is all. Yours"));
    let lines: Vec<String> =
        letter.as_bytes().chunks(60).map(|line| String::from_utf8_lossy(line).into_owned()).collect();
    assert_eq!(found(&set, &lines.join("\r\n"), None).len(), 1);
}

#[test]
fn what_is_encoded_too_often_is_not_let_through() {
    let set = detectors();
    let mut text = format!("the card {CARD}");
    for _ in 0..6 {
        text = STANDARD.encode(text);
    }
    let hits = found(&set, &text, None);
    assert_eq!(hits.iter().map(|(rule, _)| rule.as_str()).collect::<Vec<_>>(), ["too_deep"], "{text}");
}

#[test]
fn decoys_stay() {
    let set = detectors();
    for text in [
        "d41d8cd98f00b204e9800998ecf8427e",
        "7de01fe0c5b1b24bbb7c1b2a9d0b3a2f8d3a1c5e",
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
        "order 2026-000123, 1731763199123 ms",
        "100% of it & more, C:\\new\\table",
        "Ein Satz – mit Strich, „Zeichen“ und Größe…",
        "日本語のテキスト。これは普通の文です",
        "version 1.2.3-rc.4+build.5",
    ] {
        assert_eq!(found(&set, text, None), [], "{text}");
    }
}
