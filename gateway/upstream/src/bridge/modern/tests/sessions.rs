//! The sessions a modern client does not know it has.

use super::super::super::pool::IDLE;
use super::super::super::testing::Refusal;
use super::*;

#[tokio::test(start_paused = true)]
async fn a_session_that_expired_is_opened_again_unnoticed() {
    for refusal in [Refusal::NotFound, Refusal::BadRequest] {
        let fake = FakeLegacy::refusing(refusal);
        let bridge = bridge(&fake);
        said(&bridge, &tool(1, "echo")).await;
        fake.forget();
        let (status, answer) = said(&bridge, &tool(2, "echo")).await;
        assert_eq!((status, text(&answer)), (200, "echo"));
        assert_eq!((fake.count("initialize"), fake.count("tools/call")), (2, 3), "refused once, then made");
        assert_eq!((fake.count("notifications/cancelled"), fake.count("DELETE")), (0, 0));
        fake.forget();
        let params = json!({ "notifications": { "resourceSubscriptions": ["a:1"] } });
        let mut events = stream(bridge.call(&ask(&client(), 3, "subscriptions/listen", params)).await.unwrap());
        let first = next(&mut events).await.unwrap().unwrap();
        assert_eq!(first["params"]["notifications"]["resourceSubscriptions"], json!(["a:1"]));
    }
}

