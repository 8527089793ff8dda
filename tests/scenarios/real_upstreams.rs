//! Real servers on stdio: children of the gateway, one per agent or one for all.

use portreeve_tests::environment::{everything_server, installed, node};
use portreeve_tests::{Kind, World};
use serde_json::json;

use crate::real_clients::{python, typescript};

#[test]
fn sqlite_time_and_everything_on_stdio() {
    let outside = tempfile::tempdir().unwrap();
    let database = outside.path().join("shop.db");
    let world = World::on(Kind::Sqlite)
        .upstream(
            "sqlite",
            json!({ "command": installed("python/sqlite/bin/mcp-server-sqlite"), "args": ["--db-path", database] }),
        )
        .upstream("time", json!({ "command": installed("python/mcp/bin/mcp-server-time"), "sharing": "shared" }))
        .upstream("everything", json!({ "command": node(), "args": [everything_server(), "stdio"] }))
        .manifests(
            "sqlite",
            &[
                ("read_query", "READ_ONLY"),
                ("write_query", "LOW_WRITE"),
                ("create_table", "LOW_WRITE"),
                ("list_tables", "READ_ONLY"),
            ],
        )
        .manifests("time", &[("get_current_time", "READ_ONLY"), ("convert_time", "READ_ONLY")])
        .manifests("everything", &[("echo", "READ_ONLY"), ("trigger-long-running-operation", "READ_ONLY")])
        .start();
    let (writer, reader) = (world.agent("writer", "A3"), world.agent("reader", "A1"));
    let good = |answer: &serde_json::Value| answer["is_error"] == json!(false) && answer["error"].is_null();

    let url = world.url("/sqlite/mcp");
    let create = python(
        &url,
        &writer,
        &["--tool", "create_table", "--arguments", r#"{"query":"CREATE TABLE pots (name TEXT)"}"#],
    );
    assert!(good(&create), "{create}");
    let insert = typescript(
        &url,
        &writer,
        &["--tool", "write_query", "--arguments", r#"{"query":"INSERT INTO pots VALUES ('teapot')"}"#],
    );
    assert!(good(&insert), "{insert}");
    let refused = python(&url, &reader, &["--tool", "write_query", "--arguments", r#"{"query":"DELETE FROM pots"}"#]);
    assert_eq!(refused["is_error"], true, "{refused}");
    let read = python(&url, &reader, &["--tool", "read_query", "--arguments", r#"{"query":"SELECT name FROM pots"}"#]);
    assert!(read["result"].to_string().contains("teapot"), "the refused write did not happen: {read}");

    let url = world.url("/time/mcp");
    let zone = r#"{"timezone":"Europe/Paris"}"#;
    for (answer, revision) in [
        (
            python(&url, &reader, &["--mode", "default", "--tool", "get_current_time", "--arguments", zone]),
            "2026-07-28",
        ),
        (python(&url, &reader, &["--mode", "legacy", "--tool", "get_current_time", "--arguments", zone]), "2025-11-25"),
        (
            typescript(&url, &writer, &["--mode", "legacy", "--tool", "get_current_time", "--arguments", zone]),
            "2025-11-25",
        ),
    ] {
        assert!(good(&answer) && answer["result"].to_string().contains("Europe/Paris"), "{answer}");
        assert_eq!(answer["protocol_version"], revision, "{answer}");
    }

    let url = world.url("/everything/mcp");
    let echo = typescript(
        &url,
        &reader,
        &["--mode", "auto", "--tool", "echo", "--arguments", r#"{"message":"through a pipe"}"#],
    );
    assert!(good(&echo) && echo["result"].to_string().contains("through a pipe"), "{echo}");
    assert_eq!(echo["protocol_version"], "2026-07-28", "whatever the program speaks: {echo}");
    let long = python(
        &url,
        &reader,
        &[
            "--mode",
            "legacy",
            "--callbacks",
            "--tool",
            "trigger-long-running-operation",
            "--arguments",
            r#"{"duration":1,"steps":4}"#,
        ],
    );
    assert!(
        good(&long) && long["seen"].to_string().contains("progress"),
        "progress with the client's own token: {long}"
    );
    assert_eq!(world.verify().0, 0);
}
