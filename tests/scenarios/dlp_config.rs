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

// The same by the API: in force within a second on every node, seen by this tenant's administrators alone, and in the chain.
async fn an_administrator_says_what_is_looked_for(kind: Kind) {
    let stub = Stub::start(&["read", "list"]).await;
    let world = World::on(kind)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &[("read", "READ_ONLY"), ("list", "READ_ONLY")])
        .start();
    let (node, agent) = (world.second_node(), world.agent("a-1", "A3"));
    let theirs = world.cli_json(&["tenant", "add", "zeta"])["admin_key"].as_str().unwrap().to_owned();
    let admin = world.admin_key.as_str();
    let text = "ACME-123456 of jo@example.org";
    let codes = json!({ "name": "codes", "severity": "high", "patterns": ["\\bACME-\\d{6}\\b",
        { "rule": "email", "action": "observe", "tools": ["crm/list"] }] });

    let added = world.api("POST", "/api/dlp", admin, Some(codes.clone())).await;
    let told = added.message();
    assert_eq!((added.status, &told["name"], &told["active"]), (201, &json!("codes"), &json!(true)), "{told}");
    assert_eq!(world.api("POST", "/api/dlp", admin, Some(codes)).await.status, 409);
    world.live().await;
    world.live_at(node.console_port).await;
    for agent in [&agent, &agent.at(&node)] {
        assert_eq!(through(&stub, agent, text).await.1, "[CODES] of [EMAIL]");
    }
    // The word on addresses is for the other tool alone.
    let listed = agent.call("crm/list", json!({ "text": text })).await;
    assert_eq!(listed.tool_json()["arguments"]["text"], "[CODES] of jo@example.org");

    let ours = world.api("GET", "/api/dlp", admin, None).await.message();
    assert_eq!((&ours["dlp"][0]["id"], ours["dlp"].as_array().map(Vec::len)), (&told["id"], Some(1)), "{ours}");
    assert_eq!(world.api("GET", "/api/dlp", &theirs, None).await.message(), json!({ "dlp": [] }));
    for name in ["codes", told["id"].as_str().unwrap()] {
        assert_eq!(world.api("DELETE", &format!("/api/dlp/{name}"), &theirs, None).await.status, 404, "{name}");
    }
    for key in [agent.key.as_str(), "adp_sk_nobody"] {
        for (method, path, body) in
            [("GET", "/api/dlp", None), ("DELETE", "/api/dlp/codes", None), ("POST", "/api/dlp", Some(json!({})))]
        {
            let refused = world.api(method, path, key, body).await;
            assert!([401, 403].contains(&refused.status), "{method}: {} {}", refused.status, refused.text());
        }
    }
    assert_eq!(through(&stub, &agent, text).await.1, "[CODES] of [EMAIL]", "another's administrator changed nothing");

    assert_eq!(world.api("DELETE", "/api/dlp/codes", admin, None).await.status, 200);
    assert_eq!(world.api("DELETE", "/api/dlp/codes", admin, None).await.status, 404);
    world.live().await;
    world.live_at(node.console_port).await;
    for agent in [&agent, &agent.at(&node)] {
        assert_eq!(through(&stub, agent, text).await.1, "ACME-123456 of [EMAIL]");
    }

    // The command line shares all of it.
    let file = world.directory.path().join("own.yaml");
    std::fs::write(&file, "dlp: [{ name: codes, patterns: ['ACME-[0-9]{6}'] }]").unwrap();
    let file = file.to_str().unwrap();
    let added = world.cli_json(&["dlp", "add", file, "--tenant", "acme"]);
    assert_eq!(added["added"][0]["severity"], "medium", "{added}");
    assert_eq!(world.cli(&["dlp", "add", file, "--tenant", "acme"]).status.code(), Some(1), "it is there");
    assert_eq!(world.cli_json(&["dlp", "list", "--tenant", "acme"])[0]["name"], "codes");
    assert_eq!(world.cli_json(&["dlp", "list", "--tenant", "zeta"]), json!([]));
    world.live().await;
    assert_eq!(through(&stub, &agent, text).await.1, "[CODES] of [EMAIL]");
    world.cli_json(&["dlp", "remove", "codes", "--tenant", "acme"]);
    world.live().await;
    assert_eq!(through(&stub, &agent, text).await.1, "ACME-123456 of [EMAIL]");

    // What the README shows is taken as it stands.
    let readme = std::fs::read_to_string(portreeve_tests::environment::root().join("policies/dlp/README.md")).unwrap();
    let mut blocks = readme.split("```yaml\n").filter_map(|part| part.split("```").next());
    let example = blocks.find(|block| block.starts_with("dlp:")).unwrap();
    std::fs::write(file, example).unwrap();
    let added = world.cli_json(&["dlp", "add", file, "--tenant", "zeta"]);
    assert_eq!(added["added"][1]["name"], "addresses", "{added}");

    let acts = "FROM agent_traces WHERE agent_id = 'portreeve' AND organization_id IN \
        (SELECT id FROM tenants WHERE name = 'acme') AND description LIKE 'dlp config codes %'";
    assert_eq!(world.database.count(&format!("SELECT count(*) {acts}")), 4, "added and removed, twice");
    let contexts = world.database.sql(&format!("SELECT context {acts}"));
    assert!(contexts.contains("patterns_hash") && contexts.contains("administrator:"), "{contexts}");
    assert!(!contexts.contains("ACME"), "what is looked for may be a secret itself: {contexts}");
    assert_eq!(world.verify().0, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_administrator_says_what_is_looked_for_on_sqlite() {
    an_administrator_says_what_is_looked_for(Kind::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_administrator_says_what_is_looked_for_on_postgres() {
    an_administrator_says_what_is_looked_for(Kind::Postgres).await;
}

// What would refuse every call once it is a row is refused before it is one, with the place.
async fn what_cannot_be_looked_for_is_not_stored(kind: Kind) {
    let stub = Stub::start(&["read"]).await;
    let world = World::on(kind)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &[("read", "READ_ONLY")])
        .start();
    let agent = world.agent("a-1", "A3");
    let patterns = |patterns: Value| json!({ "name": "n", "patterns": patterns });
    for (body, path, part) in [
        (patterns(json!(["fine", "(unclosed"])), "patterns[1]", "unclosed"),
        (patterns(json!([{ "regex": "a*" }])), "patterns[0]", "matches nothing"),
        (patterns(json!([{ "regex": "x", "acton": "mask" }])), "patterns[0]", "acton"),
        (patterns(json!([{ "rule": "payment_card", "action": "observe" }])), "patterns[0]", "critical"),
        (patterns(json!([{ "rule": "email", "action": "mask", "tools": ["crm"] }])), "patterns[0]", "names no tool"),
        (patterns(json!("x")), "patterns", "list"),
        (patterns(json!(["a\0b"])), "patterns", "NUL"),
        (json!({ "name": "n", "patterns": ["x"], "severity": "urgent" }), "severity", "urgent"),
        (json!({ "name": " ", "patterns": ["x"] }), "name", "letters"),
        (json!({ "name": "a\nb", "patterns": ["x"] }), "name", "line breaks"),
        (json!({ "name": "n", "patterns": ["x"], "colour": 1 }), "colour", "unknown field"),
        (json!({ "name": "n" }), "", "patterns"),
    ] {
        let refused = world.api("POST", "/api/dlp", &world.admin_key, Some(body.clone())).await;
        let wrong = refused.message()["errors"][0].clone();
        assert_eq!((refused.status, &wrong["path"]), (422, &json!(path)), "{body}: {}", refused.text());
        assert!(wrong["what"].as_str().unwrap().contains(part), "{body}: {wrong}");
    }
    let file = world.directory.path().join("own.yaml");
    std::fs::write(&file, "dlp: [{ name: codes, patterns: ['(unclosed'] }]").unwrap();
    let refused = world.cli(&["dlp", "add", file.to_str().unwrap(), "--tenant", "acme"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("codes: patterns[0]: regex: "), "{said}");
    assert_eq!(world.database.count("SELECT count(*) FROM dlp_config"), 0);
    world.live().await;
    assert_eq!(through(&stub, &agent, "hello").await.1, "hello", "and nothing is in the way of calls");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_looked_for_is_not_stored_on_sqlite() {
    what_cannot_be_looked_for_is_not_stored(Kind::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_looked_for_is_not_stored_on_postgres() {
    what_cannot_be_looked_for_is_not_stored(Kind::Postgres).await;
}
