//! SQL in calls: what a tool that reads is sent is one statement that reads, and nothing else.

use portreeve_tests::environment::installed;
use portreeve_tests::{Kind, Stub, World, manifest};
use serde_json::{Value, json};

/// A gateway before a tool that reads, and whose SQL is handled so.
async fn before(handling: Value) -> (World, Stub) {
    before_a("READ_ONLY", handling).await
}

async fn before_a(level: &str, handling: Value) -> (World, Stub) {
    let tool = json!({ "name": "query", "description": "Asks the database.", "inputSchema": { "type": "object" } });
    let stub = Stub::with_definitions(vec![tool]).await;
    let world = World::on(Kind::Sqlite)
        .upstream("db", json!({ "url": stub.url() }))
        .manifest_file(
            "db",
            json!({ "manifests": [manifest("db", "query", level)], "handling": { "db/query": handling } }),
        )
        .start();
    (world, stub)
}

fn last_argument(stub: &Stub, name: &str) -> Value {
    let (_, message) = stub.seen().into_iter().rfind(|(_, message)| message["method"] == "tools/call").expect("a call");
    message["params"]["arguments"][name].clone()
}

// acceptance 100: the five operations in any case, behind comments, in a CTE, as a second statement, and every other write are
// refused, to the freest agent too; `updated_at` and the literal 'DROP' are accepted. acceptance 99: only reads arrive.
#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_reads_is_sent_reads() {
    let (world, stub) = before(json!({ "sql": { "argument": "sql", "dialect": "postgres" } })).await;
    let agent = world.agent("a-5", "A5");
    for sql in [
        "DROP TABLE kpi_data",
        "drop table kpi_data",
        "TRUNCATE kpi_data",
        "ALTER TABLE kpi_data ADD b int",
        "DELETE FROM kpi_data",
        "UPDATE kpi_data SET value = 0",
        "/* harmless */ dElEtE /* really */ FROM kpi_data",
        "-- select 1\nDELETE FROM kpi_data",
        "WITH gone AS (DELETE FROM kpi_data RETURNING *) SELECT * FROM gone",
        "SELECT 1; DROP TABLE kpi_data",
        "SELECT 1;\n\n  -- and\n UPDATE kpi_data SET value = 0;",
        "INSERT INTO kpi_data VALUES (1)",
        "CREATE TABLE t (a int)",
        "COPY kpi_data TO '/tmp/x'",
        "SELECT * INTO copied FROM kpi_data",
        "SELECT * FROM kpi_data FOR UPDATE",
        "EXPLAIN ANALYZE DELETE FROM kpi_data",
        "DO $$ BEGIN DELETE FROM kpi_data; END $$",
        "CALL clean_up()",
        "SET ROLE postgres",
        "GRANT ALL ON kpi_data TO public",
        "SELECT nextval('s')",
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT U&\"\\006eextval\"('s')",
        "select '",
        "",
    ] {
        let answer = agent.call("db/query", json!({ "sql": sql })).await;
        assert!(answer.denied_by().contains(&"sql_guard".to_owned()), "{sql}: {}", answer.text());
    }
    for arguments in [json!({}), json!({ "sql": 7 }), json!({ "sql": ["delete from t"] })] {
        let answer = agent.call("db/query", arguments.clone()).await;
        assert!(answer.denied_by().contains(&"sql_guard".to_owned()), "{arguments}");
    }
    assert_eq!(stub.calls(), 0, "nothing that was refused was sent");
    let refused = agent.call("db/query", json!({ "sql": "drop table kpi_data" })).await;
    let told = refused.text();
    let sentence = "Security violation: Operation 'DROP' is not allowed in read-only mode. Denied operations: DROP, TRUNCATE, ALTER, DELETE, UPDATE";
    assert!(told.contains(sentence), "{told}");

    for sql in [
        "SELECT updated_at FROM kpi_data",
        "SELECT 'DROP TABLE kpi_data; --' AS \"delete\"",
        "  SELECT\t* FROM kpi_data -- the end \u{2713}\r\n;\n",
        "WITH a AS (SELECT 1) SELECT * FROM a",
    ] {
        let answer = agent.call("db/query", json!({ "sql": sql })).await;
        assert_eq!(answer.decision(), "allow", "{sql}: {}", answer.text());
        assert_eq!(last_argument(&stub, "sql"), sql, "what was read is what is sent");
    }
}

