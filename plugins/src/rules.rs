//! Agent policies: those of the policy files, then those of the caller's tenant.

use gateway_core::rules::RuleSet;
use gateway_core::{Exchange, Judge, Opinion, Verdict};

pub const NAME: &str = "rules";

pub struct Rules {
    files: RuleSet,
}

impl Rules {
    pub fn new(files: RuleSet) -> Self {
        Self { files }
    }
}

impl Judge for Rules {
    fn name(&self) -> &'static str {
        NAME
    }

    /// Has many words, or none.
    fn on_request(&self, _exchange: &Exchange) -> Verdict {
        Verdict::Pass
    }

    fn hear(&self, exchange: &Exchange, say: &mut dyn FnMut(Opinion)) {
        if exchange.tool().is_none_or(|tool| tool.governs()) {
            return;
        }
        self.files.judge(exchange, say);
        exchange.rules.rules.judge(exchange, say);
    }

    /// Conditions are over arguments, and a list has none.
    fn judges_lists(&self) -> bool {
        false
    }
}
