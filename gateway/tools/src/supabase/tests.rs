//! The four tools over a database that is not one: what they show, pass on and refuse.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use gateway_core::agents::Security;
use gateway_core::ports::ReadLimits;
use serde_json::{Value, json};

use super::fakes::{Fake, Says, call, call_within, over};

fn limits(max_rows: usize, seconds: u64) -> ReadLimits {
    ReadLimits { max_rows, timeout: Duration::from_secs(seconds), max_bytes: 4 * 1024 * 1024 }
}

fn security(tables: &[&str]) -> Security {
    let tables = tables.iter().map(|&table| table.to_owned()).collect();
    Security { denied_operations: vec!["INSERT".into()], allowed_tables: Some(tables) }
}

fn names(schema: &Value) -> Vec<&str> {
    schema["tables"].as_array().unwrap().iter().map(|table| table["name"].as_str().unwrap()).collect()
}

// acceptance 96
#[tokio::test]
async fn the_schema_shows_what_may_be_read() {
    let database = Arc::new(Fake::default());
    let server = over(&database, None, None);
    let all = call(&server, "get-schema", json!({})).await.unwrap();
    assert_eq!((names(&all), &all["table_count"]), (vec!["agent_conversations", "users", "notes"], &json!(3)));
    assert_eq!(all["tables"][0]["columns"][0], json!({ "name": "id", "data_type": "integer", "nullable": false }));
    assert_eq!(all["tables"][2]["schema"], "app");
    let one = call(&server, "get-schema", json!({ "tables": ["USERS", "public.users"] })).await.unwrap();
    assert_eq!(names(&one), ["users"]);
    let about = call(&server, "get-schema", json!({ "domain": "Conversation" })).await.unwrap();
    assert_eq!(names(&about), ["agent_conversations"]);
    let unknown = call(&server, "get-schema", json!({ "tables": ["orders"] })).await.unwrap_err();
    assert_eq!(unknown, "there is no table `orders`; the tables are users, agent_conversations, app.notes");

    let server = over(&database, Some(&["users", "app.notes"]), None);
    assert_eq!(names(&call(&server, "get-schema", json!({})).await.unwrap()), ["users", "notes"]);
    let outside = call(&server, "get-schema", json!({ "tables": ["agent_conversations"] })).await.unwrap_err();
    let said = "Security violation: Table 'agent_conversations' is not allowed. Allowed tables: users, app.notes";
    assert_eq!(outside, said);
    let run = Some(security(&["users", "agent_conversations"]));
    let narrowed = call_within(&server, run, "get-schema", json!({})).await.unwrap();
    assert_eq!(names(&narrowed), ["users"], "a run sees what both allow");
    let none = call_within(&server, Some(security(&[])), "get-schema", json!({})).await.unwrap();
    assert_eq!(none, json!({ "tables": [], "table_count": 0 }));
}

// acceptance 97, acceptance 98
#[tokio::test]
async fn a_question_becomes_a_statement_or_an_error() {
    let database = Arc::new(Fake::default());
    let server = over(&database, None, None);
    let asked = json!({ "query": "top 10 conversations by date", "tables": ["agent_conversations"], "max_rows": 10 });
    let made = call(&server, "generate-sql", asked.clone()).await.unwrap();
    let expected = "SELECT id, topic, created_at FROM agent_conversations ORDER BY created_at DESC LIMIT 10";
    assert_eq!((&made["sql"], &made["tables_used"]), (&json!(expected), &json!(["agent_conversations"])));
    assert_eq!((&made["max_rows"], made.get("by")), (&json!(10), None));
    for (query, said) in [
        ("top 10 secrets", "Cannot translate query: I do not know the word `secrets`"),
        ("delete all users", "Cannot translate query: I do not know the word `delete`"),
        (" ", "Invalid query: must not be empty"),
    ] {
        let error = call(&server, "generate-sql", json!({ "query": query })).await.unwrap_err();
        assert!(error.starts_with(said), "{error}");
    }
    let run = Some(security(&["users"]));
    let outside = call_within(&server, run.clone(), "generate-sql", asked).await.unwrap_err();
    assert_eq!(outside, "Security violation: Table 'agent_conversations' is not allowed. Allowed tables: users");
    let unseen = json!({ "query": "top 10 conversations by date" });
    let error = call_within(&server, run, "generate-sql", unseen).await.unwrap_err();
    assert!(error.starts_with("Cannot translate query: I do not know the word `conversations`"), "{error}");
    assert!(database.asked.lock().unwrap().is_empty(), "nothing is read to write a statement");
}

