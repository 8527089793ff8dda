//! Who may do what: the manifest's mode gate and the matrix, seen from outside.

use portreeve_tests::{Kind, Stub, World};
use serde_json::json;

const TOOLS: [(&str, &str); 4] =
    [("read", "READ_ONLY"), ("propose", "PROPOSE_ONLY"), ("write", "LOW_WRITE"), ("destroy", "HIGH_WRITE")];

// acceptance 107: all sixteen cells of mode and risk, and denials do not reach the upstream.
async fn every_mode_meets_every_risk(kind: Kind) {
    let stub = Stub::start(&["read", "propose", "write", "destroy"]).await;
    let world = World::on(kind).upstream("crm", json!({ "url": stub.url() })).manifests("crm", &TOOLS).start();
    let (allow, ask, deny) = ("allow", "approval_required", "deny");
    for (autonomy, expected) in [
        ("A1", [allow, allow, deny, deny]),
        ("A2", [allow, allow, deny, deny]),
        ("A3", [allow, allow, allow, deny]),
        ("A4", [allow, allow, allow, ask]),
        ("A5", [allow, allow, allow, ask]),
    ] {
        let agent = world.agent(&format!("agent-{autonomy}"), autonomy);
        for ((tool, _), expected) in TOOLS.iter().zip(expected) {
            let before = stub.calls();
            let answer = agent.call(&format!("crm/{tool}"), json!({ "id": 7 })).await;
            assert_eq!(answer.decision(), expected, "{autonomy} x {tool}: {}", answer.text());
            let reached = stub.calls() - before;
            assert_eq!(reached, usize::from(expected == allow), "{autonomy} x {tool} at the upstream");
        }
    }
}

#[tokio::test]
async fn every_mode_meets_every_risk_on_sqlite() {
    every_mode_meets_every_risk(Kind::Sqlite).await;
}

#[tokio::test]
async fn every_mode_meets_every_risk_on_postgres() {
    every_mode_meets_every_risk(Kind::Postgres).await;
}

// acceptance 108
async fn allowed_modes_narrow_the_table(kind: Kind) {
    let stub = Stub::start(&["read"]).await;
    let mut narrow = portreeve_tests::world::manifest("crm", "read", "READ_ONLY");
    narrow["allowed_modes"] = json!(["FULL_AUTO"]);
    let world = World::on(kind)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifest_file("crm", json!({ "manifests": [narrow] }))
        .start();
    let refused = world.agent("shadow", "A1").call("crm/read", json!({})).await;
    assert_eq!((refused.decision().as_str(), refused.denied_by()), ("deny", vec!["manifest".to_owned()]));
    assert_eq!(world.agent("full", "A4").call("crm/read", json!({})).await.decision(), "allow");
    assert_eq!(stub.calls(), 1);
}

#[tokio::test]
async fn allowed_modes_narrow_the_table_on_sqlite() {
    allowed_modes_narrow_the_table(Kind::Sqlite).await;
}

#[tokio::test]
async fn allowed_modes_narrow_the_table_on_postgres() {
    allowed_modes_narrow_the_table(Kind::Postgres).await;
}

// acceptance 109: hidden, refused, and shown to the operator with a suggestion.
// The command line asks the stub, so the stub needs a thread of its own.
#[tokio::test(flavor = "multi_thread")]
async fn a_tool_nobody_classified_is_hidden_and_refused() {
    let definition = |name: &str, read_only: bool| json!({ "name": name, "inputSchema": { "type": "object" }, "annotations": { "readOnlyHint": read_only, "openWorldHint": false } });
    let stub = Stub::with_definitions(vec![definition("known", true), definition("unknown", true)]).await;
    let world = World::on(Kind::Sqlite)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &[("known", "READ_ONLY")])
        .start();
    let agent = world.agent("curious", "A5");
    assert_eq!(agent.tools("/crm/mcp").await, ["known"]);
    let refused = agent.call("crm/unknown", json!({})).await;
    assert_eq!(refused.decision(), "deny");
    assert!(refused.denied_by().contains(&"manifest".to_owned()), "{}", refused.text());
    assert!(refused.is_tool_error(), "a model must be able to read the refusal");
    assert_eq!(stub.calls(), 0, "a refused call must not reach the tool");

    world
        .eventually("SELECT count(*) FROM tool_registry WHERE name = 'crm/unknown' AND risk_level = 'unclassified'", 1)
        .await;
    let listed = world.cli_json(&["manifest", "list", "--tenant", "acme"]);
    let text = listed.to_string();
    assert!(text.contains("crm/unknown") && text.contains("READ_ONLY"), "a suggestion from the annotations: {text}");
    let suggested = world.cli(&["manifest", "suggest", "crm"]);
    let yaml = String::from_utf8(suggested.stdout).unwrap();
    assert!(yaml.contains("crm/unknown") && yaml.contains("READ_ONLY"), "{yaml}");
}

