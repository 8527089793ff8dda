//! What somebody with the database's own password does to the rows, the walk finds.

use gateway_core::TenantId;
use gateway_core::trace::ChainReport;
use gateway_store::verify_chain;

use crate::ledger::tenant;
use crate::people::{id, traces};
use crate::stage::Stage;

async fn five(stage: &Stage) -> Option<TenantId> {
    let tenant = tenant(stage).await;
    stage.store.ledger().append_batch(&traces(tenant, "a-1", 1..=5)).await.unwrap();
    assert!(report(stage, tenant, None).await.valid);
    tenant
}

async fn report(stage: &Stage, tenant: Option<TenantId>, limit: Option<i64>) -> ChainReport {
    verify_chain(stage.store.ledger().as_ref(), tenant, &id("a-1"), limit).await.unwrap()
}

fn trace(n: u32) -> Option<String> {
    Some(format!("trc_{n:032x}"))
}

// acceptance 20: one value, nested inside authorization or context.
pub async fn changing_a_nested_value_shows(stage: &Stage) {
    let tenant = five(stage).await;
    let set = |column: &str, path: &[&str], value: &str| match stage.is_postgres() {
        true => format!(
            "UPDATE agent_traces SET \"{column}\" = jsonb_set(\"{column}\", '{{{}}}', '{value}') WHERE seq = 2",
            path.join(",")
        ),
        false => {
            let path: String = path
                .iter()
                .map(|step| if step.parse::<u8>().is_ok() { format!("[{step}]") } else { format!(".{step}") })
                .collect();
            format!(
                "UPDATE agent_traces SET \"{column}\" = json_set(\"{column}\", '${path}', json('{value}')) WHERE seq = 2"
            )
        }
    };
    for (column, path, before, after) in [
        ("authorization", &["required"][..], "false", "true"),
        ("context", &["nested", "deep", "1", "value"][..], "2", "3"),
    ] {
        assert_eq!(stage.execute(set(column, path, after)).await.unwrap(), 1);
        let broken = report(stage, tenant, None).await;
        assert_eq!((broken.valid, broken.broken_at), (false, trace(2)), "{column}");
        stage.execute(set(column, path, before)).await.unwrap();
        assert!(report(stage, tenant, None).await.valid, "{column} put back");
    }
}

// acceptance 20: every column that is part of the event.
pub async fn changing_any_column_shows(stage: &Stage) {
    let tenant = five(stage).await;
    let later =
        if stage.is_postgres() { "created_at + interval '1 microsecond'" } else { "'2026-02-23T08:09:10.124Z'" };
    for (column, value) in [
        ("event_type", "'approval'"),
        ("decision_type", "'D1'"),
        ("risk_level", "NULL"),
        ("reversibility", "'total'"),
        ("classification_code", "'D1-R1-total'"),
        ("description", "''"),
        ("reasoning", "NULL"),
        ("authorization", "NULL"),
        ("context", "'{}'"),
        ("previous_hash", "NULL"),
        ("event_hash", "'sha256:0'"),
        ("created_at", later),
        ("trace_id", "'trc_other'"),
    ] {
        stage.execute("CREATE TABLE kept AS SELECT * FROM agent_traces").await.unwrap();
        assert_eq!(
            stage.execute(format!("UPDATE agent_traces SET \"{column}\" = {value} WHERE seq = 3")).await.unwrap(),
            1
        );
        let broken = report(stage, tenant, None).await;
        let at = if column == "trace_id" { Some("trc_other".into()) } else { trace(3) };
        assert_eq!((broken.valid, broken.broken_at, broken.last_trace), (false, at, trace(5)), "{column}");
        stage.execute("DELETE FROM agent_traces").await.unwrap();
        stage.execute("INSERT INTO agent_traces SELECT * FROM kept").await.unwrap();
        stage.execute("DROP TABLE kept").await.unwrap();
    }
    assert!(report(stage, tenant, None).await.valid);
}

