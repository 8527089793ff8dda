#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
use gateway_core::Route;

use super::super::testing_modern::{FakeModern, Legacy, Modern, Said, bridge, hello, legacy_client};
use super::*;
use crate::testing::{Client, one, space};

fn eras(protocol: Protocol) -> Eras {
    Eras::new(space("fake"), protocol, Arc::new(crate::testing::StillClock))
}

fn listing() -> Permit {
    Client::modern(Route::One(space("fake"))).request(1, "tools/list", json!({}))
}

#[tokio::test(start_paused = true)]
async fn a_modern_client_waits_for_one_question() {
    for (modern, expected) in [
        (Modern::Speaks, Way::Straight),
        (Modern::Refuses(400, -32000), Way::ModernOverLegacy),
        (Modern::Refuses(200, -32601), Way::ModernOverLegacy),
        (Modern::Silent, Way::ModernOverLegacy),
    ] {
        let upstream = FakeModern::new(modern, Legacy::Sessions);
        let eras = eras(Protocol::Auto);
        let permit = listing();
        let ways = futures::future::join_all((0..8).map(|_| eras.way(&*upstream, &permit))).await;
        assert!(ways.into_iter().all(|way| way.unwrap() == expected), "{expected:?}");
        assert_eq!(upstream.methods(), ["server/discover"], "asked once for all, and no call was risked");
        assert_eq!(eras.spoken().modern, Some(expected == Way::Straight));
        assert!(eras.spoken().found_at.is_some() && !eras.spoken().fixed);
    }
}

