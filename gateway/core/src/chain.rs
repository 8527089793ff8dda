//! The chain: every plugin in order, mutators before judges, and the one way to get a [`Permit`].
//!
//! What is judged is what is sent, because mutators are done before the first judge speaks. No judge silences another:
//! the strictest verdict wins and every reason is kept.

mod follow;
mod permit;
mod ruling;
#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use gateway_protocol::Reply;
use serde::{Deserialize, Serialize};

use crate::approvals::Granted;
use crate::content::{Found, PlainRecorder, Recorder};
use crate::exchange::{Exchange, Subject};
use crate::policies::Policies;
use crate::verdict::{Decision, Objection, Opinion, PolicyMode, Reason, Remedy, Verdict};
use crate::{classify, scopes};

pub use follow::{Follow, Passed, Passing, Step};
pub use permit::{EVIDENCE_QUERY, OwnAnswer, Permit};
pub use ruling::{Compared, Ruling};

/// May change the message; heard before any judge.
pub trait Mutator: Send + Sync {
    fn name(&self) -> &'static str;
    fn on_request(&self, exchange: &mut Exchange) -> Verdict;
    /// Whether `on_reply` has anything to say: a stream has many messages, and most plugins none of them to look at.
    fn reviews_replies(&self) -> bool {
        false
    }
    /// What it finds goes into `found`, whatever it does about it.
    fn on_reply(&self, _exchange: &Exchange, _reply: &mut Reply, _found: &mut Found) -> Verdict {
        Verdict::Pass
    }
    /// A memory for an answer in many messages, where looking at each alone is not enough. It stands in for `on_reply`.
    fn follow(&self, _exchange: &Exchange) -> Option<Box<dyn Follow>> {
        None
    }
    /// What records are made with, where this plugin knows what they may not hold.
    fn recorder(&self) -> Option<Arc<dyn Recorder>> {
        None
    }
}

/// May not change anything; sees what will be sent.
pub trait Judge: Send + Sync {
    fn name(&self) -> &'static str;
    fn on_request(&self, exchange: &Exchange) -> Verdict;
    /// Everything it has to say. A judge of many policies says one opinion for each that objects, each with the worth its
    /// policy has; the others have their one verdict to say.
    fn hear(&self, exchange: &Exchange, say: &mut dyn FnMut(Opinion)) {
        say(Opinion::enforced(self.on_request(exchange)));
    }
    /// Whether it has a word on what is listed. Whoever reads arguments has not: a list has none.
    fn judges_lists(&self) -> bool {
        true
    }
    /// As `hear`, for a call that is only imagined, one of a thousand: only what is cheap.
    fn hear_for_list(&self, exchange: &Exchange, say: &mut dyn FnMut(Opinion)) {
        self.hear(exchange, say);
    }
    /// See [`Mutator::reviews_replies`].
    fn reviews_replies(&self) -> bool {
        false
    }
    /// `found` is what the mutators before it found in this reply, and where they changed it.
    fn on_reply(&self, _exchange: &Exchange, _reply: &Reply, _found: &Found) -> Verdict {
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
    recorder: Arc<dyn Recorder>,
}

/// Runs a judge, and may time it.
pub type Watch<'a> = dyn FnMut(&'static str, &mut dyn FnMut()) + 'a;

impl Chain {
    /// Mutators first, whatever order they were given in; among themselves each kind keeps its order.
    pub fn new(mut plugins: Vec<(Plugin, PluginMode)>, policies: Arc<Policies>) -> Self {
        plugins.sort_by_key(|(plugin, _)| matches!(plugin, Plugin::Judge(_)));
        let mut recorders = plugins.iter().filter_map(|(plugin, _)| match plugin {
            Plugin::Mutator(mutator) => mutator.recorder(),
            Plugin::Judge(_) => None,
        });
        let recorder = recorders.next().unwrap_or_else(|| Arc::new(PlainRecorder));
        Self { plugins, policies, recorder }
    }

    pub fn policies(&self) -> &Arc<Policies> {
        &self.policies
    }

    /// What every record of a call judged here is made with.
    pub fn recorder(&self) -> &Arc<dyn Recorder> {
        &self.recorder
    }

    pub fn modes(&self) -> impl Iterator<Item = (&'static str, PluginMode)> {
        self.plugins.iter().map(|(plugin, mode)| (plugin.name(), *mode))
    }

