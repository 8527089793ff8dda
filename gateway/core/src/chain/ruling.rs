//! What the chain said, and how it comes to be said: the strictest word wins, every word is kept.

use std::sync::Arc;

use jiff::SignedDuration;
use uuid::Uuid;

use crate::exchange::Exchange;
use crate::policies::Policies;
use crate::scopes;
use crate::verdict::{Decision, Heard, Opinion, PolicyMode, Reason, Verdict};

/// What the chain said of one exchange.
#[derive(Debug, Clone)]
pub struct Ruling {
    pub decision: Decision,
    /// Why it is not `Allow`; strictest first.
    pub reasons: Vec<Reason>,
    pub heard: Vec<Heard>,
    /// What advisory policies, and those that only mention something, would have the caller know.
    pub advice: Vec<Reason>,
    /// What people are told of it.
    pub notices: Vec<Reason>,
    /// The shortest time that an escalating policy gives a human.
    pub respond_within: Option<SignedDuration>,
    /// The rules that asked for a human.
    pub policy_ids: Vec<String>,
    /// What it was decided under.
    pub policies: Arc<Policies>,
    /// What of the tenant's rows was obeyed, by digest.
    pub rules: Arc<str>,
    /// The approval it runs by.
    pub approval: Option<Uuid>,
    /// What the candidate would have said, where one runs beside.
    pub compared: Option<Compared>,
    /// Somebody knows this call.
    granted: bool,
}

/// Another set of policies beside the one in force, and its word on the same call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compared {
    pub digest: String,
    /// `None`: the candidate failed.
    pub decision: Option<Decision>,
    /// Its first reason, where it decides otherwise.
    pub reason: Option<Reason>,
}

impl Ruling {
    pub(super) fn open(policies: &Arc<Policies>, plugins: usize, exchange: &Exchange) -> Self {
        Self {
            decision: Decision::Allow,
            reasons: Vec::new(),
            heard: Vec::with_capacity(plugins),
            advice: Vec::new(),
            notices: Vec::new(),
            respond_within: None,
            policy_ids: Vec::new(),
            policies: Arc::clone(policies),
            rules: Arc::clone(&exchange.rules.enforced),
            approval: None,
            compared: None,
            granted: false,
        }
    }

    pub(super) fn is_granted(&self) -> bool {
        self.granted
    }

    pub fn digest(&self) -> &str {
        &self.policies.digest
    }

    /// A wider token is all that is missing: nobody else said no.
    pub(crate) fn needs_only_scope(&self) -> bool {
        let mut denials = self.heard.iter().filter(|heard| heard.verdict == "deny" && !heard.observed).peekable();
        let by_scope = |heard: &Heard| {
            heard.plugin == scopes::JUDGE && heard.reason.as_ref().is_some_and(|reason| reason.rule == scopes::RULE)
        };
        denials.peek().is_some() && denials.all(by_scope)
    }

    /// A refusal that is not a plugin's: the gateway's own rules, found broken after the chain had spoken.
    pub(crate) fn deny(&mut self, who: &'static str, rule: &'static str, message: &str) {
        self.hear(who, Opinion::enforced(Verdict::deny(rule, message)), false);
        self.strictest_first();
    }

    /// Every message that `hide` has other words for, wherever it is kept.
    pub(super) fn reword(&mut self, hide: impl Fn(&str) -> Option<String>) {
        let heard = self.heard.iter_mut().filter_map(|heard| heard.reason.as_mut());
        for reason in self.reasons.iter_mut().chain(&mut self.advice).chain(&mut self.notices).chain(heard) {
            if let Some(hidden) = hide(&reason.message) {
                reason.message = hidden;
            }
        }
    }

    pub(super) fn strictest_first(&mut self) {
        let denies = |reason: &Reason| {
            self.heard.iter().any(|heard| heard.verdict == "deny" && heard.reason.as_ref() == Some(reason))
        };
        self.reasons.sort_by_key(|reason| !denies(reason));
    }

    pub(super) fn hear(&mut self, plugin: &'static str, opinion: Opinion, lenient: bool) {
        let Opinion { verdict, mode } = opinion;
        let tells = matches!(verdict, Verdict::Notify(_));
        let mentions = tells || matches!(verdict, Verdict::Mention(_));
        let obeyed = mode == PolicyMode::Enforce && !mentions;
        // Asking for a human's yes is also an answer: the call is known, and only the human is missing.
        let speaks = verdict != Verdict::Pass;
        self.granted |= obeyed && (matches!(verdict, Verdict::Grant | Verdict::Escalate(_)) || (lenient && speaks));
        let (word, decision, objection) = match verdict {
            Verdict::Pass => return,
            Verdict::Grant => ("grant", Decision::Allow, None),
            Verdict::Mention(objection) | Verdict::Notify(objection) => ("mention", Decision::Allow, Some(objection)),
            Verdict::Escalate(objection) => ("escalate", Decision::ApprovalRequired, Some(objection)),
            Verdict::Deny(objection) => ("deny", Decision::Deny, Some(objection)),
        };
        let observed = lenient || !obeyed;
        if let Some(objection) = objection.as_ref().filter(|_| !observed && decision == Decision::ApprovalRequired) {
            self.policy_ids.push(objection.rule.clone().into_owned());
            let shorter = objection.respond_within.filter(|time| self.respond_within.is_none_or(|least| *time < least));
            self.respond_within = shorter.or(self.respond_within);
        }
        let mut remedy = None;
        let reason = objection.map(|objection| {
            remedy = objection.remedy;
            Reason::new(plugin, &objection.rule, objection.message)
        });
        if !observed {
            self.decision = self.decision.max(decision);
            self.reasons.extend(reason.clone());
        } else if (mode == PolicyMode::Advisory || (mentions && mode == PolicyMode::Enforce)) && !lenient {
            self.advice.extend(reason.clone());
        }
        if tells && mode == PolicyMode::Enforce && !lenient {
            self.notices.extend(reason.clone());
        }
        let observed = observed && reason.is_some();
        self.heard.push(Heard { plugin, verdict: word, reason, mode, observed, remedy });
    }
}
