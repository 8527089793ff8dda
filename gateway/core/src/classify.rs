//! What a call counts as, given what is asked of the tool: at least what the manifest says, and never less.

use crate::exchange::{Exchange, Raised, Subject};
use crate::policies::Policies;

/// Between mutators and judges, so that what is classified is what is sent.
pub fn raise(_policies: &Policies, exchange: &mut Exchange) {
    let declared = exchange.declared;
    let Subject::Tool(tool) = &mut exchange.subject else { return };
    if tool.classified.is_none() || tool.governs() {
        return;
    }
    if let Some(declared) = declared {
        let raised = tool.effective.classification.raised_to(declared);
        if raised != tool.effective.classification {
            tool.effective.classification = raised;
            let message = format!("the agent itself calls this {}", declared.code());
            let to = tool.effective.risk_level;
            tool.effective.why.push(Raised { rule: "declared".into(), to, message });
        }
    }
}
