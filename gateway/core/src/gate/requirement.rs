//! What a gate asks: a tree of predicates, and the flat form of it that is evaluated.

use serde_json::{Map, Value, json};

use super::read::{Faults, Place};
use super::refusal::FaultCode;
use super::spec::Dialect;
use super::{DEPTH, Id, Tri, logic};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Requirement {
    And(Vec<Self>),
    Or(Vec<Self>),
    Not(Box<Self>),
    RequireGroup { min: u8, reqs: Vec<Self> },
    Predicate(Id),
}

impl Requirement {
    pub fn read(place: Place<'_>, dialect: Dialect, faults: &mut Faults) -> Option<Self> {
        Self::read_below(place, dialect, 0, faults)
    }

    /// Counted on the way down: a tree that is too deep is a fault, not a stack that runs out.
    fn read_below(place: Place<'_>, dialect: Dialect, depth: usize, faults: &mut Faults) -> Option<Self> {
        if depth > DEPTH {
            faults.add(place.path, FaultCode::TooDeep, format!("stands below more than {DEPTH} operators"));
            return None;
        }
        let leaf = dialect.requirement_leaf();
        let path = place.path.clone();
        let fields = place.fields(&["And", "Or", "Not", "RequireGroup", leaf], faults)?;
        let below = |place: Place<'_>, faults: &mut Faults| Self::read_below(place, dialect, depth + 1, faults);
        let keys: Vec<_> =
            ["And", "Or", "Not", "RequireGroup", leaf].into_iter().filter(|key| fields.has(key)).collect();
        let [key] = keys.as_slice() else {
            let what = format!("must have exactly one of And, Or, Not, RequireGroup, {leaf}");
            faults.add(path, FaultCode::Field, what);
            return None;
        };
        let inner = fields.required(key, faults)?;
        match *key {
            "And" => some(inner, faults, below).map(Self::And),
            "Or" => some(inner, faults, below).map(Self::Or),
            "Not" => below(inner, faults).map(|one| Self::Not(Box::new(one))),
            "RequireGroup" => {
                let group = inner.fields(&["min", "reqs"], faults)?;
                let min: Option<u8> = group.typed("min", faults);
                let reqs = group.required("reqs", faults)?.each(faults, below);
                let (min, reqs) = (min?, reqs?);
                if min == 0 || usize::from(min) > reqs.len() {
                    let what = format!("must be from 1 to the number of requirements, which is {}", reqs.len());
                    faults.add(group.at("min"), FaultCode::GroupSize, what);
                    return None;
                }
                Some(Self::RequireGroup { min, reqs })
            }
            _ => inner.id(faults).map(Self::Predicate),
        }
    }

    pub fn written(&self, dialect: Dialect) -> Value {
        let all = |reqs: &[Self]| reqs.iter().map(|one| one.written(dialect)).collect::<Vec<_>>();
        match self {
            Self::And(reqs) => json!({ "And": all(reqs) }),
            Self::Or(reqs) => json!({ "Or": all(reqs) }),
            Self::Not(one) => json!({ "Not": one.written(dialect) }),
            Self::RequireGroup { min, reqs } => json!({ "RequireGroup": { "min": min, "reqs": all(reqs) } }),
            Self::Predicate(id) => {
                Value::Object(Map::from_iter([(dialect.requirement_leaf().to_owned(), id.as_str().into())]))
            }
        }
    }

    /// Every predicate in the order of the tree, repeats included.
    pub fn leaves(&self) -> Vec<&Id> {
        match self {
            Self::And(reqs) | Self::Or(reqs) | Self::RequireGroup { reqs, .. } => {
                reqs.iter().flat_map(Self::leaves).collect()
            }
            Self::Not(one) => one.leaves(),
            Self::Predicate(id) => vec![id],
        }
    }

    /// Children before their operator; leaves in the order of [`Self::leaves`].
    pub fn flat(&self) -> Box<[Op]> {
        let mut ops = Vec::new();
        self.flatten(&mut ops);
        ops.into()
    }

    fn flatten(&self, ops: &mut Vec<Op>) {
        match self {
            Self::And(reqs) | Self::Or(reqs) | Self::RequireGroup { reqs, .. } => {
                reqs.iter().for_each(|one| one.flatten(ops));
            }
            Self::Not(one) => one.flatten(ops),
            Self::Predicate(_) => {}
        }
        ops.push(match self {
            Self::And(reqs) => Op::And(reqs.len()),
            Self::Or(reqs) => Op::Or(reqs.len()),
            Self::Not(_) => Op::Not,
            Self::RequireGroup { min, reqs } => Op::Group(usize::from(*min), reqs.len()),
            Self::Predicate(_) => Op::Leaf,
        });
    }
}

/// `And` and `Or` of nothing would be decided by nothing.
fn some<'v>(
    place: Place<'v>,
    faults: &mut Faults,
    read: impl FnMut(Place<'v>, &mut Faults) -> Option<Requirement>,
) -> Option<Vec<Requirement>> {
    let path = place.path.clone();
    let all = place.each(faults, read)?;
    if all.is_empty() {
        faults.add(path, FaultCode::EmptyGroup, "must not be empty");
        return None;
    }
    Some(all)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    Leaf,
    Not,
    And(usize),
    Or(usize),
    Group(usize, usize),
}

/// The flat form over what its leaves are, in order. Nothing is left out once the answer is known: the trace lists all.
pub fn evaluate(ops: &[Op], leaves: impl IntoIterator<Item = Tri>) -> Tri {
    let mut leaves = leaves.into_iter();
    let mut stack: Vec<Tri> = Vec::with_capacity(8);
    for op in ops {
        let mut last = |count: usize| stack.split_off(stack.len().saturating_sub(count));
        let value = match *op {
            Op::Leaf => leaves.next().unwrap_or(Tri::Unknown),
            Op::Not => !logic::and(last(1)),
            Op::And(count) => logic::and(last(count)),
            Op::Or(count) => logic::or(last(count)),
            Op::Group(least, count) => logic::group(least, last(count)),
        };
        stack.push(value);
    }
    stack.pop().unwrap_or(Tri::Unknown)
}
