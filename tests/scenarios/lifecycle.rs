//! Starting, stopping and handing over.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use portreeve_tests::environment::portreeve;
use portreeve_tests::process::Process;
use portreeve_tests::{Kind, Stub, World};
use serde_json::json;

async fn a_world() -> (World, Stub) {
    let stub = Stub::start(&["read", "write"]).await;
    let world = World::on(Kind::Sqlite)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &[("read", "READ_ONLY"), ("write", "LOW_WRITE")])
        .start();
    (world, stub)
}

#[tokio::test]
async fn stopping_finishes_what_is_under_way_and_flushes_the_ledger() {
    let (mut world, stub) = a_world().await;
    let agent = world.agent("a-3", "A3");
    stub.slow_down(Duration::from_millis(1500));
    let calls: Vec<_> = (0..5)
        .map(|_| {
            let agent = agent.clone();
            tokio::spawn(async move { agent.call("crm/read", json!({})).await })
        })
        .collect();
    while stub.calls() < 5 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    world.gateway().signal("TERM");
    for call in calls {
        assert_eq!(call.await.unwrap().status, 200, "a call under way is finished");
    }
    assert_eq!(world.gateway().wait(Duration::from_secs(30)), Some(0));
    assert_eq!(world.database.count("SELECT count(*) FROM agent_traces WHERE agent_id = 'a-3'"), 5);
    assert_eq!(world.database.count("SELECT count(*) FROM audit_logs WHERE status_code = 'ok'"), 5);
    assert_eq!(world.verify().0, 0);
}

#[tokio::test]
async fn a_node_that_stops_is_not_ready_on_either_listener() {
    let (mut world, stub) = a_world().await;
    let agent = world.agent("a-3", "A3");
    stub.slow_down(Duration::from_secs(2));
    let call = tokio::spawn(async move { agent.call("crm/read", json!({})).await });
    while stub.calls() < 1 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    world.gateway().signal("TERM");
    tokio::time::sleep(Duration::from_millis(300)).await;
    for port in [world.port, world.console_port] {
        let answer = world.client.send("GET", &format!("http://127.0.0.1:{port}/ready"), &[], "").await;
        assert_eq!((answer.status, answer.message()["why"].as_str()), (503, Some("draining")), "on {port}");
        assert_eq!(answer.header("connection"), Some("close"), "on {port}");
    }
    assert_eq!(call.await.unwrap().status, 200);
    assert_eq!(world.gateway().wait(Duration::from_secs(30)), Some(0));
}

/// What one call over a connection came to.
#[derive(Debug, PartialEq)]
enum Heard {
    Answer { status: u16, closes: bool },
    Refused,
    Cut(String),
}

/// One call as plain bytes: a client library would try again by itself, and hide what was cut.
fn call(kept: &mut Option<TcpStream>, port: u16, key: &str) -> Heard {
    let mut stream = match kept.take().map_or_else(|| TcpStream::connect(("127.0.0.1", port)), Ok) {
        Ok(stream) => stream,
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => return Heard::Refused,
        Err(error) => return Heard::Cut(error.to_string()),
    };
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{}}}"#;
    let request = format!(
        "POST /crm/mcp HTTP/1.1\r\nhost: localhost\r\nx-api-key: {key}\r\nmcp-protocol-version: 2025-11-25\r\n\
         content-type: application/json\r\naccept: application/json, text/event-stream\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let heard = stream.write_all(request.as_bytes()).and_then(|()| answer(&mut stream));
    match heard {
        Ok(Some((status, closes))) => {
            *kept = (!closes).then_some(stream);
            Heard::Answer { status, closes }
        }
        Ok(None) => Heard::Cut("closed without a whole answer".into()),
        Err(error) => Heard::Cut(error.to_string()),
    }
}

