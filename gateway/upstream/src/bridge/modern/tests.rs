//! Modern clients before a legacy server, as conversations.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value
)]

mod questions;
mod sessions;

use gateway_core::Route;
use serde_json::json;

use super::super::testing::{Act, FakeLegacy, Shared, settings};
use super::*;
use crate::testing::{Client, Events, next, one, space, stream};

fn bridge(fake: &Arc<FakeLegacy>) -> ModernOverLegacy {
    ModernOverLegacy::new(Arc::new(Shared(Arc::clone(fake))), settings())
}

fn client() -> Client {
    Client::modern(Route::One(space("legacy")))
}

/// Can be asked everything.
fn able() -> Value {
    json!({ "elicitation": { "form": {}, "url": {} }, "sampling": {}, "roots": {} })
}

fn described(capabilities: &Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
    })
}

fn ask(client: &Client, id: i64, method: &str, params: Value) -> Permit {
    let mut params = params;
    if params["_meta"].get("io.modelcontextprotocol/protocolVersion").is_none() {
        let mut meta = described(&able());
        for (key, value) in params["_meta"].as_object().cloned().unwrap_or_default() {
            meta[key] = value;
        }
        params["_meta"] = meta;
    }
    client.message(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
}

fn tool(id: i64, name: &str) -> Permit {
    ask(&client(), id, "tools/call", json!({ "name": name, "arguments": { "a": 1 } }))
}

/// The call once more, with what its last answer asked for.
fn retry(id: i64, name: &str, state: &Value, responses: Value) -> Permit {
    let params = json!({ "name": name, "arguments": { "a": 1 }, "requestState": state, "inputResponses": responses });
    ask(&client(), id, "tools/call", params)
}

async fn said(bridge: &ModernOverLegacy, permit: &Permit) -> (u16, Value) {
    let answered = bridge.call(permit).await.unwrap();
    (answered.status, one(&answered))
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

async fn all(mut events: Events) -> Vec<Value> {
    let mut all = Vec::new();
    while let Some(message) = next(&mut events).await.unwrap() {
        all.push(message);
    }
    all
}

#[tokio::test(start_paused = true)]
async fn a_call_is_answered_in_the_clients_words() {
    let fake = FakeLegacy::new();
    let bridge = bridge(&fake);
    let (status, answer) = said(&bridge, &tool(7, "echo")).await;
    assert_eq!((status, &answer["id"], text(&answer)), (200, &json!(7), "echo"));
    assert_eq!(answer["result"]["resultType"], "complete");
    assert_eq!(answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "fake");
    let hello = fake.last("initialize");
    assert_eq!(hello["params"]["protocolVersion"], "2025-11-25");
    assert_eq!(hello["params"]["capabilities"], able(), "a server must know what its client can be asked");
    let call = fake.last("tools/call");
    assert_eq!(call["params"], json!({ "name": "echo", "arguments": { "a": 1 } }));
    assert_ne!(call["id"], 7, "several clients share a session");
    let (_, list) = said(&bridge, &ask(&client(), 8, "tools/list", json!({}))).await;
    assert_eq!((&list["result"]["ttlMs"], &list["result"]["cacheScope"]), (&json!(0), &json!("private")));
    let (_, found) = said(&bridge, &ask(&client(), 9, "server/discover", json!({}))).await;
    assert_eq!(found["result"]["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!((fake.count("initialize"), fake.count("notifications/initialized")), (1, 1), "one session for all");
}

#[tokio::test(start_paused = true)]
async fn progress_comes_under_the_clients_token_and_logs_at_its_level() {
    let log = |level: &str| Act::tell("notifications/message", json!({ "level": level, "data": level }));
    let progress = |token: &str| Act::tell("notifications/progress", json!({ "progressToken": token, "progress": 1 }));
    let acts = [progress("$token"), log("info"), progress("another's"), log("error"), log("loud"), Act::done("well")];
    let fake = FakeLegacy::new().tool("talks", acts);
    let bridge = bridge(&fake);
    let params = |meta: Value| json!({ "name": "talks", "_meta": meta });
    let all_wanted = json!({ "progressToken": "mine", "io.modelcontextprotocol/logLevel": "warning" });
    let heard = all(stream(bridge.call(&ask(&client(), 1, "tools/call", params(all_wanted))).await.unwrap())).await;
    let methods: Vec<_> = heard.iter().map(|message| message["method"].as_str().unwrap_or("answer")).collect();
    assert_eq!(methods, ["notifications/progress", "notifications/message", "answer"]);
    assert_eq!(heard[0]["params"]["progressToken"], "mine");
    assert_eq!(heard[1]["params"]["level"], "error");
    assert_eq!(heard[2]["id"], 1);
    assert_eq!(fake.last("logging/setLevel")["params"]["level"], "warning");
    assert_eq!(fake.last("tools/call")["params"]["_meta"]["progressToken"], fake.last("tools/call")["id"]);

    let (_, quiet) = said(&bridge, &ask(&client(), 2, "tools/call", params(json!({})))).await;
    assert_eq!(text(&quiet), "well", "neither was asked for");
    assert_eq!(fake.last("tools/call")["params"].get("_meta"), None);
    for (level, times) in [("error", 1), ("debug", 2), ("info", 2)] {
        let wanted = json!({ "io.modelcontextprotocol/logLevel": level });
        bridge.call(&ask(&client(), 3, "tools/call", params(wanted))).await.unwrap();
        assert_eq!(fake.count("logging/setLevel"), times, "raised to {level}, never lowered");
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_modern_era_removed_is_not_there() {
    let fake = FakeLegacy::new();
    let bridge = bridge(&fake);
    for method in
        ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "tasks/get"]
    {
        let (status, answer) = said(&bridge, &ask(&client(), 1, method, json!({}))).await;
        assert_eq!((status, &answer["error"]["code"]), (404, &json!(-32601)), "{method}");
    }
    assert!(fake.heard().is_empty(), "nothing reached the server");
    let (status, answer) = said(&bridge, &ask(&client(), 1, "vendor/unknown", json!({}))).await;
    assert_eq!((status, &answer["error"]["code"]), (404, &json!(-32601)), "the server's own word for it");
    assert_eq!(fake.count("vendor/unknown"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_goes_away_takes_its_call_back() {
    let log = Act::tell("notifications/progress", json!({ "progressToken": "$token", "progress": 1 }));
    let fake = FakeLegacy::new().tool("slow", [log, Act::Silence]).tool("mute", [Act::Silence]);
    let bridge = bridge(&fake);
    let params = json!({ "name": "slow", "_meta": { "progressToken": 1 } });
    let mut events = stream(bridge.call(&ask(&client(), 1, "tools/call", params)).await.unwrap());
    assert!(next(&mut events).await.unwrap().is_some());
    assert_eq!(fake.count("notifications/cancelled"), 0);
    drop(events);
    fake.until(|fake| fake.count("notifications/cancelled") == 1).await;
    assert_eq!(fake.last("notifications/cancelled")["params"]["requestId"], fake.last("tools/call")["id"]);
    // Also before anything was said.
    let early = tokio::time::timeout(Duration::from_millis(20), bridge.call(&tool(2, "mute"))).await;
    assert!(early.is_err());
    fake.until(|fake| fake.count("notifications/cancelled") == 2).await;
    let (_, answer) = said(&bridge, &tool(3, "echo")).await;
    assert_eq!(text(&answer), "echo", "the session goes on");
    assert_eq!(fake.count("notifications/cancelled"), 2, "what was answered is not taken back");
}

#[tokio::test(start_paused = true)]
async fn listeners_hear_what_they_asked_for() {
    let fake = FakeLegacy::new();
    let bridge = bridge(&fake);
    let wanted = json!({ "toolsListChanged": true, "promptsListChanged": true, "resourceSubscriptions": ["a:1"] });
    let listen = |id| ask(&client(), id, "subscriptions/listen", json!({ "notifications": wanted }));
    let mut one = stream(bridge.call(&listen(5)).await.unwrap());
    let other = stream(bridge.call(&listen(6)).await.unwrap());
    let first = next(&mut one).await.unwrap().unwrap();
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(
        first["params"]["notifications"],
        json!({ "toolsListChanged": true, "resourceSubscriptions": ["a:1"] }),
        "no more than the server offers"
    );
    assert_eq!(first["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 5);
    assert_eq!(fake.count("resources/subscribe"), 1, "once for both");
    let news = |method: &str, params: Value| json!({ "jsonrpc": "2.0", "method": method, "params": params });
    fake.say(news("notifications/prompts/list_changed", json!({})));
    fake.say(news("notifications/resources/updated", json!({ "uri": "a:2" })));
    fake.say(news("notifications/resources/updated", json!({ "uri": "a:1" })));
    fake.say(news("notifications/tools/list_changed", json!({})));
    for method in ["notifications/resources/updated", "notifications/tools/list_changed"] {
        let told = next(&mut one).await.unwrap().unwrap();
        assert_eq!(told["method"], method);
        assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 5);
    }
    drop(one);
    tokio::time::sleep(Duration::from_millis(10)).await;
    assert_eq!(fake.count("resources/unsubscribe"), 0, "the other still listens");
    bridge.stop().await;
    let rest = all(other).await;
    assert_eq!(rest.last().unwrap()["result"]["resultType"], "complete", "{rest:?}");
    assert_eq!(rest.last().unwrap()["id"], 6);
    fake.until(|fake| fake.count("resources/unsubscribe") == 1).await;
    let nonsense = ask(&client(), 7, "subscriptions/listen", json!({}));
    assert_eq!(said(&bridge, &nonsense).await.0, 400);
}