// Arguments that nobody declared: SQL is known by name and look, prose passes.
#[tokio::test(flavor = "multi_thread")]
async fn sql_is_found_where_nobody_said_so() {
    let (world, stub) = before(json!({})).await;
    let agent = world.agent("a-4", "A4");
    for (arguments, expected) in [
        (json!({ "query": "delete from notes" }), "deny"),
        (json!({ "Statement": "DROP TABLE notes" }), "deny"),
        (json!({ "sql": "anything that is no statement" }), "deny"),
        (json!({ "query": "select 1; delete from notes" }), "deny"),
        (json!({ "query": "select pg_sleep(10)" }), "deny"),
        (json!({ "query": "select title from notes where id = 7" }), "allow"),
        (json!({ "query": "Select the best restaurants in Lyon" }), "allow"),
        (json!({ "query": "update on the project" }), "allow"),
        (json!({ "query": "drop shipping suppliers" }), "allow"),
        (json!({ "text": "delete from notes" }), "allow"),
        (json!({ "query": 7 }), "allow"),
        // However deep it lies.
        (json!({ "sql": ["select 1", "drop table notes"] }), "deny"),
        (json!({ "batch": [{ "id": 1 }, { "statement": "delete from notes" }] }), "deny"),
        (json!({ "query": { "text": "delete from notes", "values": [] } }), "deny"),
        (json!({ "options": { "retry": { "sql": "select 1; delete from notes" } } }), "deny"),
        (json!({ "batch": [{ "sql": "select title from notes" }] }), "allow"),
        (json!({ "query": { "match": { "title": "update the notes" } } }), "allow"),
        (json!({ "rows": [["delete from notes"]], "filter": { "text": "drop table notes" } }), "allow"),
    ] {
        let answer = agent.call("db/query", arguments.clone()).await;
        assert_eq!(answer.decision(), expected, "{arguments}: {}", answer.text());
    }
    assert_eq!(stub.calls(), 9);
    let (world, stub) = before(json!({ "sql": "off" })).await;
    let answer = world.agent("a-4", "A4").call("db/query", json!({ "query": "delete from notes" })).await;
    assert_eq!((answer.decision().as_str(), stub.calls()), ("allow", 1), "the operator knows better");
}

// A tool that writes may be sent SQL that nobody declared, but the call then counts as what that SQL does.
#[tokio::test(flavor = "multi_thread")]
async fn undeclared_sql_raises_a_write() {
    let (world, stub) = before_a("LOW_WRITE", json!({})).await;
    let (partial, full) = (world.agent("a-3", "A3"), world.agent("a-4", "A4"));
    for (arguments, a3, a4) in [
        (json!({ "sql": "drop table users" }), "deny", "approval_required"),
        (json!({ "query": "DELETE FROM users" }), "deny", "approval_required"),
        (json!({ "batch": [{ "statement": "truncate table users" }] }), "deny", "approval_required"),
        (json!({ "sql": "insert into users values (1); drop table users" }), "deny", "approval_required"),
        (json!({ "sql": "anything that is no statement" }), "deny", "approval_required"),
        (json!({ "sql": "insert into users (name) values ('x')" }), "allow", "allow"),
        (json!({ "sql": "select name from users" }), "allow", "allow"),
        (json!({ "query": "drop shipping suppliers" }), "allow", "allow"),
        (json!({ "query": { "match": { "title": "update the table" } } }), "allow", "allow"),
    ] {
        for (agent, expected) in [(&partial, a3), (&full, a4)] {
            let answer = agent.call("db/query", arguments.clone()).await;
            assert_eq!(answer.decision(), expected, "{arguments}: {}", answer.text());
            assert!(!answer.denied_by().contains(&"sql_guard".to_owned()), "{arguments}: {}", answer.text());
        }
    }
    assert_eq!(stub.calls(), 8, "only what was allowed arrived");
}

// A tool that nobody classified, where the operator only watches: the finding is in the trace, and is not obeyed.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_watched_is_read_and_recorded() {
    let tool = json!({ "name": "query", "description": "Asks the database.", "inputSchema": { "type": "object" } });
    let stub = Stub::with_definitions(vec![tool]).await;
    let world = World::on(Kind::Sqlite).upstream("db", json!({ "url": stub.url(), "unclassified": "observe" })).start();
    let agent = world.agent("a-3", "A3");
    for (calls, (arguments, found)) in [
        (json!({ "sql": "drop table users" }), true),
        (json!({ "batch": [{ "query": "delete from users" }] }), true),
        (json!({ "query": "drop shipping suppliers" }), false),
        (json!({ "sql": "select 1" }), false),
    ]
    .into_iter()
    .enumerate()
    {
        let answer = agent.call("db/query", arguments.clone()).await;
        assert_eq!((answer.decision().as_str(), stub.calls()), ("allow", calls + 1), "{arguments}: {}", answer.text());
        let context =
            world.database.sql("SELECT context FROM agent_traces WHERE agent_id = 'a-3' ORDER BY seq DESC LIMIT 1");
        let context: Value = serde_json::from_str(&context).unwrap();
        let verdicts = context["verdicts"].as_array().cloned().unwrap_or_default();
        let guard = verdicts.iter().find(|one| one["plugin"] == "sql_guard" && one["verdict"] == "deny");
        assert_eq!(guard.map(|one| one["observed"].clone()), found.then(|| json!(true)), "{arguments}: {context}");
    }
}

