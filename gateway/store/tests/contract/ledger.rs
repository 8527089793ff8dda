//! Appending: what is stored is what was hashed, once, in one chain.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gateway_core::TenantId;
use gateway_core::canonical::Canonical;
use gateway_core::outcome::JsonText;
use gateway_core::ports::{AuditBuffer, Ledger, Record};
use gateway_core::trace::Head;
use gateway_store::{AuditWriter, WriterOptions, verify_chain};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::people::{draft, id, row, traces};
use crate::stage::Stage;

pub async fn tenant(stage: &Stage) -> Option<TenantId> {
    Some(stage.store.tenants().add_tenant("acme").await.unwrap().id)
}

pub fn writer(stage: &Stage, ledger: Arc<dyn Ledger>) -> Arc<AuditWriter> {
    AuditWriter::start(ledger, WriterOptions::new(stage.folder.path().join("spool"))).unwrap()
}

// acceptance 19: recomputed from what the database gives back, with numbers and letters that are easily lost.
pub async fn what_is_read_is_what_was_hashed(stage: &Stage) {
    let tenant = tenant(stage).await;
    let mut odd = draft(tenant, "a-1", 1);
    odd.context = Canonical::of(&json!({
        "sum": 0.1 + 0.2, "huge": 1e300, "round": 1e17, "long": 12_345_678_901_234_567_890_u64, "tiny": 5e-324, "minus": -0.0,
        "exact": 9_007_199_254_740_993_i64, "one": 1.0, "half": 2.50, "letters": "ü€😀\u{1}\u{7f}\\\"", "": null,
        "nested": {"b": [1, 2.5, {"z": [], "a": {}}], "a": true}, "order": {"\u{20ac}": 1, "\u{1f600}": 2, "\r": 3},
    }))
    .unwrap();
    odd.authorization = Canonical::null();
    odd.description = Some("Zeile\nzwei\t\u{2028} end".into());
    odd.timestamp = "2026-12-31T23:59:59.999Z".parse().unwrap();
    let mut bare = draft(tenant, "a-1", 2);
    (bare.classification, bare.description, bare.reasoning) = (None, None, None);
    bare.context = Canonical::of(&json!({})).unwrap();
    bare.timestamp = "1999-01-01T00:00:00Z".parse().unwrap();
    let drafts = [odd, bare, draft(tenant, "a-1", 3)];

    let mut head = Head::default();
    let expected: Vec<_> = drafts.iter().map(|draft| head.link(draft).unwrap()).collect();
    let ledger = stage.store.ledger();
    let records: Vec<_> = drafts.iter().cloned().map(Record::Trace).collect();
    let receipts = ledger.append_batch(&records).await.unwrap();
    let read = ledger.traces(tenant, &id("a-1"), 0, 10).await.unwrap();
    assert_eq!(ledger.head(tenant, &id("a-1")).await.unwrap(), head);
    for ((trace, expected), receipt) in read.iter().zip(&expected).zip(&receipts) {
        let canonical = serde_json_canonicalizer::to_vec(&trace.event).unwrap();
        assert_eq!(trace.event_hash, format!("sha256:{}", hex::encode(Sha256::digest(&canonical))));
        assert_eq!((trace.seq, &trace.event_hash), (expected.seq, &expected.event_hash));
        assert_eq!(trace.event.timestamp, expected.event.timestamp);
        assert_eq!(
            (receipt.seq, &receipt.event_hash, &receipt.previous_hash),
            (trace.seq, &trace.event_hash, &trace.event.previous_hash)
        );
    }
    assert_eq!(read.len(), 3);
    assert_eq!(read[1].event, expected[1].event);
    let other = stage.another_node().await.ledger();
    assert_eq!(other.traces(tenant, &id("a-1"), 1, 1).await.unwrap(), [read[1].clone()]);
}

// acceptance 19: the vector of the specification, from the row itself.
pub async fn the_known_vector_is_stored_as_known(stage: &Stage) {
    let mut known = draft(None, "agent-billing-001", 1);
    known.context = Canonical::of(&json!({})).unwrap();
    known.timestamp = "2026-02-23T00:00:00Z".parse().unwrap();
    stage.store.ledger().append_batch(&[Record::Trace(known)]).await.unwrap();
    let hash = "sha256:5efe256c39fd60700ab981bcfdae5849447c5a5d4a8821c3c1eb4b103482f629";
    assert_eq!(stage.text("SELECT event_hash FROM agent_traces").await.as_deref(), Some(hash));
    assert_eq!(stage.text("SELECT event_hash FROM chain_heads").await.as_deref(), Some(hash));
    assert_eq!(
        stage.text("SELECT trace_id FROM agent_traces").await.as_deref(),
        Some("trc_00000000000000000000000000000001")
    );
    assert_eq!(stage.text("SELECT previous_hash FROM agent_traces").await, None);
}

