//! The gateway as an OAuth client meets it: which documents and challenges it is given, on every wire; and that neither its credential nor
//! an upstream's own challenge ever crosses to the other side.

use bytes::Bytes;
use hyper::HeaderMap;
use portreeve_tests::messages::{self, request};
use portreeve_tests::{Agent, Answer, Kind, Piece, Step, Stub, World};
use serde_json::{Value, json};

const PLACE: &str = "/.well-known/oauth-protected-resource";
const ISSUER: &str = "https://id.example.com";
/// What the upstream's own operator would see, and nobody else.
const CHALLENGE: &str = "Bearer error=\"invalid_token\", resource_metadata=\"https://upstream.example/secret\"";

fn with_an_issuer(stub: &Stub) -> portreeve_tests::WorldBuilder {
    World::on(Kind::Sqlite)
        .upstream(
            "crm",
            json!({ "url": stub.url(), "headers": { "authorization": "Bearer the-upstreams-own" }, "pins": "off" }),
        )
        .manifests("crm", &[("read", "READ_ONLY")])
        .set("identity", json!({ "oidc": [{ "issuer": ISSUER, "audience": "portreeve" }] }))
}

fn call() -> Value {
    request(1, "tools/call", json!({ "name": "read", "arguments": {} }))
}

fn initialize() -> Value {
    messages::initialize("2025-11-25", json!({}))
}

type Headers = Vec<(&'static str, &'static str)>;

