//! The operator's rules: detectors from `policies/dlp/*.yaml`, and what is done about each from `policies/dlp.yaml`.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use gateway_core::content::Action;
use gateway_core::digest;
use gateway_core::dlp::DlpSet;
use gateway_core::live::Broken;
use gateway_core::ports::DlpRow;
use gateway_dlp::{Detectors, Rule};
use serde::{Deserialize, Serialize};

use super::places::{MOST_OPAQUE, Places};
use super::scope::Way;
use super::tenant;

/// By rule, tag, severity or `*`; the closest word wins.
pub type ByRule = BTreeMap<String, Action>;

/// `policies/dlp.yaml`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DlpSettings {
    /// To upstreams.
    pub request: ByRule,
    /// To upstreams whose manifest says `egress`.
    pub egress: ByRule,
    /// To clients.
    pub result: ByRule,
    /// To clients, in lists of what there is.
    pub definition: ByRule,
    /// Places in messages to clients that are never looked at, as `/result/structuredContent/signature`.
    pub opaque: Vec<String>,
    /// Whether a tenant's row may let secrets of critical severity pass.
    pub tenants_may_loosen: bool,
    pub hold: Hold,
}

/// How much of a stream may wait for what comes next, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Hold {
    pub bytes: usize,
    pub milliseconds: u64,
}

impl Hold {
    pub const MOST: Self = Self { bytes: 4096, milliseconds: 1000 };

    pub fn time(self) -> Duration {
        Duration::from_millis(self.milliseconds)
    }
}

impl Default for Hold {
    fn default() -> Self {
        Self { bytes: 4096, milliseconds: 150 }
    }
}

impl Default for DlpSettings {
    fn default() -> Self {
        let said = |pairs: &[(&str, Action)]| pairs.iter().map(|(key, action)| ((*key).to_owned(), *action)).collect();
        Self {
            // A tool that sends mail needs its addresses; nobody needs another's key.
            request: said(&[("critical", Action::Mask), ("*", Action::Observe)]),
            egress: said(&[("*", Action::Mask)]),
            result: said(&[("*", Action::Mask)]),
            definition: said(&[("*", Action::Mask)]),
            opaque: Vec::new(),
            tenants_may_loosen: false,
            hold: Hold::default(),
        }
    }
}

impl DlpSettings {
    /// What cannot be meant, each with its place.
    pub fn problems(&self, known: &dyn Fn(&str) -> bool) -> Vec<(String, String)> {
        let mut found = Vec::new();
        let maps = [("request", &self.request), ("egress", &self.egress), ("result", &self.result)];
        for (name, said) in maps.into_iter().chain([("definition", &self.definition)]) {
            for key in said.keys().filter(|key| !known(key)) {
                let what = "no detector has this id or tag; a severity (critical, high, medium, low) or `*` also does";
                found.push((format!("{name}.{key}"), what.to_owned()));
            }
        }
        for (place, path) in self.opaque.iter().enumerate().filter(|(_, path)| !path.starts_with('/')) {
            found.push((format!("opaque[{place}]"), format!("`{path}` must begin at the message, with `/`")));
        }
        if self.opaque.len() > MOST_OPAQUE {
            found.push(("opaque".into(), format!("has {} places; at most {MOST_OPAQUE} are heard", self.opaque.len())));
        }
        if self.hold.bytes > Hold::MOST.bytes {
            found.push(("hold.bytes".into(), format!("must be at most {}", Hold::MOST.bytes)));
        }
        if self.hold.milliseconds > Hold::MOST.milliseconds {
            found.push(("hold.milliseconds".into(), format!("must be at most {}", Hold::MOST.milliseconds)));
        }
        found
    }
}

/// Detectors and what is done about them.
pub struct DlpRules {
    pub(super) detectors: Detectors,
    pub(super) settings: DlpSettings,
    pub(super) places: Places,
    digest: String,
}

impl DlpRules {
    pub fn new(detectors: Detectors, settings: DlpSettings) -> Self {
        let settled = serde_json::to_vec(&settings).unwrap_or_default();
        let digest = digest::named(&[detectors.digest().as_bytes(), &settled].concat());
        let places = Places::new(&settings.opaque);
        Self { detectors, settings, places, digest }
    }

    /// Every set has the one rule for what cannot be read to its end.
    pub(super) fn looks_for_nothing(&self) -> bool {
        self.detectors.rules().len() <= 1
    }

