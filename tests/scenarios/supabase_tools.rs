//! The built-in `supabase` server over real databases: a SQLite file, Postgres itself, and Postgres behind the REST API.

mod business;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use portreeve_tests::{Agent, Answer, Kind, World, manifest, servers};
use serde_json::{Value, json};

use business::{Backend, Business};

async fn said(agent: &Agent, tool: &str, arguments: Value) -> Result<Value, String> {
    let answer = agent.call(&format!("supabase/{tool}"), arguments).await;
    if answer.is_tool_error() { Err(words(&answer)) } else { Ok(answer.tool_json()) }
}

fn words(answer: &Answer) -> String {
    answer.message()["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}

fn names(schema: &Value) -> Vec<&str> {
    schema["tables"].as_array().unwrap().iter().map(|table| table["name"].as_str().unwrap()).collect()
}

// acceptance 96, acceptance 97, acceptance 98, acceptance 99, acceptance 102: from the schema to the summary.
#[tokio::test(flavor = "multi_thread")]
async fn four_tools_over_a_real_database() {
    for backend in Backend::ALL {
        let business = Business::open(backend);
        let world = business.world(backend.store()).start();
        let agent = world.agent("a-1", "A1");
        let listed = agent.modern().tools("/mcp").await;
        for tool in ["get-schema", "generate-sql", "execute-sql", "analyze-results"] {
            assert!(listed.contains(&format!("supabase__{tool}")), "{backend:?}: {listed:?}");
        }
        let schema = said(&agent, "get-schema", json!({})).await.unwrap();
        assert_eq!(names(&schema), ["agent_conversations", "pots", "secrets"], "{backend:?}");
        assert_eq!(schema["table_count"], 3);
        let pots = said(&agent, "get-schema", json!({ "tables": ["pots"] })).await.unwrap();
        let columns: Vec<_> = pots["tables"][0]["columns"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
        assert_eq!(columns, ["id", "name", "updated_at"], "{backend:?}");

        let asked =
            json!({ "query": "top 10 conversations by date", "tables": ["agent_conversations"], "max_rows": 10 });
        let made = said(&agent, "generate-sql", asked).await.unwrap();
        let sql = made["sql"].as_str().unwrap();
        let expected =
            "SELECT id, topic, message_count, created_at FROM agent_conversations ORDER BY created_at DESC LIMIT 10";
        assert_eq!(sql, expected, "{backend:?}");
        business.database.sql(&format!("EXPLAIN {sql}"));
        let error = said(&agent, "generate-sql", json!({ "query": "top 10 wishes" })).await.unwrap_err();
        assert!(error.starts_with("Cannot translate query: "), "{backend:?}: {error}");

        let found = said(&agent, "execute-sql", json!({ "sql": sql })).await.unwrap();
        assert_eq!((&found["row_count"], &found["sql_executed"]), (&json!(10), &json!(sql)), "{backend:?}");
        assert_eq!(found["columns"], json!(["id", "topic", "message_count", "created_at"]), "{backend:?}");
        let ids: Vec<_> = found["data"].as_array().unwrap().iter().map(|row| row["id"].as_i64().unwrap()).collect();
        assert_eq!(ids, (3..=12).rev().collect::<Vec<_>>(), "{backend:?}: the newest first");

        let analysed = json!({ "data": found["data"], "analysis_prompt": "How busy were they?" });
        let summary = said(&agent, "analyze-results", analysed.clone()).await.unwrap();
        assert_eq!(summary, said(&agent, "analyze-results", analysed).await.unwrap(), "{backend:?}: the same twice");
        assert_eq!(summary["analysis"]["row_count"], 10);
        let counted =
            summary["analysis"]["columns"].as_array().unwrap().iter().find(|one| one["name"] == "message_count");
        let counted = counted.unwrap();
        assert_eq!(
            (&counted["min"], &counted["max"], &counted["sum"]),
            (&json!(3), &json!(12), &json!(75)),
            "{backend:?}"
        );

        for (arguments, rows, truncated) in [
            (json!({ "sql": "select id from pots order by id", "max_rows": 3 }), 3, true),
            (json!({ "sql": "select id from pots order by id;", "max_rows": 5 }), 5, false),
            (json!({ "sql": "select id, name from pots where id < 0" }), 0, false),
        ] {
            let found = said(&agent, "execute-sql", arguments.clone()).await.unwrap();
            assert_eq!((&found["row_count"], &found["truncated"]), (&json!(rows), &json!(truncated)), "{arguments}");
            assert_eq!(found["columns"][0], "id", "{backend:?} {arguments}");
        }
        let error = said(&agent, "execute-sql", json!({ "sql": "select nothing from pots" })).await.unwrap_err();
        assert!(error.contains("nothing"), "{backend:?}: {error}");
        world.eventually("SELECT count(*) FROM audit_logs WHERE agent_id = 'a-1'", 11).await;
    }
}

// acceptance 100: refused by the chain, and by the tool and the database alone; nothing has changed.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_written_through_execute_sql() {
    for backend in Backend::ALL {
        let business = Business::open(backend);
        // In the second world the operator has told the chain to leave this tool's SQL alone.
        let own = json!({
            "manifests": [manifest("supabase", "execute-sql", "READ_ONLY")],
            "handling": { "supabase/execute-sql": { "sql": "off" } },
        });
        let worlds = [
            (business.world(backend.store()).start(), true),
            (business.world(backend.store()).manifest_file("supabase", own).start(), false),
        ];
        for (world, by_chain) in &worlds {
            let agent = world.agent("a-5", "A5");
            for sql in business::WRITES {
                let answer = agent.call("supabase/execute-sql", json!({ "sql": sql })).await;
                assert!(answer.is_tool_error(), "{backend:?}: {sql}: {}", answer.text());
                let judged = answer.denied_by().contains(&"sql_guard".to_owned());
                assert_eq!(judged, *by_chain, "{backend:?}: {sql}: {}", answer.text());
            }
            let answer = agent.call("supabase/execute-sql", json!({ "sql": "/* x */ DrOp table pots" })).await;
            let sentence = "Security violation: Operation 'DROP' is not allowed in read-only mode. Denied operations: DROP, TRUNCATE, ALTER, DELETE, UPDATE";
            assert!(words(&answer).contains(sentence), "{backend:?}: {}", answer.text());
            for sql in
                ["select updated_at from pots", "select id from pots where name <> 'DROP'", "select 'DELETE' as word"]
            {
                said(&agent, "execute-sql", json!({ "sql": sql }))
                    .await
                    .unwrap_or_else(|error| panic!("{sql}: {error}"));
            }
        }
        assert_eq!(business.database.sql("SELECT count(*), max(id) FROM pots"), "5|5", "{backend:?}");
        assert_eq!(business.database.sql("SELECT count(*) FROM secrets"), "1", "{backend:?}");
    }
}

// acceptance 96, acceptance 98, acceptance 101: the operator's list, in the schema, in questions and in statements.
#[tokio::test(flavor = "multi_thread")]
async fn only_allowed_tables_are_read() {
    for backend in Backend::ALL {
        let business = Business::open(backend);
        let section = business.section(json!({ "allowed_tables": ["pots", "agent_conversations"] }));
        let world = business.world(backend.store()).set("built_in", section).start();
        let agent = world.agent("a-5", "A5");
        let schema = said(&agent, "get-schema", json!({})).await.unwrap();
        assert_eq!(names(&schema), ["agent_conversations", "pots"], "{backend:?}");
        let outside = "Security violation: Table 'secrets' is not allowed. Allowed tables: pots, agent_conversations";
        for (tool, arguments) in [
            ("get-schema", json!({ "tables": ["secrets"] })),
            ("generate-sql", json!({ "query": "first 3 secrets by id", "tables": ["secrets"] })),
            ("execute-sql", json!({ "sql": "select id from secrets" })),
        ] {
            assert_eq!(said(&agent, tool, arguments).await.unwrap_err(), outside, "{backend:?} {tool}");
        }
        let error = said(&agent, "generate-sql", json!({ "query": "first 3 secrets by id" })).await.unwrap_err();
        assert!(error.starts_with("Cannot translate query: I do not know the word `secrets`"), "{backend:?}: {error}");
        for sql in [
            "select p.id from pots p join secrets s on s.id = p.id",
            "select id from pots where id in (select id from secrets)",
            "with x as (select id from secrets) select id from x",
            "select (select max(id) from secrets) as top from pots",
            "select id from \"secrets\"",
            "select id from pots union all select id from secrets",
            "with pots as (select id from secrets) select id from pots",
        ] {
            let error = said(&agent, "execute-sql", json!({ "sql": sql })).await.unwrap_err();
            assert_eq!(error, outside, "{backend:?}: {sql}");
        }
        for sql in ["select id from pots", "with secrets as (select id from pots) select id from secrets"] {
            said(&agent, "execute-sql", json!({ "sql": sql })).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_that_takes_too_long_is_stopped() {
    for backend in Backend::ALL {
        let business = Business::open(backend);
        let world = business.world(backend.store()).start();
        let agent = world.agent("a-1", "A1");
        let endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select max(i) from n";
        let error = said(&agent, "execute-sql", json!({ "sql": endless, "timeout": 1 })).await.unwrap_err();
        assert_eq!(error, "the query was stopped after 1 seconds", "{backend:?}");
        assert_eq!(said(&agent, "execute-sql", json!({ "sql": "select id from pots" })).await.unwrap()["row_count"], 5);
    }
}

async fn put(world: &World, tools: Value, security: Value) {
    let configuration = json!({ "tools": tools, "security": security, "stopOnError": false });
    let record = json!({
        "organization_slug": "acme", "slug": "reader", "display_name": "Reader", "agent_type": "tool",
        "mode_profile": "tool_full", "status": "active", "yaml": json!({ "configuration": configuration }).to_string(),
    });
    let put = world.api("POST", "/api/admin/agents", &world.admin_key, Some(record)).await;
    assert!([200, 201].contains(&put.status), "{}", put.text());
}

async fn build(world: &World, params: Value) -> Value {
    let request = json!({ "mode": "build", "payload": { "toolParams": params } });
    world.api("POST", "/api/agents/acme/reader/tasks", &world.admin_key, Some(request)).await.message()
}

// acceptance 87, acceptance 91: what a tool agent may read is its own record's word, in every tool and whatever is asked.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_held_to_its_agents_tables() {
    for backend in Backend::ALL {
        let business = Business::open(backend);
        let world = business.world(backend.store()).start();
        let tools =
            json!(["supabase/get-schema", "supabase/generate-sql", "supabase/execute-sql", "supabase/analyze-results"]);
        put(&world, tools.clone(), json!({ "allowed_tables": ["agent_conversations"] })).await;
        let query = json!({ "supabase/generate-sql": { "query": "top 4 conversations by date" } });
        let built = build(&world, query).await;
        let results = built["results"].as_array().unwrap_or_else(|| panic!("{backend:?}: {built}"));
        assert!(results.iter().all(|one| one["success"] == true), "{backend:?}: {built}");
        assert_eq!(names(&results[0]["result"]), ["agent_conversations"], "{backend:?}");
        assert_eq!(results[2]["result"]["sql_executed"], results[1]["result"]["sql"], "{backend:?}: handed on");
        assert_eq!(results[3]["result"]["analysis"]["row_count"], 4, "{backend:?}: handed on");
        world.eventually("SELECT count(*) FROM audit_logs WHERE agent_id = 'reader'", 4).await;

        let asked = json!({
            "supabase/get-schema": { "tables": ["pots"] }, "supabase/generate-sql": { "query": "first 2 pots by id" },
            "supabase/execute-sql": { "sql": "select id from pots" }, "supabase/analyze-results": { "data": [] },
        });
        let built = build(&world, asked).await;
        let errors: Vec<_> = built["results"].as_array().unwrap().iter().map(|one| one["error"].as_str()).collect();
        assert!(errors[0].is_some_and(|said| said.contains("Table 'pots' is not allowed")), "{backend:?}: {errors:?}");
        assert!(
            errors[1].is_some_and(|said| said.contains("I do not know the word `pots`")),
            "{backend:?}: {errors:?}"
        );
        assert!(errors[2].is_some_and(|said| said.contains("`pots`")), "{backend:?}: {errors:?}");
        assert_eq!(errors[3], None);
        // Nobody but the run is held to it.
        let agent = world.agent("a-1", "A1");
        said(&agent, "execute-sql", json!({ "sql": "select id from pots" })).await.unwrap();
    }
}

// acceptance 85, acceptance 86: what is missing is said in the words people know, before anything runs.
#[tokio::test(flavor = "multi_thread")]
async fn without_its_database_nothing_is_run() {
    let nothing_set = "Required environment variable SUPABASE_URL (or key) is not set";
    let tools = || json!(["supabase/get-schema"]);
    for (variables, missing) in
        [(vec![], "SUPABASE_URL"), (vec![("SUPABASE_URL", "https://project.example.com")], "SUPABASE_KEY")]
    {
        let world = variables.iter().fold(World::on(Kind::Sqlite), |world, (name, value)| world.variable(name, value));
        let world = world.start();
        put(&world, tools(), json!({})).await;
        let refused = build(&world, json!({})).await;
        assert_eq!((&refused["error"], &refused["data"]["missing"]), (&json!(nothing_set), &json!([missing])));
        let agent = world.agent("a-1", "A1");
        assert!(!agent.modern().tools("/mcp").await.iter().any(|tool| tool.starts_with("supabase")));
        assert_eq!(world.database.count("SELECT count(*) FROM agent_tasks"), 0);
    }
    for backend in Backend::ALL {
        let mut business = Business::open(backend);
        let world = business.world(backend.store()).start();
        put(&world, tools(), json!({})).await;
        assert_eq!(build(&world, json!({})).await["success"], true, "{backend:?}");
        let before = world.database.count("SELECT count(*) FROM agent_tasks");
        business.take_away();
        let refused = build(&world, json!({})).await;
        assert_eq!(refused["error"], "MCP server is not available (namespace: supabase)", "{backend:?}");
        assert_eq!(world.database.count("SELECT count(*) FROM agent_tasks"), before);
        let agent = world.agent("a-1", "A1");
        let error = said(&agent, "get-schema", json!({})).await.unwrap_err();
        assert_eq!(error, "the database cannot be reached right now, try again", "{backend:?}");
    }
}

// acceptance 102: nobody is asked. Sockets of the gateway's own process that it has opened itself are looked for all the while.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_model_nothing_goes_out() {
    let business = Business::open(Backend::Sqlite);
    let mut world = business.world(Kind::Sqlite).start();
    let agent = world.agent("a-1", "A1");
    let (pid, own) = (world.gateway().pid(), [world.port, world.console_port]);
    let (stop, seen) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
    let looking = {
        let (stop, seen) = (Arc::clone(&stop), Arc::clone(&seen));
        std::thread::spawn(move || {
            let mut looks = 0_u32;
            while !stop.load(Ordering::Relaxed) {
                seen.lock().unwrap().extend(business::outbound(pid, &own));
                looks += 1;
                std::thread::sleep(Duration::from_millis(5));
            }
            looks
        })
    };
    for _ in 0..20 {
        said(&agent, "generate-sql", json!({ "query": "top 10 conversations by date" })).await.unwrap();
        said(&agent, "analyze-results", json!({ "data": [{ "n": 1 }, { "n": 2 }] })).await.unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    assert!(looking.join().unwrap() > 0);
    assert_eq!(*seen.lock().unwrap(), Vec::<String>::new());
}

// acceptance 102: a model that the operator named answers instead, and its SQL passes the same checks.
#[tokio::test(flavor = "multi_thread")]
async fn a_named_model_is_asked_and_not_trusted() {
    let business = Business::open(Backend::Sqlite);
    let folder = tempfile::tempdir().unwrap();
    let (_model, port) = servers::model(folder.path());
    let llm =
        json!({ "endpoint": format!("http://127.0.0.1:{port}/v1/chat/completions"), "model": "m-1", "key": "k-1" });
    let section = business.section(json!({ "allowed_tables": ["pots"] }));
    let world = business.world(Kind::Sqlite).set("built_in", section).set("llm", llm).start();
    let agent = world.agent("a-1", "A1");
    let ask = |say: &str| json!({ "query": format!("say: {say}") });
    let made = said(&agent, "generate-sql", ask("```sql\nselect id from pots limit 2;\n```")).await.unwrap();
    assert_eq!((&made["sql"], &made["by"]), (&json!("select id from pots limit 2"), &json!("model")));
    assert_eq!(made["tables_used"], json!(["pots"]));
    for (say, error) in [
        ("delete from pots", "Security violation: Operation 'DELETE' is not allowed"),
        ("select id from secrets", "Security violation: Table 'secrets' is not allowed"),
        ("select nothing from pots", "Cannot translate query: the database would not run it"),
        ("sorry, no", "syntax"),
        ("fall over", "the model endpoint did not answer"),
    ] {
        let told = said(&agent, "generate-sql", ask(say)).await.unwrap_err();
        assert!(told.contains(error) || error == "syntax", "{say}: {told}");
    }
    let rows = json!({ "data": [{ "n": 1 }, { "n": 4 }], "analysis_prompt": "say: Two." });
    let summary = said(&agent, "analyze-results", rows).await.unwrap();
    assert_eq!((&summary["summary"], &summary["analysis"]["columns"][0]["sum"]), (&json!("Two."), &json!(5)));
    let asked = std::fs::read_to_string(folder.path().join("asked.log")).unwrap();
    let first: Value = serde_json::from_str(asked.lines().next().unwrap()).unwrap();
    assert_eq!((&first["token"], &first["asked"]["model"]), (&json!("Bearer k-1"), &json!("m-1")));
    assert!(!asked.contains("secrets ("), "what may not be read is not told of");
    assert_eq!(business.database.sql("SELECT count(*) FROM pots"), "5");
}

// An upstream of that name takes the place of the built-in server.
#[tokio::test(flavor = "multi_thread")]
async fn a_configured_upstream_comes_first() {
    let business = Business::open(Backend::Sqlite);
    let stub = portreeve_tests::Stub::start(&["list_tables"]).await;
    let world = business.world(Kind::Sqlite).upstream("supabase", json!({ "url": stub.url() }));
    let world = world.manifests("supabase", &[("list_tables", "READ_ONLY")]).start();
    let agent = world.agent("a-1", "A1");
    assert_eq!(agent.tools("/supabase/mcp").await, ["list_tables"]);
}
