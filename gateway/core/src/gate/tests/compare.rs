//! Every row of the comparators.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Story, config, gate, spec, stage, tick};
use crate::gate::Tri::{self, False, True, Unknown};
use crate::gate::evidence::EvidenceValue;
use crate::gate::{Comparator, compare};

fn held(value: Option<EvidenceValue>, comparator: &str, expected: Option<Value>) -> Tri {
    let comparator: Comparator = serde_json::from_value(json!(comparator)).unwrap();
    compare(comparator, expected.as_ref(), value.as_ref())
}

fn number(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

// acceptance 118 c
#[test]
fn comparators_of_json() {
    let table: Vec<(Value, &str, Value, Tri)> = vec![
        (json!(10), "equals", number("10.0"), True),
        (json!(10), "equals", json!("10"), False),
        (json!(10), "not_equals", json!("10"), True),
        (json!(10), "not_equals", number("10.0"), False),
        (number("9223372036854775807"), "greater_than", number("9223372036854775806"), True),
        (number("9223372036854775807"), "equals", number("9223372036854775806"), False),
        (number("18446744073709551615"), "greater_than", number("-9223372036854775808"), True),
        (number("-9223372036854775808"), "less_than", number("-9223372036854775807"), True),
        (number("18446744073709551615"), "greater_than", number("9223372036854775807"), True),
        (number("0.1"), "equals", number("0.10"), True),
        (number("1e2"), "equals", json!(100), True),
        (number("-0.0"), "equals", json!(0), True),
        (number("1e300"), "greater_than", number("1e-300"), True),
        (number("-1e300"), "less_than", number("-1e299"), True),
        (number("0.5"), "less_than_or_equal", number("0.5"), True),
        (number("2.5"), "greater_than_or_equal", json!(3), False),
        (number("9007199254740993"), "greater_than", number("9007199254740992.0"), True),
        (json!("2024-01-02"), "less_than", json!("2024-01-10"), True),
        (json!("2024-01-01T01:00:00+01:00"), "greater_than_or_equal", json!("2024-01-01T00:00:00Z"), True),
        (json!("2024-01-01T00:00:00.5Z"), "greater_than", json!("2024-01-01T00:00:00.25Z"), True),
        (json!("2024-1-2"), "less_than", json!("2024-01-10"), Unknown),
        (json!("2024-01-01"), "less_than", json!("2024-01-01T00:00:00Z"), Unknown),
        (json!("2024-02-30"), "less_than", json!("2024-03-01"), Unknown),
        (json!("2024-01-01t00:00:00Z"), "less_than", json!("2024-01-01T00:00:01Z"), Unknown),
        (json!("2024-01-01 00:00:00Z"), "less_than", json!("2024-01-01T00:00:01Z"), Unknown),
        (json!("2024-01-01T00:00:00"), "less_than", json!("2024-01-01T00:00:01"), Unknown),
        (json!("2016-12-31T23:59:60Z"), "less_than", json!("2017-01-01T00:00:01Z"), Unknown),
        (json!("2024-01-01T00:00:00Z[UTC]"), "less_than", json!("2024-01-01T00:00:01Z"), Unknown),
        (json!("b"), "greater_than", json!("a"), Unknown),
        (json!(1), "less_than", json!("2"), Unknown),
        (json!(true), "greater_than", json!(false), Unknown),
        (json!("b"), "lex_greater_than", json!("a"), True),
        (json!("a"), "lex_greater_than_or_equal", json!("a"), True),
        (json!("a"), "lex_less_than", json!("a"), False),
        (json!("Z"), "lex_less_than_or_equal", json!("a"), True),
        (json!("\u{ff61}"), "lex_less_than", json!("😀"), True),
        (json!(2), "lex_less_than", json!(3), Unknown),
        (json!("abc"), "contains", json!("b"), True),
        (json!("abc"), "contains", json!("d"), False),
        (json!([1, 2]), "contains", json!([2]), True),
        (json!([1, 2]), "contains", json!([2, 3]), False),
        (json!([1, 2]), "contains", json!([]), True),
        (json!([10]), "contains", json!([number("10.0")]), False),
        (json!([1]), "contains", json!(1), Unknown),
        (json!({ "a": 1 }), "contains", json!("a"), Unknown),
        (json!(1), "in_set", json!([1, 2]), True),
        (json!("1"), "in_set", json!([1]), False),
        (json!(null), "in_set", json!([null]), True),
        (json!([1]), "in_set", json!([[1]]), Unknown),
        (json!({}), "in_set", json!([{}]), Unknown),
        (json!(1), "in_set", json!(1), Unknown),
        (json!(null), "equals", json!(null), True),
        (json!(null), "equals", json!(0), False),
        (json!({ "a": [1] }), "equals", json!({ "a": [1] }), True),
        (json!({ "a": 10 }), "equals", json!({ "a": 10.0 }), False),
        (json!([1, 2]), "deep_equals", json!([1, 2]), True),
        (json!([1, 2]), "deep_equals", json!([2, 1]), False),
        (json!({ "a": 1, "b": 2 }), "deep_equals", json!({ "b": 2, "a": 1 }), True),
        (json!({ "a": 1 }), "deep_not_equals", json!({ "a": 2 }), True),
        (json!([1]), "deep_not_equals", json!({ "a": 1 }), Unknown),
        (json!(1), "deep_equals", json!(1), Unknown),
    ];
    for (value, comparator, expected, answer) in table {
        let held = held(Some(EvidenceValue::Json(value.clone())), comparator, Some(expected.clone()));
        assert_eq!(held, answer, "{value} {comparator} {expected}");
    }
}

// acceptance 118 c
#[test]
fn presence_bytes_and_what_is_missing() {
    let json = |value: Value| Some(EvidenceValue::Json(value));
    let bytes = |value: &[u8]| Some(EvidenceValue::Bytes(value.to_vec()));
    for (value, comparator, expected, answer) in [
        (json(json!(null)), "exists", None, True),
        (None, "exists", None, False),
        (None, "not_exists", None, True),
        (json(json!(1)), "not_exists", None, False),
        (None, "equals", Some(json!(1)), Unknown),
        (None, "not_equals", Some(json!(1)), Unknown),
        (json(json!(1)), "equals", None, Unknown),
        (bytes(&[1, 2]), "equals", Some(json!([1, 2])), True),
        (bytes(&[1, 2]), "not_equals", Some(json!([1, 2])), False),
        (bytes(&[1]), "equals", Some(json!([2])), False),
        (bytes(&[1]), "equals", Some(json!([256])), Unknown),
        (bytes(&[1]), "equals", Some(json!([1.0])), Unknown),
        (bytes(&[1]), "equals", Some(json!("1")), Unknown),
        (bytes(&[1]), "contains", Some(json!([1])), Unknown),
        (bytes(&[1]), "greater_than", Some(json!([0])), Unknown),
        (bytes(&[]), "exists", None, True),
    ] {
        let held = held(value.clone(), comparator, expected.clone());
        assert_eq!(held, answer, "{value:?} {comparator} {expected:?}");
    }
}

// acceptance 118 d
#[test]
fn an_error_decides_before_anything_is_compared() {
    for comparator in ["exists", "not_exists"] {
        let predicate = json!({
            "predicate": "p", "comparator": comparator, "expected": null, "policy_tags": [],
            "query": { "provider_id": "json", "predicate": "path", "params": { "file": "p" } },
        });
        let spec = spec(
            vec![predicate],
            vec![stage("only", vec![gate("g", json!({ "Predicate": "p" }))], json!({ "kind": "terminal" }))],
        );
        for (file, expected) in [
            (Err("away"), Unknown),
            (Ok(None), if comparator == "exists" { False } else { True }),
            (Ok(Some(json!(null))), if comparator == "exists" { True } else { False }),
        ] {
            let mut story = Story::begin(&spec, &config("s"), tick(0), false);
            story.files.insert("p".into(), file.clone());
            story.event("t", "external_event", tick(1)).unwrap();
            let eval = &story.run.logs.gate_evals[0];
            assert_eq!(eval.evaluation.status, expected, "{comparator} {file:?}");
            let result = &eval.evidence[0].result;
            if result.error.is_some() {
                assert_eq!((&result.value, &result.evidence_hash, &result.content_type), (&None, &None, &None));
            }
        }
    }
}

proptest! {
    /// Numbers as decimals: whole ones as 128 bits would order them.
    #[test]
    fn whole_numbers_are_ordered_exactly(a in any::<i64>(), b in any::<u64>()) {
        let value = |number: Value| Some(EvidenceValue::Json(number));
        let less = compare(Comparator::LessThan, Some(&json!(b)), value(json!(a)).as_ref());
        prop_assert_eq!(less, Tri::from(i128::from(a) < i128::from(b)));
        let equal = compare(Comparator::Equals, Some(&json!(b)), value(json!(a)).as_ref());
        prop_assert_eq!(equal, Tri::from(i128::from(a) == i128::from(b)));
    }

    /// Floats by their shortest decimals, which is their own order.
    #[test]
    fn floats_are_ordered_as_they_are(a in any::<f64>(), b in any::<f64>()) {
        prop_assume!(a.is_finite() && b.is_finite());
        let less = compare(Comparator::LessThan, Some(&json!(b)), Some(&EvidenceValue::Json(json!(a))));
        prop_assert_eq!(less, Tri::from(a < b));
    }
}
