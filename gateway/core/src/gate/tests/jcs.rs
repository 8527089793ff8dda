//! The canonical form itself, against the RFC's own vectors.

use serde_json::Value;

use crate::gate::digest::canonical;

// acceptance 120 i
#[test]
fn the_six_vectors_pass() {
    for name in ["arrays", "french", "structures", "unicode", "values", "weird"] {
        let read = |kind: &str, ending: &str| {
            let path = format!("{}/tests/data/jcs/{kind}/{name}.{ending}", env!("CARGO_MANIFEST_DIR"));
            std::fs::read(path).unwrap()
        };
        let value: Value = serde_json::from_slice(&read("input", "json")).unwrap();
        let written = canonical(&value).unwrap();
        assert_eq!(String::from_utf8_lossy(&written), String::from_utf8_lossy(&read("output", "json")), "{name}");
        let digits: String = String::from_utf8(read("outhex", "txt")).unwrap().split_whitespace().collect();
        assert_eq!(hex::encode(&written), digits, "{name}");
    }
}

// acceptance 120 i: refused by the canonicaliser, and there is no JSON value that could hold one further inside.
#[test]
fn what_json_cannot_say_is_refused() {
    for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert!(canonical(&odd).is_err(), "{odd}");
        assert!(serde_json::Number::from_f64(odd).is_none(), "{odd}");
    }
    for text in ["NaN", "Infinity", "-Infinity", "1e999", "[NaN]", r#"{"a":1e400}"#] {
        assert!(serde_json::from_str::<Value>(text).is_err(), "{text}");
    }
}
