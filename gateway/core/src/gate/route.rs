//! Where a stage leads, given what its gates said.

use super::Tri;
use super::scenario::Way;
use super::spec::BranchOutcome;

impl From<BranchOutcome> for Tri {
    fn from(outcome: BranchOutcome) -> Self {
        match outcome {
            BranchOutcome::True => Self::True,
            BranchOutcome::False => Self::False,
            BranchOutcome::Unknown => Self::Unknown,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Road {
    Complete,
    To(usize),
    Hold,
    /// All gates passed and nothing says what then: the scenario's mistake, not a decision.
    Nowhere,
}

/// A branch may be taken on any outcome; every other way opens only when all gates are true.
pub fn road(way: &Way, gates: &[Tri]) -> Road {
    let passed = gates.iter().all(|gate| *gate == Tri::True);
    match way {
        Way::Branch(..) => branch(way, gates, if passed { Road::Nowhere } else { Road::Hold }),
        _ if !passed => Road::Hold,
        Way::Complete => Road::Complete,
        Way::To(stage) => Road::To(*stage),
    }
}

/// Out of time: every way but a branch is gone as if all had passed; a branch asks its rules as if every gate had said
/// `gates`.
pub fn overdue(way: &Way, count: usize, gates: Tri) -> Road {
    match way {
        Way::Complete => Road::Complete,
        Way::To(stage) => Road::To(*stage),
        Way::Branch(..) => {
            let otherwise = if gates == Tri::True { Road::Nowhere } else { Road::Hold };
            branch(way, &vec![gates; count], otherwise)
        }
    }
}

fn branch(way: &Way, gates: &[Tri], otherwise: Road) -> Road {
    let Way::Branch(rules, default) = way else {
        return otherwise;
    };
    let taken = rules.iter().find(|(gate, outcome, _)| gates.get(*gate) == Some(outcome)).map(|(_, _, stage)| *stage);
    taken.or(*default).map_or(otherwise, Road::To)
}
