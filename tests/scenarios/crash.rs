//! kill -9 under load: what was acknowledged is in the chain, once, and the chain holds.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use portreeve_tests::{Agent, Kind, Stub, World};
use serde_json::json;

const ROUNDS: usize = 20;
const CALLERS: usize = 8;

/// Calls a tool with side effects until told to stop; returns how many answers it got.
async fn caller(agent: Agent, stop: Arc<AtomicBool>, first: usize) -> Vec<String> {
    let mut acknowledged = Vec::new();
    let mut number = first;
    let client = hyper_util::client::legacy::Client::builder(hyper_util::rt::TokioExecutor::new())
        .build_http::<http_body_util::Full<bytes::Bytes>>();
    while !stop.load(Ordering::Relaxed) {
        let mark = format!("mark-{number}");
        number += 1;
        let message = json!({ "jsonrpc": "2.0", "id": number, "method": "tools/call", "params": { "name": "write", "arguments": { "mark": mark } } });
        let request = hyper::Request::post(format!("{}/crm/mcp", agent.base))
            .header("content-type", "application/json")
            .header("x-api-key", &agent.key)
            .body(http_body_util::Full::new(message.to_string().into()))
            .unwrap();
        match client.request(request).await {
            Ok(answer) if answer.status() == 200 => {
                let Ok(body) = http_body_util::BodyExt::collect(answer.into_body()).await else { continue };
                let answer: serde_json::Value = serde_json::from_slice(&body.to_bytes()).unwrap();
                // A refusal is an answer too, but none that says the call was made.
                let result = &answer["result"];
                if result.is_object() && result["isError"] != true {
                    acknowledged.push(mark);
                }
            }
            // The gateway is gone, or was going: not acknowledged.
            _ => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
    acknowledged
}

async fn nothing_acknowledged_is_lost(kind: Kind) {
    let stub = Stub::start(&["write"]).await;
    let mut world = World::on(kind)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &[("write", "LOW_WRITE")])
        .start();
    let agent = world.agent("a-3", "A3");
    let mut acknowledged: Vec<String> = Vec::new();
    for round in 0..ROUNDS {
        let stop = Arc::new(AtomicBool::new(false));
        let callers: Vec<_> = (0..CALLERS)
            .map(|lane| tokio::spawn(caller(agent.clone(), Arc::clone(&stop), (round * CALLERS + lane) * 1_000_000)))
            .collect();
        tokio::time::sleep(Duration::from_millis(150 + 20 * round as u64)).await;
        world.gateway().signal("KILL");
        stop.store(true, Ordering::Relaxed);
        for caller in callers {
            acknowledged.extend(caller.await.unwrap());
        }
        world.stop_gateway();
        world.start_gateway();
    }
    assert!(acknowledged.len() > ROUNDS, "only {} calls were acknowledged", acknowledged.len());
    // Graceful this time, so that rows nobody waited for are written too.
    world.gateway().signal("TERM");
    world.gateway().wait(Duration::from_secs(30));
    let (code, report) = world.verify();
    assert_eq!(code, 0, "{report}");
    let traced = world.database.sql("SELECT context FROM agent_traces WHERE agent_id = 'a-3' ORDER BY seq");
    let hashes: HashMap<String, usize> = traced.lines().fold(Default::default(), |mut seen, context| {
        let context: serde_json::Value = serde_json::from_str(context).unwrap();
        *seen.entry(context["args_hash"].as_str().unwrap().to_owned()).or_default() += 1;
        seen
    });
    // Whether anybody heard of it or not: nothing is in the chain twice.
    assert!(hashes.values().all(|times| *times == 1), "a call is in the chain twice");
    let made = marks(&stub);
    for mark in &acknowledged {
        let times = made.get(mark).copied().unwrap_or(0);
        assert_eq!(times, 1, "{mark} was acknowledged and reached the tool {times} times");
    }
    for (mark, times) in &made {
        assert_eq!(*times, 1, "{mark} reached the tool twice");
        assert!(hashes.contains_key(&digest(mark)), "{mark} reached the tool and is not in the chain");
    }
    for mark in &acknowledged {
        assert!(hashes.contains_key(&digest(mark)), "{mark} was acknowledged and is not in the chain");
    }
    let rows =
        |what: &str| world.database.count(&format!("SELECT count({what}) FROM audit_logs WHERE agent_id = 'a-3'"));
    assert_eq!(rows("*"), rows("DISTINCT trace_id"), "a row is stored twice");
    let strays = "SELECT count(*) FROM audit_logs WHERE agent_id = 'a-3' \
                  AND trace_id NOT IN (SELECT trace_id FROM agent_traces)";
    assert_eq!(world.database.count(strays), 0, "a row belongs to no trace");
    println!("{} acknowledged, {} traced, {ROUNDS} rounds", acknowledged.len(), hashes.len());
}

/// How often each mark reached the tool.
fn marks(stub: &Stub) -> HashMap<String, usize> {
    let calls = stub.seen().into_iter().filter(|(_, message)| message["method"] == "tools/call");
    calls.fold(HashMap::new(), |mut made, (_, message)| {
        *made.entry(message["params"]["arguments"]["mark"].as_str().unwrap().to_owned()).or_default() += 1;
        made
    })
}

/// SHA-256 of the arguments' canonical form, by the system's own tool.
fn digest(mark: &str) -> String {
    use std::io::Write;
    let mut tool = std::process::Command::new("sha256sum")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    tool.stdin.take().unwrap().write_all(format!("{{\"mark\":\"{mark}\"}}").as_bytes()).unwrap();
    let output = tool.wait_with_output().unwrap().stdout;
    format!("sha256:{}", String::from_utf8(output).unwrap().split_whitespace().next().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_lost_on_sqlite() {
    nothing_acknowledged_is_lost(Kind::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_lost_on_postgres() {
    nothing_acknowledged_is_lost(Kind::Postgres).await;
}
