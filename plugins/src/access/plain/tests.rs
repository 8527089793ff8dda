#![allow(clippy::unwrap_used, clippy::panic)]
//! The interpreter is who is right: whatever is answered here, it answers too.

use regorus::Engine;
use serde::Deserialize;
use serde_json::json;

use super::*;

const RULES: [&str; 3] = ["deny", "escalate", "allow"];

/// What rules of the tests may name.
const HELPERS: &str = r#"
package acme.rules
limits := {"EU": 100, "UK": 200, "US": 1000}
closed := {"EU", "UK"}
levels := [1, 2, 3]
is_clerk if "clerk" in input.principal.roles
is_large if input.arguments.limit > 100
is_large if input.arguments.amount >= 5
region := input.arguments.customer.region
twice := 1 if input.arguments.limit > 100
twice := 2 if input.arguments.amount > 1
roles contains "clerk" if is_clerk
roles contains "large" if is_large
default calm := true
calm := false if is_large
shout(text) := upper(text)
upper_region := upper(input.arguments.customer.region)
either := "a" if { is_clerk } else := "b"
around if around
nested.value := 3
"#;

/// Plain ones, ones that fail, and ones that only the interpreter reads.
const STEPS: [&str; 66] = [
    "input.arguments.limit > 100",
    "input.arguments.limit >= limits.EU",
    "input.arguments.limit == 10",
    "input.arguments.limit != 10",
    "input.arguments.limit < input.arguments.amount",
    "input.arguments.limit <= \"text\"",
    "input.arguments.text == \"many\"",
    "input.arguments.missing == null",
    "input.arguments.flag",
    "not input.arguments.flag",
    "not input.arguments.missing",
    "not input.arguments.missing == 3",
    "input.arguments[\"text\"]",
    "input.arguments[`text`]",
    "input.arguments[\"te\\u0078t\"]",
    "input.arguments.list[1] == 2",
    "input.arguments.list[input.arguments.amount]",
    "input.arguments.list == [1, 2]",
    "input.arguments.customer == {\"region\": \"EU\"}",
    "\"clerk\" in input.principal.roles",
    "not \"clerk\" in input.principal.roles",
    "input.arguments.limit in [10, 20]",
    "input.arguments.customer.region in closed",
    "input.arguments.missing in closed",
    "\"EU\" in input.arguments.customer",
    "2 in input.arguments.text",
    "is_clerk",
    "not is_clerk",
    "is_large",
    "region == \"EU\"",
    "region",
    "twice == 1",
    "not twice",
    "roles == {\"clerk\"}",
    "roles.clerk",
    "roles[\"large\"]",
    "calm",
    "not calm",
    "levels[0] == 1",
    "limits[region] < 150",
    "limits[input.arguments.customer.region] < input.arguments.limit",
    "startswith(input.arguments.text, \"ma\")",
    "endswith(input.arguments.text, \"ny\")",
    "not contains(input.arguments.text, \"an\")",
    "count(input.arguments.list) > 1",
    "count(input.arguments.text) > 1",
    "lower(input.arguments.customer.region) == \"eu\"",
    "to_number(input.arguments.text) > 3",
    "shout(input.arguments.text) == \"MANY\"",
    "upper_region == \"EU\"",
    "either == \"b\"",
    "around",
    "nested.value == 3",
    "some role in input.principal.roles; role == \"clerk\"",
    "every item in input.arguments.list { item > 0 }",
    "input.arguments.list[_] == 2",
    "count({item | some item in input.arguments.list}) == 2",
    "limit := input.arguments.limit; limit > 50",
    "limit := limits[input.arguments.customer.region]; input.arguments.limit > limit",
    "n := count(input.arguments.list); n > 1",
    "some region; input.arguments.customer[region] == \"EU\"",
    "region := \"EU\"; region == \"EU\"",
    "wanted := \"text\"; input.arguments[wanted]",
    "is_clerk with input.principal.roles as [\"clerk\"]",
    // The scheduler takes variables by their names.
    "zone := input.arguments.never; zone",
    "a := count(input.arguments.list); a > 1",
];