pub async fn chains_are_apart(stage: &Stage) {
    let (acme, zeta) = (tenant(stage).await, Some(stage.store.tenants().add_tenant("zeta").await.unwrap().id));
    let ledger = stage.store.ledger();
    let mut mixed = traces(acme, "a-1", 1..=3);
    mixed.extend(traces(zeta, "a-1", 4..=5));
    mixed.extend(traces(None, "a-1", 6..=6));
    mixed.extend(traces(acme, "a-2", 7..=7));
    mixed.extend(traces(acme, "a-1", 8..=8));
    let receipts = ledger.append_batch(&mixed).await.unwrap();
    assert_eq!(receipts.iter().map(|receipt| receipt.seq).collect::<Vec<_>>(), [1, 2, 3, 1, 2, 1, 1, 4]);
    for (tenant, agent, length) in [(acme, "a-1", 4), (zeta, "a-1", 2), (None, "a-1", 1), (acme, "a-2", 1)] {
        let report = verify_chain(ledger.as_ref(), tenant, &id(agent), None).await.unwrap();
        assert_eq!((report.valid, report.chain_length), (true, length), "{tenant:?} {agent}");
    }
    let chains: HashSet<_> = ledger.chains().await.unwrap().into_iter().collect();
    assert_eq!(chains, HashSet::from([(acme, id("a-1")), (zeta, id("a-1")), (None, id("a-1")), (acme, id("a-2"))]));
}

pub async fn a_replay_doubles_nothing(stage: &Stage) {
    let tenant = tenant(stage).await;
    let ledger = stage.store.ledger();
    let mut batch = traces(tenant, "a-1", 1..=5);
    batch.extend((1..=5).map(|n| Record::Row(row(tenant, "a-1", n, "notes/search"))));
    let first = ledger.append_batch(&batch).await.unwrap();
    assert_eq!(ledger.append_batch(&batch).await.unwrap(), first);
    let mut overlapping = traces(tenant, "a-1", 4..=8);
    overlapping.extend(traces(tenant, "a-1", 7..=9));
    overlapping.extend((4..=8).map(|n| Record::Row(row(tenant, "a-1", n, "notes/search"))));
    let second = ledger.append_batch(&overlapping).await.unwrap();
    assert_eq!(second.iter().map(|receipt| receipt.seq).collect::<Vec<_>>(), [4, 5, 6, 7, 8, 7, 8, 9]);
    assert_eq!((stage.count("agent_traces").await, stage.count("audit_logs").await), (9, 8));
    let fresh_twice = [traces(tenant, "a-2", 20..=21), traces(tenant, "a-2", 20..=21)].concat();
    assert_eq!(ledger.append_batch(&fresh_twice).await.unwrap().len(), 4);
    for agent in ["a-1", "a-2"] {
        assert!(verify_chain(ledger.as_ref(), tenant, &id(agent), None).await.unwrap().valid);
    }
}

/// Only the places that are asked for, also when they were stored before.
pub async fn receipts_are_for_whoever_waits(stage: &Stage) {
    let tenant = tenant(stage).await;
    let ledger = stage.store.ledger();
    let mut records = traces(tenant, "a-1", 1..=3);
    records.insert(1, Record::Row(row(tenant, "a-1", 1, "notes/search")));
    let records = Arc::new(records);
    for round in ["fresh", "replayed"] {
        let receipts = ledger.append_shared(&records, vec![2, 3]).await.unwrap();
        let places: Vec<_> = receipts.iter().map(|(place, receipt)| (*place, receipt.seq)).collect();
        assert_eq!(places, [(2, 2), (3, 3)], "{round}");
        let ids: Vec<_> = receipts.iter().map(|(_, receipt)| receipt.trace_id.as_str().to_owned()).collect();
        assert_eq!(ids, [format!("trc_{:032x}", 2), format!("trc_{:032x}", 3)], "{round}");
        assert!(ledger.append_shared(&records, Vec::new()).await.unwrap().is_empty(), "{round}");
    }
    assert_eq!((stage.count("agent_traces").await, stage.count("audit_logs").await), (3, 1));
}

