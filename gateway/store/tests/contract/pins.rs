//! Accepted definitions: one word per definition, whoever comes first, and an operator's word over all.

use std::time::Duration;

use gateway_core::RiskLevel;
use gateway_core::definitions::{Finding, ScanAction};
use gateway_core::ports::{PinNews, PinRow, PinState, ToolDefinition};
use serde_json::{Value, json};

use crate::stage::Stage;

fn news(hash: &str, state: PinState) -> PinNews {
    PinNews {
        tool: "notes/search".parse().unwrap(),
        hash: hash.into(),
        state,
        definition: json!({ "name": "search", "description": hash }),
        findings: vec![Finding {
            rule: "drift".into(),
            path: "/description".into(),
            message: "it changed".into(),
            action: ScanAction::Block,
        }],
        by: "first use".into(),
        changes: vec!["/description".into()],
        accepted: None,
    }
}

/// What is noted is written behind the caller's back.
async fn until(stage: &Stage, expected: &[(&str, PinState)]) -> Vec<PinRow> {
    let mut rows = Vec::new();
    for _ in 0..500 {
        rows = stage.store.pins().pins().await.unwrap();
        let mut told: Vec<_> = rows.iter().map(|row| (row.hash.as_str(), row.state)).collect();
        told.sort_unstable_by_key(|(hash, _)| *hash);
        if told == expected {
            return rows;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("expected {expected:?}, found {rows:?}");
}

// The first definition is accepted; another that claims the same later, as a second node would, is held back.
pub async fn the_first_definition_is_accepted_once(stage: &Stage) {
    let pins = stage.store.pins();
    pins.note(news("sha256:1", PinState::Accepted));
    pins.note(news("sha256:1", PinState::Accepted));
    let rows = until(stage, &[("sha256:1", PinState::Accepted)]).await;
    assert_eq!(rows[0].definition, json!({ "name": "search", "description": "sha256:1" }));
    assert_eq!((rows[0].findings.len(), rows[0].findings[0].path.as_str()), (1, "/description"));
    assert_eq!(rows[0].by.as_deref(), Some("first use"));
    pins.note(news("sha256:2", PinState::Accepted));
    until(stage, &[("sha256:1", PinState::Accepted), ("sha256:2", PinState::Quarantined)]).await;
    pins.note(news("sha256:2", PinState::Quarantined));
    pins.note(news("sha256:3", PinState::Quarantined));
    let held = PinState::Quarantined;
    until(stage, &[("sha256:1", PinState::Accepted), ("sha256:2", held), ("sha256:3", held)]).await;
    // Only what is held back is told, each once; the word follows the row.
    for _ in 0..500 {
        if stage.count("agent_traces").await >= 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(stage.count("agent_traces").await, 2);
}

// An operator's word takes the others away, unless they are to stay.
pub async fn what_is_accepted_replaces_the_rest_or_stays_beside_it(stage: &Stage) {
    let pins = stage.store.pins();
    let tool = "notes/search".parse().unwrap();
    let definition = |hash: &str| -> Value { json!({ "name": "search", "description": hash }) };
    pins.note(news("sha256:1", PinState::Accepted));
    until(stage, &[("sha256:1", PinState::Accepted)]).await;
    pins.note(news("sha256:2", PinState::Quarantined));
    until(stage, &[("sha256:1", PinState::Accepted), ("sha256:2", PinState::Quarantined)]).await;
    pins.accept(&tool, "sha256:2", &definition("sha256:2"), "alice", true).await.unwrap();
    let rows = until(stage, &[("sha256:1", PinState::Accepted), ("sha256:2", PinState::Accepted)]).await;
    assert_eq!(rows.iter().find(|row| row.hash == "sha256:2").unwrap().by.as_deref(), Some("alice"));
    pins.accept(&tool, "sha256:3", &definition("sha256:3"), "alice", false).await.unwrap();
    until(stage, &[("sha256:3", PinState::Accepted)]).await;
    // Another tool's rows are another's.
    let other = PinNews { tool: "notes/erase".parse().unwrap(), ..news("sha256:9", PinState::Accepted) };
    pins.note(other);
    until(stage, &[("sha256:3", PinState::Accepted), ("sha256:9", PinState::Accepted)]).await;
    pins.accept(&tool, "sha256:4", &definition("sha256:4"), "alice", false).await.unwrap();
    until(stage, &[("sha256:4", PinState::Accepted), ("sha256:9", PinState::Accepted)]).await;
}

// Each accepted definition is a version in the registry of whoever has seen the tool; the last one is recommended.
pub async fn accepted_definitions_are_versions(stage: &Stage) {
    let (tenants, registry, pins) = (stage.store.tenants(), stage.store.registry(), stage.store.pins());
    let (acme, beta) = (tenants.add_tenant("acme").await.unwrap().id, tenants.add_tenant("beta").await.unwrap().id);
    let seen = |tenant| {
        let definition = json!({ "name": "search", "description": "as seen", "inputSchema": { "type": "object" } });
        let tool = ToolDefinition { name: "notes/search".parse().unwrap(), definition };
        registry.seen(tenant, vec![(tool, Some(RiskLevel::ReadOnly))]);
    };
    let versions = async |tenant, expected: &[(&str, bool, bool)]| {
        let mut found = Vec::new();
        for _ in 0..500 {
            let rows = registry.registered(tenant).await.unwrap();
            found =
                rows.into_iter().map(|row| (row.version, row.is_recommended, row.is_active, row.risk_level)).collect();
            let told: Vec<_> = found.iter().map(|(name, best, active, _)| (name.as_str(), *best, *active)).collect();
            if told == expected {
                assert!(found.iter().all(|(.., risk)| risk == "READ_ONLY"), "{found:?}");
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("expected {expected:?}, found {found:?}");
    };
    seen(acme);
    versions(acme, &[("seen", false, true)]).await;
    pins.note(news("sha256:1", PinState::Accepted));
    versions(acme, &[("seen", false, true), ("sha-1", true, true)]).await;
    let first = registry.registered(acme).await.unwrap().pop().unwrap();
    assert_eq!((first.metadata["description"].as_str(), &first.schema), (Some("sha256:1"), &json!({})));
    // Somebody who comes later has the same, and what is only held back is no version.
    pins.note(news("sha256:2", PinState::Quarantined));
    until(stage, &[("sha256:1", PinState::Accepted), ("sha256:2", PinState::Quarantined)]).await;
    seen(beta);
    versions(beta, &[("seen", false, true), ("sha-1", true, true)]).await;
    let tool = "notes/search".parse().unwrap();
    let accepted = json!({ "name": "search", "description": "sha256:2" });
    pins.accept(&tool, "sha256:2", &accepted, "alice", false).await.unwrap();
    let replaced = [("seen", false, true), ("sha-1", false, false), ("sha-2", true, true)];
    versions(acme, &replaced).await;
    versions(beta, &replaced).await;
    // A row that an operator recommends is not overruled.
    stage.execute("UPDATE tool_registry SET is_recommended = (version = 'seen')".to_owned()).await.unwrap();
    pins.accept(&tool, "sha256:2", &accepted, "alice", false).await.unwrap();
    versions(acme, &[("seen", true, true), ("sha-1", false, false), ("sha-2", false, true)]).await;
}
