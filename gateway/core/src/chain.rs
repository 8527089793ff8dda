//! The chain: every plugin in order, mutators before judges, and the one way to get a [`Permit`].
//!
//! What is judged is what is sent, because mutators are done before the first judge speaks. No judge silences another:
//! the strictest verdict wins and every reason is kept.

mod permit;
#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use gateway_protocol::Reply;
use serde::{Deserialize, Serialize};

use crate::exchange::Exchange;
use crate::policies::Policies;
use crate::scopes;
use crate::verdict::{Decision, Heard, Objection, Reason, Verdict};

pub use permit::{OwnAnswer, Permit};

/// May change the message; heard before any judge.
pub trait Mutator: Send + Sync {
    fn name(&self) -> &'static str;
    fn on_request(&self, exchange: &mut Exchange) -> Verdict;
    /// Whether `on_reply` has anything to say: a stream has many messages, and most plugins none of them to look at.
    fn reviews_replies(&self) -> bool {
        false
    }
    fn on_reply(&self, _exchange: &Exchange, _reply: &mut Reply) -> Verdict {
        Verdict::Pass
    }
}

/// May not change anything; sees what will be sent.
pub trait Judge: Send + Sync {
    fn name(&self) -> &'static str;
    fn on_request(&self, exchange: &Exchange) -> Verdict;
    /// See [`Mutator::reviews_replies`].
    fn reviews_replies(&self) -> bool {
        false
    }
    fn on_reply(&self, _exchange: &Exchange, _reply: &Reply) -> Verdict {
        Verdict::Pass
    }
}

pub enum Plugin {
    Mutator(Box<dyn Mutator>),
    Judge(Box<dyn Judge>),
}

