//! Cancelling on a wire that carries many calls: a message cancels one of them; the end of the wire cancels all of the stateless era,
//! and none of the session eras.

use std::time::Duration;

use portreeve_tests::messages::{initialize, initialized, modern_meta, request};
use portreeve_tests::{Agent, Kind, Piece, Step, Stub, World};
use serde_json::{Value, json};

fn progress() -> Piece {
    Piece::notification("notifications/progress", json!({ "progressToken": "$token", "progress": 1 }))
}

async fn a_world(steps: Vec<Step>) -> (World, Stub, Agent) {
    let stub = Stub::scripted(steps).await;
    let world = World::on(Kind::Sqlite)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &[("slow", "READ_ONLY")])
        .start();
    let agent = world.agent("a-1", "A1");
    (world, stub, agent)
}

fn call(id: i32, modern: bool) -> Value {
    let mut meta = if modern { modern_meta() } else { json!({}) };
    meta["progressToken"] = json!(format!("p-{id}"));
    request(id, "tools/call", json!({ "name": "slow", "arguments": {}, "_meta": meta }))
}

fn cancelled(id: i32) -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id, "reason": "enough" } })
}

async fn until_asked(stub: &Stub, method: &str) {
    for _ in 0..400 {
        if stub.asked(method) > 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("{method} never arrived");
}

const CANCELLED: &str = "SELECT count(*) FROM audit_logs WHERE status_code = 'cancelled'";
const ENDED_WELL: &str = "SELECT count(*) FROM audit_logs WHERE status_code = 'ok'";

#[tokio::test(flavor = "multi_thread")]
async fn a_modern_message_cancels_one_call_of_a_socket() {
    let quiet = || Step::on("tools/call").stream([progress(), Piece::Silence]);
    let (world, stub, agent) =
        a_world(vec![Step::modern_server(&json!({ "tools": {} })), quiet(), quiet(), quiet()]).await;
    let mut socket = agent.ws("/crm/ws", &[]).unwrap();
    for id in [1, 2] {
        socket.send(&call(id, true));
        assert_eq!(socket.hear().unwrap()["params"]["progressToken"], format!("p-{id}"));
    }
    socket.send(&cancelled(1));
    stub.until_left(1).await;
    world.eventually(CANCELLED, 1).await;
    // Its id is free again, and nobody was answered for it meanwhile.
    socket.send(&call(1, true));
    assert_eq!(socket.hear().unwrap()["params"]["progressToken"], "p-1");
    assert_eq!(stub.left(), 1, "the other call goes on");

    // The wire ends, and with it what was begun on it.
    socket.close();
    stub.until_left(3).await;
    world.eventually(CANCELLED, 3).await;
    assert_eq!(stub.asked("notifications/cancelled"), 0, "the stateless era cancels by hanging up");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_modern_message_cancels_a_call_of_a_legacy_server_too() {
    let quiet = Step::on("tools/call").stream([progress(), Piece::Silence]).always();
    let refuses = Step::on("server/discover").error(400, -32000, "Server not initialized").always();
    let (world, stub, agent) = a_world(vec![Step::legacy_server(), refuses, quiet]).await;
    let mut socket = agent.ws("/crm/ws", &[]).unwrap();
    socket.send(&call(1, true));
    assert_eq!(socket.hear().unwrap()["params"]["progressToken"], "p-1");
    socket.send(&cancelled(1));
    until_asked(&stub, "notifications/cancelled").await;
    let seen = stub.seen();
    let find = |method: &str| seen.iter().find(|(_, message)| message["method"] == method).unwrap().1.clone();
    let told = find("notifications/cancelled");
    assert_eq!(told["params"]["requestId"], find("tools/call")["id"], "in the upstream's own numbers");
    world.eventually(CANCELLED, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_of_the_session_eras_may_go_without_ending_its_calls() {
    let slow = [progress(), Piece::Pause(Duration::from_millis(600)), Piece::answer(json!({ "content": [] }))];
    let (world, stub, agent) = a_world(vec![Step::legacy_server(), Step::on("tools/call").stream(slow)]).await;
    let mut socket = agent.ws("/crm/ws", &[]).unwrap();
    socket.ask(&initialize("2025-11-25", json!({})));
    socket.send(&initialized());
    socket.send(&call(1, false));
    assert_eq!(socket.hear().unwrap()["params"]["progressToken"], "p-1");
    socket.close();
    world.eventually(ENDED_WELL, 1).await;
    until_asked(&stub, "DELETE").await;
    assert_eq!((stub.left(), stub.asked("notifications/cancelled")), (0, 0));
    assert_eq!(world.database.count(CANCELLED), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_legacy_cancellation_is_passed_on_in_its_session() {
    let quiet = Step::on("tools/call").stream([progress(), Piece::Silence]);
    let (_world, stub, agent) = a_world(vec![Step::legacy_server(), quiet]).await;
    let mut socket = agent.ws("/crm/ws", &[]).unwrap();
    socket.ask(&initialize("2025-11-25", json!({})));
    socket.send(&initialized());
    socket.send(&call(1, false));
    assert_eq!(socket.hear().unwrap()["params"]["progressToken"], "p-1");
    socket.send(&cancelled(1));
    until_asked(&stub, "notifications/cancelled").await;
    let (headers, told) =
        stub.seen().into_iter().rev().find(|(_, told)| told["method"] == "notifications/cancelled").unwrap();
    assert_eq!((&headers["mcp-session-id"], &told["params"]["requestId"]), (&"up-1".parse().unwrap(), &json!(1)));
}