    /// Whether anything in these bytes deserves a look.
    pub(super) fn suspects(&self, raw: &[u8]) -> bool {
        !self.looks_for_nothing() && self.detectors.suspects(raw)
    }

    /// Whether some detector goes by this name, as an id or a tag, or it is a severity.
    pub fn knows(&self, key: &str) -> bool {
        knows(&self.detectors, key)
    }

    /// What is behind a set that was made here; anybody else's looks for nothing.
    pub(super) fn of(set: &Arc<dyn DlpSet>) -> Arc<Self> {
        static NOTHING: LazyLock<Arc<DlpRules>> = LazyLock::new(|| {
            let nothing = Detectors::compile(Vec::new()).unwrap_or_else(|_| unreachable!("no detectors, no problems"));
            Arc::new(DlpRules { digest: String::new(), ..DlpRules::new(nothing, DlpSettings::default()) })
        });
        let made = set.as_any().downcast_ref::<Shared>();
        made.map_or_else(|| Arc::clone(&NOTHING), |shared| Arc::clone(&shared.0))
    }

    pub fn into_set(self) -> Arc<dyn DlpSet> {
        Arc::new(Shared(Arc::new(self)))
    }

    /// What is done about a rule that neither tool nor tenant has a word on.
    pub(super) fn action(&self, rule: &Rule, way: Way) -> Action {
        let said = self.said(way);
        if let Some(action) = named(said, rule) {
            return action;
        }
        match rule.action.map(told) {
            // A detector that only counts, or that nothing may pass, says so for every way.
            Some(own @ (Action::Observe | Action::Block)) => own,
            Some(own) if way != Way::Request => own,
            _ => by_severity(said, rule),
        }
    }

    pub(super) fn said(&self, way: Way) -> &ByRule {
        match way {
            Way::Request => &self.settings.request,
            Way::Egress => &self.settings.egress,
            Way::Result | Way::Opening => &self.settings.result,
            Way::Definition => &self.settings.definition,
        }
    }
}

/// A set is shared by the chain and by whoever compiles rows beside it.
struct Shared(Arc<DlpRules>);

impl DlpSet for Shared {
    fn digest(&self) -> &str {
        &self.0.digest
    }

    fn check(&self, rows: &[DlpRow]) -> Vec<Broken> {
        tenant::compile(rows, &self.0).1
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

pub(super) fn knows(detectors: &Detectors, key: &str) -> bool {
    let severity = ["critical", "high", "medium", "low", "*"].contains(&key);
    severity || detectors.rules().iter().any(|rule| *rule.id == *key || rule.tags.iter().any(|tag| tag == key))
}

/// By its id, or by one of its tags: of several tags the strictest counts.
pub(super) fn named(said: &ByRule, rule: &Rule) -> Option<Action> {
    if said.is_empty() {
        return None;
    }
    let tagged = || rule.tags.iter().filter_map(|tag| said.get(tag)).max();
    said.get(&*rule.id).or_else(tagged).copied()
}

pub(super) fn by_severity(said: &ByRule, rule: &Rule) -> Action {
    said.get(rule.severity.as_str()).or_else(|| said.get("*")).copied().unwrap_or(Action::Mask)
}

/// The engine's word as the chain's.
pub(super) fn told(action: gateway_dlp::Action) -> Action {
    match action {
        gateway_dlp::Action::Observe => Action::Observe,
        gateway_dlp::Action::Partial => Action::Partial,
        gateway_dlp::Action::Hash => Action::Hash,
        gateway_dlp::Action::Mask => Action::Mask,
        gateway_dlp::Action::Block => Action::Block,
    }
}

/// And the other way round.
pub(super) fn done(action: Action) -> gateway_dlp::Action {
    match action {
        Action::Observe => gateway_dlp::Action::Observe,
        Action::Partial => gateway_dlp::Action::Partial,
        Action::Hash => gateway_dlp::Action::Hash,
        Action::Mask => gateway_dlp::Action::Mask,
        Action::Block => gateway_dlp::Action::Block,
    }
}

/// For what nobody has a rule for: found because it could not be read to its end.
pub(super) fn by_severity_of(said: &ByRule) -> Action {
    said.get("high").or_else(|| said.get("*")).copied().unwrap_or(Action::Mask)
}
