//! What a payload may change of a run, what is filled into its parameters, and the forms of what it delivers.

use portreeve_tests::{Kind, Stub, World};
use serde_json::{Value, json};

use crate::tool_agents::{build, put};

const TOOLS: [(&str, &str); 3] = [("find", "READ_ONLY"), ("list", "READ_ONLY"), ("challenge", "READ_ONLY")];

async fn on(kind: Kind) -> (World, Stub) {
    let stub = Stub::start(&["find", "list", "challenge"]).await;
    let world = World::on(kind)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &TOOLS)
        .set("log", json!({ "json": true }))
        .start();
    (world, stub)
}

fn results(built: &Value) -> &Vec<Value> {
    built["results"].as_array().unwrap_or_else(|| panic!("no results in {built}"))
}

/// What the stub says it was called with, by place.
fn arguments(built: &Value, place: usize) -> &Value {
    &results(built)[place]["result"]["arguments"]
}

fn ran(built: &Value) -> Vec<&str> {
    results(built).iter().filter_map(|one| one["tool"].as_str()).collect()
}

// acceptance 91: tools, parameters by tool, the mode and stopOnError; never what the agent is forbidden.
#[tokio::test(flavor = "multi_thread")]
async fn a_payload_changes_what_it_may() {
    let (world, stub) = on(Kind::Sqlite).await;
    let agent = world.agent("a-1", "A1");
    put(
        &world,
        "reader",
        json!({
            "tools": ["crm/find", "crm/list"], "security": { "allowed_tables": ["orders"] },
            "toolParams": { "crm/find": { "q": "own", "limit": 5, "deep": { "a": 1 } }, "crm/list": { "page": 2 } },
        }),
    )
    .await;
    let plain = build(&world, "reader", &agent.key, json!({ "mode": "build" })).await.1;
    assert_eq!(ran(&plain), ["crm/find", "crm/list"]);
    assert_eq!(arguments(&plain, 0), &json!({ "q": "own", "limit": 5, "deep": { "a": 1 } }));
    assert_eq!(arguments(&plain, 1), &json!({ "page": 2 }));
    assert!(plain.get("ignored").is_none(), "{plain}");

    let payload = json!({
        "tools": ["crm/list", "crm/challenge", "crm/find"], "toolExecutionMode": "anything", "stopOnError": false,
        "toolParams": { "crm/find": { "q": "theirs", "more": true } }, "title": "Own title",
        "security": { "allowed_tables": ["users"], "denied_operations": [] }, "deliverable": { "format": "text" },
    });
    let changed = build(&world, "reader", &agent.key, json!({ "mode": "build", "payload": payload })).await.1;
    assert_eq!(ran(&changed), ["crm/list", "crm/challenge", "crm/find"]);
    assert_eq!(arguments(&changed, 0), &json!({ "page": 2 }));
    assert_eq!(arguments(&changed, 2), &json!({ "q": "theirs", "limit": 5, "deep": { "a": 1 }, "more": true }));
    let (made, metadata) = (&changed["deliverable"], &changed["deliverable"]["metadata"]);
    assert_eq!((&made["title"], &made["format"]), (&json!("Own title"), &json!("json")), "{changed}");
    assert_eq!(metadata["executionMode"], "sequential", "only `parallel` is parallel");
    assert_eq!((&metadata["stopOnError"], &metadata["failedTools"]), (&json!(false), &json!(1)), "{changed}");
    let ignored = changed["ignored"].as_array().unwrap();
    assert!(ignored.iter().any(|one| one.as_str().unwrap().contains("security")), "{changed}");

    // Nothing is left out by an empty list, and what is no list is refused.
    let empty = json!({ "mode": "build", "payload": { "tools": [] } });
    assert_eq!(ran(&build(&world, "reader", &agent.key, empty).await.1), ["crm/find", "crm/list"]);
    let before = stub.calls();
    let wrong = json!({ "mode": "build", "payload": { "tools": "crm/find" } });
    assert_eq!(build(&world, "reader", &agent.key, wrong).await.0, 422);
    assert_eq!(stub.calls(), before);
}

