//! What is read of the past: one trace, one agent's calls in order, how they ended; and what was proved.

use gateway_core::outcome::Status;
use gateway_core::ports::{CallCursor, Invariant, Proof, Record, StoreError};
use gateway_core::{TenantId, TraceId};
use serde_json::json;
use uuid::Uuid;

use crate::people::{draft, id, row};
use crate::stage::Stage;

async fn tenants(stage: &Stage) -> (TenantId, TenantId) {
    let tenants = stage.store.tenants();
    (tenants.add_tenant("acme").await.unwrap().id, tenants.add_tenant("zeta").await.unwrap().id)
}

pub async fn calls_are_read_in_the_order_of_their_chain(stage: &Stage) {
    let (acme, zeta) = tenants(stage).await;
    let mut records = Vec::new();
    for n in 1..=5 {
        records.push(Record::Trace(draft(Some(acme), "a-1", n)));
        records.push(Record::Row(row(Some(acme), "a-1", n, "notes/search")));
    }
    records.push(Record::Trace(draft(Some(zeta), "a-1", 6)));
    stage.store.ledger().append_batch(&records).await.unwrap();
    let history = stage.store.history();

    let mut cursor = CallCursor { tenant: Some(acme), agent: id("a-1"), since: None, after: None };
    let mut seen = Vec::new();
    loop {
        let page = history.calls(&cursor, 2).await.unwrap();
        let Some(last) = page.last() else { break };
        cursor.after = Some(TraceId::from_stored(&last.trace.event.trace_id));
        assert!(page.len() <= 2);
        seen.extend(page);
    }
    assert_eq!(seen.iter().map(|call| call.trace.seq).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    assert!(seen.iter().all(|call| call.tenant == Some(acme)), "nobody else's");
    assert_eq!(seen[0].input, Some(json!({"query": "budget"})));
    assert_eq!(seen[0].status.as_deref(), Some("ok"));
    let stored = stage.store.ledger().traces(Some(acme), &id("a-1"), 0, 1).await.unwrap();
    assert_eq!(seen[0].trace, stored[0], "read as the ledger reads it");

    let one = history.trace(&stored[0].event.trace_id).await.unwrap().unwrap();
    assert_eq!(one, (Some(acme), stored[0].clone()));
    assert_eq!(history.call(&stored[0].event.trace_id).await.unwrap().as_ref(), Some(&seen[0]));
    assert!(history.trace("trc_absent").await.unwrap().is_none());

    let last = seen[4].trace.event.timestamp.parse().unwrap();
    let since = CallCursor { since: Some(last), after: None, ..cursor.clone() };
    let recent = history.calls(&since, 10).await.unwrap();
    assert!(
        !recent.is_empty() && recent.iter().all(|call| call.trace.event.timestamp >= seen[4].trace.event.timestamp)
    );
    let never = CallCursor { since: Some("2100-01-01T00:00:00Z".parse().unwrap()), ..since };
    assert!(history.calls(&never, 10).await.unwrap().is_empty());
    stage.execute("UPDATE audit_logs SET input_payload = NULL").await.unwrap();
    let erased = history.calls(&CallCursor { after: None, ..cursor }, 1).await.unwrap();
    assert_eq!(erased[0].input, None);
}

// acceptance 112: counts by tool and risk, of one agent, since a time.
pub async fn an_agents_record_is_counted(stage: &Stage) {
    let (acme, zeta) = tenants(stage).await;
    let mut records = Vec::new();
    for (n, tool, status) in [
        (1, "notes/search", Status::Ok),
        (2, "notes/search", Status::Ok),
        (3, "notes/search", Status::Denied),
        (4, "notes/search", Status::ToolError),
        (5, "notes/write", Status::ApprovalRequired),
    ] {
        let mut row = row(Some(acme), "a-1", n, tool);
        row.status = status;
        records.push(Record::Row(row));
    }
    records.push(Record::Row(row(Some(acme), "a-2", 6, "notes/search")));
    records.push(Record::Row(row(Some(zeta), "a-1", 7, "notes/search")));
    stage.store.ledger().append_batch(&records).await.unwrap();
    let history = stage.store.history();
    let counted = history.record_of(acme, &id("a-1"), "2000-01-01T00:00:00Z".parse().unwrap()).await.unwrap();
    let told: Vec<_> =
        counted.iter().map(|one| (one.tool.as_str(), one.calls, one.ok, one.denied, one.errors)).collect();
    assert_eq!(told, [("notes/search", 4, 2, 1, 1), ("notes/write", 1, 0, 0, 0)]);
    assert!(counted.iter().all(|one| one.risk.starts_with('R')), "{counted:?}");
    let later = history.record_of(acme, &id("a-1"), "2100-01-01T00:00:00Z".parse().unwrap()).await.unwrap();
    assert!(later.is_empty());
}

pub async fn the_newest_proof_is_kept_as_it_was_made(stage: &Stage) {
    let (acme, zeta) = tenants(stage).await;
    let proofs = stage.store.proofs();
    let proof = |n: u128, tenant: Option<TenantId>, at: &str| Proof {
        id: Uuid::from_u128(n),
        version: 1,
        tenant,
        at: at.parse().unwrap(),
        scope: json!({ "tenant": tenant, "mode": "SHADOW" }),
        digests: json!({ "policies": "sha256:1", "program": "portreeve" }),
        cells: 460_800,
        invariants: vec![Invariant { id: "nothing_unclassified".into(), holds: n != 2, cells: 7 }],
        holds: n != 2,
        counterexample: (n == 2).then(|| "SHADOW reaches crm/update".into()),
        trace_id: Some(TraceId::from_stored("trc_1")),
    };
    let (old, new) = (proof(1, Some(acme), "2026-01-01T00:00:00Z"), proof(2, Some(acme), "2026-01-01T00:00:00.001Z"));
    for one in [&new, &old, &proof(3, None, "2026-01-02T00:00:00Z")] {
        proofs.keep(one).await.unwrap();
    }
    assert_eq!(proofs.latest(Some(acme)).await.unwrap(), Some(new.clone()));
    assert_eq!(proofs.latest(None).await.unwrap().map(|proof| proof.id), Some(Uuid::from_u128(3)));
    assert_eq!(proofs.latest(Some(zeta)).await.unwrap(), None, "another tenant's is not there");
    let twice = proofs.keep(&new).await;
    assert!(matches!(twice, Err(StoreError::Exists(_))), "{twice:?}");
}
