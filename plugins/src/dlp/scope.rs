//! What is done about each rule for one kind of call: worked out once for a way, a tool and a tenant, and kept.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use gateway_core::chain::PluginMode;
use gateway_core::content::{Action, Found};
use gateway_core::exchange::Exchange;
use gateway_core::live::TenantRules;
use gateway_core::policies::ClassifiedTool;
use gateway_core::verdict::Objection;
use gateway_core::{Ask, Route, TenantId};
use gateway_dlp::{Actions, Counts, Detectors, Paths, Redaction};
use gateway_protocol::{Reply, ReplyKind};
use smallvec::SmallVec;

use super::rules::{self, DlpRules};
use super::tenant::TenantDlp;
use super::{Inner, MaskKeys, objection, tell};

/// Which way a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Way {
    Request,
    /// To a tool that sends it out of the house.
    Egress,
    Result,
    Definition,
    /// The first words of a server.
    Opening,
}

pub(super) struct Scope {
    pub way: Way,
    pub actions: Actions,
    /// The same with nothing blocked: what lies across two messages is taken out of both.
    pub softened: Actions,
    pub key: [u8; 32],
    pub tenant: Arc<TenantRules>,
}

/// What becomes of an action under a mode.
type Change = fn(Action) -> Action;

impl Scope {
    pub fn redaction<'a>(&'a self, rules: &'a DlpRules, actions: &'a Actions, paths: &'a Paths) -> Redaction<'a> {
        Redaction { sets: sets(rules, &self.tenant), actions, key: &self.key, paths }
    }

    fn places<'a>(&self, rules: &'a DlpRules) -> &'a Paths {
        match self.way {
            Way::Request | Way::Egress => &rules.places.request,
            Way::Result => &rules.places.reply,
            Way::Definition => &rules.places.list,
            Way::Opening => &rules.places.opening,
        }
    }

    /// The message as it may go on, where that is another.
    pub fn reply(&self, rules: &DlpRules, reply: &Reply, found: &mut Found) -> Result<Option<Reply>, Objection> {
        let redaction = self.redaction(rules, &self.actions, self.places(rules));
        let mut counts = Counts::default();
        let edited: Option<Bytes> = match redaction.json(reply.raw(), &mut counts) {
            Ok(edited) => edited,
            Err(blocked) => return Err(objection(&blocked, found)),
        };
        tell(&counts, found);
        Ok(edited.map(|raw| reply.edited(raw)))
    }
}

pub(super) fn sets<'a>(rules: &'a DlpRules, tenant: &'a TenantRules) -> SmallVec<[&'a Detectors; 2]> {
    let own = TenantDlp::of(tenant).and_then(TenantDlp::detectors);
    std::iter::once(&rules.detectors).chain(own).collect()
}

/// Scopes that were asked for before. Few tools and tenants differ, so there are few.
pub(super) struct Scopes {
    mode: PluginMode,
    keys: MaskKeys,
    known: RwLock<HashMap<ScopeKey, Arc<Scope>>>,
}

type ScopeKey = (Way, Arc<str>, Arc<str>, Option<TenantId>);

/// Then they are worked out anew.
const MOST_KNOWN: usize = 4096;

impl Scopes {
    pub fn new(mode: PluginMode, keys: MaskKeys) -> Self {
        Self { mode, keys, known: RwLock::default() }
    }