// acceptance 91, acceptance 101: what the descriptor forbids holds in the chain, whatever the payload says.
#[tokio::test(flavor = "multi_thread")]
async fn an_agents_security_cannot_be_talked_away() {
    for kind in [Kind::Sqlite, Kind::Postgres] {
        let stub = Stub::start(&["query"]).await;
        let manifests = json!({
            "manifests": [portreeve_tests::world::manifest("db", "query", "READ_ONLY")],
            "handling": { "db/query": { "sql": { "argument": "sql", "dialect": "postgres" } } },
        });
        let world = World::on(kind).upstream("db", json!({ "url": stub.url() })).manifest_file("db", manifests).start();
        let agent = world.agent("a-3", "A3");
        put(&world, "reader", json!({ "tools": ["db/query"], "security": { "allowed_tables": ["orders"] } })).await;
        let asked = async |sql: &str| {
            let payload =
                json!({ "toolParams": { "db/query": { "sql": sql } }, "security": { "allowed_tables": ["users"] } });
            let built = build(&world, "reader", &agent.key, json!({ "mode": "build", "payload": payload })).await.1;
            results(&built)[0].clone()
        };
        let own = asked("SELECT updated_at, 'DROP' FROM orders").await;
        assert_eq!(own["success"], true, "{own}");
        for (sql, part) in [
            ("SELECT * FROM users", "users"),
            ("SELECT 1 FROM orders JOIN users ON true", "users"),
            (
                "DROP TABLE orders",
                "Security violation: Operation 'DROP' is not allowed in read-only mode. Denied operations: DROP, TRUNCATE, ALTER, DELETE, UPDATE",
            ),
        ] {
            let refused = asked(sql).await;
            let said = refused["error"].as_str().unwrap_or_else(|| panic!("{sql}: {refused}"));
            assert!(said.contains(part), "{sql}: {said}");
        }
        assert_eq!(stub.calls(), 1, "what was refused was not sent");
        // The same call without a run may read what the manifest allows.
        assert!(!agent.call("db/query", json!({ "sql": "SELECT * FROM users" })).await.is_tool_error());
    }
}

// acceptance 92: from payload and metadata, nested and several in one text; what is no text is left alone.
#[tokio::test(flavor = "multi_thread")]
async fn templates_are_filled_in_once() {
    let (world, stub) = on(Kind::Sqlite).await;
    let agent = world.agent("a-1", "A1");
    let params = json!({
        "text": "top {{payload.n}} of {{ metadata.user.name }}, {{payload.flag}} {{payload.list.1}}",
        "whole": "{{payload.deep}}", "number": 7, "boolean": true, "nested": { "text": "{{payload.n}}" },
        "braces": "{{payload.tricky}}", "nothing": "{{payload.null}}",
    });
    put(&world, "reader", json!({ "tools": ["crm/find"], "toolParams": { "crm/find": params } })).await;
    let payload = json!({
        "n": 10, "flag": false, "list": ["a", "b"], "deep": { "x": [1, "é"] }, "tricky": "{{payload.n}}", "null": null,
    });
    let request = json!({ "mode": "build", "payload": payload, "metadata": { "user": { "name": "Ada" } } });
    let built = build(&world, "reader", &agent.key, request).await.1;
    let expected = json!({
        "text": "top 10 of Ada, false b", "whole": "{\"x\":[1,\"é\"]}", "number": 7, "boolean": true,
        "nested": { "text": "{{payload.n}}" }, "braces": "{{payload.n}}", "nothing": "null",
    });
    assert_eq!(arguments(&built, 0), &expected, "{built}");
    let before = stub.calls();
    put(&world, "plain", json!({ "tools": ["crm/find"] })).await;
    for path in ["payload.missing", "payload.deep.y", "metadata.x", "env.HOME", "payload"] {
        let params = json!({ "crm/find": { "text": format!("{{{{{path}}}}}") } });
        let request = json!({ "mode": "build", "payload": { "n": 1, "deep": {}, "toolParams": params } });
        let (status, refused) = build(&world, "plain", &agent.key, request).await;
        let said = format!("Unresolved template variable {{{{{path}}}}}");
        assert_eq!((status, &refused["error"]), (422, &json!(said)));
        assert_eq!(refused["data"], json!({ "tool": "crm/find", "parameter": "text" }));
    }
    assert_eq!(stub.calls(), before);
}

// acceptance 88, acceptance 94: it stops after the first failure unless told otherwise, and what was attempted is delivered.
#[tokio::test(flavor = "multi_thread")]
async fn the_first_failure_stops_it_or_not() {
    for kind in [Kind::Sqlite, Kind::Postgres] {
        let (world, stub) = on(kind).await;
        let agent = world.agent("a-1", "A1");
        put(&world, "reader", json!({ "tools": ["crm/find", "crm/challenge", "crm/list"] })).await;
        for (payload, attempted, successful, calls) in
            [(json!({}), 2, 1, 2), (json!({ "stopOnError": false }), 3, 2, 3)]
        {
            let before = stub.calls();
            let request = json!({ "mode": "build", "payload": payload });
            let (status, built) = build(&world, "reader", &agent.key, request).await;
            assert_eq!((status, &built["success"]), (200, &json!(true)), "{built}");
            let metadata = &built["deliverable"]["metadata"];
            assert_eq!(metadata["toolsExecuted"], attempted, "{built}");
            assert_eq!((&metadata["successfulTools"], &metadata["failedTools"]), (&json!(successful), &json!(1)));
            assert_eq!(metadata["toolsUsed"].as_array().unwrap().len(), 3);
            assert_eq!(results(&built).len(), attempted);
            assert!(results(&built)[1]["error"].is_string() && results(&built)[1].get("result").is_none());
            assert_eq!(stub.calls() - before, calls);
            assert_eq!(built["task"]["status"], "completed");
        }
    }
}