/// A ledger that is never idle leaves everybody else their turn.
pub async fn others_have_their_turn(stage: &Stage) {
    let tenant = tenant(stage).await;
    let (ledger, tenants) = (stage.store.ledger(), stage.store.tenants());
    let busy = tokio::spawn(async move {
        for n in 0_u128.. {
            let batch = traces(tenant, "a-1", n * 100 + 1..=n * 100 + 100);
            ledger.append_batch(&batch).await.unwrap();
        }
    });
    for n in 0..30 {
        let added = tokio::time::timeout(Duration::from_secs(2), tenants.add_tenant(&format!("tenant {n}"))).await;
        added.unwrap().unwrap();
    }
    busy.abort();
    assert_eq!(stage.count("tenants").await, 31);
}

/// Nothing of a refused batch stays, not even the tool it would have registered, and what was remembered of it does no harm.
pub async fn a_refused_batch_leaves_nothing(stage: &Stage) {
    let tenant = tenant(stage).await;
    let ledger = stage.store.ledger();
    let gone = Some(TenantId(uuid::Uuid::from_u128(99)));
    let good = Record::Row(row(tenant, "a-1", 1, "notes/search"));
    for bad in [Record::Trace(draft(gone, "a-9", 2)), Record::Row(row(gone, "a-9", 2, "notes/search"))] {
        let batch = [traces(tenant, "a-1", 1..=1), vec![good.clone(), bad]].concat();
        assert!(ledger.append_batch(&batch).await.is_err());
        for table in ["agent_traces", "audit_logs", "chain_heads", "tool_registry"] {
            assert_eq!(stage.count(table).await, 0, "{table}");
        }
    }
    ledger.append_batch(&[traces(tenant, "a-1", 1..=1), vec![good]].concat()).await.unwrap();
    assert_eq!(stage.count("audit_logs JOIN tool_registry ON tool_registry.id = tool_id").await, 1);
    assert!(verify_chain(ledger.as_ref(), tenant, &id("a-1"), None).await.unwrap().valid);
}

// acceptance 22, acceptance 18: fifty callers wait, each gets its own place in one chain.
pub async fn fifty_at_once_make_one_chain(stage: &Stage) {
    let tenant = tenant(stage).await;
    let writer = writer(stage, stage.store.ledger());
    let callers: Vec<_> = (1..=50)
        .map(|n| {
            let writer = Arc::clone(&writer);
            tokio::spawn(async move {
                writer.reserve().unwrap();
                let receipt = writer.append(draft(tenant, "a-1", n), true).await.unwrap();
                writer.release(1);
                receipt.unwrap()
            })
        })
        .collect();
    let mut previous = HashSet::new();
    for caller in callers {
        previous.insert(caller.await.unwrap().previous_hash);
    }
    assert_eq!((previous.len(), previous.contains(&None)), (50, true));
    let report = verify_chain(stage.store.ledger().as_ref(), tenant, &id("a-1"), None).await.unwrap();
    assert_eq!((report.valid, report.chain_length), (true, 50));
    writer.shutdown().await;
    assert_eq!(writer.room(), 65_536);
}

