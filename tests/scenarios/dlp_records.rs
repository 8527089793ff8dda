//! What the books hold of personal data and secrets: that some were found, and never which.

use portreeve_tests::{Kind, Piece, Step, Stub, World};
use serde_json::json;

const SSN: &str = "536-90-4399";
const EMAIL: &str = "canary.bird@example.org";
const CARD: &str = "4111 1111 1111 1111";

/// Every row of every table, as text.
fn everything(world: &World, kind: Kind) -> String {
    let tables = match kind {
        Kind::Sqlite => "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'",
        Kind::Postgres => "SELECT tablename FROM pg_tables WHERE schemaname = 'public'",
    };
    let names = world.database.sql(tables);
    names.lines().map(|table| world.database.sql(&format!("SELECT * FROM \"{table}\""))).collect::<Vec<_>>().join("\n")
}

// acceptance 65: masked, observed, blocked, refused, waiting, failed: a search of every table finds no canary.
async fn no_canary_reaches_the_books(kind: Kind) {
    let record = json!({ "content": [{ "type": "text", "text": format!("{SSN} {EMAIL} {CARD}") }],
        "structuredContent": { "ssn": SSN, "mail": EMAIL, "card": CARD } });
    let says = [
        Piece::notification("notifications/message", json!({ "level": "info", "data": format!("for {EMAIL}") })),
        Piece::answer(record.clone()),
    ];
    let steps = vec![
        Step::on("tools/call").result(record.clone()),
        Step::on("tools/call").error(200, -32000, &format!("nobody is called {EMAIL}")),
        Step::on("tools/call").stream(says),
        Step::on("tools/call").result(record.clone()),
        // Values as names, which are told where a place is told.
        Step::on("tools/call")
            .result(json!({ "content": [], "structuredContent": { EMAIL: { "of": { CARD: SSN } } } })),
        Step::on("tools/call").result(record).always(),
    ];
    let stub = Stub::scripted(steps).await;
    let tools = ["open", "shut", "kept"].map(|name| portreeve_tests::world::manifest("crm", name, "READ_ONLY"));
    let pay = portreeve_tests::world::manifest("crm", "pay", "HIGH_WRITE");
    let handling = json!({
        "crm/open": { "dlp": { "request": { "*": "observe" }, "result": { "*": "observe" } } },
        "crm/shut": { "dlp": { "request": { "*": "block" } } },
        "crm/kept": { "dlp": { "request": { "*": "observe" }, "result": { "email": "observe", "*": "block" } } },
    });
    let mut world = World::on(kind)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifest_file("crm", json!({ "manifests": [tools[0], tools[1], tools[2], pay], "handling": handling }))
        .start();
    let agent = world.agent_with("a-1", &["--autonomy", "A4", "--max-risk", "R4"]);
    let canaries = json!({ "ssn": SSN, "in": { "mail": EMAIL }, "text": format!("card {CARD}"), EMAIL: 1 });
    // What is only observed passes, both ways.
    let answer = agent.call("crm/open", canaries.clone()).await;
    assert!(answer.text().contains(EMAIL) && answer.text().contains(CARD), "{}", answer.text());
    let seen = stub.seen().into_iter().rfind(|(_, message)| message["method"] == "tools/call").unwrap().1;
    assert_eq!(seen["params"]["arguments"], canaries);
    assert!(agent.call("crm/open", canaries.clone()).await.text().contains(EMAIL), "an error passes, too");
    assert!(agent.call("crm/open", canaries.clone()).await.text().contains(EMAIL), "and a stream");
    // An answer that is kept back is told by rule and place, and no place holds a value.
    for _ in 0..2 {
        let kept = agent.call("crm/kept", json!({})).await;
        assert_eq!(kept.decision(), "deny", "{}", kept.text());
        assert!(kept.text().contains("/result/"), "{}", kept.text());
        for canary in [SSN, EMAIL, CARD, "canary.bird"] {
            assert!(!kept.text().contains(canary), "{canary} in {}", kept.text());
        }
    }
    // What is blocked is refused, what nobody knows is refused, what needs a human waits.
    assert_eq!(agent.call("crm/shut", canaries.clone()).await.decision(), "deny");
    assert_eq!(agent.call("crm/unknown", canaries.clone()).await.decision(), "deny");
    assert_eq!(agent.call("crm/pay", canaries.clone()).await.decision(), "approval_required");
    let malformed =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "shut", "arguments": EMAIL } });
    agent.post("/crm/mcp", &malformed).await;
    let explained = world.cli(&[
        "explain",
        "--agent",
        "a-1",
        "--tenant",
        "acme",
        "--tool",
        "crm/pay",
        "--arguments",
        &canaries.to_string(),
        "--json",
    ]);
    let explained = String::from_utf8_lossy(&explained.stdout).into_owned();
    assert!(explained.contains("[EMAIL]"), "{explained}");
    world.eventually("SELECT count(*) FROM audit_logs WHERE status_code = 'approval_required'", 1).await;
    world.eventually("SELECT count(*) FROM agent_traces WHERE description = 'crm/open: answer redacted'", 3).await;

    world.eventually("SELECT count(*) FROM agent_traces WHERE description = 'crm/kept: answer redacted'", 2).await;
    let books = everything(&world, kind);
    let log = world.gateway().log();
    for canary in [SSN, EMAIL, CARD, "canary.bird"] {
        for (name, text) in [("the books", &books), ("the log", &log), ("the explanation", &explained)] {
            let line = text.lines().find(|line| line.contains(canary));
            assert!(line.is_none(), "{canary} in {name}: {line:?}");
        }
    }
    let told = world.database.sql("SELECT context FROM agent_traces WHERE description = 'crm/kept: answer redacted'");
    assert!(told.replace(' ', "").contains(r#""action":"block""#), "what was blocked is recorded, too: {told}");
    for (query, least) in [
        ("SELECT count(*) FROM audit_logs WHERE CAST(input_payload AS TEXT) LIKE '%[EMAIL]%'", 4),
        ("SELECT count(*) FROM audit_logs WHERE CAST(output_payload AS TEXT) LIKE '%[SSN]%'", 2),
    ] {
        assert!(world.database.count(query) >= least, "{query}: {}", world.database.sql("SELECT * FROM audit_logs"));
    }
    let told = world.database.sql("SELECT context FROM agent_traces WHERE description LIKE 'crm/open%'");
    assert!(told.contains("us_ssn") && told.contains("observe"), "{told}");
    assert_eq!(world.verify().0, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_canary_reaches_the_books_on_sqlite() {
    no_canary_reaches_the_books(Kind::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_canary_reaches_the_books_on_postgres() {
    no_canary_reaches_the_books(Kind::Postgres).await;
}

// What a server says in the wrong way, or beside its answers, is its words all the same: neither the log nor a fault repeats them.
#[tokio::test(flavor = "multi_thread")]
async fn no_canary_reaches_the_log_through_a_fault() {
    let twice = format!(r#"{{"jsonrpc":"2.0","id":"$id","result":{{"{EMAIL}":1,"{EMAIL}":2}}}}"#);
    let below = format!(r#"{{"jsonrpc":"2.0","id":"$id","result":{{"{EMAIL}":{{"a":tru}}}}}}"#);
    let stub = Stub::scripted(vec![
        Step::on("tools/call").raw(&twice),
        Step::on("tools/call").raw(&below),
        Step::on("tools/call").stream([Piece::Raw(format!("data: {twice}\n\n"))]),
    ])
    .await;
    let unwilling =
        Stub::scripted(vec![Step::on("initialize").error(200, -32000, &format!("not for {EMAIL}")).always()]).await;
    let child = format!("echo 'no such customer: {EMAIL}' >&2; echo 'a banner of {EMAIL}'; cat > /dev/null");
    let mut world = World::on(Kind::Sqlite)
        .upstream("crm", json!({ "url": stub.url(), "pins": "off" }))
        .upstream("shut", json!({ "url": unwilling.url(), "pins": "off", "protocol": "legacy" }))
        .upstream("piped", json!({ "command": "sh", "args": ["-c", child], "pins": "off" }))
        .set(
            "log",
            json!({ "level": "info,portreeve=debug,gateway_core=debug,gateway_upstream=debug,gateway_server=debug" }),
        )
        .manifests("crm", &[("read", "READ_ONLY")])
        .manifests("shut", &[("read", "READ_ONLY")])
        .manifests("piped", &[("read", "READ_ONLY")])
        .start();
    let agent = world.agent("a-1", "A3");
    for _ in 0..3 {
        let answer = agent.call("crm/read", json!({})).await;
        assert!(!answer.text().contains("canary.bird"), "{}", answer.text());
        assert!(answer.text().contains("error"), "{}", answer.text());
    }
    let modern = agent.modern();
    let refused = modern.call("shut/read", json!({})).await;
    assert!(!refused.text().contains("canary.bird"), "{}", refused.text());
    let asked = tokio::time::timeout(std::time::Duration::from_secs(3), modern.call("piped/read", json!({}))).await;
    assert!(asked.is_err() || !asked.unwrap().text().contains("canary.bird"));
    // A child may be started, or heard, only after the first call to it was answered.
    for _ in 0..100 {
        if world.gateway().log().contains("standard error") {
            break;
        }
        let _ = tokio::time::timeout(std::time::Duration::from_millis(100), modern.call("piped/read", json!({}))).await;
    }
    let log = world.gateway().log();
    assert!(log.contains("duplicate key"), "what is wrong is told: {log}");
    assert!(log.contains("standard error"), "and that a child said something: {log}");
    let line = log.lines().find(|line| line.contains("canary.bird"));
    assert!(line.is_none(), "{line:?}");
}
