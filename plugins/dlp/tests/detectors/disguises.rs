//! The same samples in every dress that a caller may put on them. acceptance 63

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

use super::shipped::{ALL, WRITTEN, hits, masked_json, severity, told};
use super::template::expanded;

type Dress = (&'static str, fn(&str) -> String);

const DRESSES: [Dress; 27] = [
    ("bare", |text| text.to_owned()),
    ("json", |text| serde_json::json!({ "a": text }).to_string()),
    ("json in json", |text| serde_json::json!({ "a": serde_json::json!({ "b": text }).to_string() }).to_string()),
    ("escaped", |text| text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect()),
    ("code points", |text| text.chars().map(|letter| format!("\\u{{{:x}}}", u32::from(letter))).collect()),
    ("bytes", |text| text.bytes().map(|byte| format!("\\x{byte:02x}")).collect()),
    ("percent", |text| text.bytes().map(|byte| format!("%{byte:02X}")).collect()),
    ("percent twice", |text| text.bytes().map(|byte| format!("%25{byte:02X}")).collect()),
    ("entities", |text| text.chars().map(|letter| format!("&#{};", u32::from(letter))).collect()),
    ("hexadecimal entities", |text| text.chars().map(|letter| format!("&#x{:X};", u32::from(letter))).collect()),
    ("quoted printable", |text| text.replace('=', "=3D").replace('@', "=40").replace('-', "=2D") + " =3D"),
    ("base64", |text| STANDARD.encode(text)),
    ("base64url", |text| format!("x {} y", URL_SAFE_NO_PAD.encode(text))),
    ("hexadecimal", |text| text.bytes().map(|byte| format!("{byte:02x}")).collect()),
    ("full width", full_width),
    ("zero width", |text| text.chars().flat_map(|letter| [letter, '\u{200b}']).collect()),
    ("hexadecimal with blanks", |text| text.bytes().map(|byte| format!("{byte:02x} ")).collect()),
    ("hexadecimal with colons", |text| text.bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":")),
    ("hexadecimal in a list", |text| text.bytes().map(|byte| format!("0x{byte:02x}, ")).collect()),
    ("bytes of a database", |text| {
        format!("\\x{}", text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>())
    }),
    ("eight digits", |text| text.chars().map(|letter| format!("\\U{:08x}", u32::from(letter))).collect()),
    ("octal", |text| text.bytes().map(|byte| format!("\\{byte:03o}")).collect()),
    ("entities without an end", |text| text.chars().map(|letter| format!("&#{}", u32::from(letter))).collect()),
    ("quoted printable throughout", |text| text.bytes().map(|byte| format!("={byte:02X}")).collect()),
    ("base64 of two bytes a letter", |text| {
        STANDARD.encode(text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>())
    }),
    ("marks over letters", |text| text.chars().flat_map(|letter| [letter, '\u{301}']).collect()),
    ("soft hyphens", |text| text.chars().flat_map(|letter| [letter, '\u{ad}']).collect()),
];

fn full_width(text: &str) -> String {
    let wide = |letter: char| match letter {
        ' ' => '\u{3000}',
        '!'..='~' => char::from_u32(u32::from(letter) + 0xfee0).unwrap(),
        other => other,
    };
    text.chars().map(wide).collect()
}

#[test]
fn every_sample_of_the_first_tier_is_found_in_every_dress() {
    let mut missed = Vec::new();
    let mut cases = 0;
    for written in WRITTEN.iter().filter(|written| written.tier == 1) {
        for sample in &written.must {
            for (name, dress) in DRESSES {
                cases += 1;
                let plain = expanded(sample);
                let text = dress(&plain);
                let found = hits(&ALL, &text);
                if !found.iter().any(|hit| severity(&ALL, hit) >= written.severity) {
                    missed.push(format!("{} in {name}: {text}: {:?}", written.id, told(&ALL, &text)));
                    continue;
                }
                // Nothing of what the rule finds in the plain text may be left in the dressed one.
                let values: Vec<_> = hits(&ALL, &plain)
                    .iter()
                    .filter(|hit| severity(&ALL, hit) >= written.severity)
                    .map(|hit| dress(&plain[hit.start as usize..hit.end as usize]))
                    .collect();
                // What is a document itself is walked, not read: `engine/json.rs` asks about those.
                let text = if text.starts_with(['{', '[']) { format!("x {text}") } else { text };
                let shown = masked_json(&text);
                if shown == text || values.iter().any(|value| shown.contains(value.trim_end_matches(" =3D"))) {
                    missed.push(format!("{} is left in {name}: {shown}", written.id));
                }
            }
        }
    }
    println!("{cases} disguises");
    assert!(missed.is_empty(), "{} of {cases}:\n{}", missed.len(), missed.join("\n"));
}

/// Digits of other scripts, and everything that people put between groups of them.
#[test]
fn numbers_are_found_however_they_are_grouped() {
    let arabic = |text: &str| -> String {
        text.chars().map(|c| c.to_digit(10).map_or(c, |digit| char::from_u32(0x660 + digit).unwrap())).collect()
    };
    let bold = |text: &str| -> String {
        text.chars().map(|c| c.to_digit(10).map_or(c, |digit| char::from_u32(0x1d7ce + digit).unwrap())).collect()
    };
    let mut missed = Vec::new();
    for groups in [
        &["4111", "1111", "1111", "1111"][..],
        &["5555", "5555", "5555", "4444"],
        &["3782", "822463", "10005"],
        &["DE89", "3704", "0044", "0532", "0130", "00"],
        &["GB82", "WEST", "1234", "5698", "7654", "32"],
        &["536", "90", "4399"],
    ] {
        for sign in [
            "-", " ", ".", "\u{a0}", "\u{2009}", "\u{2011}", "\u{2013}", "\u{2014}", "\u{2212}", "\u{3000}", "&nbsp;",
            "%20", "\\u0020", "&#45;",
        ] {
            let text = groups.join(sign);
            for text in [text.clone(), arabic(&text), bold(&text), format!("x: {text}, y")] {
                if hits(&ALL, &text).len() != 1 {
                    missed.push(text);
                }
            }
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}