// acceptance 95: the same run as json, markdown and text.
#[tokio::test(flavor = "multi_thread")]
async fn a_deliverable_has_its_agents_form() {
    let (world, _stub) = on(Kind::Sqlite).await;
    let agent = world.agent("a-1", "A1");
    for (format, parts) in [
        ("json", vec!["[\n  {\n    \"tool\": \"crm/find\",\n    \"success\": true,"]),
        (
            "markdown",
            vec![
                "# Tool Execution Results\n",
                "## crm/find\n",
                "**Status:** Success",
                "**Status:** Failed",
                "**Error:** ",
            ],
        ),
        ("text", vec!["crm/find: SUCCESS\n", "crm/challenge: FAILED - "]),
    ] {
        let slug = format!("as-{format}");
        let deliverable = json!({ "format": format, "type": "report" });
        put(&world, &slug, json!({ "tools": ["crm/find", "crm/challenge"], "deliverable": deliverable })).await;
        let built = build(&world, &slug, &agent.key, json!({ "mode": "build", "conversationId": "c-7" })).await.1;
        let made = &built["deliverable"];
        let content = made["content"].as_str().unwrap_or_else(|| panic!("{built}"));
        for part in parts {
            assert!(content.contains(part), "{part:?} is missing from\n{content}");
        }
        assert_eq!((&made["format"], &made["type"]), (&json!(format), &json!("report")));
        assert_eq!(made["title"], "Tool Execution: Reader");
        let id = made["id"].as_str().unwrap();
        let row = format!("SELECT format, type, version, conversation_id FROM deliverables WHERE id = '{id}'");
        assert_eq!(world.database.sql(&row), format!("{format}|report|1|c-7"));
    }
}

// acceptance 104: who ran what, and how, as fields of one line; never what it was called with.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_in_the_log() {
    let (mut world, _stub) = on(Kind::Sqlite).await;
    let agent = world.agent("a-1", "A1");
    let params = json!({ "crm/find": { "q": "only-in-the-call" } });
    put(&world, "reader", json!({ "tools": ["crm/find", "crm/list"], "toolParams": params })).await;
    let built = build(&world, "reader", &agent.key, json!({ "mode": "build" })).await.1;
    let log = world.gateway().log();
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let lines: Vec<Value> = lines.filter(|line| line.to_string().contains("tool agent acme/reader")).collect();
    let [begun, ended] = lines.as_slice() else { panic!("{lines:?}") };
    for part in ["\"agent.slug\":\"reader\"", "crm/find, crm/list", "\"mode\":\"sequential\"", "\"stop_on_error\":true"]
    {
        assert!(begun.to_string().contains(part), "{part} is missing from {begun}");
    }
    assert!(begun.to_string().contains(built["task"]["id"].as_str().unwrap()));
    assert!(ended.to_string().contains("2 of 2 succeeded"), "{ended}");
    assert!(!log.contains("only-in-the-call"));
}

// acceptance 86: a server whose environment is incomplete is told by the variable.
#[tokio::test(flavor = "multi_thread")]
async fn a_missing_variable_is_named() {
    let stub = Stub::start(&["find"]).await;
    let needs = ["PORTREEVE_STORY_SET", "PORTREEVE_STORY_TOKEN"];
    let world = World::on(Kind::Sqlite)
        .upstream("crm", json!({ "url": stub.url(), "required_env": needs }))
        .manifests("crm", &[("find", "READ_ONLY")])
        .variable("PORTREEVE_STORY_SET", "yes")
        .start();
    let agent = world.agent("a-1", "A1");
    put(&world, "reader", json!({ "tools": ["crm/find"] })).await;
    let (status, answer) = build(&world, "reader", &agent.key, json!({ "mode": "build" })).await;
    let said = "Required environment variable PORTREEVE_STORY_TOKEN is not set";
    assert_eq!((status, &answer["error"]), (503, &json!(said)));
    assert_eq!(answer["data"], json!({ "missing": ["PORTREEVE_STORY_TOKEN"] }));
    assert_eq!(stub.calls(), 0);
    let checked = world.cli(&["check"]);
    assert!(String::from_utf8_lossy(&checked.stderr).contains("upstreams.crm.required_env: PORTREEVE_STORY_TOKEN"));
}

// acceptance 85: a server that is down is told before anything runs, with its namespace.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_down_is_named() {
    for kind in [Kind::Sqlite, Kind::Postgres] {
        let stub = Stub::start(&["find"]).await;
        let nobody = format!("http://127.0.0.1:{}/mcp", portreeve_tests::environment::free_port());
        let world = World::on(kind)
            .upstream("crm", json!({ "url": stub.url() }))
            .upstream("gone", json!({ "url": nobody }))
            .manifests("crm", &[("find", "READ_ONLY")])
            .manifests("gone", &[("find", "READ_ONLY")])
            .start();
        let agent = world.agent("a-1", "A1");
        put(&world, "reader", json!({ "tools": ["crm/find", "gone/find"] })).await;
        let (status, answer) = build(&world, "reader", &agent.key, json!({ "mode": "build" })).await;
        assert_eq!((status, &answer["error"]), (503, &json!("MCP server is not available (namespace: gone)")));
        assert_eq!(answer["data"], json!({ "namespace": "gone" }));
        assert_eq!(stub.calls(), 0);
        assert_eq!(world.database.count("SELECT count(*) FROM agent_tasks"), 0);
    }
}
