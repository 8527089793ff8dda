//! Which schemas are asked about the same place, and which about the places below it.

use std::collections::HashMap;

use serde_json::{Map, Value};

/// Steps that looking a schema over may take.
const MOST_STEPS: u64 = 5_000_000;

/// Schemas for one place that lead to one another: a validator goes down one call for each, at every level of a value.
const LONGEST_CHAIN: usize = 48;

/// Keywords whose members are schemas under names of the value.
const NAMED: [&str; 1] = ["properties"];
/// Keywords that hold schemas for places below, whatever those are called.
const BELOW: [&str; 9] = [
    "items",
    "prefixItems",
    "additionalItems",
    "additionalProperties",
    "patternProperties",
    "contains",
    "unevaluatedItems",
    "unevaluatedProperties",
    "propertyNames",
];
/// Keywords that hold schemas for the same place.
const HERE: [&str; 9] = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"];
/// Keywords whose faults hold the faults of what is in them.
const CHOICES: [&str; 2] = ["anyOf", "oneOf"];
/// Keywords whose members are schemas that nobody asks unless they are referred to.
const SHELVES: [&str; 2] = ["$defs", "definitions"];
/// Keywords that hold values, in which nothing is a keyword.
const VALUES: [&str; 6] = ["enum", "const", "default", "examples", "example", "required"];

#[derive(Default)]
struct Node<'s> {
    here: Vec<usize>,
    named: Vec<(&'s str, usize)>,
    below: Vec<usize>,
    refers: Vec<Reference<'s>>,
    /// Values that it compares with, one after the other: its own work for each place.
    compares: u64,
}

/// As many comparisons take about as long as asking one schema.
const COMPARED_AT_ONCE: u64 = 16;

struct Reference<'s> {
    to: &'s str,
    /// The document that it stands in: the whole, or a part with an `$id` of its own.
    within: &'s Value,
}

pub(super) struct Graph<'s> {
    nodes: Vec<Node<'s>>,
    /// By where a schema lies.
    known: HashMap<usize, usize>,
    ids: Vec<(&'s str, &'s Value)>,
    anchors: Vec<(&'s str, &'s Value)>,
    most: usize,
    chooses: bool,
    required: u64,
}

impl<'s> Graph<'s> {
    pub(super) fn of(schema: &'s Value, most: usize) -> Result<Self, String> {
        let mut graph = Self {
            nodes: Vec::new(),
            known: HashMap::new(),
            ids: Vec::new(),
            anchors: Vec::new(),
            most,
            chooses: false,
            required: 0,
        };
        graph.add(schema, schema)?;
        // What a reference leads to may itself refer; each schema is added once.
        let mut next = 0;
        while next < graph.nodes.len() {
            let refers = graph.nodes.get_mut(next).map(|node| std::mem::take(&mut node.refers)).unwrap_or_default();
            for reference in refers {
                for (target, within) in graph.resolve(schema, &reference)? {
                    let target = graph.add(target, within)?;
                    if let Some(node) = graph.nodes.get_mut(next) {
                        node.here.push(target);
                    }
                }
            }
            next += 1;
        }
        Ok(graph)
    }