    /// Hears every plugin. A chain in which nobody grants, denies; a plugin that fails, denies.
    #[expect(clippy::result_large_err, reason = "the ruling goes back to the caller, who must record the refusal")]
    pub fn admit(&self, mut exchange: Box<Exchange>) -> Result<(Permit, Ruling), (Box<Exchange>, Ruling)> {
        let ruling = self.judge(&mut exchange, &mut |_, run| run());
        match ruling.decision {
            Decision::Allow => Ok((Permit::admitted(exchange), ruling)),
            _ => Err((exchange, ruling)),
        }
    }

    /// The same question once a human has said yes to it: what the chain ruled, and nothing that was not approved.
    #[expect(clippy::result_large_err, reason = "the ruling goes back to the caller, who must record the refusal")]
    #[expect(clippy::needless_pass_by_value, reason = "a grant is gone once it was shown")]
    pub fn admit_approved(
        &self,
        exchange: Box<Exchange>,
        mut ruling: Ruling,
        granted: Granted,
    ) -> Result<(Permit, Ruling), (Box<Exchange>, Ruling)> {
        if ruling.decision != Decision::ApprovalRequired || !granted.covers(&exchange, &ruling) {
            ruling.deny("approvals", "binding", "the approval is for another call");
            return Err((exchange, ruling));
        }
        ruling.decision = Decision::Allow;
        ruling.approval = Some(granted.approval());
        Ok((Permit::admitted(exchange), ruling))
    }

    /// What the chain says, without a permit: for admission, and for whoever wants to know what would be decided.
    pub fn judge(&self, exchange: &mut Exchange, watch: &mut Watch<'_>) -> Ruling {
        self.hear_all(exchange, &[], watch)
    }

    /// The same with some judges silent: for whoever wants to know what holds whatever those would say.
    pub fn judge_without(&self, exchange: &mut Exchange, silent: &[&str]) -> Ruling {
        self.hear_all(exchange, silent, &mut |_, run| run())
    }

    fn hear_all(&self, exchange: &mut Exchange, silent: &[&str], watch: &mut Watch<'_>) -> Ruling {
        let mut ruling = Ruling::open(&self.policies, self.plugins.len(), exchange);
        let watched = is_watched(exchange);
        let mut classified = false;
        for (plugin, mode) in &self.plugins {
            // What is classified is what is sent: mutators stand first, and are done here.
            if !classified && matches!(plugin, Plugin::Judge(_)) {
                classified = true;
                self.classify(exchange, &mut ruling);
            }
            let lenient =
                is_lenient(plugin, *mode, watched) || (watched && exchange.run.is_none() && judges_sql(plugin));
            let name = plugin.name();
            if silent.contains(&name) {
                continue;
            }
            let mut failed = true;
            watch(name, &mut || {
                let spoken = catch_unwind(AssertUnwindSafe(|| match plugin {
                    Plugin::Mutator(mutator) => {
                        let verdict = mutator.on_request(exchange);
                        ruling.hear(name, Opinion::enforced(verdict), lenient);
                    }
                    Plugin::Judge(judge) => judge.hear(exchange, &mut |opinion| ruling.hear(name, opinion, lenient)),
                }));
                failed = spoken.is_err();
            });
            if failed {
                let verdict = Verdict::deny("failed", "the plugin failed, so nothing passes it");
                ruling.hear(name, Opinion::enforced(verdict), lenient);
            }
        }
        if let Some(objection) = law(exchange) {
            ruling.hear("law", Opinion::enforced(Verdict::Escalate(objection)), false);
        }
        if !ruling.is_granted() {
            let verdict = Verdict::deny("no_grant", "no plugin grants this");
            ruling.hear("chain", Opinion::enforced(verdict), false);
        }
        ruling.strictest_first();
        self.unname(exchange, &mut ruling);
        ruling
    }

    fn classify(&self, exchange: &mut Exchange, ruling: &mut Ruling) {
        if catch_unwind(AssertUnwindSafe(|| classify::raise(&self.policies, exchange))).is_err() {
            let verdict = Verdict::deny("failed", "what this call does could not be found out");
            ruling.hear("classify", Opinion::enforced(verdict), false);
        }
    }

    /// Reasons are written down and shown to others than the caller, and some quote what was asked.
    fn unname(&self, exchange: &mut Exchange, ruling: &mut Ruling) {
        let rules = Arc::clone(&exchange.rules);
        if let Subject::Tool(tool) = &mut exchange.subject {
            for raised in &mut tool.effective.why {
                if let Some(hidden) = self.recorder.text(&rules, &raised.message) {
                    raised.message = hidden;
                }
            }
        }
        ruling.reword(|message| self.recorder.text(&rules, message));
    }