const HEADS: [&str; 5] =
    ["deny contains \"no\" if {", "deny contains region if {", "escalate if {", "allow if {", "deny := [\"x\"] if {"];

fn inputs() -> Vec<Value> {
    let shown = |value: serde_json::Value| Value::deserialize(&value).unwrap();
    let arguments = [
        json!({}),
        json!({"limit": 10, "amount": 1, "text": "many", "flag": true, "list": [1, 2], "customer": {"region": "EU"}}),
        json!({"limit": 500, "amount": 7.5, "text": "", "flag": false, "list": [], "customer": {"region": "US"}}),
        json!({"limit": "10", "amount": 0, "text": 7, "flag": null, "list": {"1": 2}, "customer": {"region": 3}}),
        json!({"limit": null, "amount": [2], "text": ["many"], "list": 7, "customer": [], "missing": null}),
        json!({"limit": 101, "amount": 1, "text": "x".repeat(300), "list": [0, 2, "EU"], "customer": "EU"}),
    ];
    let roles = [json!([]), json!(["clerk"]), json!(["senior", "clerk"]), json!("clerk")];
    let mut inputs: Vec<Value> = vec![shown(json!({}))];
    for arguments in &arguments {
        for roles in &roles {
            inputs.push(shown(json!({"arguments": arguments, "principal": {"roles": roles}})));
        }
    }
    inputs
}

/// How many answers the module gave, out of how many questions, after each was found to be the interpreter's.
fn compared(text: &str, inputs: &[Value]) -> (usize, usize) {
    let mut engine = Engine::new();
    let Ok(package) = engine.add_policy("module".into(), text.into()) else { return (0, 0) };
    engine.set_input(Value::new_object());
    let mut rules = Vec::new();
    for rule in RULES {
        match engine.eval_rule(format!("{package}.{rule}")) {
            Ok(_) => rules.push(rule),
            Err(error) if error.to_string().contains("not a valid rule path") => {}
            // Such a module is not loaded.
            Err(_) => return (0, 0),
        }
    }
    let plain = Plain::read(text, &RULES);
    let mut given = 0;
    for input in inputs {
        engine.set_input(input.clone());
        for rule in &rules {
            let Some(answer) = plain.answer(rule, input) else { continue };
            given += 1;
            let said = engine.eval_rule(format!("{package}.{rule}"));
            assert!(matches!(&said, Ok(said) if *said == answer), "{text}\n{rule} of {input}\n{answer} {said:?}");
        }
    }
    (given, rules.len() * inputs.len())
}

fn module(steps: &[&str], head: &str) -> String {
    format!("{HELPERS}\n{head}\n{}\n}}\n", steps.join("\n").replace("; ", "\n"))
}

#[test]
fn what_is_answered_is_what_the_interpreter_says() {
    let inputs = inputs();
    let (mut given, mut asked) = (0, 0);
    let mut count = |counted: (usize, usize)| {
        given += counted.0;
        asked += counted.1;
    };
    for (place, one) in STEPS.iter().enumerate() {
        for head in HEADS {
            count(compared(&module(&[one], head), &inputs));
        }
        for (distance, other) in STEPS.iter().enumerate() {
            let head = HEADS.iter().cycle().nth(place + distance).unwrap();
            count(compared(&module(&[one, other], head), &inputs));
        }
    }
    assert!(given * 2 > asked, "{given} of {asked}");
}

