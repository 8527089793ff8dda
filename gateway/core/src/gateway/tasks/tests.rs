#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::needless_pass_by_value)]

use futures::StreamExt;
use gateway_protocol::{Message, Reply, sse};
use serde_json::{Value, json};

use crate::exchange::Exchange;
use crate::gateway::Verb;
use crate::ports::{Answered, Content, StreamItem};
use crate::refusal::Answer;
use crate::testing::bench::{Bench, agent, inbound, one, said, sent};

fn reply(exchange: &Exchange, result: Value) -> Answered {
    Answered::one(200, &Message::result(exchange.message().unwrap().id().cloned().unwrap(), result))
}

fn legacy(bench: &Bench, method: &str, params: Value) -> Answer {
    bench.legacy(&json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }), None)
}

/// A legacy server that runs one task, `t-1`, and has another of somebody else's.
fn server(exchange: &Exchange) -> Answered {
    match exchange.method() {
        Some("tools/call") => reply(exchange, json!({ "task": { "taskId": "t-1", "status": "working" } })),
        Some("tasks/get") => reply(exchange, json!({ "taskId": "t-1", "status": "completed" })),
        Some("tasks/result") => {
            let related = json!({ "io.modelcontextprotocol/related-task": { "taskId": "t-1" } });
            reply(exchange, json!({ "content": [{ "type": "text", "text": "done" }], "_meta": related }))
        }
        _ => reply(exchange, json!({ "tasks": [{ "taskId": "t-1" }, { "taskId": "t-2" }] })),
    }
}

#[test]
fn a_legacy_task_is_its_callers_from_the_call_to_the_result() {
    let bench = Bench::new();
    bench.answers(server);
    let call = json!({ "name": "read", "arguments": {}, "task": { "ttl": 1000 } });
    let made = one(legacy(&bench, "tools/call", call));
    let id = made["result"]["task"]["taskId"].as_str().unwrap().to_owned();
    assert_ne!(id, "t-1");

    let got = one(legacy(&bench, "tasks/get", json!({ "taskId": id })));
    assert_eq!(got["result"]["taskId"], *id, "a task keeps its name");
    assert_eq!(sent(bench.world.calls.lock().unwrap().last().unwrap())["params"]["taskId"], "t-1");
    let result = one(legacy(&bench, "tasks/result", json!({ "taskId": id })));
    assert_eq!(result["result"]["_meta"]["io.modelcontextprotocol/related-task"]["taskId"], *id);
    let listed = one(legacy(&bench, "tasks/list", json!({})));
    assert_eq!(listed["result"]["tasks"], json!([{ "taskId": id }]), "not known is not yours");

    let rows = bench.world.rows.lock().unwrap();
    assert_eq!(rows[2].tool.as_ref().unwrap().as_str(), "crm/read", "the output is the tool's");
    let context: Value = serde_json::from_str(bench.world.traces.lock().unwrap()[2].context.as_str()).unwrap();
    assert_eq!(context["task"], crate::digest::named(b"t-1"));
    drop(rows);

    let before = bench.calls();
    for stranger in ["t-1", "", &id] {
        *bench.world.principal.lock().unwrap() = agent("a-2");
        for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
            let refused = legacy(&bench, method, json!({ "taskId": stranger }));
            assert_eq!((refused.status, one(refused)["error"]["message"].clone()), (400, json!("Task not found")));
        }
    }
    assert_eq!(one(legacy(&bench, "tasks/list", json!({})))["result"]["tasks"], json!([]));
    assert_eq!(bench.calls(), before + 1, "only the list went upstream");
}

#[test]
fn a_task_of_the_extension_is_sealed_though_nobody_asked_for_one() {
    let bench = Bench::new();
    bench.answers(|exchange| match exchange.method() {
        Some("tools/call") => reply(exchange, json!({ "resultType": "task", "taskId": "t-1", "status": "working" })),
        _ => reply(
            exchange,
            json!({ "resultType": "complete", "taskId": "t-1", "status": "completed", "result": { "content": [] } }),
        ),
    });
    let made = one(bench.modern("tools/call", json!({ "name": "read", "arguments": {} })));
    let id = made["result"]["taskId"].as_str().unwrap().to_owned();
    assert_ne!(id, "t-1");
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let got = one(bench.modern(method, json!({ "taskId": id })));
        assert_eq!(got["result"]["taskId"], *id, "{method}");
        let calls = bench.world.calls.lock().unwrap();
        let last = calls.last().unwrap();
        assert_eq!(sent(last)["params"]["taskId"], "t-1");
        assert_eq!(last.about.as_ref().unwrap().as_str(), "crm/read");
    }
    // A call that says nothing of tasks is not looked into, whatever its output is called.
    bench.answers(|exchange| reply(exchange, json!({ "content": [], "structuredContent": { "taskId": "mine" } })));
    let plain = one(bench.modern("tools/call", json!({ "name": "read" })));
    assert_eq!(plain["result"]["structuredContent"]["taskId"], "mine");
}

#[test]
fn news_of_a_task_comes_to_its_caller_alone() {
    let bench = Bench::new();
    bench.answers(server);
    let call = json!({ "name": "read", "arguments": {}, "task": {} });
    let id = one(legacy(&bench, "tools/call", call))["result"]["task"]["taskId"].clone();
    bench.answers(|_| {
        let news = ["t-1", "t-2"].map(|task| {
            let params = json!({ "taskId": task, "status": "completed" }).as_object().cloned();
            let reply = Reply::from_message(&Message::notification("notifications/tasks/status", params));
            Ok(StreamItem::Event { frame: sse::Event::default(), reply: Some(reply) })
        });
        Answered { status: 200, session: None, content: Content::Stream(futures::stream::iter(news).boxed()) }
    });
    let heard = |bench: &Bench| {
        said(bench.handle(inbound(Verb::Get)))
            .into_iter()
            .map(|message| message["params"]["taskId"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(heard(&bench), [id]);
    *bench.world.principal.lock().unwrap() = agent("a-2");
    assert!(heard(&bench).is_empty());
}