// A draft replaces the file it was made from and keeps what was decided there; what a redirection emptied is refused.
#[tokio::test(flavor = "multi_thread")]
async fn a_draft_is_written_over_the_file_in_force() {
    let stub = Stub::start(&["find", "fresh"]).await;
    let world = World::on(Kind::Sqlite)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifest_file(
            "crm",
            json!({
                "manifests": [{ "id": "crm/find", "domain": "records", "risk_level": "LOW_WRITE", "side_effects": true, "allowed_modes": ["FULL_AUTO"] }],
                "handling": { "crm/find": { "sql": { "argument": "query", "dialect": "sqlite" } } },
            }),
        )
        .start();
    let file = world.config_path().with_file_name("policies").join("manifests/crm.yaml");
    let out = file.to_str().unwrap();
    let drafted = world.cli(&["manifest", "suggest", "crm", "--out", out]);
    let said = String::from_utf8_lossy(&drafted.stderr).into_owned();
    assert!(drafted.status.success() && drafted.stdout.is_empty(), "{said}");
    assert!(said.contains("2 tools drafted"), "{said}");
    let text = std::fs::read_to_string(&file).unwrap();
    for part in ["crm/fresh", "domain: records", "\"argument\":\"query\""] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(world.cli(&["check"]).status.success());

    std::fs::write(&file, "").unwrap();
    for arguments in [&["manifest", "suggest", "crm"][..], &["manifest", "suggest", "crm", "--out", out]] {
        let refused = world.cli(arguments);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!((refused.status.code(), refused.stdout.len()), (Some(1), 0), "{said}");
        assert!(said.contains("is empty") && said.contains("--out"), "{said}");
    }
    assert_eq!(std::fs::metadata(&file).unwrap().len(), 0, "left as it was found");
}

// acceptance 71: one row per call with tool, payloads, classification, time and status, denied calls included.
async fn every_call_leaves_its_row(kind: Kind) {
    let stub = Stub::start(&["read", "write", "destroy"]).await;
    let world = World::on(kind).upstream("crm", json!({ "url": stub.url() })).manifests("crm", &TOOLS).start();
    let agent = world.agent("a-4", "A4");
    agent.call("crm/read", json!({ "id": 7 })).await;
    agent.call("crm/destroy", json!({ "id": 8 })).await;
    agent.call("crm/absent", json!({ "id": 9 })).await;
    world.eventually("SELECT count(*) FROM audit_logs", 3).await;
    let rows = world.database.sql(
        "SELECT t.name, a.status_code, a.agent_id, a.execution_time_ms >= 0, a.input_payload IS NOT NULL, \
         a.risk_classification IS NOT NULL FROM audit_logs a LEFT JOIN tool_registry t ON t.id = a.tool_id ORDER BY a.id",
    );
    let truth = if kind == Kind::Postgres { "t" } else { "1" };
    let expected = [("crm/read", "ok"), ("crm/destroy", "approval_required"), ("crm/absent", "denied")]
        .map(|(tool, status)| format!("{tool}|{status}|a-4|{truth}|{truth}|{truth}"));
    assert_eq!(rows.lines().collect::<Vec<_>>(), expected);
    let output = world.database.sql("SELECT output_payload FROM audit_logs WHERE status_code = 'ok'");
    assert!(output.contains("content"), "{output}");
    assert_eq!(world.database.count("SELECT count(*) FROM agent_traces WHERE agent_id = 'a-4'"), 3);
    assert_eq!(world.database.count("SELECT count(*) FROM agent_traces WHERE event_type = 'escalation'"), 1);
    assert_eq!(world.verify().0, 0);
}

#[tokio::test]
async fn every_call_leaves_its_row_on_sqlite() {
    every_call_leaves_its_row(Kind::Sqlite).await;
}

#[tokio::test]
async fn every_call_leaves_its_row_on_postgres() {
    every_call_leaves_its_row(Kind::Postgres).await;
}

#[tokio::test]
async fn refusals_can_be_rpc_errors_and_terse() {
    let stub = Stub::start(&["write"]).await;
    let world = World::on(Kind::Sqlite)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &[("write", "LOW_WRITE")])
        .set("on_denied", json!("rpc_error"))
        .set("explain_to_caller", json!(false))
        .start();
    let answer = world.agent("shadow", "A1").call("crm/write", json!({})).await.message();
    assert_eq!(answer["error"]["code"], 4030);
    let data = answer["error"]["data"].as_object().unwrap();
    assert_eq!(data.keys().collect::<Vec<_>>(), ["trace_id", "decision"]);
    assert!(!answer.to_string().contains("SHADOW"), "the reasons stay in the trace: {answer}");
}

#[tokio::test]
async fn watched_tools_pass_and_are_written_down() {
    let stub = Stub::start(&["anything"]).await;
    let world =
        World::on(Kind::Sqlite).upstream("crm", json!({ "url": stub.url(), "unclassified": "observe" })).start();
    let agent = world.agent("a-1", "A1");
    assert_eq!(agent.tools("/crm/mcp").await, ["anything"]);
    assert_eq!(agent.call("crm/anything", json!({})).await.decision(), "allow");
    assert_eq!(stub.calls(), 1);
    let context = world.database.sql("SELECT context FROM agent_traces WHERE agent_id = 'a-1'");
    assert!(
        context.contains("observed") && context.contains("unclassified"),
        "what would have been refused: {context}"
    );
}
