//! Approvals: one row for one question, one run for one yes, on however many nodes.

use std::time::Duration;

use gateway_core::approvals::{
    ApprovalKind, ApprovalQuery, ApprovalRecord, ApprovalStatus, DecideError, Decided, Decider, NewApproval, Via,
};
use gateway_core::classification::{Classification, DecisionType, Reversibility, Risk};
use gateway_core::live::SuspensionKind;
use gateway_core::manifest::RiskLevel;
use gateway_core::ports::{Approvals, NewSuspension, StoreError};
use gateway_core::verdict::Reason;
use gateway_core::{TenantId, TraceId};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use uuid::Uuid;

use crate::stage::Stage;

fn now() -> Timestamp {
    "2026-11-16T10:00:00.123456Z".parse().unwrap()
}

fn later(seconds: i64) -> Timestamp {
    now() + SignedDuration::from_secs(seconds)
}

async fn tenant(stage: &Stage, name: &str) -> TenantId {
    stage.store.tenants().add_tenant(name).await.unwrap().id
}

fn new(tenant: TenantId, binding: &str) -> NewApproval {
    NewApproval {
        id: Uuid::now_v7(),
        tenant,
        kind: ApprovalKind::Call,
        agent: "a-4".parse().unwrap(),
        tool: Some("crm/delete".parse().unwrap()),
        binding: binding.into(),
        args_hash: Some("sha256:1".into()),
        manifest_hash: None,
        policies_hash: "sha256:2".into(),
        classification: Classification::new(DecisionType::D3, Risk::R3, Reversibility::Irreversible),
        risk_level: Some(RiskLevel::HighWrite),
        four_eyes: true,
        reasons: vec![Reason::new("manifest", "mode_x_risk", "a \"reason\", é")],
        policy_ids: vec!["mode_x_risk".into(), "POL-1".into()],
        shown: Some(json!({ "id": 7, "why": ["é"] })),
        owner: Some("Ada@example.com".into()),
        trace: TraceId::from_stored("trc_1"),
        deadline: later(60),
    }
}

fn yes() -> Decided {
    Decided { approve: true, note: Some("go".into()), use_by: later(900) }
}

fn no() -> Decided {
    Decided { approve: false, ..yes() }
}

fn by(name: &str) -> Decider {
    Decider { name: name.into(), via: Via::Cli, tenant: None }
}

fn trace() -> TraceId {
    TraceId::from_stored("trc_run")
}

async fn approved(approvals: &dyn Approvals, asked: &NewApproval) -> ApprovalRecord {
    approvals.ask(asked, now()).await.unwrap();
    approvals.decide(asked.id, &yes(), &by("grace"), now()).await.unwrap()
}

/// acceptance 110: the same question has one row, whoever asks it, and comes back as it was written.
pub async fn the_same_question_has_one_row(stage: &Stage) {
    let (acme, node) = (tenant(stage, "acme").await, stage.another_node().await);
    let nodes = [stage.store.approvals(), node.approvals()];
    let asked = (0..20).map(|n| {
        let approvals = nodes[n % 2].clone();
        tokio::spawn(async move { approvals.ask(&new(acme, "b-1"), now()).await.unwrap().asked.id })
    });
    let mut ids: Vec<_> = futures::future::join_all(asked).await.into_iter().map(Result::unwrap).collect();
    ids.dedup();
    assert_eq!((ids.len(), stage.count("approvals").await), (1, 1));
    let kept = nodes[0].find(Some(acme), ids[0]).await.unwrap().unwrap();
    let expected = NewApproval { id: ids[0], ..new(acme, "b-1") };
    assert_eq!((kept.asked, kept.status, kept.asked_at), (expected, ApprovalStatus::Pending, now()));
    assert_ne!(nodes[0].ask(&new(acme, "b-2"), now()).await.unwrap().asked.id, ids[0]);
}