// acceptance 21
pub async fn deleting_the_third_of_five_shows_at_the_fourth(stage: &Stage) {
    let tenant = five(stage).await;
    stage.execute("DELETE FROM agent_traces WHERE seq = 3").await.unwrap();
    let broken = report(stage, tenant, None).await;
    assert_eq!((broken.valid, broken.broken_at, broken.chain_length), (false, trace(4), 5));
    assert_eq!(
        report(stage, tenant, Some(2)).await.broken_at,
        trace(4),
        "the predecessor of the newest two is missing"
    );
    assert!(report(stage, tenant, Some(1)).await.valid);
}

// acceptance 21: swapped, and renumbered as if nothing were missing.
pub async fn reordering_shows(stage: &Stage) {
    let tenant = five(stage).await;
    for (from, to) in [(2, 20), (3, 2), (20, 3)] {
        stage.execute(format!("UPDATE agent_traces SET seq = {to} WHERE seq = {from}")).await.unwrap();
    }
    assert_eq!(report(stage, tenant, None).await.broken_at, trace(3));
    stage.execute("DELETE FROM agent_traces WHERE seq = 3").await.unwrap();
    for seq in [4, 5] {
        stage.execute(format!("UPDATE agent_traces SET seq = {} WHERE seq = {seq}", seq - 1)).await.unwrap();
    }
    assert!(!report(stage, tenant, None).await.valid);
}

pub async fn a_cut_tail_and_a_false_head_show(stage: &Stage) {
    let tenant = five(stage).await;
    stage.execute("UPDATE chain_heads SET seq = 4").await.unwrap();
    assert!(!report(stage, tenant, None).await.valid, "head put back by one");
    stage.execute("UPDATE chain_heads SET seq = 9").await.unwrap();
    assert!(!report(stage, tenant, None).await.valid, "head put forward");
    assert!(!report(stage, tenant, Some(2)).await.valid, "head put forward, only the newest asked for");
    stage.execute("UPDATE chain_heads SET seq = 5, event_hash = 'sha256:0'").await.unwrap();
    assert!(!report(stage, tenant, None).await.valid, "head's hash changed");
    stage.execute("DELETE FROM chain_heads").await.unwrap();
    assert!(!report(stage, tenant, None).await.valid, "head gone");
    assert_eq!(stage.store.ledger().chains().await.unwrap(), [(tenant, id("a-1"))]);
    // Nothing is appended to a chain whose end is not known.
    assert!(stage.store.ledger().append_batch(&traces(tenant, "a-1", 6..=6)).await.is_err());
    let hash = stage.text("SELECT event_hash FROM agent_traces WHERE seq = 5").await.unwrap();
    stage.execute("DELETE FROM chain_heads").await.unwrap();
    let put_back = format!("INSERT INTO chain_heads VALUES ('{}', 'a-1', 5, '{hash}')", tenant.unwrap());
    stage.execute(put_back).await.unwrap();
    assert!(report(stage, tenant, None).await.valid);
    stage.execute("DELETE FROM agent_traces WHERE seq = 5").await.unwrap();
    let cut = report(stage, tenant, None).await;
    assert_eq!((cut.valid, cut.broken_at), (false, trace(4)));
}

// acceptance 23: the empty chain, and the newest N with the total.
pub async fn an_empty_chain_is_whole_and_limits_are_kept(stage: &Stage) {
    let empty = verify_chain(stage.store.ledger().as_ref(), None, &id("nobody"), Some(100)).await.unwrap();
    assert_eq!((empty.valid, empty.chain_length, empty.checked), (true, 0, 0));
    assert_eq!((empty.first_trace, empty.last_trace, empty.broken_at), (None, None, None));
    let tenant = five(stage).await;
    for n in 0..24_u128 {
        let batch = traces(tenant, "a-1", 6 + n * 50..=55 + n * 50);
        stage.store.ledger().append_batch(&batch).await.unwrap();
    }
    for (limit, checked, first) in [(None, 1_205, 1), (Some(100), 100, 1_106), (Some(5_000), 1_205, 1)] {
        let whole = report(stage, tenant, limit).await;
        assert_eq!((whole.valid, whole.chain_length, whole.checked), (true, 1_205, checked));
        assert_eq!((whole.first_trace, whole.last_trace, whole.broken_at), (trace(first), trace(1_205), None));
    }
}