// acceptance 99, acceptance 100, acceptance 101
#[tokio::test]
async fn a_statement_is_checked_and_bounded_before_it_is_run() {
    let database = Arc::new(Fake::default());
    let server = over(&database, Some(&["users", "away"]), None);
    let found = call(&server, "execute-sql", json!({ "sql": "select id from users ;\n" })).await.unwrap();
    let expected = json!({
        "data": [{ "id": 1 }], "row_count": 1, "execution_time_ms": 0, "columns": ["id"],
        "sql_executed": "select id from users", "truncated": false,
    });
    assert_eq!(found, expected);
    let small = json!({ "sql": "select id from users", "max_rows": 1, "timeout": 3 });
    assert_eq!(call(&server, "execute-sql", small).await.unwrap()["truncated"], true);
    let large = json!({ "sql": "select id from users", "max_rows": 10_000, "timeout": 60 });
    call(&server, "execute-sql", large).await.unwrap();
    let asked: Vec<ReadLimits> = database.asked.lock().unwrap().iter().map(|(_, limits)| *limits).collect();
    assert_eq!(asked, [limits(500, 20), limits(1, 3), limits(500, 20)], "what is set is the most");

    let five = "Denied operations: DROP, TRUNCATE, ALTER, DELETE, UPDATE";
    let denied = format!("Security violation: Operation 'DELETE' is not allowed in read-only mode. {five}");
    let in_a_run = format!("{denied}, INSERT");
    for (run, sql, said) in [
        (None, "delete from users", denied.as_str()),
        (Some(security(&["users"])), "delete from users", in_a_run.as_str()),
        (None, "explode", "that is no SQL"),
        (None, "select id from notes", "Security violation: Table 'notes' is not allowed. Allowed tables: users, away"),
        (
            Some(security(&["notes"])),
            "select id from users",
            "Security violation: Table 'users' is not allowed. Allowed tables: none",
        ),
    ] {
        let error = call_within(&server, run, "execute-sql", json!({ "sql": sql })).await.unwrap_err();
        assert_eq!(error, said, "{sql}");
    }
    assert_eq!(database.asked.lock().unwrap().len(), 3, "what is refused does not reach the database");
    let away = call(&server, "execute-sql", json!({ "sql": "select id from away" })).await.unwrap_err();
    assert_eq!(away, "the database cannot be reached right now, try again");
    let long = json!({ "sql": format!("select {} from users", "1,".repeat(100_001)) });
    assert!(call(&server, "execute-sql", long).await.unwrap_err().starts_with("Invalid sql: must be at most"));
}

// acceptance 102
#[tokio::test]
async fn rows_are_summed_up_the_same_way_twice() {
    let server = over(&Arc::default(), None, None);
    let rows = json!({ "data": [{ "n": 1 }, { "n": 4 }], "analysis_prompt": "How many?" });
    let one = call(&server, "analyze-results", rows.clone()).await.unwrap();
    assert_eq!(one.to_string(), call(&server, "analyze-results", rows).await.unwrap().to_string());
    assert_eq!((&one["analysis"]["row_count"], &one["prompt"]), (&json!(2), &json!("How many?")));
    let error = call(&server, "analyze-results", json!({ "data": [[1], [2]] })).await.unwrap_err();
    assert_eq!(error, "Cannot analyze: data must be a list of rows");
    let error = call(&server, "analyze-results", json!({})).await.unwrap_err();
    assert_eq!(error, "Missing required fields: data");
}

#[tokio::test]
async fn a_model_answers_instead_and_is_checked_like_anybody() {
    let database = Arc::new(Fake::default());
    let model = |says| Arc::new(Says(says, Mutex::default()));
    for (says, outcome) in [
        (Some("```sql\nselect id from users limit 5;\n```"), Ok("select id from users limit 5")),
        (
            Some("delete from users"),
            Err("Security violation: Operation 'DELETE' is not allowed in read-only mode. \
                 Denied operations: DROP, TRUNCATE, ALTER, DELETE, UPDATE"),
        ),
        (
            Some("select id from agent_conversations"),
            Err("Security violation: Table 'agent_conversations' is not allowed. Allowed tables: users"),
        ),
        (
            Some("select nothing from users"),
            Err("Cannot translate query: the database would not run it: column \"nothing\" does not exist"),
        ),
        (Some("``` a ``` b ``` c ```"), Err("Cannot translate query: the model answered with something else")),
        (None, Err("the model endpoint did not answer")),
    ] {
        let said = model(says);
        let server = over(&database, Some(&["users"]), Some(Arc::clone(&said)));
        // The grammar would know this one: nothing falls back to it.
        let made = call(&server, "generate-sql", json!({ "query": "first 5 users by id" })).await;
        let expected = outcome.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(made.map(|made| made["sql"].as_str().unwrap().to_owned()), expected, "{says:?}");
        let asked = said.1.lock().unwrap();
        assert!(asked[0].0.contains("users (id integer, email text)") && !asked[0].0.contains("agent_conversations"));
    }
    let said = model(Some("Two rows.\n"));
    let server = over(&database, None, Some(Arc::clone(&said)));
    let rows = json!({ "data": [{ "n": 1 }, { "n": 4 }], "analysis_prompt": "How many?" });
    let one = call(&server, "analyze-results", rows.clone()).await.unwrap();
    assert_eq!((&one["summary"], &one["by"]), (&json!("Two rows."), &json!("model")));
    assert_eq!(one["analysis"]["columns"][0]["sum"], 5, "figures stay ours: {one}");
    assert!(said.1.lock().unwrap()[0].1.starts_with("How many?\n"));
    let server = over(&database, None, Some(model(None)));
    let error = call(&server, "analyze-results", rows).await.unwrap_err();
    assert_eq!(error, "the model endpoint did not answer");
}
