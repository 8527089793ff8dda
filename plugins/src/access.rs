//! Roles and attributes: the access rules of the policy files, then those of the caller's tenant.

use std::sync::Arc;

use gateway_core::access::AccessRules;
use gateway_core::verdict::{Objection, Remedy};
use gateway_core::{Exchange, Judge, Opinion, Verdict};

pub const NAME: &str = "access";

pub struct Access {
    files: Arc<dyn AccessRules>,
}

impl Access {
    pub fn new(files: Arc<dyn AccessRules>) -> Self {
        Self { files }
    }

    fn say_all(&self, exchange: &Exchange, for_list: bool, say: &mut dyn FnMut(Opinion)) {
        if exchange.tool().is_none_or(|tool| tool.governs()) {
            return;
        }
        let rules = &exchange.rules;
        self.files.judge(exchange, &rules.tenant, for_list, say);
        rules.access.judge(exchange, &rules.tenant, for_list, say);
        // What nobody can read, nobody can say that it is kept.
        for broken in &rules.broken {
            let message = format!("the policy {} cannot be read, so nothing passes it: {}", broken.policy, broken.why);
            let objection = Objection::new("broken", message).cured_by(Remedy::Policy(broken.policy.clone()));
            say(Opinion::new(Verdict::Deny(objection), broken.mode));
        }
    }
}

impl Judge for Access {
    fn name(&self) -> &'static str {
        NAME
    }

    /// Has many words, or none.
    fn on_request(&self, _exchange: &Exchange) -> Verdict {
        Verdict::Pass
    }

    fn hear(&self, exchange: &Exchange, say: &mut dyn FnMut(Opinion)) {
        self.say_all(exchange, false, say);
    }

    fn hear_for_list(&self, exchange: &Exchange, say: &mut dyn FnMut(Opinion)) {
        self.say_all(exchange, true, say);
    }
}