/// Three steps, and a second definition, drawn without end from the same steps.
#[test]
fn longer_rules_too() {
    let inputs: Vec<Value> = inputs().into_iter().step_by(3).collect();
    let mut state = 1_u64;
    let mut draw = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    let mut given = 0;
    for _ in 0..1500 {
        let mut step = || *STEPS.get(draw(STEPS.len())).unwrap();
        let (first, second) = ([step(), step(), step()], [step(), step()]);
        let head = HEADS.get(draw(HEADS.len())).unwrap();
        let again = format!("\n{head}\n{}\n}}\n", second.join("\n").replace("; ", "\n"));
        given += compared(&(module(&first, head) + &again), &inputs).0;
    }
    assert!(given > 1500, "{given}");
}

#[test]
fn plain_rules_are_answered_and_others_are_not() {
    let inputs = inputs();
    let all = |text: &str| {
        let (given, asked) = compared(text, &inputs);
        given == asked
    };
    for (step, expected) in [
        ("input.arguments.limit > 100", true),
        ("not \"clerk\" in input.principal.roles", true),
        ("limit := limits[input.arguments.customer.region]; input.arguments.limit > limit", true),
        ("is_clerk; input.arguments.flag", true),
        ("not calm", true),
        ("to_number(input.arguments.text) > 3", false),
        ("some role in input.principal.roles; role == \"clerk\"", false),
        ("startswith(input.arguments.text, \"ma\")", false),
        ("is_clerk with input.principal.roles as [\"clerk\"]", false),
        ("data.acme.rules.is_clerk", false),
        ("input.arguments; around", false),
        ("shout(\"x\") == \"X\"", false),
    ] {
        assert_eq!(all(&module(&[step], "deny contains \"no\" if {")), expected, "{step}");
    }
    for text in [
        "package static\ndeny if true",
        "package a\nimport input.arguments as limits\ndeny if limits",
        "package a\ndeny.x if true",
        "package a\ndeny := 1 if { input.x } else := 2 if { true }",
        "package a\ndeny(x) if x",
    ] {
        assert_eq!(compared(text, &inputs).0, 0, "{text}");
    }
}

/// What stands before a step that fails may end the rule; what stands behind it may not.
#[test]
fn a_failure_is_not_overtaken() {
    let inputs = inputs();
    let (nothing, full) = (inputs.first().unwrap(), inputs.get(9).unwrap());
    let fails = "to_number(input.arguments.text) > 3";
    let never = "input.arguments.never";
    let answer = |steps: &[&str]| Plain::read(&module(steps, "deny contains \"no\" if {"), &RULES).answer("deny", full);
    assert_eq!(answer(&[never, fails]), Some(Value::new_set()));
    assert_eq!(answer(&[fails, never]), None);
    assert_eq!(answer(&["wanted := input.arguments.never; wanted", fails]), None);
    assert_eq!(answer(&["wanted := input.arguments.never; wanted", "twice == 1"]), None, "two answers of one rule");
    assert_eq!(
        Plain::read(&module(&["twice"], "deny contains \"no\" if {"), &RULES).answer("deny", nothing),
        Some(Value::new_set())
    );
}

#[test]
fn what_takes_long_is_left_to_who_has_a_clock() {
    let text = "package a\ndeny if 7 in input.arguments.list";
    let long = |length: usize| Value::deserialize(&json!({"arguments": {"list": vec![1; length]}})).unwrap();
    let plain = Plain::read(text, &RULES);
    assert_eq!(plain.answer("deny", &long(1000)), Some(Value::Undefined));
    assert_eq!(plain.answer("deny", &long(WORK)), None);
    let mut doubling = "package a\nr0 if input.arguments\n".to_owned();
    for place in 1..15 {
        doubling += &format!("r{place} if {{ r{0}; r{0} }}\n", place - 1);
    }
    let doubling = doubling.replace("; ", "\n") + "deny if r14\n";
    assert_eq!(Plain::read(&doubling, &RULES).answer("deny", &long(1)), None);
    assert_eq!(
        Plain::read(&doubling.replace("deny if r14", "deny if r6"), &RULES).answer("deny", &long(1)),
        Some(Value::Bool(true))
    );
}