/// How each wire begins: the verb, the end of the path, and the headers that go with it.
fn openings() -> Vec<(&'static str, &'static str, Headers)> {
    let upgrade = vec![
        ("connection", "Upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    let json = vec![("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
    vec![
        ("POST", "mcp", json.clone()),
        ("GET", "mcp", vec![("accept", "text/event-stream")]),
        ("DELETE", "mcp", vec![("mcp-session-id", "any")]),
        ("GET", "sse", vec![("accept", "text/event-stream")]),
        ("POST", "sse?session=any", json),
        ("GET", "ws", upgrade),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn each_door_is_a_resource_and_its_challenges_say_where_to_read() {
    let stub = Stub::start(&["read"]).await;
    let world = with_an_issuer(&stub).start();
    for (below, resource) in [("", "/mcp"), ("/mcp", "/mcp"), ("/crm/mcp", "/crm/mcp"), ("/adp/mcp", "/adp/mcp")] {
        let answer = world.client.send("GET", &world.url(&format!("{PLACE}{below}")), &[], "").await;
        assert_eq!(answer.status, 200, "{below}");
        let expected = json!({
            "resource": world.url(resource), "authorization_servers": [ISSUER],
            "scopes_supported": ["mcp:read"], "bearer_methods_supported": ["header"],
        });
        assert_eq!(answer.message(), expected, "{below}");
    }
    for nowhere in ["/crm/ws", "/crm/sse", "/crm", "/crm/mcp/more"] {
        let answer = world.client.send("GET", &world.url(&format!("{PLACE}{nowhere}")), &[], "").await;
        assert_eq!(answer.status, 404, "{nowhere}");
    }

    for (path, resource) in [("", "/mcp"), ("/crm", "/crm/mcp")] {
        let metadata =
            format!("resource_metadata=\"{}\", scope=\"mcp:read\"", world.url(&format!("{PLACE}{resource}")));
        for (verb, end, headers) in openings() {
            let url = world.url(&format!("{path}/{end}"));
            let body = if verb == "POST" { call().to_string() } else { String::new() };
            let nobody = world.client.send(verb, &url, &headers, body.clone()).await;
            let expected = format!("Bearer realm=\"portreeve\", {metadata}");
            assert_eq!(
                (nobody.status, nobody.header("www-authenticate")),
                (401, Some(expected.as_str())),
                "{verb} {url}"
            );
            // A token that is no good: the client must get another, and not send it again.
            let wrong = [&headers[..], &[("authorization", "Bearer eyJhbGciOiJub25lIn0.e30.")]].concat();
            let wrong = world.client.send(verb, &url, &wrong, body).await;
            let expected = format!("Bearer realm=\"portreeve\", error=\"invalid_token\", {metadata}");
            assert_eq!(
                (wrong.status, wrong.header("www-authenticate")),
                (401, Some(expected.as_str())),
                "{verb} {url}"
            );
        }
    }
    assert_eq!(stub.seen().len(), 0, "nothing of it went anywhere");
}

#[tokio::test(flavor = "multi_thread")]
async fn where_nobody_issues_tokens_no_client_is_sent_to_look_for_them() {
    let stub = Stub::start(&["read"]).await;
    let world = World::on(Kind::Sqlite).upstream("crm", json!({ "url": stub.url() })).start();
    assert_eq!(world.client.send("GET", &world.url(&format!("{PLACE}/crm/mcp")), &[], "").await.status, 404);
    let nobody = world.client.post(&world.url("/crm/mcp"), &[], &call()).await;
    assert_eq!((nobody.status, nobody.header("www-authenticate")), (401, Some("Bearer realm=\"portreeve\"")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_public_name_is_what_clients_are_told() {
    let stub = Stub::start(&["read"]).await;
    let mut world = with_an_issuer(&stub).start();
    let text = std::fs::read_to_string(world.config_path()).unwrap();
    let mut config: Value = serde_json::from_str(&text).unwrap();
    config["listen"]["public_url"] = json!("https://gate.example");
    std::fs::write(world.config_path(), config.to_string()).unwrap();
    world.stop_gateway();
    world.start_gateway();
    let document = world.client.send("GET", &world.url(&format!("{PLACE}/crm/mcp")), &[], "").await.message();
    assert_eq!(document["resource"], "https://gate.example/crm/mcp");
    let nobody = world.client.post(&world.url("/crm/mcp"), &[], &call()).await;
    let expected = format!("resource_metadata=\"https://gate.example{PLACE}/crm/mcp\"");
    assert!(nobody.header("www-authenticate").is_some_and(|challenge| challenge.contains(&expected)));
}

/// One conversation on each wire, with the credential wherever a client may put it and a few places more.
async fn everything_once(world: &World, agent: &Agent) {
    let bearer = format!("Bearer {}", agent.key);
    let cookie = format!("session={}", agent.key);
    let given = [
        ("authorization", bearer.as_str()),
        ("x-api-key", &agent.key),
        ("cookie", &cookie),
        ("proxy-authorization", &bearer),
        ("mcp-protocol-version", "2025-11-25"),
    ];
    let url = world.url("/crm/mcp");
    let opened = world.client.post(&url, &given, &initialize()).await;
    assert_eq!(opened.status, 200, "{}", opened.text());
    let session = opened.header("mcp-session-id").expect("a session").to_owned();
    let inside = [&given[..], &[("mcp-session-id", session.as_str())]].concat();
    assert_eq!(world.client.post(&url, &inside, &call()).await.status, 200);
    world.client.send("GET", &url, &[&inside[..], &[("accept", "text/event-stream")]].concat(), "").await;
    world.client.send("DELETE", &url, &inside, "").await;
    assert_eq!(agent.modern().post("/crm/mcp", &call()).await.status, 200);

    let mut socket = agent.ws("/crm/ws", &[("authorization", &bearer), ("cookie", &cookie)]).unwrap();
    socket.ask(&initialize());
    socket.ask(&call());
    socket.close();
    let mut stream = agent.sse("/crm/sse").await;
    stream.ask(&initialize()).await;
    stream.ask(&call()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clients_credential_goes_no_further() {
    let news = [Piece::notification("notifications/tools/list_changed", json!({}))];
    let stub = Stub::scripted(vec![
        Step::legacy_server(),
        Step::modern_server(&json!({ "tools": {} })),
        Step::on("GET").stream(news).always(),
    ])
    .await;
    let world = with_an_issuer(&stub).start();
    let agent = world.agent("a-1", "A1");
    everything_once(&world, &agent).await;
    let seen = stub.seen();
    assert!(stub.calls() >= 4, "{seen:?}");
    for method in ["initialize", "server/discover", "GET", "DELETE", "tools/call"] {
        assert!(stub.asked(method) > 0, "{method} was never sent");
    }
    for (headers, message) in seen {
        assert_eq!(headers["authorization"], "Bearer the-upstreams-own", "{message}");
        assert!(!holds(&headers, &message, &agent.key), "the client's key, in {headers:?} {message}");
        for name in ["x-api-key", "cookie", "proxy-authorization"] {
            assert!(!headers.contains_key(name), "{name} in {headers:?}");
        }
    }
}

fn holds(headers: &HeaderMap, message: &Value, secret: &str) -> bool {
    let values = headers.values().map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    values.chain([message.to_string()]).any(|text| text.contains(secret))
}

#[track_caller]
fn translated(answer: &Answer, what: &str) {
    assert_eq!(answer.status, 502, "{what}: {}", answer.text());
    assert!(answer.header("www-authenticate").is_none(), "{what}: {:?}", answer.headers);
    told(&answer.message(), what);
}

#[track_caller]
fn told(message: &Value, what: &str) {
    let text = message["error"]["message"].as_str().unwrap_or_else(|| panic!("{what}: {message}"));
    assert!(text.contains("upstream") || text.contains("crm"), "{what}: {text}");
    assert!(!message.to_string().contains("upstream.example"), "{what}: {message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstreams_challenge_is_its_operators_business() {
    for status in [401, 403] {
        let refuses = |on| {
            let mut step = Step::on(on).error(status, -32000, "go to https://upstream.example/secret");
            step = step.header("www-authenticate", CHALLENGE);
            step.always()
        };
        let stub = Stub::scripted(vec![
            Step::legacy_server(),
            Step::modern_server(&json!({ "tools": {} })),
            refuses("GET"),
            refuses("tools/call"),
            refuses("tools/list"),
        ])
        .await;
        let world = with_an_issuer(&stub).start();
        let agent = world.agent("a-1", "A1");
        let opened = agent.post("/crm/mcp", &initialize()).await;
        let session = opened.header("mcp-session-id").expect("a session").to_owned();
        let inside =
            [("x-api-key", agent.key.as_str()), ("mcp-protocol-version", "2025-11-25"), ("mcp-session-id", &session)];
        let url = world.url("/crm/mcp");
        translated(&world.client.post(&url, &inside, &call()).await, "a call");
        translated(&world.client.post(&url, &inside, &request(2, "tools/list", json!({}))).await, "a list");
        let listening = [&inside[..], &[("accept", "text/event-stream")]].concat();
        let stream = world.client.send("GET", &url, &listening, Bytes::new()).await;
        assert!(stream.status >= 400 && !matches!(stream.status, 401 | 403), "{}", stream.status);
        assert!(stream.header("www-authenticate").is_none() && !stream.text().contains("upstream.example"));
        translated(&agent.modern().post("/crm/mcp", &call()).await, "a modern call");

        let mut socket = agent.ws("/crm/ws", &[]).unwrap();
        socket.ask(&initialize());
        told(&socket.ask(&call()), "on a WebSocket");
        let mut stream = agent.sse("/crm/sse").await;
        stream.ask(&initialize()).await;
        told(&stream.ask(&call()).await, "on HTTP+SSE");
        world.eventually("SELECT count(*) FROM audit_logs WHERE status_code = 'upstream_failed'", 4).await;

        // One that refuses even to greet.
        let shut = Stub::scripted(vec![refuses("initialize"), refuses("server/discover")]).await;
        let world = with_an_issuer(&shut).start();
        let agent = world.agent("a-1", "A1");
        translated(&agent.post("/crm/mcp", &initialize()).await, "a handshake");
        translated(&agent.modern().post("/crm/mcp", &call()).await, "a first modern call");
        assert_eq!(shut.calls(), 0);
    }
}
