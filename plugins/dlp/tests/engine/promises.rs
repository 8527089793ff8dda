//! What must hold for any input.

use bytes::Bytes;
use gateway_dlp::{Action, Counts, Paths};
use proptest::prelude::*;
use serde_json::Value;

use super::{CARD, EMAIL, TOKEN, detectors, with};

fn shape(value: &Value) -> String {
    match value {
        Value::Null => "n".into(),
        Value::Bool(_) => "b".into(),
        Value::Number(number) => if number.is_f64() { "f" } else { "i" }.into(),
        Value::String(_) => "s".into(),
        Value::Array(items) => format!("[{}]", items.iter().map(shape).collect::<String>()),
        Value::Object(members) => format!("{{{}}}", members.values().map(shape).collect::<String>()),
    }
}

fn scrap() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(CARD.to_owned()),
        Just(EMAIL.to_owned()),
        Just(TOKEN.to_owned()),
        Just("4111 1111".to_owned()),
        Just("\\u0040".to_owned()),
        Just("%40".to_owned()),
        Just("am8uZG9lQGV4YW1wbGUub3Jn".to_owned()),
        Just("{\"a\":\"".to_owned()),
        Just("\u{200b}".to_owned()),
        "[ -~]{0,8}",
        "\\PC{0,6}",
        "[0-9 .-]{0,24}",
    ]
}

fn any_text() -> impl Strategy<Value = String> {
    prop::collection::vec(scrap(), 0..8).prop_map(|scraps| scraps.concat())
}

fn any_tree() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        Just(Value::from(4_111_111_111_111_111_u64)),
        any_text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((any_text(), inner), 0..6).prop_map(|all| Value::Object(all.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn hits_are_sorted_apart_and_suspected(text in any_text()) {
        let set = detectors();
        let mut hits = Vec::new();
        set.scan(&text, None, &mut hits);
        prop_assert!(hits.is_empty() || set.suspects(text.as_bytes()));
        let raw = serde_json::to_string(&text).unwrap();
        prop_assert!(hits.is_empty() || set.suspects(raw.as_bytes()), "{raw}");
        let mut end = 0;
        for hit in hits {
            prop_assert!(hit.start >= end && hit.start < hit.end && text.get(hit.start as usize..hit.end as usize).is_some());
            end = hit.end;
        }
    }

    #[test]
    fn a_document_keeps_its_shape(tree in any_tree()) {
        let raw = Bytes::from(tree.to_string());
        let edited = with(Action::Mask, &Paths::none(), |redaction, counts| redaction.json(&raw, counts)).unwrap();
        if let Some(edited) = edited {
            let after: Value = serde_json::from_slice(&edited).unwrap();
            prop_assert_eq!(shape(&tree), shape(&after));
        }
    }

    #[test]
    fn nothing_breaks_on_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let set = detectors();
        set.suspects(&bytes);
        with(Action::Hash, &Paths::none(), |redaction, counts| {
            let _ = redaction.json(&Bytes::from(bytes.clone()), counts);
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let _ = redaction.text(&text, counts);
            let _ = redaction.seam().tail(&text);
        });
    }

    #[test]
    fn a_value_is_gone_from_where_it_was(before in any_text(), after in any_text()) {
        let text = format!("{before} {TOKEN} {after}");
        let edited = with(Action::Mask, &Paths::none(), |redaction, _| {
            redaction.text(&text, &mut Counts::default())
        }).unwrap().unwrap_or_default();
        prop_assert!(!edited.contains(&format!(" {TOKEN} ")), "{edited}");
    }
}