    /// The number of a schema, which is looked through when it is first met.
    fn add(&mut self, schema: &'s Value, within: &'s Value) -> Result<usize, String> {
        let place = std::ptr::from_ref(schema).addr();
        if let Some(known) = self.known.get(&place) {
            return Ok(*known);
        }
        if self.nodes.len() >= self.most {
            return Err(format!("it holds more than {} schemas", self.most));
        }
        let number = self.nodes.len();
        self.known.insert(place, number);
        self.nodes.push(Node::default());
        let Value::Object(members) = schema else { return Ok(number) };
        let within = self.named(schema, members, within);
        let mut node = Node::default();
        for (keyword, value) in members {
            self.chooses |= CHOICES.contains(&keyword.as_str());
            match (keyword.as_str(), value) {
                ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(to)) => {
                    node.refers.push(Reference { to, within });
                }
                (keyword, Value::Object(map)) if NAMED.contains(&keyword) => {
                    for (name, schema) in map {
                        node.named.push((name, self.add(schema, within)?));
                    }
                }
                (keyword, value) if HERE.contains(&keyword) => node.here.extend(self.inside(keyword, value, within)?),
                (keyword, value) if BELOW.contains(&keyword) => node.below.extend(self.inside(keyword, value, within)?),
                (keyword, value) if SHELVES.contains(&keyword) => drop(self.inside(keyword, value, within)?),
                ("enum" | "const", value) => node.compares += values_in(value),
                ("required", value) => self.required += values_in(value),
                (keyword, _) if VALUES.contains(&keyword) => {}
                // A keyword that nobody knows asks nothing, but may be referred to.
                (_, value @ Value::Object(_)) => drop(self.add(value, within)?),
                _ => {}
            }
        }
        if let Some(kept) = self.nodes.get_mut(number) {
            *kept = node;
        }
        Ok(number)
    }

    /// Notes what the schema is called, and says in which document its own references are looked up.
    fn named(&mut self, schema: &'s Value, members: &'s Map<String, Value>, within: &'s Value) -> &'s Value {
        let text = |key: &str| members.get(key).and_then(Value::as_str);
        for key in ["$anchor", "$dynamicAnchor"] {
            self.anchors.extend(text(key).map(|name| (name, schema)));
        }
        match text("$id").or_else(|| text("id")) {
            Some(id) if id.starts_with('#') => {
                self.anchors.push((id.trim_start_matches('#'), schema));
                within
            }
            Some(id) => {
                self.ids.push((id.trim_end_matches('#'), schema));
                schema
            }
            None => within,
        }
    }

    /// The schemas that a keyword holds: itself, a list of them, or one under each name.
    fn inside(&mut self, keyword: &str, value: &'s Value, within: &'s Value) -> Result<Vec<usize>, String> {
        const MAPS: [&str; 5] = ["patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"];
        match value {
            Value::Object(map) if MAPS.contains(&keyword) => {
                map.values().filter(|value| !value.is_array()).map(|schema| self.add(schema, within)).collect()
            }
            Value::Array(items) => items.iter().map(|schema| self.add(schema, within)).collect(),
            schema => Ok(vec![self.add(schema, within)?]),
        }
    }

    fn resolve(&self, root: &'s Value, reference: &Reference<'s>) -> Result<Vec<(&'s Value, &'s Value)>, String> {
        let (document, fragment) = reference.to.split_once('#').unwrap_or((reference.to, ""));
        // The languages' own descriptions are at hand, and small.
        if document.contains("://json-schema.org/draft") {
            return Ok(Vec::new());
        }
        let nowhere = || format!("`$ref` to `{}` is not followed: it leads out of this document", shown(reference.to));
        let within = match document {
            "" => reference.within,
            document => {
                let same = |id: &str| id == document || id.ends_with(&format!("/{}", document.trim_start_matches('/')));
                self.ids.iter().find(|(id, _)| same(id)).map(|(_, schema)| *schema).ok_or_else(nowhere)?
            }
        };
        if fragment.is_empty() {
            return Ok(vec![(within, within)]);
        }
        if fragment.starts_with('/') {
            let pointer = unescaped(fragment);
            let found = within.pointer(&pointer).or_else(|| root.pointer(&pointer)).ok_or_else(nowhere)?;
            return Ok(vec![(found, within)]);
        }
        let found: Vec<_> =
            self.anchors.iter().filter(|(name, _)| *name == fragment).map(|(_, at)| (*at, within)).collect();
        if found.is_empty() { Err(nowhere()) } else { Ok(found) }
    }

    pub(super) fn chooses(&self) -> bool {
        self.chooses
    }

    /// Names that some place of it must have: each that is missing is a fault of its own.
    pub(super) fn required(&self) -> u64 {
        self.required
    }

    /// For each depth below the root, how many schemas may be asked about one place there.
    pub(super) fn asked_at(&self, depth: usize) -> Result<Vec<u64>, String> {
        let mut steps = 0;
        let mut together = Vec::with_capacity(self.nodes.len());
        let mut state = vec![State::New; self.nodes.len()];
        together.resize_with(self.nodes.len(), Vec::new);
        for number in 0..self.nodes.len() {
            self.gather(number, 0, &mut together, &mut state, &mut steps)?;
        }
        let count = |number: usize, counts: &[u64]| counts.get(number).copied().unwrap_or(0);
        let work = |number: usize| self.nodes.get(number).map_or(1, |node| 1 + node.compares / COMPARED_AT_ONCE);
        let own =
            |all: &Vec<(usize, u64)>| total(all.iter().map(|(number, times)| times.saturating_mul(work(*number))));
        let mut counts: Vec<u64> = together.iter().map(own).collect();
        let mut asked = vec![count(0, &counts)];
        for _ in 0..depth {
            let mut next = Vec::with_capacity(counts.len());
            for all in &together {
                steps += 1 + all.len() as u64;
                let mut by_name: HashMap<&str, u64> = HashMap::new();
                let mut any: u64 = 0;
                for (number, times) in all {
                    let Some(node) = self.nodes.get(*number) else { continue };
                    steps += (node.named.len() + node.below.len()) as u64;
                    for (name, below) in &node.named {
                        let sum = by_name.entry(name).or_default();
                        *sum = sum.saturating_add(count(*below, &counts).saturating_mul(*times));
                    }
                    let below = total(node.below.iter().map(|below| count(*below, &counts)));
                    any = any.saturating_add(below.saturating_mul(*times));
                }
                next.push(by_name.into_values().max().unwrap_or(0).saturating_add(any));
            }
            if steps > MOST_STEPS {
                return Err("its parts refer to one another too often".into());
            }
            let same = next == counts;
            counts = next;
            asked.push(count(0, &counts));
            if same || asked.last() == Some(&0) {
                break;
            }
        }
        Ok(asked)
    }

    /// Every schema that is asked about the same place, and how often.
    fn gather(
        &self,
        number: usize,
        chained: usize,
        together: &mut [Vec<(usize, u64)>],
        state: &mut [State],
        steps: &mut u64,
    ) -> Result<(), String> {
        match state.get(number) {
            Some(State::Done) | None => return Ok(()),
            Some(State::Open) => return Err("a `$ref` in it leads back to itself without end".into()),
            Some(State::New) => {}
        }
        if chained > LONGEST_CHAIN {
            return Err(format!("more than {LONGEST_CHAIN} references and alternatives in it lead to one another"));
        }
        set(state, number, State::Open);
        let mut all = HashMap::from([(number, 1_u64)]);
        for next in self.nodes.get(number).map_or(&[][..], |node| node.here.as_slice()) {
            self.gather(*next, chained + 1, together, state, steps)?;
            for (inner, times) in together.get(*next).into_iter().flatten() {
                *steps += 1;
                let sum = all.entry(*inner).or_default();
                *sum = sum.saturating_add(*times);
            }
            if *steps > MOST_STEPS {
                return Err("its parts refer to one another too often".into());
            }
        }
        if let Some(kept) = together.get_mut(number) {
            *kept = all.into_iter().collect();
        }
        set(state, number, State::Done);
        Ok(())
    }
}

/// How many values there are in one, itself among them.
fn values_in(value: &Value) -> u64 {
    match value {
        Value::Array(items) => 1 + items.iter().map(values_in).sum::<u64>(),
        Value::Object(members) => 1 + members.values().map(values_in).sum::<u64>(),
        _ => 1,
    }
}

#[derive(Clone, Copy)]
enum State {
    New,
    Open,
    Done,
}

fn set(state: &mut [State], number: usize, to: State) {
    if let Some(state) = state.get_mut(number) {
        *state = to;
    }
}

fn total(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

/// A pointer in a URI may be written with `%xx`.
fn unescaped(fragment: &str) -> String {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = after
            .get(..2)
            .and_then(|two| std::str::from_utf8(two).ok())
            .and_then(|two| u8::from_str_radix(two, 16).ok());
        match (first, hex) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn shown(reference: &str) -> String {
    reference.chars().take(100).flat_map(char::escape_debug).collect()
}
