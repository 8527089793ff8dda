//! `tool-agent`: the same tool agents from the command line, which runs them in a node of its own.

use portreeve_tests::{Kind, Stub, World};
use serde_json::{Value, json};

async fn on(kind: Kind) -> (World, Stub) {
    let stub = Stub::start(&["find", "write"]).await;
    let tools = [("find", "READ_ONLY"), ("write", "LOW_WRITE")];
    let world = World::on(kind).upstream("crm", json!({ "url": stub.url() })).manifests("crm", &tools).start();
    (world, stub)
}

fn file(world: &World, name: &str, document: &Value) -> String {
    let path = world.directory.path().join(name);
    std::fs::write(&path, document.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

fn record(slug: &str, configuration: &Value) -> Value {
    json!({
        "organization_slug": "acme", "slug": slug, "display_name": "Reader", "agent_type": "tool",
        "mode_profile": "tool_full", "status": "active", "yaml": json!({ "configuration": configuration }).to_string(),
    })
}

// acceptance 82, acceptance 105: one command writes it, one runs it; each tool has its line, its trace and its row.
#[tokio::test(flavor = "multi_thread")]
async fn apply_run_and_look() {
    for kind in [Kind::Sqlite, Kind::Postgres] {
        let (world, stub) = on(kind).await;
        let configuration = json!({ "tools": ["crm/find", "crm/write"], "stopOnError": false, "own": 1 });
        let written = file(&world, "agent.json", &record("reader", &configuration));
        let applied = world.cli(&["tool-agent", "apply", &written]);
        let said = String::from_utf8_lossy(&applied.stdout).into_owned();
        assert!(applied.status.success() && said.contains("acme/reader is added, acting as reader"), "{said}");
        assert!(String::from_utf8_lossy(&applied.stderr).contains("configuration.own"), "what nobody reads is named");
        let listed = world.cli_json(&["tool-agent", "list", "--tenant", "acme"]);
        assert_eq!((&listed[0]["slug"], &listed[0]["acts_as"]), (&json!("reader"), &json!("reader")), "{listed}");

        let payload =
            file(&world, "payload.json", &json!({ "toolParams": { "crm/find": { "q": "{{metadata.who}}" } } }));
        let metadata = file(&world, "metadata.json", &json!({ "who": "Ada" }));
        let run = ["tool-agent", "run", "acme/reader", "--payload", &payload, "--metadata", &metadata];
        // As its own agent, at A1: the write is refused and the answer is no.
        let output = world.cli(&[&run[..], &["--json"]].concat());
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{told}");
        let built: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{told}"));
        assert_eq!(built["task"]["acts_as"], "reader");
        assert!(built["task"]["started_by"].as_str().unwrap().starts_with("operator:"), "{built}");
        assert_eq!(built["results"][0]["result"]["arguments"], json!({ "q": "Ada" }));
        for part in ["acme/reader as reader", "1/2 crm/find", " ok ", "2/2 crm/write", "failed: ", "1 of 2 succeeded"] {
            assert!(told.contains(part), "{part:?} is missing from\n{told}");
        }
        assert_eq!(stub.calls(), 1);
        let rows = "SELECT count(*) FROM audit_logs WHERE agent_id = 'reader'";
        assert_eq!(world.database.count(rows), 2, "written down before it ends");

        // With an agent's key as that agent, which may.
        let agent = world.agent("a-3", "A3");
        let output = world.cli(&[&run[..], &["--key", &agent.key]].concat());
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{told}");
        let content: Value = serde_json::from_slice(&output.stdout).expect("the deliverable itself");
        assert_eq!(content.as_array().unwrap().len(), 2);
        let strange = world.cli(&[&run[..], &["--key", &world.admin_key]].concat());
        assert_eq!(strange.status.code(), Some(1), "an administrator's key calls no tools");

        // What is there can be read again.
        let (task, made) = (built["task"]["id"].as_str().unwrap(), built["deliverable"]["id"].as_str().unwrap());
        let read = world.cli_json(&["tool-agent", "task", "acme/reader", task]);
        assert_eq!(read["steps"], built["task"]["steps"]);
        let read = world.cli_json(&["tool-agent", "deliverable", made, "--tenant", "acme", "--version", "1"]);
        assert_eq!(read, built["deliverable"]);
        let shown = world.cli_json(&["tool-agent", "show", "acme/reader"]);
        assert_eq!(shown["display_name"], "Reader");
        let trace = built["task"]["steps"][1]["trace_id"].as_str().unwrap();
        let explained = String::from_utf8(world.cli(&["explain", trace]).stdout).unwrap();
        assert!(explained.contains("step 2 of 2 of a run of acme/reader"), "{explained}");
        assert_eq!(world.verify().0, 0);
    }
}

// acceptance 83, acceptance 84: the exact text on standard error, and nothing has run.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_said() {
    let (world, stub) = on(Kind::Sqlite).await;
    for (slug, configuration, said) in [
        ("none", json!({}), "No tools configured for this agent"),
        (
            "plain",
            json!({ "tools": ["get-schema"] }),
            "Tool 'get-schema' must include namespace: expected 'namespace/tool'",
        ),
        ("far", json!({ "tools": ["x/y"] }), "Unknown namespace 'x'. Available: adp, "),
    ] {
        let written = file(&world, "agent.json", &record(slug, &configuration));
        assert!(world.cli(&["tool-agent", "apply", &written, "--json"]).status.success());
        let output = world.cli(&["tool-agent", "run", &format!("acme/{slug}")]);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && told.contains(said), "{told}");
        assert!(output.stdout.is_empty());
    }
    let mut less = record("less", &json!({}));
    less.as_object_mut().unwrap().remove("yaml");
    let output = world.cli(&["tool-agent", "apply", &file(&world, "less.json", &less)]);
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains("yaml"));
    let missing = world.cli(&["tool-agent", "run", "acme/missing"]);
    assert!(String::from_utf8_lossy(&missing.stderr).contains("Agent 'acme/missing' was not found"));
    assert_eq!((stub.calls(), world.database.count("SELECT count(*) FROM audit_logs")), (0, 0));
}
