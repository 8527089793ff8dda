//! Any scenario that is valid, and anything that may happen to a run of it.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Story, asks, config, gate, says, spec, stage};
use crate::gate::engine::Answer;
use crate::gate::{GateTime, Refusal, Tri};

pub const PREDICATES: [&str; 4] = ["p0", "p1", "p2", "p3"];

/// A story before it is told: the scenario and what comes, in order.
#[derive(Debug, Clone)]
pub struct Plot {
    pub spec: Value,
    pub issue: bool,
    pub logical: bool,
    pub turns: Vec<Turn>,
}

#[derive(Debug, Clone)]
pub struct Turn {
    pub trigger: usize,
    pub kind: &'static str,
    pub at: u32,
    pub evidence: [Option<Tri>; 4],
    pub submits: bool,
}

fn tree() -> impl Strategy<Value = Value> {
    let leaf = prop::sample::select(&PREDICATES[..]).prop_map(|name| json!({ "Predicate": name }));
    leaf.prop_recursive(5, 24, 4, |inner| {
        let some = prop::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            some.clone().prop_map(|reqs| json!({ "And": reqs })),
            some.clone().prop_map(|reqs| json!({ "Or": reqs })),
            inner.prop_map(|one| json!({ "Not": one })),
            (some, any::<prop::sample::Index>()).prop_map(|(reqs, least)| {
                json!({ "RequireGroup": { "min": least.index(reqs.len()) + 1, "reqs": reqs } })
            }),
        ]
    })
}

#[derive(Debug, Clone)]
struct Leg {
    gates: Vec<Value>,
    way: u8,
    to: usize,
    rules: Vec<(usize, &'static str, usize)>,
    default: Option<usize>,
    timeout: Option<u32>,
    on_timeout: &'static str,
    packet: bool,
}

fn leg() -> impl Strategy<Value = Leg> {
    let outcome = prop::sample::select(vec!["true", "false", "unknown"]);
    let rules = prop::collection::vec((0_usize..4, outcome, 0_usize..4), 0..4);
    let late = prop::sample::select(vec!["fail", "advance_with_flag", "alternate_branch"]);
    let ends = (prop::option::of(0_usize..4), prop::option::of(0_u32..40), late, any::<bool>());
    (prop::collection::vec(tree(), 0..4), 0_u8..4, 0_usize..4, rules, ends).prop_map(
        |(gates, way, to, rules, (default, timeout, on_timeout, packet))| Leg {
            gates,
            way,
            to,
            rules,
            default,
            timeout,
            on_timeout,
            packet,
        },
    )
}

fn name(at: usize, count: usize) -> String {
    format!("stage-{}", at % count)
}

fn written(at: usize, leg: &Leg, count: usize) -> Value {
    let gate_name = |index: usize| format!("g{at}-{index}");
    let rule = |(of, outcome, to): &(usize, &str, usize)| json!({ "gate_id": gate_name(of % leg.gates.len()), "outcome": outcome, "next_stage_id": name(*to, count) });
    let rules: Vec<Value> = if leg.gates.is_empty() { vec![] } else { leg.rules.iter().map(rule).collect() };
    let advance_to = match leg.way {
        0 => json!({ "kind": "linear" }),
        1 => json!({ "kind": "fixed", "stage_id": name(leg.to, count) }),
        2 => json!({ "kind": "branch", "branches": rules, "default": leg.default.map(|to| name(to, count)) }),
        _ => json!({ "kind": "terminal" }),
    };
    let gates = leg.gates.iter().enumerate().map(|(index, tree)| gate(&gate_name(index), tree.clone())).collect();
    let mut written = stage(&name(at, count), gates, advance_to);
    written["timeout"] = leg.timeout.map_or(Value::Null, |ms| json!({ "timeout_ms": ms, "policy_tags": [] }));
    written["on_timeout"] = json!(leg.on_timeout);
    if leg.packet {
        written["entry_packets"] = json!([{
            "packet_id": format!("packet-{at}"), "schema_id": "x", "content_type": "application/json",
            "visibility_labels": ["l"], "policy_tags": [], "expiry": null,
            "payload": { "kind": "json", "value": { "n": 9_007_199_254_740_993_u64, "f": 0.1 } },
        }]);
    }
    written
}

fn turn() -> impl Strategy<Value = Turn> {
    let said = prop_oneof![
        Just(None),
        Just(Some(Tri::True)),
        Just(Some(Tri::True)),
        Just(Some(Tri::False)),
        Just(Some(Tri::Unknown))
    ];
    let kind = prop::sample::select(vec!["tick", "external_event", "backend_event", "agent_request_next"]);
    (0_usize..12, kind, 0_u32..60, prop::array::uniform4(said), any::<bool>())
        .prop_map(|(trigger, kind, at, evidence, submits)| Turn { trigger, kind, at, evidence, submits })
}

pub fn plot() -> impl Strategy<Value = Plot> {
    (prop::collection::vec(leg(), 1..5), any::<bool>(), any::<bool>(), prop::collection::vec(turn(), 0..14)).prop_map(
        |(legs, issue, logical, turns)| {
            let stages = legs.iter().enumerate().map(|(at, leg)| written(at, leg, legs.len())).collect();
            let spec = spec(PREDICATES.iter().map(|name| asks(name)).collect(), stages);
            Plot { spec, issue, logical, turns }
        },
    )
}

impl Plot {
    pub fn time(&self, at: u32) -> GateTime {
        if self.logical { GateTime::Logical(at.into()) } else { GateTime::UnixMillis(at.into()) }
    }

    pub fn begin(&self) -> Story {
        let mut config = config("s");
        config["dispatch_targets"] = json!([{ "kind": "agent", "agent_id": "a" }]);
        Story::begin(&self.spec, &config, self.time(0), self.issue)
    }

    pub fn tell(&self, story: &mut Story, turn: &Turn) -> Result<Answer, Refusal> {
        for (name, said) in PREDICATES.into_iter().zip(turn.evidence) {
            story.files.insert(name.into(), said.map_or(Ok(None), says));
        }
        if turn.submits {
            let request = json!({
                "run_id": "r", "submission_id": format!("s{}", turn.at), "content_type": "text/plain",
                "payload": { "kind": "json", "value": turn.at }, "submitted_at": self.time(turn.at),
                "correlation_id": null,
            });
            story.submit(&request).unwrap();
        }
        story.event(&format!("t{}", turn.trigger), turn.kind, self.time(turn.at))
    }

    pub fn told(&self) -> Story {
        let mut story = self.begin();
        for turn in &self.turns {
            // A scenario may lead nowhere; that is refused and leaves no mark.
            let _answer = self.tell(&mut story, turn);
        }
        story
    }
}