#[tokio::test(start_paused = true)]
async fn what_fails_teaches_nothing() {
    for modern in [Modern::Away, Modern::Refuses(401, -32000), Modern::Refuses(403, -32000)] {
        let upstream = FakeModern::new(modern, Legacy::Sessions);
        let eras = eras(Protocol::Auto);
        assert!(eras.way(&*upstream, &listing()).await.is_err());
        assert_eq!(eras.spoken().modern, None);
        *upstream.modern.lock().unwrap() = Modern::Speaks;
        assert_eq!(eras.way(&*upstream, &listing()).await.unwrap(), Way::Straight);
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_believed_for_ten_minutes_and_a_yes_until_contradicted() {
    let upstream = FakeModern::new(Modern::Refuses(400, -32000), Legacy::Sessions);
    let eras = eras(Protocol::Auto);
    assert_eq!(eras.way(&*upstream, &listing()).await.unwrap(), Way::ModernOverLegacy);
    *upstream.modern.lock().unwrap() = Modern::Speaks;
    tokio::time::advance(BELIEVED - Duration::from_secs(1)).await;
    assert_eq!(eras.way(&*upstream, &listing()).await.unwrap(), Way::ModernOverLegacy);
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(eras.way(&*upstream, &listing()).await.unwrap(), Way::Straight);
    tokio::time::advance(BELIEVED * 10).await;
    assert_eq!(eras.way(&*upstream, &listing()).await.unwrap(), Way::Straight);
    assert_eq!(upstream.count("server/discover"), 2);
    eras.told(-32601);
    assert_eq!(eras.spoken().modern, Some(true), "an unknown method says nothing of the era");
    for code in [-32000, -32022] {
        eras.told(code);
        assert_eq!(eras.spoken().modern, None, "{code}");
        eras.way(&*upstream, &listing()).await.unwrap();
    }
    assert_eq!(upstream.count("server/discover"), 4);
}

#[tokio::test(start_paused = true)]
async fn a_legacy_handshake_is_its_own_question() {
    let asked = json!({ "elicitation": {} });
    let none = json!({});
    let refuses = |code| Legacy::Refuses(400, code);
    for (name, legacy, modern, capabilities, bridged, discovered) in [
        ("sessions", Legacy::Sessions, Modern::Speaks, &asked, false, 0),
        ("no sessions, nothing to ask", Legacy::Sessionless, Modern::Speaks, &none, false, 0),
        ("no sessions, but questions", Legacy::Sessionless, Modern::Speaks, &asked, true, 1),
        ("no sessions, one era", Legacy::Sessionless, Modern::Refuses(400, -32000), &asked, false, 1),
        ("unknown method", refuses(-32601), Modern::Speaks, &none, true, 1),
        ("invalid params", refuses(-32602), Modern::Speaks, &none, true, 1),
        ("headers", refuses(-32020), Modern::Speaks, &none, true, 1),
        ("version", refuses(-32022), Modern::Speaks, &none, true, 1),
        ("404", Legacy::Forbids(404), Modern::Speaks, &none, true, 1),
        ("405", Legacy::Forbids(405), Modern::Speaks, &none, true, 1),
        ("406", Legacy::Forbids(406), Modern::Speaks, &none, true, 1),
        ("a refusal that is one", refuses(-32022), Modern::Refuses(400, -32000), &none, false, 1),
        ("a refusal, then nobody", refuses(-32601), Modern::Away, &none, false, 1),
        ("another refusal", refuses(-32603), Modern::Speaks, &none, false, 0),
        ("a challenge", Legacy::Forbids(401), Modern::Speaks, &none, false, 0),
    ] {
        let upstream = FakeModern::new(modern, legacy);
        let bridge = bridge(&upstream, Protocol::Auto);
        let answered = bridge.call(&legacy_client().message(&hello(capabilities, "2025-11-25"))).await.unwrap();
        let id = answered.session.as_ref().map(|session| session.id.clone()).unwrap_or_default();
        assert_eq!(id.starts_with(sessions::PREFIX), bridged, "{name}");
        assert_eq!(upstream.count("server/discover"), discovered, "{name}");
        assert_eq!(upstream.count("initialize"), 1, "{name}");
        if let Legacy::Forbids(status) = legacy
            && !bridged
        {
            assert_eq!(answered.status, status, "{name}: passed on as it came");
        }
        if legacy == Legacy::Sessions || legacy == Legacy::Sessionless {
            assert_eq!(bridge.spoken().legacy, Some(Revision::V2025_11_25), "{name}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_from_before_there_were_forms_is_not_taken_for_one_that_declines_them() {
    for (revision, bridged) in [("2024-11-05", true), ("2025-03-26", true), ("2025-06-18", false)] {
        let upstream = FakeModern::new(Modern::Speaks, Legacy::Sessionless);
        let bridge = bridge(&upstream, Protocol::Auto);
        let answered = bridge.call(&legacy_client().message(&hello(&json!({}), revision))).await.unwrap();
        assert_eq!(answered.session.is_some(), bridged, "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_handshake_is_not_tried_again_for_ten_minutes() {
    let upstream = FakeModern::only();
    let bridge = bridge(&upstream, Protocol::Auto);
    let hello = legacy_client().message(&hello(&json!({}), "2025-11-25"));
    for _ in 0..3 {
        bridge.call(&hello).await.unwrap();
    }
    assert_eq!(upstream.methods(), ["initialize", "server/discover"]);
    tokio::time::advance(BELIEVED + Duration::from_secs(1)).await;
    *upstream.legacy.lock().unwrap() = Legacy::Sessions;
    let answered = bridge.call(&hello).await.unwrap();
    assert_eq!(answered.session.unwrap().id, "up", "it learned the older era");
}

#[tokio::test]
async fn the_operator_decides_without_asking() {
    let upstream = FakeModern::new(Modern::Silent, Legacy::Sessionless);
    let legacy = eras(Protocol::Legacy(Some(Revision::V2025_06_18)));
    assert_eq!(legacy.way(&*upstream, &listing()).await.unwrap(), Way::ModernOverLegacy);
    legacy.forget();
    assert_eq!(legacy.way(&*upstream, &listing()).await.unwrap(), Way::ModernOverLegacy);
    assert!(upstream.asked().is_empty());
    let spoken = legacy.spoken();
    assert_eq!((spoken.fixed, spoken.modern, spoken.legacy), (true, Some(false), Some(Revision::V2025_06_18)));

    let upstream = FakeModern::new(Modern::Speaks, Legacy::Sessions);
    let modern = bridge(&upstream, Protocol::Modern);
    let answered = modern.call(&legacy_client().message(&hello(&json!({}), "2025-06-18"))).await.unwrap();
    assert!(answered.session.unwrap().id.starts_with(sessions::PREFIX));
    modern.call(&listing()).await.unwrap();
    assert_eq!(upstream.methods(), ["server/discover", "tools/list"], "no handshake goes up");

    let upstream = FakeModern::new(Modern::Speaks, Legacy::Sessionless);
    let fixed = bridge(&upstream, Protocol::Legacy(None));
    let asked = legacy_client().message(&hello(&json!({ "elicitation": {} }), "2025-11-25"));
    assert!(fixed.call(&asked).await.unwrap().session.is_none(), "not even for its questions");
}

#[tokio::test]
async fn the_straight_way_changes_nothing() {
    let upstream = FakeModern::new(Modern::Speaks, Legacy::Sessions);
    let bridge = bridge(&upstream, Protocol::Auto);
    let modern = Client::modern(Route::One(space("fake")));
    upstream.says(Said::Result(json!({ "resultType": "vendor/odd", "x": 1 })));
    let permit = modern.request("mine", "vendor/reboot", json!({ "_meta": { "vendor/key": [1] }, "extra": true }));
    let answered = bridge.call(&permit).await.unwrap();
    assert_eq!(one(&answered)["result"], json!({ "resultType": "vendor/odd", "x": 1 }));
    assert_eq!(upstream.last().0, serde_json::to_value(permit.exchange().message().unwrap()).unwrap());
    let legacy = Client { session: Some("up".into()), ..legacy_client() };
    let permit = legacy.request(7, "tasks/list", json!({ "_meta": { "vendor/key": 1 } }));
    bridge.call(&permit).await.unwrap();
    assert_eq!(upstream.last().0, serde_json::to_value(permit.exchange().message().unwrap()).unwrap());
    upstream.says(Said::Error(400, -32022));
    bridge.call(&modern.request(1, "tools/list", json!({}))).await.unwrap();
    assert_eq!(bridge.spoken().modern, None, "it contradicted itself");
}
