//! Agent policies: those of the files, then those of the caller's tenant, each heard with the worth its mode gives it.

use gateway_core::rules::RuleSet;
use gateway_core::verdict::Opinion;
use gateway_core::{Exchange, Judge, Verdict};

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

    fn on_request(&self, _exchange: &Exchange) -> Verdict {
        Verdict::Pass
    }

    fn hear(&self, exchange: &Exchange, say: &mut dyn FnMut(Opinion)) {
        if exchange.tool().is_none_or(gateway_core::exchange::ToolSubject::governs) {
            return;
        }
        self.files.judge(exchange, say);
        exchange.rules.rules.judge(exchange, say);
        for broken in exchange.rules.broken.iter().filter(|broken| !broken.is_access()) {
            say(broken.opinion());
        }
    }

    /// Conditions read arguments and the hour; a list has neither.
    fn judges_lists(&self) -> bool {
        false
    }
}
