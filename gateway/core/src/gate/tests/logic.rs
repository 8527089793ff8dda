//! The three values, as tables and as laws.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Story, asks, config, gate, says, spec, stage, tick};
use crate::gate::Tri::{self, False, True, Unknown};
use crate::gate::logic::{and, group, or};

const ALL: [Tri; 3] = [True, False, Unknown];

/// What a gate with this requirement says when the files `a`, `b`, `c`.. say these.
fn said(requirement: Value, files: &[Tri]) -> Tri {
    let names = ["a", "b", "c"];
    let spec = spec(
        names.iter().map(|name| asks(name)).collect(),
        vec![stage("only", vec![gate("g", requirement)], json!({ "kind": "terminal" }))],
    );
    let mut story = Story::begin(&spec, &config("s"), tick(0), false);
    story.files = names.iter().zip(files).map(|(name, status)| ((*name).into(), says(*status))).collect();
    story.event("t", "external_event", tick(1)).unwrap();
    story.run.logs.gate_evals[0].evaluation.status
}

fn leaf(name: &str) -> Value {
    json!({ "Predicate": name })
}

// acceptance 118 a
#[test]
fn truth_tables() {
    let and_table = [[True, False, Unknown], [False, False, False], [Unknown, False, Unknown]];
    let or_table = [[True, True, True], [True, False, Unknown], [True, Unknown, Unknown]];
    let pair = || json!([leaf("a"), leaf("b")]);
    for (row, a) in ALL.into_iter().enumerate() {
        for (column, b) in ALL.into_iter().enumerate() {
            assert_eq!(said(json!({ "And": pair() }), &[a, b]), and_table[row][column], "{a:?} and {b:?}");
            assert_eq!(said(json!({ "Or": pair() }), &[a, b]), or_table[row][column], "{a:?} or {b:?}");
        }
    }
    for (of, expected) in [(True, False), (False, True), (Unknown, Unknown)] {
        assert_eq!(said(json!({ "Not": leaf("a") }), &[of]), expected, "not {of:?}");
    }
}

// acceptance 118 a
#[test]
fn nested_trees() {
    // (a or not b) and not (b and c)
    let tree = json!({ "And": [
        { "Or": [leaf("a"), { "Not": leaf("b") }] },
        { "Not": { "And": [leaf("b"), leaf("c")] } },
    ] });
    for (files, expected) in [
        ([True, False, True], True),
        ([True, True, True], False),
        ([Unknown, True, False], Unknown),
        ([False, Unknown, False], Unknown),
        ([False, True, Unknown], False),
        ([True, Unknown, False], True),
    ] {
        assert_eq!(said(tree.clone(), &files), expected, "{files:?}");
    }
}

// acceptance 118 b
#[test]
fn groups() {
    let group = json!({ "RequireGroup": { "min": 2, "reqs": [leaf("a"), leaf("b"), leaf("c")] } });
    for (files, expected) in [
        ([True, True, False], True),
        ([True, Unknown, Unknown], Unknown),
        ([True, False, False], False),
        ([True, True, Unknown], True),
        ([False, False, False], False),
        ([False, True, Unknown], Unknown),
        ([False, False, Unknown], False),
    ] {
        assert_eq!(said(group.clone(), &files), expected, "{files:?}");
    }
}

/// Nothing is left out of the trace once the answer is known, and repeats are told.
#[test]
fn the_trace_has_every_leaf_in_the_order_of_the_tree() {
    let tree = json!({ "Or": [leaf("b"), { "And": [leaf("a"), leaf("b")] }, leaf("c")] });
    let spec = spec(
        vec![asks("a"), asks("b"), asks("c")],
        vec![stage("only", vec![gate("g", tree)], json!({ "kind": "terminal" }))],
    );
    let mut story = Story::begin(&spec, &config("s"), tick(0), false);
    story.files = [("a", True), ("b", True), ("c", False)].map(|(name, status)| (name.into(), says(status))).into();
    story.event("t", "external_event", tick(1)).unwrap();
    let eval = &story.run.logs.gate_evals[0];
    let trace: Vec<_> = eval.evaluation.trace.iter().map(|leaf| leaf.predicate.as_str()).collect();
    let evidence: Vec<_> = eval.evidence.iter().map(|record| record.predicate.as_str()).collect();
    assert_eq!((trace, evidence), (vec!["b", "a", "b", "c"], vec!["a", "b", "c"]));
}

fn tri() -> impl Strategy<Value = Tri> {
    prop_oneof![Just(True), Just(False), Just(Unknown)]
}

/// Whether `more` is `less` with some of what was unknown found out.
fn found_out(less: Tri, more: Tri) -> bool {
    less == Unknown || less == more
}

proptest! {
    #[test]
    fn kleene_laws(a in tri(), b in tri(), c in tri(), many in prop::collection::vec(tri(), 1..8)) {
        prop_assert_eq!(and([a, b]), and([b, a]));
        prop_assert_eq!(or([a, b]), or([b, a]));
        prop_assert_eq!(and([a, and([b, c])]), and([and([a, b]), c]));
        prop_assert_eq!(or([a, or([b, c])]), or([or([a, b]), c]));
        prop_assert_eq!(!and([a, b]), or([!a, !b]));
        prop_assert_eq!(!or([a, b]), and([!a, !b]));
        prop_assert_eq!(!!a, a);
        prop_assert_eq!(and([a, or([a, b])]), a);
        prop_assert_eq!(and([a, or([b, c])]), or([and([a, b]), and([a, c])]));
        prop_assert_eq!(group(1, many.clone()), or(many.clone()));
        prop_assert_eq!(group(many.len(), many.clone()), and(many.clone()));
    }

    /// Finding out more never takes back what was already known.
    #[test]
    fn knowing_more_changes_no_answer(pairs in prop::collection::vec((tri(), tri()), 1..8), least in 1_usize..8) {
        let less: Vec<Tri> = pairs.iter().map(|(less, _)| *less).collect();
        let more: Vec<Tri> = pairs.iter().map(|(less, more)| if *less == Unknown { *more } else { *less }).collect();
        prop_assert!(found_out(and(less.clone()), and(more.clone())));
        prop_assert!(found_out(or(less.clone()), or(more.clone())));
        prop_assert!(found_out(group(least, less), group(least, more)));
    }
}