// Several arguments, and such as lie deeper, may be declared; what is not declared is looked for all the same.
#[tokio::test(flavor = "multi_thread")]
async fn a_manifest_names_several_places() {
    let (world, stub) = before(
        json!({ "sql": { "argument": ["first", "then.run"], "dialect": "postgres", "allowed_tables": ["notes"] } }),
    )
    .await;
    let agent = world.agent("a-4", "A4");
    for (arguments, expected) in [
        (json!({ "first": "select * from notes" }), "allow"),
        (json!({ "first": "select * from notes", "then": { "run": "select 1" } }), "allow"),
        (json!({ "then": [{ "run": "select * from notes" }, { "run": "select 2" }] }), "allow"),
        (json!({ "first": "select * from notes", "then": { "run": "delete from notes" } }), "deny"),
        (json!({ "first": "select * from notes", "then": { "run": "select * from users" } }), "deny"),
        (json!({ "then": [{ "run": "select * from notes" }, { "run": "drop table notes" }] }), "deny"),
        (json!({ "first": "select * from notes", "then": { "run": 7 } }), "deny"),
        (json!({ "first": "select * from notes", "sql": "drop table notes" }), "deny"),
        (json!({ "first": "select * from notes", "more": [{ "query": "drop table notes" }] }), "deny"),
        (json!({ "first": "select * from notes", "query": "drop shipping" }), "allow"),
        (json!({ "other": "select * from notes" }), "deny"),
    ] {
        let answer = agent.call("db/query", arguments.clone()).await;
        assert_eq!(answer.decision(), expected, "{arguments}: {}", answer.text());
    }
    assert_eq!(stub.calls(), 4);
}

// What is nested without end is refused and what is long is read; the gateway lives on.
#[tokio::test(flavor = "multi_thread")]
async fn depth_and_length_are_answered() {
    for dialect in ["postgres", "sqlite", "mysql", "generic"] {
        let (world, stub) = before(json!({ "sql": { "argument": "sql", "dialect": dialect } })).await;
        let agent = world.agent("a-1", "A1");
        for deep in ["select ".to_owned() + &"(".repeat(20_000), format!("select {}1", "1+".repeat(100_000))] {
            let answer = agent.call("db/query", json!({ "sql": deep })).await;
            assert!(answer.denied_by().contains(&"sql_guard".to_owned()), "{dialect}: {}", answer.text());
        }
        let long = format!("select * from notes where id in ({}0)", "1234567, ".repeat(22_000));
        let answer = agent.call("db/query", json!({ "sql": long })).await;
        assert_eq!((answer.decision().as_str(), stub.calls()), ("allow", 1), "{dialect}: {}", answer.text());
    }
}

// The lists are policies: a file in the directory takes the shipped one's place, and a wrong one is told.
#[tokio::test(flavor = "multi_thread")]
async fn an_operator_says_which_functions_compute() {
    let stub = Stub::with_definitions(vec![json!({ "name": "query", "inputSchema": { "type": "object" } })]).await;
    let world = World::on(Kind::Sqlite)
        .upstream("db", json!({ "url": stub.url() }))
        .manifest_file(
            "db",
            json!({
                "manifests": [manifest("db", "query", "READ_ONLY")],
                "handling": { "db/query": { "sql": { "argument": "q", "dialect": "sqlite", "functions": ["mine"] } } },
            }),
        )
        .policy_file("sql/sqlite.yaml", "functions: { ours: [normalise] }")
        .start();
    let agent = world.agent("a-1", "A1");
    for (sql, expected) in [
        ("select normalise(a), mine(b) from t", "allow"),
        ("select lower(a) from t", "deny"),
        ("select yours()", "deny"),
    ] {
        let answer = agent.call("db/query", json!({ "q": sql })).await;
        assert_eq!(answer.decision(), expected, "{sql}: {}", answer.text());
    }
    let config = world.config_path();
    std::fs::write(config.with_file_name("policies").join("sql/oracle.yaml"), "functions: {}").unwrap();
    let told = world.cli(&["check"]);
    let told = String::from_utf8_lossy(&told.stderr).into_owned() + &String::from_utf8_lossy(&told.stdout);
    assert!(told.contains("named after no dialect"), "{told}");
}

