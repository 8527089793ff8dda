//! Clients of every legacy revision in front of a server that speaks only 2026-07-28.

pub mod raw;

use std::path::Path;
use std::process::Command;

use portreeve_tests::environment::{free_port, installed, root};
use portreeve_tests::process::Process;
use portreeve_tests::{Kind, World};
use raw::Raw;
use serde_json::{Value, json};

use crate::real_clients::{python, typescript};

const REVISIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The reference server, restricted to the modern era.
fn modern_server(directory: &Path) -> (Process, u16) {
    let port = free_port();
    let mut command = Command::new(installed("python/mcp/bin/python"));
    command.arg(root().join("tests/servers/one_era.py")).args(["modern", "--port", &port.to_string()]);
    command.current_dir(installed("everything"));
    let mut server = Process::start(&mut command, &directory.join("modern.log"));
    server.wait_for_port(port);
    (server, port)
}

fn world(port: u16) -> World {
    let upstream = json!({ "url": format!("http://127.0.0.1:{port}/mcp"), "unclassified": "observe" });
    World::on(Kind::Sqlite).upstream("modern", upstream).start()
}

fn capabilities() -> Value {
    json!({ "elicitation": {}, "sampling": {}, "roots": {} })
}

/// What a person, a model and a file system would say.
fn answers(asked: &Value) -> Value {
    match asked["method"].as_str().unwrap() {
        "elicitation/create" => json!({ "action": "accept", "content": { "name": "Ada", "color": "blue" } }),
        "sampling/createMessage" => {
            json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": "Paris" } })
        }
        "roots/list" => json!({ "roots": [{ "uri": "file:///home" }] }),
        other => panic!("asked {other}"),
    }
}

fn nothing(asked: &Value) -> Value {
    panic!("asked {asked}")
}

fn text(messages: &[Value]) -> String {
    let last = messages.last().unwrap();
    last["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {last}")).to_owned()
}

