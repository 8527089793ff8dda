//! What a judge of many policies is worth, policy by policy.

use super::*;
use crate::approvals::Granted;
use crate::classification::{Classification, DecisionType, Reversibility, Risk};
use crate::names::TenantId;

/// Says each of these, for calls and for lists.
struct Many(Vec<Opinion>);

impl Judge for Many {
    fn name(&self) -> &'static str {
        "rules"
    }

    fn on_request(&self, _exchange: &Exchange) -> Verdict {
        Verdict::Pass
    }

    fn hear(&self, _exchange: &Exchange, say: &mut dyn FnMut(Opinion)) {
        self.0.iter().cloned().for_each(say);
    }
}

fn with(opinions: Vec<Opinion>) -> Vec<(Plugin, PluginMode)> {
    let grants = (judge("manifest", |_| Verdict::Grant), ENFORCE);
    vec![grants, (Plugin::Judge(Box::new(Many(opinions))), ENFORCE)]
}

fn read() -> Exchange {
    exchange(Some(RiskLevel::ReadOnly), false)
}

#[test]
fn only_what_is_enforced_counts_and_only_advice_is_told() {
    let deny = |mode| Opinion::new(Verdict::deny("P-1", "no"), mode);
    for (mode, decision, told) in [
        (PolicyMode::Shadow, Decision::Allow, 0),
        (PolicyMode::Advisory, Decision::Allow, 1),
        (PolicyMode::Enforce, Decision::Deny, 0),
    ] {
        let ruling = rule(with(vec![deny(mode)]), read());
        assert_eq!((ruling.decision, ruling.advice.len()), (decision, told), "{mode}");
        let heard = ruling.heard.last().unwrap();
        assert_eq!((heard.mode, heard.observed), (mode, mode != PolicyMode::Enforce));
    }
    let shadow = vec![(
        Plugin::Judge(Box::new(Many(vec![Opinion::new(Verdict::escalate("P", "ask"), PolicyMode::Shadow)]))),
        ENFORCE,
    )];
    assert_eq!(rule(shadow, read()).decision, Decision::Deny, "a word that does not count grants nothing either");
}

#[test]
fn a_mention_is_heard_told_and_never_counted() {
    let mention = |mode| Opinion::new(Verdict::Mention(Objection::new("P-1", "by the way")), mode);
    for (mode, told) in [(PolicyMode::Shadow, 0), (PolicyMode::Advisory, 1), (PolicyMode::Enforce, 1)] {
        let ruling = rule(with(vec![mention(mode)]), read());
        assert_eq!((ruling.decision, ruling.advice.len(), ruling.reasons.len()), (Decision::Allow, told, 0), "{mode}");
        let heard = ruling.heard.last().unwrap();
        assert_eq!((heard.verdict, heard.mode, heard.observed), ("mention", mode, true));
        assert!(ruling.notices.is_empty());
        let notify = Opinion::new(Verdict::Notify(Objection::new("P-1", "by the way")), mode);
        let ruling = rule(with(vec![notify]), read());
        let people = usize::from(mode == PolicyMode::Enforce);
        assert_eq!(
            (ruling.decision, ruling.advice.len(), ruling.notices.len()),
            (Decision::Allow, told, people),
            "{mode}"
        );
        let alone = vec![(Plugin::Judge(Box::new(Many(vec![mention(mode)]))), ENFORCE)];
        assert_eq!(rule(alone, read()).decision, Decision::Deny, "it grants nothing");
        let watched = vec![(Plugin::Judge(Box::new(Many(vec![mention(mode)]))), OBSERVE)];
        let ruling = rule(watched, read());
        assert_eq!(
            (ruling.decision, ruling.advice.len()),
            (Decision::Deny, 0),
            "a judge that only observes tells nobody"
        );
    }
}

#[test]
fn the_shortest_time_and_every_policy_that_asks_are_kept() {
    let ask = |rule: &'static str, minutes| {
        let time = Some(SignedDuration::from_mins(minutes));
        Opinion::enforced(Verdict::Escalate(Objection::new(rule, "ask").within(time)))
    };
    let ruling = rule(with(vec![ask("P-1", 60), ask("P-2", 5), ask("P-3", 30)]), read());
    assert_eq!(ruling.decision, Decision::ApprovalRequired);
    assert_eq!(ruling.respond_within, Some(SignedDuration::from_mins(5)));
    assert_eq!(ruling.policy_ids, ["P-1", "P-2", "P-3"]);
}

#[test]
fn what_the_agent_declares_raises_and_never_lowers() {
    let declared = |decision_type, risk| {
        let declared = Some(Classification::new(decision_type, risk, Reversibility::Total));
        let exchange = Exchange { declared, ..exchange(Some(RiskLevel::LowWrite), false) };
        rule(with(Vec::new()), exchange).decision
    };
    assert_eq!(declared(DecisionType::D1, Risk::R1), Decision::Allow);
    assert_eq!(declared(DecisionType::D4, Risk::R1), Decision::ApprovalRequired, "the law hears what was declared");
    let judged = |level| {
        let declared = Some(Classification::new(DecisionType::D1, Risk::R1, Reversibility::Total));
        rule(with(Vec::new()), Exchange { declared, ..exchange(Some(level), false) }).decision
    };
    assert_eq!(judged(RiskLevel::HighWrite), Decision::ApprovalRequired, "and nothing is lowered");
}

#[test]
fn an_approval_is_good_for_the_call_it_was_given_for() {
    let policies = Arc::new(Policies::new(BTreeMap::new(), Matrix::standard()));
    let chain = Chain::new(with(Vec::new()), policies);
    let asked = |arguments: serde_json::Value| {
        let mut exchange = exchange(Some(RiskLevel::HighWrite), false);
        exchange.principal =
            Arc::new(Principal { tenant: Some(TenantId(uuid::Uuid::nil())), ..Principal::anonymous() });
        exchange.params_mut().unwrap().insert("arguments".into(), arguments);
        match chain.admit(Box::new(exchange)) {
            Err(refused) => refused,
            Ok(_) => panic!("HIGH_WRITE needs a human"),
        }
    };
    let (exchange, ruling) = asked(json!({ "id": 1 }));
    let bound = crate::approvals::binding(&exchange, &ruling).unwrap();
    let granted = || Granted::used(uuid::Uuid::from_u128(7), bound.clone());
    let (permit, ruling) = chain.admit_approved(exchange, ruling, granted()).ok().unwrap();
    assert_eq!((ruling.decision, ruling.approval), (Decision::Allow, Some(uuid::Uuid::from_u128(7))));
    assert_eq!(permit.exchange().argument("id"), Some(&json!(1)));
    let (other, ruling) = asked(json!({ "id": 2 }));
    let (_, ruling) = chain.admit_approved(other, ruling, granted()).err().unwrap();
    assert_eq!(ruling.decision, Decision::Deny);
}

#[test]
fn each_judge_can_be_watched_at_work() {
    let policies = Arc::new(Policies::new(BTreeMap::new(), Matrix::standard()));
    let chain = Chain::new(with(Vec::new()), policies);
    let mut seen = Vec::new();
    let ruling = chain.judge(&mut read(), &mut |name, run| {
        seen.push(name);
        run();
    });
    assert_eq!((ruling.decision, seen.as_slice()), (Decision::Allow, ["manifest", "rules"].as_slice()));
    let unheard = chain.judge(&mut read(), &mut |_, _| {});
    assert_eq!(unheard.decision, Decision::Deny, "a judge that was not run has not granted");
}
