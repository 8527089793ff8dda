//! What people are shown of the upstreams, and how long an upstream may take.

use std::time::Duration;

use bytes::Bytes;
use portreeve_tests::environment::free_port;
use portreeve_tests::{Answer, Kind, Stub, World};
use serde_json::{Value, json};

async fn shown(world: &World, path: &str, key: Option<&str>) -> Answer {
    let url = format!("http://127.0.0.1:{}{path}", world.console_port);
    let headers: Vec<(&str, &str)> = key.map(|key| ("x-api-key", key)).into_iter().collect();
    world.client.send("GET", &url, &headers, Bytes::new()).await
}

async fn upstream(world: &World, name: &str) -> Value {
    let answer = shown(world, "/api/upstreams", Some(&world.admin_key)).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let document: Value = serde_json::from_str(answer.text()).unwrap();
    let found = document["upstreams"].as_array().unwrap().iter().find(|upstream| upstream["namespace"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {document}")).clone()
}

#[tokio::test]
async fn administrators_see_what_each_upstream_speaks_and_whether_it_answers() {
    for kind in [Kind::Sqlite, Kind::Postgres] {
        let stub = Stub::start(&["read"]).await;
        let nobody = format!("http://127.0.0.1:{}/mcp?token=s3cret", free_port());
        let world = World::on(kind)
            .upstream("crm", json!({ "url": stub.url() }))
            .upstream("gone", json!({ "url": nobody, "headers": { "x-token": "s3cret" } }))
            .upstream("old", json!({ "url": stub.url(), "protocol": "2025-06-18" }))
            .manifests("crm", &[("read", "READ_ONLY")])
            .start();
        let agent = world.agent("a-1", "A1");

        assert_eq!(shown(&world, "/api/upstreams", None).await.status, 401);
        assert_eq!(shown(&world, "/api/upstreams", Some("adp_sk_wrong")).await.status, 401);
        assert_eq!(shown(&world, "/api/upstreams", Some(&agent.key)).await.status, 403);

        let crm = upstream(&world, "crm").await;
        assert_eq!(
            (&crm["state"], &crm["era"], &crm["found"]),
            (&json!("unknown"), &Value::Null, &Value::Null),
            "{crm}"
        );
        let old = upstream(&world, "old").await;
        assert_eq!((&old["era"], &old["found"]), (&json!("legacy"), &json!("configured")), "{old}");
        assert_eq!(old["revisions"], json!(["2025-06-18"]));
        assert_eq!(upstream(&world, "adp").await["transport"], "built_in");

        assert_eq!(agent.modern().call("crm/read", json!({})).await.status, 200);
        assert_eq!(
            agent.modern().call("gone/read", json!({})).await.status,
            200,
            "no manifest: refused before it is asked"
        );
        assert_eq!(upstream(&world, "gone").await["state"], "unknown", "a refused call does not ask");
        let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
        assert_eq!(agent.modern().post("/gone/mcp", &list).await.status, 502);
        let crm = upstream(&world, "crm").await;
        assert_eq!(
            (&crm["state"], &crm["era"], &crm["found"]),
            (&json!("up"), &json!("legacy"), &json!("probed")),
            "{crm}"
        );
        assert_eq!(
            (&crm["transport"], &crm["revisions"]),
            (&json!("streamable_http"), &json!(["2025-11-25"])),
            "{crm}"
        );
        assert!(crm["seen_at"].is_string() && crm["reason"].is_null(), "{crm}");
        let gone = upstream(&world, "gone").await;
        assert_eq!((&gone["state"], &gone["reason"]), (&json!("down"), &json!("is not reachable")), "{gone}");
        assert!(!gone.to_string().contains("s3cret"), "{gone}");

        let page = shown(&world, "/upstreams", None).await;
        assert!(page.status == 200 && page.text().contains("<td>crm</td>"), "{}", page.text());
        assert!(!page.text().contains("s3cret") && !page.text().contains("127.0.0.1"), "{}", page.text());
    }
}

// With several threads, because the command line is waited for while it asks the stub.
#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_asks_every_upstream_and_says_what_to_do() {
    for kind in [Kind::Sqlite, Kind::Postgres] {
        let stub = Stub::start(&["read", "write"]).await;
        let nobody = format!("http://127.0.0.1:{}/mcp?token=s3cret", free_port());
        let world = World::on(kind)
            .upstream("crm", json!({ "url": stub.url() }))
            .upstream("gone", json!({ "url": nobody }))
            .manifests("crm", &[("read", "READ_ONLY")])
            .start();
        world.agent("a-1", "A1");
        let output = world.cli(&["doctor", "--json"]);
        assert_eq!(output.status.code(), Some(1), "an upstream is away");
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let verdict = |check: &str| {
            let found = document["checks"].as_array().unwrap().iter().find(|finding| finding["check"] == check);
            found.unwrap_or_else(|| panic!("no {check} in {document:#}"))["verdict"].clone()
        };
        for good in ["configuration", "policies", "certificates", "store", "clock", "keys", "upstream crm"] {
            assert_eq!(verdict(good), "ok", "{good}: {document:#}");
        }
        assert_eq!((verdict("upstream gone"), &document["ok"]), (json!("failed"), &json!(false)));
        let crm = &document["upstreams"][0];
        assert_eq!((&crm["namespace"], &crm["transport"]), (&json!("crm"), &json!("streamable_http")));
        assert_eq!((&crm["era"], &crm["revisions"]), (&json!("legacy"), &json!(["2025-11-25"])), "{crm}");
        assert_eq!(document["upstreams"][1]["state"], "down");
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(!said.contains("s3cret"), "{said}");
        let words = world.cli(&["doctor"]);
        let words = String::from_utf8_lossy(&words.stdout).into_owned();
        assert!(words.contains("upstream crm: streamable_http, speaks 2025-11-25, 2 tools"), "{words}");
        assert!(words.contains("`upstreams.gone`"), "it says where to look: {words}");
    }
    let world = World::on(Kind::Sqlite).start();
    assert_eq!(world.cli(&["doctor"]).status.code(), Some(0), "nobody to call is a warning, not a failure");
}

// acceptance 43, in part: a caller may give a call more time than its upstream usually has, and never more than the operator
// gives any call.
#[tokio::test]
async fn a_caller_may_ask_for_more_time_up_to_the_maximum() {
    let stub = Stub::start(&["read"]).await;
    let world = World::on(Kind::Sqlite)
        .upstream("crm", json!({ "url": stub.url(), "timeout_seconds": 1 }))
        .set("limits", json!({ "agent_per_minute": 0, "call_seconds": 6 }))
        .manifests("crm", &[("read", "READ_ONLY")])
        .start();
    let agent = world.agent("a-1", "A1");
    let call = async |patience: Option<u64>| {
        let meta = patience.map_or(json!({}), |patience| json!({ "io.portreeve/timeoutMs": patience }));
        let params = json!({ "name": "read", "arguments": {}, "_meta": meta });
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        agent.post("/crm/mcp", &message).await.status
    };
    assert_eq!(call(None).await, 200);
    stub.slow_down(Duration::from_millis(2500));
    assert_eq!(call(None).await, 504, "its usual second is over");
    assert_eq!(call(Some(60_000)).await, 200, "the caller had more patience");
    stub.slow_down(Duration::from_secs(30));
    assert_eq!(call(Some(60_000)).await, 504, "six seconds are all that any call has");
}
