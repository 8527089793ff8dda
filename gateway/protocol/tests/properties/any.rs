//! Any text, any JSON, any id: what the properties are tried with.

use gateway_protocol::Id;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;

pub fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        vec(any::<char>(), 0..8).prop_map(|chars| chars.into_iter().collect()),
        Just("isError".into()),
        Just("resultType".into()),
        Just("input_required".into()),
        Just("a".into())
    ]
}

pub fn tree() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            vec((text(), inner), 0..5).prop_map(|members| Value::Object(members.into_iter().collect()))
        ]
    })
}

pub fn id() -> impl Strategy<Value = Id> {
    prop_oneof![any::<i64>().prop_map(Id::from), any::<u64>().prop_map(Id::from), text().prop_map(Id::from)]
}
