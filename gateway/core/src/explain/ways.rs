//! What would make a call pass: changes that somebody could make, each tried against the chain, alone and then in pairs.

use std::sync::Arc;

use serde::Serialize;

use super::changes::{Change, changes};
use crate::chain::{Chain, Ruling};
use crate::exchange::Exchange;
use crate::identity::Principal;
use crate::imagine::Imagined;
use crate::live::Live;
use crate::verdict::{Decision, Heard};

/// More than this nobody reads, and pairs grow fast.
const MOST_TRIALS: usize = 64;

/// Changes that together make the call pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Way {
    pub changes: Vec<String>,
    /// What would be decided then.
    pub then: Decision,
}

/// The fewest changes first. Empty for what passes already, and for what nothing here would help. `kept`: objections that
/// were written down and that the chain cannot be asked for again.
pub(crate) fn would_pass(
    chain: &Chain,
    live: &Arc<Live>,
    (call, exchange): (&Imagined, &Exchange),
    ruling: &Ruling,
    kept: &[Heard],
) -> Vec<Way> {
    let decision = kept.iter().map(decided).fold(ruling.decision, Decision::max);
    if decision == Decision::Allow {
        return Vec::new();
    }
    let mut found: Vec<(Vec<Change>, Decision)> = Vec::new();
    if decision == Decision::ApprovalRequired {
        found.push((vec![Change::Approve], Decision::Allow));
    }
    let changes = changes(chain, (call, exchange), ruling, kept);
    let mut trials = 0;
    let mut attempt = |changes: &[&Change], found: &mut Vec<(Vec<Change>, Decision)>| {
        trials += 1;
        // A longer way is only worth telling where no part of it leads as far.
        let shorter = |way: &Vec<Change>| way.iter().all(|change| changes.iter().any(|tried| tried.covers(change)));
        if trials > MOST_TRIALS || found.iter().any(|(way, then)| *then == Decision::Allow && shorter(way)) {
            return;
        }
        let then = attempted(chain, live, call, kept, changes);
        let better = then < decision && !found.iter().any(|(way, known)| *known <= then && shorter(way));
        if better {
            found.push((changes.iter().map(|change| (*change).clone()).collect(), then));
        }
    };
    for change in &changes {
        attempt(&[change], &mut found);
    }
    for (place, first) in changes.iter().enumerate() {
        for second in changes.iter().skip(place + 1).filter(|second| first.goes_with(second)) {
            attempt(&[first, second], &mut found);
        }
    }
    found.sort_by_key(|(way, then)| (way.len(), *then));
    let written = |(way, then): (Vec<Change>, Decision)| Way {
        changes: way.iter().map(|change| change.written(call)).collect(),
        then,
    };
    found.into_iter().map(written).collect()
}

fn attempted(chain: &Chain, live: &Arc<Live>, call: &Imagined, kept: &[Heard], changes: &[&Change]) -> Decision {
    let mut changed = call.clone();
    let mut live = Arc::clone(live);
    let mut principal = Principal::clone(&call.principal);
    for change in changes {
        change.make(&mut changed, &mut principal, &mut live);
    }
    changed.principal = Arc::new(principal);
    let ruling = chain.judge(&mut changed.exchange(&live), &mut |_, run| run());
    let stands = |heard: &&Heard| !heard.observed && !changes.iter().any(|change| change.lifts(heard));
    let strictest = ruling.heard.iter().chain(kept).filter(stands).map(decided);
    strictest.max().unwrap_or(Decision::Deny)
}

fn decided(heard: &Heard) -> Decision {
    match heard.verdict {
        "deny" => Decision::Deny,
        "escalate" => Decision::ApprovalRequired,
        _ => Decision::Allow,
    }
}
