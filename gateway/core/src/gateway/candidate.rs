//! Policies on trial: judged beside those in force, never obeyed, and written down, with their reason where they differ.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Gateway;
use crate::chain::{Compared, Ruling};
use crate::exchange::{Effective, Exchange, Subject};

impl Gateway {
    pub(super) fn compare(&self, exchange: &Exchange, ruling: &mut Ruling) {
        let Some(candidate) = self.candidate.load_full().filter(|_| exchange.tool().is_some()) else {
            return;
        };
        let mut again = exchange.clone();
        if let Subject::Tool(tool) = &mut again.subject {
            let own = exchange.rules.tool(&tool.name);
            tool.classified = own.or_else(|| candidate.policies().tool(&tool.name)).cloned();
            tool.effective = Effective::of(tool.classified.as_deref());
        }
        let judged = catch_unwind(AssertUnwindSafe(|| candidate.judge(&mut again, &mut |_, run| run()))).ok();
        let digest = candidate.policies().digest.clone();
        let decision = judged.as_ref().map(|judged| judged.decision);
        // Where it decides the same, the ruling has the reasons.
        let differs = judged.filter(|judged| judged.decision != ruling.decision);
        let reason = differs.and_then(|judged| judged.reasons.into_iter().next());
        ruling.compared = Some(Compared { digest, decision, reason });
    }
}