#[tokio::test(start_paused = true)]
async fn who_listens_is_moved_to_the_next_session_and_told_to_look_again() {
    let fake = FakeLegacy::new();
    let bridge = bridge(&fake);
    let params = json!({ "notifications": { "toolsListChanged": true, "resourceSubscriptions": ["a:1"] } });
    let mut events = stream(bridge.call(&ask(&client(), 3, "subscriptions/listen", params)).await.unwrap());
    assert_eq!(next(&mut events).await.unwrap().unwrap()["method"], "notifications/subscriptions/acknowledged");
    for sessions in 2..=3 {
        fake.forget();
        // Somebody's call finds out that it is gone.
        said(&bridge, &tool(4, "echo")).await;
        let mut told = Vec::new();
        for _ in 0..2 {
            let news = next(&mut events).await.unwrap().unwrap();
            assert_eq!(news["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 3, "{news}");
            told.push(news["method"].clone());
        }
        assert_eq!(told, ["notifications/tools/list_changed", "notifications/resources/updated"]);
        assert_eq!((fake.count("initialize"), fake.count("resources/subscribe")), (sessions, sessions));
        fake.until(|fake| fake.count("GET") == sessions).await;
        fake.say(json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }));
        assert_eq!(
            next(&mut events).await.unwrap().unwrap()["method"],
            "notifications/tools/list_changed",
            "as before"
        );
    }
    bridge.stop().await;
    assert!(next(&mut events).await.unwrap().unwrap()["result"].is_object(), "a node that ends says so");
    assert!(next(&mut events).await.unwrap().is_none());
    assert_eq!(fake.count("initialize"), 3);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_its_server_ends_early_is_asked_for_the_rest() {
    let progress = |n: u32| Act::tell("notifications/progress", json!({ "progressToken": "$token", "progress": n }));
    let first = [Act::Prime("e-1", 500), progress(1), Act::Prime("e-2", 500)];
    let fake = FakeLegacy::new().tool("polls", first);
    fake.rest("e-2", [Act::Prime("e-3", 500)]).rest("e-3", [progress(2), Act::done("at last")]);
    let bridge = bridge(&fake);
    let params = json!({ "name": "polls", "arguments": {}, "_meta": { "progressToken": "p" } });
    let mut events = stream(bridge.call(&ask(&client(), 7, "tools/call", params)).await.unwrap());
    for n in 1..=2 {
        let told = next(&mut events).await.unwrap().unwrap();
        assert_eq!((&told["params"]["progress"], &told["params"]["progressToken"]), (&json!(n), &json!("p")), "{told}");
    }
    let answer = next(&mut events).await.unwrap().unwrap();
    assert_eq!((&answer["id"], text(&answer)), (&json!(7), "at last"));
    let asked: Vec<_> = fake.heard().iter().filter_map(|message| message.get("after").cloned()).collect();
    assert_eq!(asked, ["e-2", "e-3"]);
    assert_eq!((fake.count("tools/call"), fake.count("notifications/cancelled")), (1, 0), "asked for once");
    // One that cannot be resumed, and one that never said how, end with an error.
    for acts in [vec![Act::Prime("e-9", 1)], vec![progress(1)]] {
        fake.tool("breaks", acts);
        let failed = match bridge.call(&tool(8, "breaks")).await {
            Ok(answered) => next(&mut stream(answered)).await.map(drop).is_err(),
            Err(_) => true,
        };
        assert!(failed);
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_a_session_that_is_gone_has_nowhere_to_go() {
    let ask_first = Act::ask(11, "roots/list", json!({}));
    let fake = FakeLegacy::new().tool("asks", [ask_first, Act::Silence]);
    let bridge = bridge(&fake);
    let (_, answer) = said(&bridge, &tool(1, "asks")).await;
    fake.forget();
    let roots = json!({ "roots-1": { "roots": [] } });
    let (status, answer) = said(&bridge, &retry(2, "asks", &answer["result"]["requestState"], roots)).await;
    assert_eq!((status, &answer["error"]["code"]), (400, &json!(-32602)));
    assert_eq!(fake.count("tools/call"), 1, "it may have been carried out in part, so it is not made again");
}

#[tokio::test(start_paused = true)]
async fn principals_and_capabilities_have_sessions_of_their_own() {
    let fake = FakeLegacy::new();
    let bridge = bridge(&fake);
    let with = |agent: &str, capabilities: Value| {
        let params = json!({ "name": "echo", "_meta": described(&capabilities) });
        ask(&client().of(agent), 1, "tools/call", params)
    };
    said(&bridge, &with("one", json!({ "roots": {}, "sampling": {} }))).await;
    said(&bridge, &with("one", json!({ "sampling": {}, "roots": {} }))).await;
    assert_eq!(fake.count("initialize"), 1, "in whatever order");
    said(&bridge, &with("one", json!({}))).await;
    said(&bridge, &with("two", json!({}))).await;
    assert_eq!(fake.count("initialize"), 3);
    // More different ones than one principal may keep: what is unused makes room.
    for number in 0..9 {
        said(&bridge, &with("one", json!({ "experimental": { "n": number } }))).await;
    }
    fake.until(|fake| fake.count("DELETE") > 0).await;
}

#[tokio::test(start_paused = true)]
async fn too_many_sessions_in_use_are_refused() {
    let fake = FakeLegacy::new().tool("mute", [Act::Silence]);
    let bridge = bridge(&fake);
    let mut kept = Vec::new();
    for number in 0..9 {
        let meta = described(&json!({ "experimental": { "n": number } }));
        let permit = ask(&client(), 1, "tools/call", json!({ "name": "mute", "_meta": meta }));
        let answered = bridge.call(&permit).await.unwrap();
        if number < 8 {
            kept.push(stream(answered));
        } else {
            assert_eq!((answered.status, &one(&answered)["error"]["code"]), (429, &json!(4290)));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_nobody_uses_is_ended() {
    let fake = FakeLegacy::new();
    let bridge = bridge(&fake);
    said(&bridge, &tool(1, "echo")).await;
    tokio::time::sleep(IDLE / 2).await;
    said(&bridge, &tool(2, "echo")).await;
    tokio::time::sleep(IDLE / 2 + Duration::from_secs(70)).await;
    assert_eq!(fake.count("DELETE"), 0, "used in between");
    tokio::time::sleep(IDLE).await;
    assert_eq!(fake.count("DELETE"), 1);
    said(&bridge, &tool(3, "echo")).await;
    assert_eq!(fake.count("initialize"), 2);
    bridge.stop().await;
    assert_eq!(fake.count("DELETE"), 2, "told before it is over");
}

#[tokio::test(start_paused = true)]
async fn an_upstream_that_refuses_the_handshake_is_said_to() {
    struct Refuses;
    #[async_trait::async_trait]
    impl Upstream for Refuses {
        async fn call(&self, permit: &Permit) -> Result<Answered, UpstreamError> {
            let id = permit.exchange().message().and_then(Message::id).cloned();
            Ok(Answered::one(400, &Message::error(id, RpcError::new(-32022, "no such version"))))
        }
    }
    let bridge = ModernOverLegacy::new(Arc::new(Refuses), settings());
    let error = bridge.call(&tool(1, "echo")).await.err().unwrap();
    assert!(matches!(error, UpstreamError::NotMcp { .. }), "{error}");
}