/// acceptance 110: of fifty tries on two nodes one runs, and the next question is a new one.
pub async fn a_yes_is_used_once_of_fifty_tries(stage: &Stage) {
    let (acme, node) = (tenant(stage, "acme").await, stage.another_node().await);
    let nodes = [stage.store.approvals(), node.approvals()];
    let asked = new(acme, "b-1");
    let row = approved(nodes[0].as_ref(), &asked).await;
    assert_eq!(
        (row.status, row.decided_by.as_deref(), row.use_by),
        (ApprovalStatus::Approved, Some("grace"), Some(later(900)))
    );
    assert!(!nodes[0].use_up(asked.id, "b-2", &trace(), later(1)).await.unwrap(), "another question's");
    assert!(!nodes[0].use_up(asked.id, "b-1", &trace(), later(900)).await.unwrap(), "too late");
    let tries = (0..50).map(|n| {
        let (approvals, id) = (nodes[n % 2].clone(), asked.id);
        tokio::spawn(async move { approvals.use_up(id, "b-1", &trace(), later(1)).await.unwrap() })
    });
    let won = futures::future::join_all(tries).await.into_iter().filter(|tried| *tried.as_ref().unwrap()).count();
    assert_eq!(won, 1);
    let row = nodes[1].find(None, asked.id).await.unwrap().unwrap();
    assert_eq!((row.status, row.used_trace, row.used_at), (ApprovalStatus::Used, Some(trace()), Some(later(1))));
    let next = nodes[1].ask(&new(acme, "b-1"), later(2)).await.unwrap();
    assert!(next.asked.id != asked.id && next.status == ApprovalStatus::Pending);
}

pub async fn one_decision_is_taken(stage: &Stage) {
    let acme = tenant(stage, "acme").await;
    let other = tenant(stage, "other").await;
    let approvals = stage.store.approvals();
    let asked = new(acme, "b-1");
    approvals.ask(&asked, now()).await.unwrap();
    let theirs = Decider { tenant: Some(other), ..by("grace") };
    assert!(matches!(approvals.decide(asked.id, &yes(), &theirs, now()).await, Err(DecideError::NotFound)));
    assert!(approvals.find(Some(other), asked.id).await.unwrap().is_none(), "another tenant's is not there");
    assert!(matches!(approvals.decide(Uuid::nil(), &yes(), &by("grace"), now()).await, Err(DecideError::NotFound)));
    // Four eyes: neither its user, by whichever spelling, nor the agent itself, nor whoever the agent asks.
    let asking = Decider { via: Via::Elicitation, ..by("grace") };
    for own in [by("ada@EXAMPLE.com "), by("A-4"), asking] {
        let refused = approvals.decide(asked.id, &yes(), &own, now()).await;
        assert!(matches!(refused, Err(DecideError::FourEyes)), "{own:?}: {refused:?}");
    }
    let tries = (0..10).map(|n| {
        let (approvals, id) = (approvals.clone(), asked.id);
        let verdict = if n % 2 == 0 { yes() } else { no() };
        tokio::spawn(async move { approvals.decide(id, &verdict, &by("grace"), now()).await.is_ok() })
    });
    let won = futures::future::join_all(tries).await.into_iter().filter(|tried| *tried.as_ref().unwrap()).count();
    assert_eq!(won, 1);
    assert!(matches!(approvals.decide(asked.id, &no(), &by("grace"), now()).await, Err(DecideError::Already(_))));
    // Its own user may say no; without four eyes also yes.
    let second = new(acme, "b-2");
    approvals.ask(&second, now()).await.unwrap();
    assert!(approvals.decide(second.id, &no(), &by("ada@example.com"), now()).await.is_ok());
    let third = NewApproval { four_eyes: false, ..new(acme, "b-3") };
    approvals.ask(&third, now()).await.unwrap();
    assert!(approvals.decide(third.id, &yes(), &by("ada@example.com"), now()).await.is_ok());
    let of = |tenant, status| ApprovalQuery { tenant: Some(tenant), status, agent: None, limit: 10 };
    assert_eq!(approvals.list(&of(acme, None)).await.unwrap().len(), 3);
    assert_eq!(approvals.list(&of(other, None)).await.unwrap().len(), 0);
    let waiting = approvals.list(&of(acme, Some(ApprovalStatus::Pending))).await.unwrap();
    assert!(waiting.is_empty(), "{waiting:?}");
}

