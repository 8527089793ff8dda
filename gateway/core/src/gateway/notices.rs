//! Hands on what policies would have people know of a call, as soon as it is judged.

use super::Gateway;
use crate::chain::Ruling;
use crate::exchange::Exchange;
use crate::ports::Notice;

impl Gateway {
    pub(super) fn announce(&self, exchange: &Exchange, ruling: &mut Ruling) {
        let reasons = std::mem::take(&mut ruling.notices);
        let Some(tool) = exchange.tool().filter(|_| !reasons.is_empty()) else { return };
        self.ports.notices.tell(Notice {
            trace: exchange.trace_id.clone(),
            tenant: exchange.principal.tenant,
            agent: exchange.principal.agent.clone(),
            tool: tool.name.clone(),
            classification: tool.classification(),
            decision: ruling.decision,
            reasons,
            at: exchange.at,
        });
    }
}
