//! The tool agent of the specification, with the `supabase` tools over a database: schema, SQL, rows, summary.

use std::process::Command;

use portreeve_tests::environment::{portreeve, root};
use portreeve_tests::process::Process;
use portreeve_tests::store::Database;
use portreeve_tests::{Agent, Kind, World};
use serde_json::{Value, json};

const SHIPPED: &str = include_str!("../../config/initial-agent-building/working/demo_supabase_agent.json");
const PAYLOAD: &str = include_str!("../../config/initial-agent-building/working/demo_payload.json");
const TOOLS: [&str; 4] =
    ["supabase/get-schema", "supabase/generate-sql", "supabase/execute-sql", "supabase/analyze-results"];

fn shipped() -> Value {
    let mut record: Value = serde_json::from_str(SHIPPED).unwrap();
    record["organization_slug"] = json!("acme");
    record
}

fn payload() -> Value {
    serde_json::from_str(PAYLOAD).unwrap()
}

/// Twelve conversations and two users, in a file of its own beside the gateway's store.
fn tables(world: &World) {
    let database = Database::Sqlite(world.directory.path().join("business.db"));
    database.sql("CREATE TABLE agent_conversations (id INTEGER PRIMARY KEY, topic TEXT, status TEXT, message_count INTEGER, created_at TEXT)");
    database.sql(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12) INSERT INTO agent_conversations \
         SELECT i, 'topic ' || (i % 3), CASE WHEN i % 2 THEN 'open' ELSE 'resolved' END, i * 2, \
         '2026-03-' || printf('%02d', i) || 'T10:00:00Z' FROM n",
    );
    database.sql("CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT)");
    database.sql("INSERT INTO users VALUES (1, 'Ada', 'ada@example.com'), (2, 'Grace', 'grace@example.com')");
}

fn on(kind: Kind) -> World {
    let world = World::on(kind).set("built_in", json!({ "supabase": { "url": "sqlite://business.db" } })).start();
    tables(&world);
    world
}

async fn put(world: &World, record: Value) {
    let put = world.api("POST", "/api/admin/agents", &world.admin_key, Some(record)).await;
    assert!([200, 201].contains(&put.status), "{}", put.text());
}

async fn build(world: &World, key: &str, payload: Value) -> (u16, Value) {
    let request = json!({ "mode": "build", "payload": payload });
    let answer = world.api("POST", "/api/agents/acme/supabase-agent/tasks", key, Some(request)).await;
    (answer.status, answer.message())
}

/// A time whose fraction has nine digits, so that texts sort as times do.
fn sortable(time: &str) -> String {
    let (seconds, fraction) = time.trim_end_matches('Z').split_once('.').unwrap_or((time.trim_end_matches('Z'), ""));
    format!("{seconds}.{fraction:0<9}")
}

async fn ran(world: &World, agent: &Agent, payload: Value) -> Value {
    let (status, built) = build(world, &agent.key, payload).await;
    assert_eq!(status, 200, "{built}");
    built
}