/// Status, and whether the connection ends with it; `None` if it ended sooner.
fn answer(stream: &mut TcpStream) -> std::io::Result<Option<(u16, bool)>> {
    let (mut read, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&read[..end]).to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok());
            if read.len() >= end + 4 + length.unwrap_or(0usize) {
                let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
                return Ok(status.map(|status| (status, head.contains("connection: close"))));
            }
        }
        match stream.read(&mut piece)? {
            0 => return Ok(None),
            count => read.extend_from_slice(&piece[..count]),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_cut_while_calls_keep_coming() {
    let (mut world, stub) = a_world().await;
    let agent = world.agent("a-3", "A3");
    stub.slow_down(Duration::from_millis(30));
    let began = Instant::now();
    let (port, key) = (world.port, agent.key.clone());
    let clients: Vec<_> = (0..4)
        .map(|_| {
            let key = key.clone();
            std::thread::spawn(move || {
                let (mut kept, mut heard) = (None, Vec::new());
                loop {
                    let came = call(&mut kept, port, &key);
                    let late = matches!(came, Heard::Answer { status: 503, .. });
                    let over = !matches!(came, Heard::Answer { .. });
                    heard.push((began.elapsed(), came));
                    if over || began.elapsed() > Duration::from_secs(60) {
                        return heard;
                    }
                    // As `Retry-After` says.
                    std::thread::sleep(if late { Duration::from_secs(1) } else { Duration::from_millis(10) });
                }
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_secs(1)).await;
    world.gateway().signal("TERM");
    let told = began.elapsed();
    assert_eq!(world.gateway().wait(Duration::from_secs(25)), Some(0), "within its bound");
    let (mut served, mut late) = (0, 0);
    for client in clients {
        let heard = client.join().unwrap();
        assert!(matches!(heard.last(), Some((_, Heard::Refused))), "{:?}", heard.last());
        for (at, heard) in heard {
            match heard {
                Heard::Answer { status: 200, closes } => {
                    // Those under way at that moment were begun before it.
                    assert!(closes || at < told + Duration::from_secs(1), "{at:?}");
                    served += usize::from(at > told + Duration::from_secs(1));
                }
                Heard::Answer { status: 503, closes } => {
                    assert!(closes && at > told + Duration::from_secs(9), "{at:?}");
                    late += 1;
                }
                Heard::Refused => {}
                other => panic!("{at:?} after {told:?}: {other:?}"),
            }
        }
    }
    assert!(served > 20, "what still came was served: {served}");
    assert!(late > 0, "and what came too late was told so: {late}");
    assert_eq!(world.verify().0, 0);
}

#[tokio::test]
async fn a_successor_takes_over_without_a_refused_connection() {
    let (mut world, _stub) = a_world().await;
    let agent = world.agent("a-3", "A3");
    let mut command = Command::new(portreeve());
    command.args(["serve", "--upgrade", "--config"]).arg(world.config_path()).current_dir(world.directory.path());
    let mut successor = Process::start(&mut command, &world.directory.path().join("successor.log"));
    tokio::time::sleep(Duration::from_millis(500)).await;
    world.gateway().signal("QUIT");
    let mut served = 0;
    let ends = tokio::time::Instant::now() + Duration::from_secs(12);
    while tokio::time::Instant::now() < ends {
        assert_eq!(agent.call("crm/read", json!({})).await.status, 200);
        served += 1;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(served > 50);
    assert!(world.gateway().wait(Duration::from_secs(60)).is_some(), "the old process ends");
    assert_eq!(agent.call("crm/read", json!({})).await.status, 200, "the new one serves alone");
    successor.signal("TERM");
    assert_eq!(successor.wait(Duration::from_secs(30)), Some(0));
    assert_eq!(world.verify().0, 0);
}

#[test]
fn check_names_every_problem_with_its_place() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("bad.yaml");
    std::fs::write(&file, "limits: { body_bytes: 4XiB, depth: 0 }\ntool_separator: \"/\"\non_denied: shrug\n").unwrap();
    let output = Command::new(portreeve()).arg("check").arg("--config").arg(&file).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    for place in
        ["bad.yaml: limits.body_bytes:", "bad.yaml: limits.depth:", "bad.yaml: tool_separator:", "bad.yaml: on_denied:"]
    {
        assert!(said.contains(place), "{place} is missing from:\n{said}");
    }
}

#[test]
fn the_tour_shows_what_it_promises() {
    let directory = tempfile::tempdir().unwrap();
    let (mcp, console) = (portreeve_tests::environment::free_port(), portreeve_tests::environment::free_port());
    let output = Command::new(portreeve())
        .args(["demo", "--tour", "--data"])
        .arg(directory.path())
        .args(["--mcp", &format!("127.0.0.1:{mcp}"), "--console", &format!("127.0.0.1:{console}")])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    for word in ["as expected", "[CARD]", "refused", "approval"] {
        assert!(said.contains(word), "{word}: {said}");
    }
}
