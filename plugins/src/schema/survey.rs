//! A schema looked over before it is compiled: how large it is, where its references lead, and how much work a value could
//! make of it.
//!
//! A validator follows every alternative and every reference. Where alternatives lead to the same place again, and that
//! place to them, each level of a value doubles the work; whoever writes the schema and whoever writes the value could be
//! the same. So it is counted how often a schema may be asked at each depth, and a value for which that is too often is not
//! looked at.

mod graph;

use serde_json::Value;

use graph::Graph;

const LARGEST: usize = 256 << 10;
const MOST_SCHEMAS: usize = 5_000;
pub(super) const DEEPEST: usize = 64;
/// Questions that one value may lead to; about a second of them.
const MOST_WORK: u64 = 10_000_000;
/// Below this no value that fits into a message is worth counting.
const HARMLESS: u64 = 64;

/// What the faults of one value may take while they are sorted out.
const MOST_TOLD: u64 = 64 << 20;
/// About what one fault takes.
const A_FAULT: u64 = 512;

/// What is known of a schema.
pub struct Survey {
    /// How many schemas may be asked about one place at this depth of a value, at most.
    asked_at: Vec<u64>,
    /// Whether it has alternatives.
    chooses: bool,
    required: u64,
}

impl Survey {
    pub fn of(schema: &Value) -> Result<Self, String> {
        if !(schema.is_object() || schema.is_boolean()) {
            return Err("it is neither an object nor a boolean".into());
        }
        let (mut bytes, mut deepest) = (0, 0);
        size(schema, 0, &mut bytes, &mut deepest);
        if bytes > LARGEST {
            return Err(format!("it is larger than {} KiB", LARGEST >> 10));
        }
        if deepest > DEEPEST {
            return Err(format!("it is nested more than {DEEPEST} deep"));
        }
        let graph = Graph::of(schema, MOST_SCHEMAS)?;
        let asked_at = graph.asked_at(DEEPEST * 2)?;
        Ok(Self { asked_at, chooses: graph.chooses(), required: graph.required() })
    }

    /// Whether a fault of it may hold the faults of every alternative.
    pub fn chooses(&self) -> bool {
        self.chooses
    }

    /// Whether all faults of this value may be held at once. Those of alternatives each hold a copy of what they are about.
    pub fn is_tellable(&self, value: &Value) -> bool {
        let (mut places, mut deepest) = (0, 0);
        measure(value, 0, &mut places, &mut deepest);
        let copies = if self.chooses { weight(value).saturating_mul(deepest as u64 + 1) } else { 0 };
        let each = places.saturating_mul(A_FAULT).saturating_add(copies);
        self.most(deepest).saturating_add(self.required).saturating_mul(each) <= MOST_TOLD
    }

    /// How many schemas may be asked about one place of a value of this depth.
    fn most(&self, depth: usize) -> u64 {
        self.asked_at.get(..=depth).unwrap_or(&self.asked_at).iter().max().copied().unwrap_or(0)
    }

    /// Whether holding this value against it ends in reasonable time.
    pub fn is_bearable(&self, value: &Value) -> bool {
        if self.most(self.asked_at.len()) <= HARMLESS {
            return true;
        }
        let (mut places, mut deepest) = (0, 0);
        measure(value, 0, &mut places, &mut deepest);
        self.most(deepest).saturating_mul(places) <= MOST_WORK
    }
}

/// About as many bytes as it takes when it is written; stops where that is too many anyway.
fn size(value: &Value, depth: usize, bytes: &mut usize, deepest: &mut usize) {
    *deepest = depth.max(*deepest);
    if *bytes > LARGEST || depth > DEEPEST {
        return;
    }
    match value {
        Value::String(text) => *bytes += text.len() + 2,
        Value::Array(items) => {
            *bytes += items.len() + 2;
            items.iter().for_each(|item| size(item, depth + 1, bytes, deepest));
        }
        Value::Object(members) => {
            for (name, value) in members {
                *bytes += name.len() + 4;
                size(value, depth + 1, bytes, deepest);
            }
        }
        _ => *bytes += 4,
    }
}

fn measure(value: &Value, depth: usize, places: &mut u64, deepest: &mut usize) {
    *places += 1;
    *deepest = depth.max(*deepest);
    match value {
        Value::Array(items) => items.iter().for_each(|item| measure(item, depth + 1, places, deepest)),
        Value::Object(members) => members.values().for_each(|value| measure(value, depth + 1, places, deepest)),
        _ => {}
    }
}

/// About what a copy of it takes.
fn weight(value: &Value) -> u64 {
    let own = size_of::<Value>() as u64;
    match value {
        Value::String(text) => own + text.len() as u64,
        Value::Array(items) => own + items.iter().map(weight).sum::<u64>(),
        Value::Object(members) => {
            own + members.iter().map(|(name, value)| 2 * own + name.len() as u64 + weight(value)).sum::<u64>()
        }
        _ => own,
    }
}