// acceptance 87, acceptance 94, acceptance 105: in their order, each with what the one before it found; four traces, four rows.
#[tokio::test(flavor = "multi_thread")]
async fn four_tools_four_traces_four_rows() {
    for kind in [Kind::Sqlite, Kind::Postgres] {
        let world = on(kind);
        let agent = world.agent("a-1", "A1");
        put(&world, shipped()).await;
        let built = ran(&world, &agent, payload()).await;
        let results = built["results"].as_array().unwrap();
        let order: Vec<&str> = results.iter().filter_map(|one| one["tool"].as_str()).collect();
        assert_eq!(order, TOOLS);
        assert!(results.iter().all(|one| one["success"] == true), "{built}");
        let [_, written, rows, summary] = [0, 1, 2, 3].map(|place| &results[place]["result"]);
        let sql = written["sql"].as_str().unwrap();
        assert!(sql.contains("FROM agent_conversations ORDER BY created_at DESC LIMIT 10"), "{sql}");
        assert_eq!(rows["sql_executed"], written["sql"], "what was written is what ran");
        assert_eq!((&rows["row_count"], rows["data"].as_array().unwrap().len()), (&json!(10), 10));
        assert_eq!(rows["data"][0]["created_at"], "2026-03-12T10:00:00Z");
        assert_eq!(summary["analysis"]["row_count"], 10, "the rows were summarized: {summary}");
        let metadata = &built["deliverable"]["metadata"];
        assert_eq!((&metadata["toolsExecuted"], &metadata["successfulTools"]), (&json!(4), &json!(4)));

        let steps = built["task"]["steps"].as_array().unwrap();
        let times: Vec<String> = steps.iter().filter_map(|step| step["started_at"].as_str()).map(sortable).collect();
        assert!(times.len() == 4 && times.is_sorted(), "{times:?}");
        world.eventually("SELECT count(*) FROM audit_logs WHERE agent_id = 'a-1'", 4).await;
        assert_eq!(world.database.count("SELECT count(*) FROM agent_traces WHERE agent_id = 'a-1'"), 4);
        let admin = world.admin_key.as_str();
        for (place, step) in steps.iter().enumerate() {
            let trace = step["trace_id"].as_str().unwrap();
            let explained = world.api("GET", &format!("/api/explain/{trace}"), admin, None).await.message();
            assert_eq!(explained["run"]["step"], json!(place + 1), "{explained}");
            assert_eq!(explained["run"]["task"], built["task"]["id"]);
            assert_eq!(explained["run"]["steps"].as_array().unwrap().len(), 4);
        }
        assert_eq!(world.verify().0, 0);
    }
}

// acceptance 105: what leaves a tool of a run passes the same redaction, in the deliverable and in the row.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_personal_is_not_delivered() {
    let world = on(Kind::Sqlite);
    let agent = world.agent("a-3", "A3");
    put(&world, shipped()).await;
    let ask =
        json!({ "toolParams": { "supabase/generate-sql": { "query": "top 2 users by id", "tables": ["users"] } } });
    let built = ran(&world, &agent, ask).await;
    assert_eq!(built["results"][2]["success"], true, "{built}");
    assert!(!built.to_string().contains("@example.com"), "{built}");
    let id = built["deliverable"]["id"].as_str().unwrap();
    let stored = world.database.sql(&format!("SELECT content FROM deliverables WHERE id = '{id}'"));
    assert!(!stored.contains("@example.com") && stored.contains("[EMAIL]"), "{stored}");
}

// acceptance 91, acceptance 98, acceptance 101: the tables of its descriptor are the tables it sees, whatever a payload says.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_keeps_to_its_tables() {
    let world = on(Kind::Sqlite);
    let agent = world.agent("a-3", "A3");
    let mut record = shipped();
    let mut descriptor: Value = serde_json::from_str(record["yaml"].as_str().unwrap()).unwrap();
    descriptor["configuration"]["security"]["allowed_tables"] = json!(["agent_conversations"]);
    record["yaml"] = json!(descriptor.to_string());
    put(&world, record).await;
    let built = ran(&world, &agent, payload()).await;
    let schema = &built["results"][0]["result"];
    assert_eq!((&schema["table_count"], &schema["tables"][0]["name"]), (&json!(1), &json!("agent_conversations")));
    for (tool, params) in [
        ("supabase/execute-sql", json!({ "sql": "SELECT email FROM users" })),
        ("supabase/generate-sql", json!({ "query": "top 2 users by id" })),
        ("supabase/execute-sql", json!({ "sql": "DELETE FROM agent_conversations" })),
    ] {
        let payload = json!({ "tools": [tool], "toolParams": { tool: params }, "security": {} });
        let built = ran(&world, &agent, payload).await;
        assert_eq!(built["results"][0]["success"], false, "{built}");
        assert_eq!(built["ignored"], json!(["payload.security"]));
    }
    let business = Database::Sqlite(world.directory.path().join("business.db"));
    assert_eq!(business.count("SELECT count(*) FROM agent_conversations"), 12);
}