    /// Whether a call like this one may be shown as possible: no judge would deny it. What a human or a wider token may still
    /// allow is shown.
    pub fn shows(&self, exchange: &Exchange) -> bool {
        let watched = is_watched(exchange);
        self.plugins.iter().all(|(plugin, mode)| {
            let Plugin::Judge(judge) = plugin else { return true };
            let denies = || {
                let mut denied = false;
                let mut say = |opinion: Opinion| {
                    denied |= opinion.mode == PolicyMode::Enforce && forbids(plugin.name(), &opinion.verdict);
                };
                catch_unwind(AssertUnwindSafe(|| judge.hear_for_list(exchange, &mut say))).is_err() || denied
            };
            !judge.judges_lists() || is_lenient(plugin, *mode, watched) || !denies()
        })
    }

    /// Every message on its way back. The first enforced objection replaces the message.
    pub fn review(&self, exchange: &Exchange, reply: &mut Reply, found: &mut Found) -> Result<(), Reason> {
        self.review_rest(exchange, reply, None, found)
    }

    /// The same for a message that one plugin has looked at already, as the follower of its stream.
    pub(crate) fn review_rest(
        &self,
        exchange: &Exchange,
        reply: &mut Reply,
        done: Option<&str>,
        found: &mut Found,
    ) -> Result<(), Reason> {
        let reviewers = self.plugins.iter().filter(|(plugin, _)| plugin.reviews_replies());
        for (plugin, mode) in reviewers.filter(|(plugin, _)| done != Some(plugin.name())) {
            let heard = catch_unwind(AssertUnwindSafe(|| match plugin {
                Plugin::Mutator(mutator) => mutator.on_reply(exchange, reply, found),
                Plugin::Judge(judge) => judge.on_reply(exchange, reply, found),
            }));
            match heard {
                Ok(Verdict::Deny(objection) | Verdict::Escalate(objection)) if *mode == PluginMode::Enforce => {
                    return Err(Reason::new(plugin.name(), &objection.rule, objection.message));
                }
                Ok(_) => {}
                Err(_) => return Err(Reason::new(plugin.name(), "failed", "the plugin failed, so nothing passes it")),
            }
        }
        Ok(())
    }

    /// The memory of the one plugin that needs one for this answer, and which plugin that is.
    pub(crate) fn follow(&self, exchange: &Exchange) -> Option<(&'static str, Box<dyn Follow>)> {
        self.plugins.iter().find_map(|(plugin, _)| match plugin {
            Plugin::Mutator(mutator) => mutator.follow(exchange).map(|follow| (mutator.name(), follow)),
            Plugin::Judge(_) => None,
        })
    }
}

/// An administrator's key is no agent's, so what is watched for agents is not open to it.
fn is_watched(exchange: &Exchange) -> bool {
    !exchange.principal.is_admin() && exchange.tool().is_some_and(|tool| tool.classified.is_none() && tool.observed)
}

/// A no that no wider token would turn into a yes.
fn forbids(plugin: &str, verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Deny(objection) if plugin != scopes::JUDGE || objection.rule != scopes::RULE)
}

/// Heard and not obeyed.
fn is_lenient(plugin: &Plugin, mode: PluginMode, watched: bool) -> bool {
    mode == PluginMode::Observe || (watched && judges_classification(plugin.name()))
}

/// What no policy can switch off: self-modification and high risk are a human's to allow.
fn law(exchange: &Exchange) -> Option<Objection> {
    let tool = exchange.tool()?;
    tool.classified.as_ref().filter(|_| !tool.governs())?;
    let part = tool.classification();
    part.requires_escalation().then(|| {
        let message = format!("{} is classified {}, which always needs a human's approval", tool.name, part.code());
        Objection::new("always_escalates", message).cured_by(Remedy::Approve)
    })
}

/// The two plugins whose facts come from the manifest: without one, and where the operator only watches, they advise.
fn judges_classification(plugin: &str) -> bool {
    plugin == "manifest" || plugin == "matrix"
}

/// What is watched is read, and nobody has said yet what its SQL may do. A tool agent's own limits hold all the same.
fn judges_sql(plugin: &Plugin) -> bool {
    plugin.name() == "sql_guard"
}