/// acceptance 110: a no and a missed deadline answer the question for a while.
pub async fn a_no_stands_for_a_while(stage: &Stage) {
    let acme = tenant(stage, "acme").await;
    let approvals = stage.store.approvals();
    let rejected = new(acme, "b-1");
    approvals.ask(&rejected, now()).await.unwrap();
    approvals.decide(rejected.id, &no(), &by("grace"), now()).await.unwrap();
    let again = approvals.ask(&new(acme, "b-1"), later(59)).await.unwrap();
    assert_eq!((again.asked.id, again.status), (rejected.id, ApprovalStatus::Rejected));
    let anew = approvals.ask(&NewApproval { deadline: later(120), ..new(acme, "b-1") }, later(61)).await.unwrap();
    assert_eq!(anew.status, ApprovalStatus::Pending);

    let missed = new(acme, "b-2");
    approvals.ask(&missed, now()).await.unwrap();
    assert!(matches!(
        approvals.decide(missed.id, &yes(), &by("grace"), later(60)).await,
        Err(DecideError::Already(ApprovalStatus::Expired))
    ));
    // Nobody swept yet: the deadline counts when the row is used.
    let again = approvals.ask(&new(acme, "b-2"), later(60)).await.unwrap();
    assert_eq!((again.asked.id, again.status), (missed.id, ApprovalStatus::Expired));
    // A yes that was not used in time is asked for again at once.
    let unused = new(acme, "b-3");
    approved(approvals.as_ref(), &unused).await;
    let again = approvals.ask(&NewApproval { deadline: later(2000), ..new(acme, "b-3") }, later(901)).await.unwrap();
    assert!(again.asked.id != unused.id && again.status == ApprovalStatus::Pending);
}

pub async fn deadlines_are_swept_and_records_repaired(stage: &Stage) {
    let acme = tenant(stage, "acme").await;
    let approvals = stage.store.approvals();
    let (missed, decided, waiting) = (new(acme, "b-1"), new(acme, "b-2"), new(acme, "b-3"));
    approvals.ask(&missed, now()).await.unwrap();
    approvals.ask(&NewApproval { deadline: later(3600), ..waiting.clone() }, now()).await.unwrap();
    approved(approvals.as_ref(), &decided).await;
    assert_eq!(approvals.sweep(later(4)).await.unwrap(), Default::default(), "whoever decided is still writing");
    let swept = approvals.sweep(later(61)).await.unwrap();
    let ids = |rows: &[ApprovalRecord]| rows.iter().map(|row| row.asked.id).collect::<Vec<_>>();
    assert_eq!((ids(&swept.expired), ids(&swept.unrecorded)), (vec![missed.id], vec![decided.id]));
    approvals.recorded(decided.id, &trace()).await.unwrap();
    let swept = approvals.sweep(later(70)).await.unwrap();
    assert_eq!((ids(&swept.expired), ids(&swept.unrecorded)), (vec![], vec![missed.id]), "a crash after the row");
    approvals.recorded(missed.id, &trace()).await.unwrap();
    assert_eq!(approvals.sweep(later(80)).await.unwrap(), Default::default());
    let found = approvals.decided(waiting.id, Timestamp::now()).await.unwrap();
    assert_eq!(found.status, ApprovalStatus::Pending, "time is up, and nobody decided");
    let waits = tokio::spawn({
        let approvals = approvals.clone();
        async move { approvals.decided(waiting.id, Timestamp::now() + SignedDuration::from_secs(20)).await.unwrap().status }
    });
    approvals.decide(waiting.id, &no(), &by("grace"), later(81)).await.unwrap();
    assert_eq!(waits.await.unwrap(), ApprovalStatus::Rejected);
}

pub async fn what_is_stopped_is_frozen(stage: &Stage) {
    let acme = tenant(stage, "acme").await;
    let (approvals, standing) = (stage.store.approvals(), stage.store.standing());
    let (asked, ready) = (new(acme, "b-1"), new(acme, "b-2"));
    approvals.ask(&asked, now()).await.unwrap();
    approved(approvals.as_ref(), &ready).await;
    for (kind, subject, whose, frozen) in [
        (SuspensionKind::Agent, "a-4".to_owned(), Some(acme), true),
        (SuspensionKind::Agent, "a-4".to_owned(), None, true),
        (SuspensionKind::Agent, "a-5".to_owned(), None, false),
        (SuspensionKind::Tool, "crm/delete".to_owned(), None, true),
        (SuspensionKind::Tool, "crm/other".to_owned(), None, false),
        (SuspensionKind::Upstream, "crm".to_owned(), Some(acme), true),
        (SuspensionKind::Upstream, "cr".to_owned(), None, false),
        (SuspensionKind::Tenant, acme.to_string(), None, true),
    ] {
        let id = Uuid::now_v7();
        let new = NewSuspension { id, tenant: whose, kind, subject: subject.clone(), reason: None, by: "o".into() };
        standing.suspend(&new).await.unwrap();
        if frozen {
            let refused = approvals.decide(asked.id, &yes(), &by("grace"), now()).await;
            assert!(matches!(refused, Err(DecideError::Frozen)), "{kind} {subject}: {refused:?}");
            assert!(!approvals.use_up(ready.id, "b-2", &trace(), later(1)).await.unwrap(), "{kind} {subject}");
        }
        standing.lift(id, "o").await.unwrap();
    }
    assert!(approvals.use_up(ready.id, "b-2", &trace(), later(1)).await.unwrap());
    assert!(approvals.decide(asked.id, &yes(), &by("grace"), now()).await.is_ok());
}

