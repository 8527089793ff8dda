//! The chain: every plugin in order, mutators before judges, and the one way to get a [`Permit`].
//!
//! What is judged is what is sent, because mutators are done before the first judge speaks. No judge silences another:
//! the strictest verdict wins and every reason is kept.

#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use gateway_protocol::{Message, Reply};
use serde::{Deserialize, Serialize};

use crate::exchange::{Ask, Exchange, Subject};
use crate::policies::Policies;
use crate::verdict::{Decision, Heard, Objection, Reason, Verdict};

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

/// Proof that the chain admitted this exchange. Only [`Chain::admit`] makes one for a client's message, and
/// `Upstream::call` takes nothing else.
pub struct Permit {
    exchange: Exchange,
}

impl Permit {
    pub fn exchange(&self) -> &Exchange {
        &self.exchange
    }

    /// Once the upstream has answered, the question itself is all that is still needed.
    pub fn into_exchange(self) -> Exchange {
        self.exchange
    }

    /// The gateway's own side of a conversation with an upstream, on behalf of the admitted exchange: a handshake or a
    /// list. Never a tool call; asking for one gives `None`.
    pub fn for_own(&self, message: Message, session: Option<crate::session::Session>) -> Option<Self> {
        own_question(&message).then(|| Self {
            exchange: Exchange {
                ask: Ask::Message(message),
                session,
                subject: Subject::Plain,
                ..self.exchange.clone()
            },
        })
    }

    /// The same admitted question in another session with the upstream: the message does not change.
    pub fn in_session(&self, session: Option<crate::session::Session>) -> Self {
        Self { exchange: Exchange { session, ..self.exchange.clone() } }
    }

    /// The same admitted answer to an upstream's question, under the id that upstream gave it. `None` for anything that is
    /// not an answer.
    pub fn answering(&self, id: gateway_protocol::Id, session: Option<crate::session::Session>) -> Option<Self> {
        let mut permit = self.in_session(session);
        match &mut permit.exchange.ask {
            Ask::Message(Message::Response(response)) => response.id = Some(id),
            _ => return None,
        }
        Some(permit)
    }

    /// A question the gateway asks for nobody: what tools an upstream has, whether it is there. Ending the session it
    /// asked in is part of it.
    pub fn for_discovery(exchange: Exchange) -> Option<Self> {
        let own = matches!(exchange.ask, Ask::EndSession) || exchange.message().is_some_and(own_question);
        own.then_some(Self { exchange })
    }
}

/// What the gateway may ask an upstream in its own name: nothing that acts.
fn own_question(message: &Message) -> bool {
    const METHODS: [&str; 9] = [
        "initialize",
        "notifications/initialized",
        "notifications/cancelled",
        "ping",
        "server/discover",
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
    ];
    message.method().is_some_and(|method| METHODS.contains(&method))
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
        let watched = exchange.tool().is_some_and(|tool| tool.classified.is_none() && tool.observed);
        let mut granted = false;
        for (plugin, mode) in &self.plugins {
            let heard = catch_unwind(AssertUnwindSafe(|| match plugin {
                Plugin::Mutator(mutator) => mutator.on_request(&mut exchange),
                Plugin::Judge(judge) => judge.on_request(&exchange),
            }));
            let verdict = heard.unwrap_or_else(|_| Verdict::deny("failed", "the plugin failed, so nothing passes it"));
            // Asking for a human's yes is also an answer: the call is known, and only the human is missing.
            granted |= matches!(verdict, Verdict::Grant | Verdict::Escalate(_));
            let lenient = *mode == PluginMode::Observe || (watched && judges_classification(plugin.name()));
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
            Decision::Allow => Ok((Permit { exchange }, ruling)),
            _ => Err((exchange, ruling)),
        }
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