// acceptance 86: without its URL, or without the key where one is needed, the run says which is missing.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_environment_lacks_is_named() {
    let said = "Required environment variable SUPABASE_URL (or key) is not set";
    for (variable, missing) in [(None, "SUPABASE_URL"), (Some("https://project.example.com"), "SUPABASE_KEY")] {
        let mut world = World::on(Kind::Sqlite);
        if let Some(url) = variable {
            world = world.variable("SUPABASE_URL", url);
        }
        let world = world.start();
        let agent = world.agent("a-1", "A1");
        put(&world, shipped()).await;
        let (status, answer) = build(&world, &agent.key, payload()).await;
        assert_eq!((status, &answer["error"]), (503, &json!(said)), "{answer}");
        assert_eq!(answer["data"], json!({ "missing": [missing] }));
        assert_eq!(world.database.count("SELECT count(*) FROM audit_logs"), 0);
    }
}

// acceptance 85: the database behind the tools is down.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_gone_is_a_server_that_is_down() {
    let world = on(Kind::Sqlite);
    let agent = world.agent("a-1", "A1");
    put(&world, shipped()).await;
    std::fs::remove_file(world.directory.path().join("business.db")).unwrap();
    let (status, answer) = build(&world, &agent.key, payload()).await;
    assert_eq!((status, &answer["error"]), (503, &json!("MCP server is not available (namespace: supabase)")));
}

// acceptance 82, acceptance 103: one script, from nothing to a deliverable with four successes.
#[test]
fn the_smoke_script_passes() {
    let script = root().join("config/initial-agent-building/smoke.sh");
    let output =
        Command::new("sh").arg(script).env("PORTREEVE", portreeve()).env_remove("SUPABASE_URL").output().unwrap();
    let (told, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{told}\n{said}");
    assert!(told.contains("4 of 4 tools succeeded"), "{told}");
}

// acceptance 82: the demo has it from the start, and the command line runs it there.
#[test]
fn the_demo_has_its_tool_agent() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("demo");
    let ports = [portreeve_tests::environment::free_port(), portreeve_tests::environment::free_port()];
    let [mcp, console] = ports.map(|port| format!("127.0.0.1:{port}"));
    let mut command = Command::new(portreeve());
    command.arg("demo").arg("--data").arg(&data).args(["--mcp", &mcp, "--console", &console]);
    let mut demo = Process::start(&mut command, &directory.path().join("demo.log"));
    demo.wait_for_port(ports[1]);
    let config = data.join("portreeve-demo.yaml");
    let file = root().join("config/initial-agent-building/working/demo_payload.json");
    let cli = |arguments: &[&str]| {
        let output = Command::new(portreeve()).args(arguments).arg("--json").arg("--config").arg(&config).output();
        let output = output.unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (serde_json::from_slice::<Value>(&output.stdout).unwrap_or_else(|_| panic!("{arguments:?}: {said}")), said)
    };
    let (listed, _) = cli(&["tool-agent", "list"]);
    assert_eq!((&listed[0]["organization_slug"], &listed[0]["slug"]), (&json!("demo"), &json!("supabase-agent")));
    let record: Value = serde_json::from_str(SHIPPED).unwrap();
    for (field, value) in record.as_object().unwrap() {
        assert_eq!(&listed[0][field], value, "{field}");
    }
    let (built, said) = cli(&["tool-agent", "run", "demo/supabase-agent", "--payload", file.to_str().unwrap()]);
    assert_eq!(built["deliverable"]["metadata"]["successfulTools"], 4, "{built}");
    assert!(said.contains("4/4 supabase/analyze-results"), "{said}");
    // Without a question there is nothing to ask, and nothing is assumed.
    let (built, _) = cli(&["tool-agent", "run", "demo/supabase-agent"]);
    assert_eq!(built["deliverable"]["metadata"]["failedTools"], 1, "{built}");
    assert_eq!(built["results"].as_array().unwrap().len(), 2, "{built}");
}