// acceptance 100 with a real server and a real table, which is unchanged.
#[tokio::test(flavor = "multi_thread")]
async fn a_real_table_is_unchanged() {
    let outside = tempfile::tempdir().unwrap();
    let database = outside.path().join("shop.db");
    let shipped =
        |tools: &[(&str, &str)]| tools.iter().map(|(tool, level)| manifest("sqlite", tool, level)).collect::<Vec<_>>();
    let sql = json!({ "sql": { "argument": "query", "dialect": "sqlite" } });
    let world = World::on(Kind::Sqlite)
        .upstream(
            "sqlite",
            json!({ "command": installed("python/sqlite/bin/mcp-server-sqlite"), "args": ["--db-path", database] }),
        )
        .manifest_file(
            "sqlite",
            json!({
                "manifests": shipped(&[("read_query", "READ_ONLY"), ("write_query", "LOW_WRITE"), ("create_table", "LOW_WRITE")]),
                "handling": { "sqlite/read_query": sql, "sqlite/write_query": sql, "sqlite/create_table": sql },
            }),
        )
        .start();
    let (writer, free) = (world.agent("writer", "A3").modern(), world.agent("free", "A5").modern());
    let create = json!({ "query": "CREATE TABLE pots (name TEXT, updated_at TEXT)" });
    assert_eq!(writer.call("sqlite/create_table", create).await.decision(), "allow");
    let insert = json!({ "query": "INSERT INTO pots VALUES ('teapot', 'today'), ('DROP', 'now')" });
    assert_eq!(writer.call("sqlite/write_query", insert).await.decision(), "allow", "writing is this one's business");
    for sql in [
        "DELETE FROM pots",
        "delete/**/from pots",
        "DROP TABLE pots",
        "UPDATE pots SET name = 'x'",
        "ALTER TABLE pots ADD b",
        "INSERT INTO pots VALUES ('x', 'y')",
        "REPLACE INTO pots VALUES ('x', 'y')",
        "CREATE TABLE t AS SELECT * FROM pots",
        "WITH x AS (SELECT 1) DELETE FROM pots",
        "SELECT 1; DELETE FROM pots",
        "PRAGMA writable_schema = 1",
        "ATTACH 'other.db' AS other",
        "VACUUM INTO 'copy.db'",
        "SELECT load_extension('x')",
    ] {
        let answer = free.call("sqlite/read_query", json!({ "query": sql })).await;
        assert!(answer.denied_by().contains(&"sql_guard".to_owned()), "{sql}: {}", answer.text());
    }
    // A writer's own statements are one at a time, too, and its worst ones wait for a human.
    let two =
        writer.call("sqlite/write_query", json!({ "query": "INSERT INTO pots VALUES (1, 2); DROP TABLE pots" })).await;
    assert!(two.denied_by().contains(&"sql_guard".to_owned()), "{}", two.text());
    let gone = free.call("sqlite/write_query", json!({ "query": "DELETE FROM pots" })).await;
    assert_eq!(gone.decision(), "approval_required", "{}", gone.text());
    for sql in ["SELECT name, updated_at FROM pots", "SELECT name FROM pots WHERE name = 'DROP' OR name = 'teapot'"] {
        let answer = free.call("sqlite/read_query", json!({ "query": sql })).await;
        let text = answer.text();
        assert!(text.contains("teapot") && text.contains("DROP"), "{sql}: {text}");
    }
}

// `guard sql` says of lines what the gateway says of calls.
#[test]
fn guard_reads_lines() {
    let world = World::on(Kind::Sqlite).start();
    let lines = [
        json!({ "id": 1, "sql": "select 1" }),
        json!({ "id": "two", "sql": "drop table t" }),
        json!({ "id": 3, "sql": "select * from `a`, b", "dialect": "mysql" }),
        json!({ "id": 4, "sql": "select * from secrets", "dialect": "sqlite" }),
    ];
    let text = lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n") + "\n{\n";
    let told = world.cli_with_input(&["guard", "sql", "--allow-tables", "a,b"], &text);
    let told: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let found: Vec<_> =
        told.iter().map(|line| (line["id"].clone(), line["verdict"].clone(), line["class"].clone())).collect();
    assert_eq!(
        found,
        [
            (json!(1), json!("allow"), json!("read")),
            (json!("two"), json!("deny"), json!("write")),
            (json!(3), json!("allow"), json!("read")),
            (json!(4), json!("deny"), json!("read")),
            (json!(null), json!("deny"), json!("invalid")),
        ]
    );
    assert_eq!(told[2]["tables"], json!(["a", "b"]));
    assert!(told[0]["reason"].is_null() && told[1]["reason"].is_string());
}