pub async fn two_nodes_never_fork_a_chain(stage: &Stage) {
    let tenant = tenant(stage).await;
    let other = stage.another_node().await;
    let nodes = [stage.store.ledger(), other.ledger()];
    let tasks: Vec<_> = (0..8_u128)
        .map(|task| {
            let ledger = Arc::clone(&nodes[(task % 2) as usize]);
            tokio::spawn(async move {
                for round in 0..10_u128 {
                    let first = 1 + task * 1_000 + round * 10;
                    let mut batch = traces(tenant, "a-1", first..=first + 2);
                    // Also in the other order, where a careless lock would wait in a circle.
                    batch.extend(traces(tenant, if task % 2 == 0 { "a-0" } else { "a-2" }, first + 3..=first + 3));
                    batch.extend(traces(tenant, "a-0", first + 4..=first + 4));
                    batch.extend((first..=first + 2).map(|n| Record::Row(row(tenant, "a-1", n, "notes/search"))));
                    ledger.append_batch(&batch).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    for (agent, length) in [("a-1", 240), ("a-0", 120), ("a-2", 40)] {
        let report = verify_chain(nodes[0].as_ref(), tenant, &id(agent), None).await.unwrap();
        assert_eq!((report.valid, report.chain_length), (true, length), "{agent}");
    }
    assert_eq!(stage.count("tool_registry").await, 1);
}

// acceptance 71: one row per call, with its tool, payloads, classification, time and status.
pub async fn rows_name_their_tool(stage: &Stage) {
    let tenant = tenant(stage).await;
    let ledger = stage.store.ledger();
    let mut nobody = row(None, "unauthenticated", 3, "notes/search");
    (nobody.input, nobody.output) = (None, None);
    let long = format!("notes/{}", "x".repeat(256));
    let records = [
        Record::Row(row(tenant, "a-1", 1, "notes/search")),
        Record::Row(row(tenant, "a-1", 2, "notes/delete")),
        Record::Row(nobody),
        Record::Row(row(tenant, "a-1", 4, &long)),
    ];
    assert!(ledger.append_batch(&records).await.unwrap().is_empty());
    ledger.append_batch(&[Record::Row(row(tenant, "a-1", 5, "notes/search"))]).await.unwrap();
    let named = "SELECT COALESCE(name, '-') FROM audit_logs LEFT JOIN tool_registry ON tool_registry.id = tool_id ORDER BY trace_id";
    let names: Vec<_> = stage.texts(named).await.into_iter().flatten().collect();
    assert_eq!(names, ["notes/search", "notes/delete", "-", "-", "notes/search"]);
    assert_eq!(stage.count("tool_registry WHERE risk_level = 'unclassified'").await, 2);
    let one = format!(
        "audit_logs WHERE execution_time_ms = 12 AND status_code = 'ok' AND agent_id = 'a-1' AND tenant_id = '{}'",
        tenant.unwrap()
    );
    assert_eq!(stage.count(&one).await, 4);
    let json = stage.text("SELECT CAST(input_payload AS TEXT) FROM audit_logs ORDER BY trace_id").await.unwrap();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap(), json!({"query": "budget"}));
    // Somebody tidied the registry by hand: what was remembered must not stop the next row.
    stage.execute("DELETE FROM audit_logs").await.unwrap();
    stage.execute("DELETE FROM tool_registry").await.unwrap();
    ledger.append_batch(&[Record::Row(row(tenant, "a-1", 6, "notes/search"))]).await.unwrap();
    assert_eq!(stage.count("audit_logs JOIN tool_registry ON tool_registry.id = tool_id").await, 1);
}

/// A tenant that is gone can have no trace; everybody else's are written all the same.
pub async fn one_bad_record_does_not_stop_the_others(stage: &Stage) {
    let tenant = tenant(stage).await;
    let writer = writer(stage, stage.store.ledger());
    let gone = Some(TenantId(uuid::Uuid::from_u128(99)));
    let mut bad = None;
    for n in 1..=40 {
        writer.reserve().unwrap();
        writer.release(1);
        if n == 17 {
            let (writer, draft) = (Arc::clone(&writer), draft(gone, "a-9", n));
            bad = Some(tokio::spawn(async move { writer.append(draft, true).await }));
        } else {
            writer.append(draft(tenant, "a-1", n), false).await.unwrap();
        }
    }
    assert!(bad.unwrap().await.unwrap().is_err(), "whoever waits for it hears of it");
    writer.flush().await;
    assert_eq!(stage.count("agent_traces").await, 39);
    let aside = std::fs::read_to_string(stage.folder.path().join("spool/audit.refused")).unwrap();
    assert_eq!((aside.lines().count(), aside.contains("a-9")), (1, true));
    assert!(verify_chain(stage.store.ledger().as_ref(), tenant, &id("a-1"), None).await.unwrap().valid);
    writer.shutdown().await;
    assert_eq!(writer.room(), 65_536);
}

pub async fn payloads_no_database_holds_are_left_out(stage: &Stage) {
    let tenant = tenant(stage).await;
    let writer = writer(stage, stage.store.ledger());
    let mut half = row(tenant, "a-1", 1, "notes/search");
    half.output = Some(JsonText::from_checked(Bytes::from_static(br#"{"half":"\ud83d"}"#)));
    writer.reserve().unwrap();
    writer.settle(half);
    writer.settle(row(tenant, "a-1", 2, "notes/search"));
    tokio::time::timeout(Duration::from_secs(10), writer.flush()).await.unwrap();
    assert_eq!(stage.count("audit_logs").await, 2);
    writer.shutdown().await;
}