    pub fn of(
        &self,
        rules: &DlpRules,
        tenant: &Arc<TenantRules>,
        tool: Option<&Arc<ClassifiedTool>>,
        way: Way,
    ) -> Arc<Scope> {
        let limited = TenantDlp::of(tenant).is_some_and(TenantDlp::names_tools);
        let tool = tool.filter(|tool| limited || !tool.handling.dlp.is_default());
        let digest = tool.map_or_else(|| Arc::from(""), |tool| Arc::clone(&tool.digest));
        let key = (way, digest, Arc::clone(&tenant.digest), tenant.tenant.id);
        if let Some(known) = self.known.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Arc::clone(known);
        }
        let made = Arc::new(self.made(rules, tenant, tool.map(AsRef::as_ref), way));
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        known.insert(key, Arc::clone(&made));
        made
    }

    fn made(&self, rules: &DlpRules, tenant: &Arc<TenantRules>, tool: Option<&ClassifiedTool>, way: Way) -> Scope {
        let own = TenantDlp::of(tenant);
        let handling = tool.map(|tool| &tool.handling.dlp).filter(|_| way != Way::Definition);
        let of_tool = |rule: &gateway_dlp::Rule| {
            let said = match way {
                Way::Request | Way::Egress => &handling?.request,
                _ => &handling?.result,
            };
            rules::named(said, rule)
                .or_else(|| said.get(rule.severity.as_str()).copied())
                .or_else(|| said.get("*").copied())
        };
        let name = tool.map(|tool| &tool.manifest.id);
        let shipped: Vec<Action> = rules
            .detectors
            .rules()
            .iter()
            .map(|rule| {
                let by_tenant = || own.and_then(|own| own.wants(rules, rule, name, way));
                of_tool(rule).or_else(by_tenant).unwrap_or_else(|| rules.action(rule, way))
            })
            .collect();
        let owned: Vec<Action> = own
            .and_then(TenantDlp::detectors)
            .map(|detectors| detectors.rules())
            .unwrap_or_default()
            .iter()
            .enumerate()
            .map(|(place, rule)| {
                let said = own.and_then(|own| own.own_action(place, name, way));
                said.or_else(|| of_tool(rule)).unwrap_or_else(|| rules.action(rule, way))
            })
            .collect();
        let actions = |change: Change| {
            let list = |all: &[Action]| all.iter().map(|action| rules::done(change(*action))).collect::<Arc<[_]>>();
            let otherwise = change(rules::by_severity_of(rules.said(way)));
            Actions::new([list(&shipped), list(&owned)], rules::done(otherwise))
        };
        let (as_is, softened): (Change, Change) = match self.mode {
            PluginMode::Enforce => (|action| action, |action| action.min(Action::Mask)),
            PluginMode::Observe => (|_| Action::Observe, |_| Action::Observe),
        };
        let key = (self.keys)(tenant.tenant.id);
        Scope { way, actions: actions(as_is), softened: actions(softened), key, tenant: Arc::clone(tenant) }
    }
}

impl Inner {
    /// What the manifest of the tool says that a message is about.
    pub(super) fn handled<'a>(&'a self, exchange: &'a Exchange) -> Option<&'a Arc<ClassifiedTool>> {
        if let Some(tool) = exchange.tool() {
            return tool.classified.as_ref();
        }
        let about = exchange.about.as_ref()?;
        exchange.rules.tool(about).or_else(|| self.tools.get(about))
    }

    /// Our own books are read by those whose names stand in them, and a tool may be said to be nobody's business.
    pub(super) fn is_exempt(&self, exchange: &Exchange) -> bool {
        const OWN: &str = "adp";
        let door = matches!(&exchange.route, Route::One(namespace) if namespace.as_str() == OWN);
        let member = exchange.member.as_ref().is_some_and(|namespace| namespace.as_str() == OWN);
        let handled = self.handled(exchange);
        door || member || handled.is_some_and(|tool| tool.manifest.governs() || tool.handling.dlp.off)
    }

    /// The way of an answer's messages; `None` where they pass unread.
    pub(super) fn way_of_answers(&self, exchange: &Exchange) -> Option<Way> {
        if self.is_exempt(exchange) {
            return None;
        }
        match (&exchange.ask, exchange.method()) {
            (Ask::EndSession, _) | (_, Some("ping")) => None,
            (_, Some("initialize" | "server/discover")) => Some(Way::Opening),
            (_, Some("tools/list" | "prompts/list" | "resources/list" | "resources/templates/list")) => {
                Some(Way::Definition)
            }
            _ => Some(Way::Result),
        }
    }

    pub(super) fn way_back(&self, exchange: &Exchange, reply: &Reply) -> Option<Way> {
        let way = self.way_of_answers(exchange)?;
        Some(way_of(way, reply))
    }
}

/// Only a result is a list or an opening; whatever else comes beside it is read whole.
pub(super) fn way_of(way: Way, reply: &Reply) -> Way {
    if matches!(reply.kind(), ReplyKind::Result { .. }) { way } else { Way::Result }
}
