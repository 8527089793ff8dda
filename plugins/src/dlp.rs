//! Takes personal data and secrets out of what goes to upstreams and of what comes back.
//!
//! What is looked for and how it is found is `gateway-dlp`'s; here it is put into the chain: which way a message goes, what
//! its tool and its tenant want done, which of its members are nobody's words. Nothing raw is remembered, and what records
//! hold is masked whatever the action says (`dlp/record.rs`).

mod edit;
mod follow;
mod places;
mod record;
mod request;
mod rules;
mod scope;
mod tenant;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use gateway_core::TenantId;
use gateway_core::chain::{Follow, Mutator, PluginMode};
use gateway_core::content::{Found, Recorder};
use gateway_core::exchange::Exchange;
use gateway_core::live::TenantRules;
use gateway_core::policies::{Policies, ToolMap};
use gateway_core::verdict::{Objection, Remedy, Verdict};
use gateway_dlp::{Blocked, Counts};
use gateway_protocol::Reply;

pub use rules::{DlpRules, DlpSettings, Hold};
pub use tenant::{TenantDlp, compile_rows};

use follow::Following;
use record::MaskedRecorder;
use scope::{Scope, Scopes, Way};

pub const NAME: &str = "dlp";

/// The key that a tenant's hashes are made with: the same on every node.
pub type MaskKeys = Arc<dyn Fn(Option<TenantId>) -> [u8; 32] + Send + Sync>;

pub struct Dlp {
    inner: Arc<Inner>,
}

struct Inner {
    /// `None` where nothing is looked for but what a tenant's rows say.
    rules: Arc<DlpRules>,
    tools: ToolMap,
    scopes: Scopes,
}

impl Dlp {
    /// A mutator that is only to observe must not change anything, so it is told.
    pub fn new(policies: &Policies, mode: PluginMode, keys: MaskKeys) -> Self {
        let rules = DlpRules::of(&policies.dlp);
        let scopes = Scopes::new(mode, keys);
        Self { inner: Arc::new(Inner { rules, tools: policies.tools.clone(), scopes }) }
    }
}

impl Mutator for Dlp {
    fn name(&self) -> &'static str {
        NAME
    }

    fn on_request(&self, exchange: &mut Exchange) -> Verdict {
        self.inner.request(exchange)
    }

    fn reviews_replies(&self) -> bool {
        true
    }

    fn on_reply(&self, exchange: &Exchange, reply: &mut Reply, found: &mut Found) -> Verdict {
        let Some(way) = self.inner.way_back(exchange, reply) else { return Verdict::Pass };
        if !self.inner.suspects_answer(&exchange.rules, reply.raw()) {
            found.nothing_here();
            return Verdict::Pass;
        }
        let scope = self.inner.scope(exchange, way);
        match scope.reply(&self.inner.rules, reply, found) {
            Ok(Some(edited)) => *reply = edited,
            Ok(None) => {}
            Err(objection) => return Verdict::Deny(objection),
        }
        Verdict::Pass
    }

    fn follow(&self, exchange: &Exchange) -> Option<Box<dyn Follow>> {
        let way = self.inner.way_of_answers(exchange).filter(|_| !self.inner.is_idle(exchange))?;
        Some(Box::new(Following::new(Arc::clone(&self.inner), exchange, way)))
    }

    fn recorder(&self) -> Option<Arc<dyn Recorder>> {
        Some(Arc::new(MaskedRecorder(Arc::clone(&self.inner))))
    }
}

impl Inner {
    /// There is nothing to look for.
    fn is_idle(&self, exchange: &Exchange) -> bool {
        self.rules.looks_for_nothing() && exchange.rules.dlp.is_none()
    }

    /// Whether anything in these bytes deserves a look.
    fn suspects(&self, rules: &TenantRules, raw: &[u8]) -> bool {
        let own = TenantDlp::of(rules).and_then(TenantDlp::detectors);
        self.rules.suspects(raw) || own.is_some_and(|own| own.suspects(raw))
    }

    /// The same of a message to a client: a value may lie in many blocks, none of which deserves a look by itself.
    fn suspects_answer(&self, rules: &TenantRules, raw: &[u8]) -> bool {
        let looks = || !self.rules.looks_for_nothing() || TenantDlp::of(rules).and_then(TenantDlp::detectors).is_some();
        self.suspects(rules, raw) || (looks() && self.rules.places.reply.may_be_cut(raw))
    }

    fn scope(&self, exchange: &Exchange, way: Way) -> Arc<Scope> {
        let handled = self.handled(exchange);
        self.scopes.of(&self.rules, &exchange.rules, handled, way)
    }
}

/// What was found, as the chain tells it.
fn tell(counts: &Counts, found: &mut Found) {
    for count in counts.iter() {
        found.add(&count.rule, rules::told(count.action), count.count);
    }
    for path in counts.edited() {
        found.edit(path.clone());
    }
    if counts.edited_more() {
        found.edit_more();
    }
}

/// Which rule and where, never what.
fn objection(blocked: &Blocked, found: &mut Found) -> Objection {
    found.add(&blocked.rule, gateway_core::content::Action::Block, 1);
    let place = if blocked.path.is_empty() { String::new() } else { format!(" at `{}`", blocked.path) };
    let message = format!(
        "`{rule}` was found{place} and may not pass; leave it out, or have the operator say otherwise under `dlp` in the tool's handling",
        rule = blocked.rule
    );
    let remedy = format!("`{}` is left out{place}", blocked.rule);
    Objection::new(blocked.rule.to_string(), message).cured_by(Remedy::Arguments(remedy))
}
