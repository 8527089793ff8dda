//! Tasks of both wires: the output that is fetched later is still the tool's, and only its caller's.

use portreeve_tests::{Agent, Answer, Kind, Step, Stub, World};
use serde_json::{Value, json};

async fn a_world(steps: Vec<Step>) -> (World, Stub) {
    let stub = Stub::scripted(steps).await;
    let world = World::on(Kind::Sqlite)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &[("slow", "READ_ONLY")])
        .start();
    (world, stub)
}

async fn ask(agent: &Agent, method: &str, params: Value) -> Answer {
    agent.post("/crm/mcp", &json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })).await
}

#[track_caller]
fn assert_not_found(answer: &Answer) {
    assert_eq!((answer.status, answer.message()["error"]["message"].clone()), (400, json!("Task not found")));
}

fn task(status: &str) -> Value {
    json!({ "taskId": "t-1", "status": status, "createdAt": "2026-01-01T00:00:00Z", "ttl": null })
}

#[tokio::test]
async fn a_legacy_task_is_fetched_by_its_caller_alone() {
    let done = json!({ "content": [{ "type": "text", "text": "the output" }],
        "_meta": { "io.modelcontextprotocol/related-task": { "taskId": "t-1" } } });
    let (world, stub) = a_world(vec![
        Step::on("tools/call").result(json!({ "task": task("working") })),
        Step::on("tasks/get").result(task("completed")).always(),
        Step::on("tasks/result").result(done).always(),
        Step::on("tasks/list")
            .result(json!({ "tasks": [task("completed"), { "taskId": "t-9", "status": "working" }] }))
            .always(),
    ])
    .await;
    let (agent, stranger) = (world.agent("a-1", "A1"), world.agent("a-2", "A1"));
    let made =
        ask(&agent, "tools/call", json!({ "name": "slow", "arguments": {}, "task": { "ttl": 60000 } })).await.message();
    let id = made["result"]["task"]["taskId"].as_str().unwrap_or_else(|| panic!("no task in {made}")).to_owned();
    assert!(!id.contains("t-1"));

    let seen = stub.seen().len();
    for (who, id) in [(&stranger, id.as_str()), (&stranger, "t-1"), (&agent, "t-1")] {
        for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
            assert_not_found(&ask(who, method, json!({ "taskId": id })).await);
        }
    }
    assert_eq!(stub.seen().len(), seen, "nobody else's question reached the server");

    let got = ask(&agent, "tasks/get", json!({ "taskId": id })).await.message();
    assert_eq!((&got["result"]["taskId"], &got["result"]["status"]), (&json!(id), &json!("completed")));
    let output = ask(&agent, "tasks/result", json!({ "taskId": id })).await.message();
    assert_eq!(output["result"]["content"][0]["text"], "the output");
    assert_eq!(stub.seen().pop().unwrap().1["params"]["taskId"], "t-1", "the server gets its own id");
    let ids = |answer: &Answer| {
        let message = answer.message();
        let tasks = message["result"]["tasks"].as_array().cloned().unwrap_or_else(|| panic!("no tasks in {message}"));
        tasks.iter().map(|task| task["taskId"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&ask(&agent, "tasks/list", json!({})).await), [json!(id)]);
    assert!(ids(&ask(&stranger, "tasks/list", json!({})).await).is_empty());

    // The output is recorded under the tool it came from.
    let rows = "SELECT count(*) FROM audit_logs l JOIN tool_registry t ON t.id = l.tool_id \
        WHERE t.name = 'crm/slow' AND l.output_payload LIKE '%the output%'";
    world.eventually(rows, 1).await;
    let digests = "SELECT count(*) FROM agent_traces WHERE json_extract(context, '$.task') LIKE 'sha256:%'";
    world.eventually(digests, 2).await;
}

#[tokio::test]
async fn a_task_of_the_extension_is_fetched_by_its_caller_alone() {
    let capabilities = json!({ "tools": {}, "extensions": { "io.modelcontextprotocol/tasks": {} } });
    let mut finished = task("completed");
    finished["resultType"] = json!("complete");
    finished["result"] = json!({ "content": [{ "type": "text", "text": "the output" }] });
    let mut working = task("working");
    working["resultType"] = json!("task");
    let (world, stub) = a_world(vec![
        Step::modern_server(&capabilities),
        Step::on("tools/call").result(working),
        Step::on("tasks/get").result(finished).always(),
    ])
    .await;
    let (agent, stranger) = (world.agent("a-1", "A1").modern(), world.agent("a-2", "A1").modern());
    let made = ask(&agent, "tools/call", json!({ "name": "slow", "arguments": {} })).await.message();
    let id = made["result"]["taskId"].as_str().unwrap_or_else(|| panic!("no task in {made}")).to_owned();
    let seen = stub.seen().len();
    assert_not_found(&ask(&stranger, "tasks/get", json!({ "taskId": id })).await);
    assert_not_found(&ask(&agent, "tasks/get", json!({ "taskId": "t-1" })).await);
    assert_eq!(stub.seen().len(), seen);
    let got = ask(&agent, "tasks/get", json!({ "taskId": id })).await.message();
    assert_eq!(got["result"]["taskId"], json!(id));
    assert_eq!(got["result"]["result"]["content"][0]["text"], "the output");
    let (headers, message) = stub.seen().pop().unwrap();
    assert_eq!((headers["mcp-name"].to_str().unwrap(), &message["params"]["taskId"]), ("t-1", &json!("t-1")));
}