pub async fn an_agent_may_wait_for_so_many(stage: &Stage) {
    let acme = tenant(stage, "acme").await;
    let approvals = stage.store.approvals();
    for n in 0..3 {
        assert!(approvals.ask_within(&new(acme, &format!("b-{n}")), 3, now()).await.unwrap().is_some());
    }
    assert!(approvals.ask_within(&new(acme, "b-9"), 3, now()).await.unwrap().is_none());
    assert!(approvals.ask_within(&new(acme, "b-0"), 3, now()).await.unwrap().is_some(), "that one waits already");
    let other = NewApproval { agent: "a-5".parse().unwrap(), ..new(acme, "b-8") };
    assert!(approvals.ask_within(&other, 3, now()).await.unwrap().is_some());
    let nowhere = approvals.ask(&new(TenantId(Uuid::nil()), "b-7"), now()).await;
    assert!(matches!(nowhere, Err(StoreError::NotFound(_))), "{nowhere:?}");
}

pub async fn people_are_told_once(stage: &Stage) {
    let (acme, node) = (tenant(stage, "acme").await, stage.another_node().await);
    let nodes = [stage.store.approvals(), node.approvals()];
    let asked = new(acme, "b-1");
    nodes[0].ask(&asked, now()).await.unwrap();
    let lease = Duration::from_secs(10);
    let tries = (0..10).map(|n| {
        let approvals = nodes[n % 2].clone();
        tokio::spawn(async move { approvals.to_notify(now(), lease).await.unwrap().len() })
    });
    let told: usize = futures::future::join_all(tries).await.into_iter().map(Result::unwrap).sum();
    assert_eq!(told, 1, "leased to one");
    assert!(nodes[1].to_notify(later(9), lease).await.unwrap().is_empty());
    assert_eq!(nodes[1].to_notify(later(11), lease).await.unwrap().len(), 1, "nobody said it was told");
    nodes[1].notified(asked.id, later(12)).await.unwrap();
    assert!(nodes[0].to_notify(later(50), lease).await.unwrap().is_empty());
    assert_eq!(nodes[0].find(None, asked.id).await.unwrap().unwrap().notified_at, Some(later(12)));
}

// What ended long ago is removed, a few rows at a time, once it is in the chain; what is open or unrecorded stays.
pub async fn what_ended_long_ago_is_removed(stage: &Stage) {
    let acme = tenant(stage, "acme").await;
    let approvals = stage.store.approvals();
    let [used, refused, unrecorded, open] = ["used", "refused", "unrecorded", "open"].map(|binding| new(acme, binding));
    approved(approvals.as_ref(), &used).await;
    assert!(approvals.use_up(used.id, "used", &trace(), later(1)).await.unwrap());
    for asked in [&refused, &unrecorded] {
        approvals.ask(asked, now()).await.unwrap();
        approvals.decide(asked.id, &no(), &by("grace"), now()).await.unwrap();
    }
    for asked in [&used, &refused] {
        approvals.recorded(asked.id, &trace()).await.unwrap();
    }
    approvals.ask(&NewApproval { deadline: later(3 * 365 * 86_400), ..open.clone() }, now()).await.unwrap();
    let there = async |asked: &NewApproval| approvals.find(None, asked.id).await.unwrap().is_some();
    approvals.sweep(later(364 * 86_400)).await.unwrap();
    assert!(there(&used).await && there(&refused).await, "not yet");
    approvals.sweep(later(366 * 86_400)).await.unwrap();
    assert!(!there(&used).await && !there(&refused).await, "a year later");
    assert!(there(&unrecorded).await, "its trace is still to be written");
    assert!(there(&open).await, "nobody has decided");
}
