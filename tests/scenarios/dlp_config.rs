//! `dlp_config`: what a tenant looks for itself, switched on and off while calls are made.

use portreeve_tests::{Agent, Kind, Stub, World};
use serde_json::{Value, json};

fn row(world: &World, tenant: &str, name: &str, patterns: &Value, severity: &str) {
    let patterns = patterns.to_string().replace('\'', "''");
    let tenant = format!("(SELECT id FROM tenants WHERE name = '{tenant}')");
    world.database.sql(&format!(
        "INSERT INTO dlp_config (tenant_id, name, patterns, severity) VALUES ({tenant}, '{name}', '{patterns}', '{severity}')"
    ));
}

/// What the tool is sent, and what its caller gets back.
async fn through(stub: &Stub, agent: &Agent, text: &str) -> (String, String) {
    let answer = agent.call("crm/read", json!({ "text": text })).await;
    let called = stub.seen().into_iter().rfind(|(_, message)| message["method"] == "tools/call").unwrap().1;
    let sent = called["params"]["arguments"]["text"].as_str().unwrap_or_default().to_owned();
    let back =
        answer.tool_json()["arguments"]["text"].as_str().unwrap_or_else(|| panic!("{}", answer.text())).to_owned();
    (sent, back)
}

// acceptance 64: regular expressions and dictionaries, severity, the switch, live, and one tenant's alone.
async fn a_tenants_own_rules_take_effect_at_once(kind: Kind) {
    let stub = Stub::start(&["read"]).await;
    let world = World::on(kind)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &[("read", "READ_ONLY")])
        .start();
    let agent = world.agent("a-1", "A3");
    world.cli_json(&["tenant", "add", "zeta"]);
    let added = world.cli_json(&["agent", "add", "z-1", "--tenant", "zeta", "--autonomy", "A3"]);
    let other = world.agent_with_key("z-1", added["api_key"].as_str().unwrap());
    let text = "ACME-123456 is project falcon, ask jo@example.org";
    assert_eq!(through(&stub, &agent, text).await.1, "ACME-123456 is project falcon, ask [EMAIL]");

    row(&world, "acme", "codes", &json!(["\\bACME-\\d{6}\\b"]), "medium");
    row(&world, "acme", "projects", &json!([{ "dictionary": ["Project Falcon", "Blue Heron"] }]), "critical");
    row(&world, "acme", "addresses", &json!([{ "rule": "email", "action": "observe" }]), "medium");
    world.live().await;
    let (sent, back) = through(&stub, &agent, text).await;
    assert_eq!(back, "[CODES] is [PROJECTS], ask jo@example.org");
    assert_eq!(sent, "ACME-123456 is [PROJECTS], ask jo@example.org", "what is critical does not leave either");
    let (sent, back) = through(&stub, &other, text).await;
    assert_eq!((sent.as_str(), back.as_str()), (text, "ACME-123456 is project falcon, ask [EMAIL]"), "another's rules");

    // Both nodes, and what is hidden stays out of the record.
    let node = world.second_node();
    assert_eq!(through(&stub, &agent.at(&node), text).await.1, "[CODES] is [PROJECTS], ask jo@example.org");
    let off = if kind == Kind::Postgres { "false" } else { "0" };
    world.database.sql(&format!("UPDATE dlp_config SET is_active = {off} WHERE name = 'codes'"));
    world.live().await;
    assert_eq!(through(&stub, &agent, text).await.1, "ACME-123456 is [PROJECTS], ask jo@example.org");

    // A row that cannot be followed refuses everything of its tenant, and says why.
    for (name, patterns, severity, why) in [
        ("broken", json!(["(unclosed"]), "medium", "patterns[0]: regex"),
        ("odd", json!([{ "regexp": "x" }]), "medium", "patterns[0]: must be a regular expression"),
        ("loud", json!(["x+y"]), "urgent", "severity: `urgent`"),
        ("loose", json!([{ "rule": "payment_card", "action": "observe" }]), "medium", "is critical"),
    ] {
        row(&world, "acme", name, &patterns, severity);
        world.live().await;
        let refused = agent.call("crm/read", json!({ "text": "hello" })).await;
        assert_eq!(refused.decision(), "deny", "{name}: {}", refused.text());
        assert!(
            refused.text().contains(&format!("dlp config `{name}`")) && refused.text().contains(why),
            "{}",
            refused.text()
        );
        assert_eq!(through(&stub, &other, "hello").await.1, "hello", "{name}");
        world.database.sql(&format!("DELETE FROM dlp_config WHERE name = '{name}'"));
        world.live().await;
    }
    assert_eq!(through(&stub, &agent, "hello").await.1, "hello");
    assert_eq!(world.verify().0, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenants_own_rules_take_effect_at_once_on_sqlite() {
    a_tenants_own_rules_take_effect_at_once(Kind::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenants_own_rules_take_effect_at_once_on_postgres() {
    a_tenants_own_rules_take_effect_at_once(Kind::Postgres).await;
}