// acceptance 41: clients of four revisions and two SDKs, one server that speaks none of theirs; each gets what it would get from a
// server of its own era, and every message fits that revision's schema.
#[tokio::test(flavor = "multi_thread")]
async fn every_legacy_revision_works_with_a_modern_server() {
    let outside = tempfile::tempdir().unwrap();
    let (_server, port) = modern_server(outside.path());
    let world = world(port);
    let agent = world.agent("old", "A5");
    let mut lists = Vec::new();
    for revision in REVISIONS {
        let (client, greeting) = Raw::hello(&agent, "/modern/mcp", revision, capabilities()).await;
        assert!(client.session.is_some() && greeting["capabilities"]["tools"].is_object(), "{greeting}");
        assert_eq!(client.result("ping", json!({})).await, json!({}));
        assert_eq!(client.result("logging/setLevel", json!({ "level": "info" })).await, json!({}));
        let list = client.result("tools/list", json!({})).await;
        let names: Vec<_> = list["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect();
        assert!(names.contains(&json!("test_simple_text")));
        lists.push(names);

        assert!(text(&client.call("test_simple_text", json!({}), nothing).await).contains("simple text"));
        for tool in
            ["test_image_content", "test_audio_content", "test_embedded_resource", "test_multiple_content_types"]
        {
            let messages = client.call(tool, json!({}), nothing).await;
            assert!(messages.last().unwrap()["result"]["content"][0].is_object(), "{revision} {tool}");
        }
        let failed = client.call("test_error_handling", json!({}), nothing).await;
        assert_eq!(failed.last().unwrap()["result"]["isError"], true);
        let logged = client.call("test_tool_with_logging", json!({}), nothing).await;
        let logs = logged.iter().filter(|message| message["method"] == "notifications/message").count();
        assert_eq!(logs, 3, "{revision}");
        client.result("logging/setLevel", json!({ "level": "error" })).await;
        assert_eq!(client.call("test_tool_with_logging", json!({}), nothing).await.len(), 1, "{revision}: quiet");
        let params = json!({ "name": "test_tool_with_progress", "arguments": {}, "_meta": { "progressToken": "p" } });
        let messages = client.ask("tools/call", params, nothing).await;
        let progress: Vec<_> =
            messages.iter().filter(|message| message["method"] == "notifications/progress").collect();
        assert_eq!(progress.len(), 3, "{revision}");
        assert!(progress.iter().all(|message| message["params"]["progressToken"] == "p"));
        let mirrored = client.call("test_x_mcp_header", json!({ "region": "eu" }), nothing).await;
        assert_eq!(text(&mirrored), "region=eu", "{revision}: the header was derived for it");

        client.result("prompts/list", json!({})).await;
        client.result("prompts/get", json!({ "name": "test_simple_prompt" })).await;
        client.result("prompts/get", json!({ "name": "test_prompt_with_image" })).await;
        client.result("resources/list", json!({})).await;
        client.result("resources/templates/list", json!({})).await;
        let read = client.result("resources/read", json!({ "uri": "test://static-text" })).await;
        assert_eq!(read["contents"][0]["uri"], "test://static-text");
        let unknown = client.ask("vendor/unknown", json!({}), nothing).await;
        assert_eq!(unknown.last().unwrap()["error"]["code"], -32601, "{revision}");
    }
    assert!(lists.iter().all(|names| *names == lists[0]), "the same list for all");

    let url = world.url("/modern/mcp");
    for answer in [
        python(&url, &agent, &["--mode", "legacy", "--tool", "test_simple_text"]),
        typescript(&url, &agent, &["--mode", "legacy", "--tool", "test_simple_text"]),
    ] {
        assert_eq!(answer["protocol_version"], "2025-11-25", "{answer}");
        assert!(answer["is_error"] == json!(false) && answer["result"].to_string().contains("simple text"), "{answer}");
    }
    assert_eq!(world.verify().0, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_modern_servers_questions_reach_legacy_clients() {
    let outside = tempfile::tempdir().unwrap();
    let (_server, port) = modern_server(outside.path());
    let world = world(port);
    let agent = world.agent("old", "A5");
    for revision in REVISIONS {
        let (client, _) = Raw::hello(&agent, "/modern/mcp", revision, capabilities()).await;
        let sampled = client.call("test_sampling", json!({ "prompt": "capital?" }), answers).await;
        assert_eq!(text(&sampled), "LLM response: Paris", "{revision}");
        let rooted = client.call("test_input_required_result_list_roots", json!({}), answers).await;
        assert_eq!(text(&rooted), "Client exposed 1 root(s).", "{revision}");
        // Forms came with 2025-06-18; before, whoever asks one is told that nobody answered.
        let forms = revision >= "2025-06-18";
        let asked =
            client.call("test_elicitation", json!({ "message": "Who?" }), |_| json!({ "action": "decline" })).await;
        assert!(
            text(&asked).contains(if forms { "action=decline" } else { "action=cancel" }),
            "{revision}: {asked:#?}"
        );
        assert_eq!(asked.len(), if forms { 2 } else { 1 });
        if forms {
            let greeted = client.call("test_input_required_result_elicitation", json!({}), answers).await;
            assert_eq!(text(&greeted), "Hello, Ada!");
            let rounds = client.call("test_input_required_result_multi_round", json!({}), answers).await;
            assert_eq!(rounds.len(), 3, "two questions, one after the other, and the answer: {rounds:#?}");
            let three = client.call("test_input_required_result_multiple_inputs", json!({}), answers).await;
            assert_eq!(three.len(), 4, "three at once: {three:#?}");
        }
    }
    // One trace for each call, however often it came back with a question.
    let traces = world.database.count("SELECT count(*) FROM agent_traces WHERE agent_id = 'old'");
    assert_eq!(traces, 4 * 3 + 2 * 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn news_of_a_modern_server_come_on_the_get_stream_and_sessions_are_their_owners() {
    let outside = tempfile::tempdir().unwrap();
    let (_server, port) = modern_server(outside.path());
    let world = world(port);
    let (agent, thief) = (world.agent("old", "A5"), world.agent("thief", "A5"));
    for revision in REVISIONS {
        let (client, _) = Raw::hello(&agent, "/modern/mcp", revision, json!({})).await;
        let mut news = client.listen().await;
        assert_eq!(news.status, 200);
        // It is answered once the upstream has acknowledged it, so nothing that follows is missed.
        client.result("resources/subscribe", json!({ "uri": "test://watched-resource" })).await;
        client.call("test_trigger_tool_change", json!({}), nothing).await;
        assert_eq!(news.next().await.unwrap()["method"], "notifications/tools/list_changed", "{revision}");
        client.call("test_trigger_prompt_change", json!({}), nothing).await;
        assert_eq!(news.next().await.unwrap()["method"], "notifications/prompts/list_changed", "{revision}");
        client.result("resources/unsubscribe", json!({ "uri": "test://watched-resource" })).await;

        let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
        assert_eq!(client.stolen_by(&thief).send(&ping).await.status, 404, "{revision}");
        assert_eq!(client.delete().await, 204);
        assert_eq!(news.next().await, None, "the stream ends with its session");
        assert_eq!(client.send(&ping).await.status, 404);
    }
}