impl Plugin {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Mutator(plugin) => plugin.name(),
            Self::Judge(plugin) => plugin.name(),
        }
    }

    fn reviews_replies(&self) -> bool {
        match self {
            Self::Mutator(plugin) => plugin.reviews_replies(),
            Self::Judge(plugin) => plugin.reviews_replies(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PluginMode {
    #[default]
    Enforce,
    /// Its objections are written down and not obeyed.
    Observe,
}

pub struct Chain {
    plugins: Vec<(Plugin, PluginMode)>,
    policies: Arc<Policies>,
}

/// What the chain said of one exchange.
#[derive(Debug, Clone)]
pub struct Ruling {
    pub decision: Decision,
    /// Why it is not `Allow`; strictest first.
    pub reasons: Vec<Reason>,
    pub heard: Vec<Heard>,
    /// What it was decided under.
    pub policies: Arc<Policies>,
}

impl Chain {
    /// Mutators first, whatever order they were given in; among themselves each kind keeps its order.
    pub fn new(mut plugins: Vec<(Plugin, PluginMode)>, policies: Arc<Policies>) -> Self {
        plugins.sort_by_key(|(plugin, _)| matches!(plugin, Plugin::Judge(_)));
        Self { plugins, policies }
    }

    pub fn policies(&self) -> &Arc<Policies> {
        &self.policies
    }

    /// Hears every plugin. A chain in which nobody grants, denies; a plugin that fails, denies.
    #[expect(clippy::result_large_err, reason = "the exchange goes back to the caller, who must record the refusal")]
    pub fn admit(&self, mut exchange: Exchange) -> Result<(Permit, Ruling), (Exchange, Ruling)> {
        let mut ruling = self.open_ruling();
        let watched = is_watched(&exchange);
        let mut granted = false;
        for (plugin, mode) in &self.plugins {
            let heard = catch_unwind(AssertUnwindSafe(|| match plugin {
                Plugin::Mutator(mutator) => mutator.on_request(&mut exchange),
                Plugin::Judge(judge) => judge.on_request(&exchange),
            }));
            let verdict = heard.unwrap_or_else(|_| Verdict::deny("failed", "the plugin failed, so nothing passes it"));
            // Asking for a human's yes is also an answer: the call is known, and only the human is missing.
            granted |= matches!(verdict, Verdict::Grant | Verdict::Escalate(_));
            let lenient = is_lenient(plugin, *mode, watched);
            granted |= lenient && verdict != Verdict::Pass;
            ruling.hear(plugin.name(), verdict, lenient);
        }
        if let Some(objection) = law(&exchange) {
            ruling.hear("law", Verdict::Escalate(objection), false);
        }
        if !granted {
            ruling.hear("chain", Verdict::deny("no_grant", "no plugin grants this"), false);
        }
        ruling.strictest_first();
        match ruling.decision {
            Decision::Allow => Ok((Permit::admitted(exchange), ruling)),
            _ => Err((exchange, ruling)),
        }
    }

    /// Whether a call like this one may be shown as possible: no judge would deny it. What a human or a wider token may still
    /// allow is shown.
    pub fn shows(&self, exchange: &Exchange) -> bool {
        let watched = is_watched(exchange);
        self.plugins.iter().all(|(plugin, mode)| {
            let Plugin::Judge(judge) = plugin else { return true };
            let denies = || match catch_unwind(AssertUnwindSafe(|| judge.on_request(exchange))) {
                Ok(verdict) => matches!(verdict, Verdict::Deny(_)),
                Err(_) => true,
            };
            plugin.name() == scopes::JUDGE || is_lenient(plugin, *mode, watched) || !denies()
        })
    }

    /// Every message on its way back. The first enforced objection replaces the message.
    pub fn review(&self, exchange: &Exchange, reply: &mut Reply) -> Result<(), Reason> {
        for (plugin, mode) in self.plugins.iter().filter(|(plugin, _)| plugin.reviews_replies()) {
            let heard = catch_unwind(AssertUnwindSafe(|| match plugin {
                Plugin::Mutator(mutator) => mutator.on_reply(exchange, reply),
                Plugin::Judge(judge) => judge.on_reply(exchange, reply),
            }));
            match heard {
                Ok(Verdict::Deny(objection) | Verdict::Escalate(objection)) if *mode == PluginMode::Enforce => {
                    return Err(Reason::new(plugin.name(), objection.rule, objection.message));
                }
                Ok(_) => {}
                Err(_) => return Err(Reason::new(plugin.name(), "failed", "the plugin failed, so nothing passes it")),
            }
        }
        Ok(())
    }

    fn open_ruling(&self) -> Ruling {
        Ruling {
            decision: Decision::Allow,
            reasons: Vec::new(),
            heard: Vec::with_capacity(self.plugins.len()),
            policies: Arc::clone(&self.policies),
        }
    }
}

fn is_watched(exchange: &Exchange) -> bool {
    exchange.tool().is_some_and(|tool| tool.classified.is_none() && tool.observed)
}

/// Heard and not obeyed.
fn is_lenient(plugin: &Plugin, mode: PluginMode, watched: bool) -> bool {
    mode == PluginMode::Observe || (watched && judges_classification(plugin.name()))
}

/// What no policy can switch off: self-modification and high risk are a human's to allow.
fn law(exchange: &Exchange) -> Option<Objection> {
    let tool = exchange.tool()?;
    let part = tool.classified.as_ref().filter(|_| !tool.governs())?.classification;
    let message = format!("{} is classified {}, which always needs a human's approval", tool.name, part.code());
    part.requires_escalation().then_some(Objection { rule: "always_escalates", message })
}

/// The two plugins whose facts come from the manifest: without one, and where the operator only watches, they advise.
fn judges_classification(plugin: &str) -> bool {
    plugin == "manifest" || plugin == "matrix"
}

impl Ruling {
    pub fn digest(&self) -> &str {
        &self.policies.digest
    }

    /// A wider token is all that is missing: nobody else said no.
    pub(crate) fn needs_only_scope(&self) -> bool {
        let mut denials = self.heard.iter().filter(|heard| heard.verdict == "deny" && !heard.observed).peekable();
        denials.peek().is_some() && denials.all(|heard| heard.plugin == scopes::JUDGE)
    }

    /// A refusal that is not a plugin's: the gateway's own rules, found broken after the chain had spoken.
    pub(crate) fn deny(&mut self, who: &'static str, rule: &'static str, message: &str) {
        self.hear(who, Verdict::deny(rule, message), false);
        self.strictest_first();
    }

    fn strictest_first(&mut self) {
        let denies = |reason: &Reason| {
            self.heard.iter().any(|heard| heard.verdict == "deny" && heard.reason.as_ref() == Some(reason))
        };
        self.reasons.sort_by_key(|reason| !denies(reason));
    }

    fn hear(&mut self, plugin: &'static str, verdict: Verdict, observed: bool) {
        let (word, decision, objection) = match verdict {
            Verdict::Pass => return,
            Verdict::Grant => ("grant", Decision::Allow, None),
            Verdict::Escalate(objection) => ("escalate", Decision::ApprovalRequired, Some(objection)),
            Verdict::Deny(objection) => ("deny", Decision::Deny, Some(objection)),
        };
        let reason = objection.map(|objection| Reason::new(plugin, objection.rule, objection.message));
        if !observed {
            self.decision = self.decision.max(decision);
            self.reasons.extend(reason.clone());
        }
        let observed = observed && reason.is_some();
        self.heard.push(Heard { plugin, verdict: word, reason, observed });
    }
}
