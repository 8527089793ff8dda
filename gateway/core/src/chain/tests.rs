//! What a chain decides, with plugins that say what they are told.
#![allow(clippy::unwrap_used, clippy::panic)]

mod opinions;

use std::collections::BTreeMap;

use gateway_protocol::Message;
use jiff::SignedDuration;
use serde_json::json;

use super::*;
use crate::exchange::{Ask, Route, Subject, ToolSubject};
use crate::identity::Principal;
use crate::manifest::RiskLevel;
use crate::matrix::Matrix;
use crate::names::TraceId;
use crate::policies::ClassifiedTool;

/// Says what it is told to, and how the message looked.
struct Says(&'static str, fn(&Exchange) -> Verdict);

impl Judge for Says {
    fn name(&self) -> &'static str {
        self.0
    }

    fn on_request(&self, exchange: &Exchange) -> Verdict {
        (self.1)(exchange)
    }
}

struct Marks;

impl Mutator for Marks {
    fn name(&self) -> &'static str {
        "marks"
    }

    fn on_request(&self, exchange: &mut Exchange) -> Verdict {
        if let Ask::Message(message) = &mut exchange.ask {
            message.params_mut().unwrap().insert("marked".into(), json!(true));
        }
        Verdict::Pass
    }
}

fn exchange(level: Option<RiskLevel>, observed: bool) -> Exchange {
    let name: crate::names::ToolName = "crm/tool".parse().unwrap();
    let classified = level.map(|risk_level| {
        let manifest = crate::manifest::ToolManifest {
            id: name.clone(),
            domain: "crm".into(),
            risk_level,
            side_effects: risk_level.writes(),
            allowed_modes: crate::manifest::AgentMode::ALL.to_vec(),
        };
        Arc::new(ClassifiedTool::new(manifest, None))
    });
    let params = json!({ "name": "tool" }).as_object().cloned();
    let ask = Ask::Message(Message::request(1, "tools/call", params));
    let subject = Subject::Tool(ToolSubject::new(name, classified, observed));
    Exchange::new(TraceId::from_uuid(uuid::Uuid::nil()), Arc::new(Principal::anonymous()), Route::All, ask, subject)
}

fn judge(name: &'static str, verdict: fn(&Exchange) -> Verdict) -> Plugin {
    Plugin::Judge(Box::new(Says(name, verdict)))
}

fn rule(plugins: Vec<(Plugin, PluginMode)>, exchange: Exchange) -> Ruling {
    let policies = Arc::new(Policies::new(BTreeMap::new(), Matrix::standard()));
    match Chain::new(plugins, policies).admit(Box::new(exchange)) {
        Ok((_, ruling)) | Err((_, ruling)) => ruling,
    }
}

const ENFORCE: PluginMode = PluginMode::Enforce;
const OBSERVE: PluginMode = PluginMode::Observe;

#[test]
fn the_strictest_verdict_wins_and_every_reason_is_kept() {
    let read = || exchange(Some(RiskLevel::ReadOnly), false);
    let grants = |name| (judge(name, |_| Verdict::Grant), ENFORCE);
    let asks = (judge("asks", |_| Verdict::escalate("r", "ask")), ENFORCE);
    let denies = (judge("denies", |_| Verdict::deny("r", "no")), ENFORCE);
    assert_eq!(rule(vec![grants("a")], read()).decision, Decision::Allow);
    let ruling = rule(vec![grants("a"), asks, denies], read());
    assert_eq!(ruling.decision, Decision::Deny);
    let plugins: Vec<_> = ruling.reasons.iter().map(|reason| reason.plugin.as_str()).collect();
    assert_eq!(plugins, ["denies", "asks"], "strictest first");
    assert_eq!(ruling.heard.len(), 3);
}

#[test]
fn silence_and_failure_deny() {
    let read = || exchange(Some(RiskLevel::ReadOnly), false);
    assert_eq!(rule(vec![], read()).decision, Decision::Deny);
    assert_eq!(rule(vec![(judge("passes", |_| Verdict::Pass), ENFORCE)], read()).decision, Decision::Deny);
    let fails = (judge("fails", |_| panic!("a bug")), ENFORCE);
    let grants = (judge("grants", |_| Verdict::Grant), ENFORCE);
    let ruling = rule(vec![grants, fails], read());
    assert_eq!((ruling.decision, ruling.reasons.len()), (Decision::Deny, 1));
}

#[test]
fn an_observed_plugin_is_heard_and_not_obeyed() {
    let denies = (judge("denies", |_| Verdict::deny("r", "no")), OBSERVE);
    let grants = (judge("grants", |_| Verdict::Grant), ENFORCE);
    let ruling = rule(vec![denies, grants], exchange(Some(RiskLevel::ReadOnly), false));
    assert_eq!((ruling.decision, ruling.reasons.len()), (Decision::Allow, 0));
    let heard = ruling.heard.first().unwrap();
    assert!(heard.observed && heard.verdict == "deny", "{heard:?}");
}

#[test]
fn no_policy_frees_what_the_law_holds() {
    let all_observe = vec![
        (judge("manifest", |_| Verdict::Grant), OBSERVE),
        (judge("matrix", |_| Verdict::escalate("r", "ask")), OBSERVE),
    ];
    let ruling = rule(all_observe, exchange(Some(RiskLevel::HighWrite), false));
    assert_eq!(ruling.decision, Decision::ApprovalRequired);
    assert_eq!(ruling.reasons.first().map(|reason| reason.plugin.as_str()), Some("law"));
}

#[test]
fn judges_see_what_mutators_made_whatever_order_they_stand_in() {
    let looks = judge("looks", |exchange| {
        let marked = exchange.message().and_then(Message::params).is_some_and(|params| params.contains_key("marked"));
        if marked { Verdict::Grant } else { Verdict::deny("order", "not marked yet") }
    });
    let plugins = vec![(looks, ENFORCE), (Plugin::Mutator(Box::new(Marks)), ENFORCE)];
    assert_eq!(rule(plugins, exchange(Some(RiskLevel::ReadOnly), false)).decision, Decision::Allow);
}

#[test]
fn watching_an_unclassified_tool_softens_only_what_judges_its_class() {
    let unclassified = || exchange(None, true);
    let manifest = || (judge("manifest", |_| Verdict::deny("unclassified", "no manifest")), ENFORCE);
    let ruling = rule(vec![manifest()], unclassified());
    assert_eq!(ruling.decision, Decision::Allow);
    let rules = (judge("rules", |_| Verdict::deny("POL-1", "no")), ENFORCE);
    assert_eq!(rule(vec![manifest(), rules], unclassified()).decision, Decision::Deny);
    let guard = || (judge("sql_guard", |_| Verdict::deny("write", "no")), ENFORCE);
    let ruling = rule(vec![manifest(), guard()], unclassified());
    assert!(ruling.decision == Decision::Allow && ruling.heard.iter().all(|heard| heard.observed), "{ruling:?}");
    let security = Arc::new(crate::agents::Security::default());
    let (slug, task, trace_id) = ("s".parse().unwrap(), uuid::Uuid::nil(), TraceId::from_uuid(uuid::Uuid::nil()));
    let step = crate::agents::RunStep { organization: "demo".into(), slug, task, step: 1, of: 1, trace_id, security };
    let in_a_run = Exchange { run: Some(Arc::new(step)), ..unclassified() };
    assert_eq!(rule(vec![manifest(), guard()], in_a_run).decision, Decision::Deny);
    assert_eq!(rule(vec![manifest()], exchange(None, false)).decision, Decision::Deny);
}

#[test]
fn what_would_be_denied_is_not_shown_and_what_may_be_approved_is() {
    let read = || exchange(Some(RiskLevel::ReadOnly), false);
    let shows = |plugins, exchange: &Exchange| {
        Chain::new(plugins, Arc::new(Policies::new(BTreeMap::new(), Matrix::standard()))).shows(exchange)
    };
    let denies = |mode| (judge("manifest", |_| Verdict::deny("r", "no")), mode);
    assert!(shows(vec![(judge("a", |_| Verdict::Grant), ENFORCE)], &read()));
    assert!(shows(vec![(judge("a", |_| Verdict::escalate("r", "ask")), ENFORCE)], &read()));
    assert!(!shows(vec![(judge("a", |_| Verdict::Grant), ENFORCE), denies(ENFORCE)], &read()));
    assert!(shows(vec![denies(OBSERVE)], &read()), "not obeyed when called either");
    assert!(!shows(vec![(judge("fails", |_| panic!("a bug")), ENFORCE)], &read()));
    assert!(shows(vec![denies(ENFORCE)], &exchange(None, true)), "watched");
    assert!(!shows(vec![denies(ENFORCE)], &exchange(None, false)), "unclassified");
}
