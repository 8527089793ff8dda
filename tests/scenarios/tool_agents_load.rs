//! Many tools at once, many one after the other, and runs that outlive who asked for them.

use std::time::Duration;

use portreeve_tests::{Kind, Stub, World};
use serde_json::{Value, json};

use crate::tool_agents::{build, put};

async fn on(kind: Kind, limits: Value) -> (World, Stub) {
    let stub = Stub::start(&["find", "write"]).await;
    let world = World::on(kind)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &[("find", "READ_ONLY"), ("write", "LOW_WRITE")])
        .set("limits", limits)
        .start();
    (world, stub)
}

async fn until_calls(stub: &Stub, calls: usize) {
    for _ in 0..1200 {
        if stub.calls() >= calls {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("{} calls arrived, expected {calls}", stub.calls());
}

// acceptance 90: all twenty are under way before the first is answered; each has its result, in the configured order, and
// the one that is refused hides none.
#[tokio::test(flavor = "multi_thread")]
async fn parallel_tools_are_under_way_together() {
    for kind in [Kind::Sqlite, Kind::Postgres] {
        let (world, stub) = on(kind, json!({ "agent_per_minute": 0 })).await;
        let agent = world.agent("a-1", "A1");
        let mut tools = vec!["crm/find"; 21];
        tools[7] = "crm/write";
        put(&world, "many", json!({ "tools": tools, "toolExecutionMode": "parallel" })).await;
        stub.hold();
        let building = build(&world, "many", &agent.key, json!({ "mode": "build" }));
        let watching = async {
            until_calls(&stub, 20).await;
            stub.let_go();
        };
        let ((status, built), ()) = tokio::join!(building, watching);
        assert_eq!(status, 200, "{built}");
        let ran: Vec<&str> =
            built["results"].as_array().unwrap().iter().filter_map(|one| one["tool"].as_str()).collect();
        assert_eq!(ran, tools);
        let metadata = &built["deliverable"]["metadata"];
        assert_eq!((&metadata["successfulTools"], &metadata["failedTools"]), (&json!(20), &json!(1)), "{built}");
        assert_eq!(metadata["executionMode"], "parallel");
        assert_eq!(built["results"][7]["success"], false);
        world.eventually("SELECT count(*) FROM audit_logs WHERE agent_id = 'a-1'", 21).await;
        assert_eq!(world.verify().0, 0);
    }
}

// At most `parallel_tools` of them at once.
#[tokio::test(flavor = "multi_thread")]
async fn no_more_at_once_than_is_allowed() {
    let (world, stub) = on(Kind::Sqlite, json!({ "agent_per_minute": 0, "parallel_tools": 3 })).await;
    let agent = world.agent("a-1", "A1");
    put(&world, "many", json!({ "tools": vec!["crm/find"; 9], "toolExecutionMode": "parallel" })).await;
    stub.hold();
    let building = build(&world, "many", &agent.key, json!({ "mode": "build" }));
    let watching = async {
        until_calls(&stub, 3).await;
        // Time for a fourth to come, if it would.
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(stub.calls(), 3);
        stub.let_go();
    };
    let ((_, built), ()) = tokio::join!(building, watching);
    assert_eq!(built["deliverable"]["metadata"]["successfulTools"], 9, "{built}");
}

/// What the process holds itself; pages of files that it has mapped are the system's to take back.
fn held_kib(pid: u32) -> i64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Of the 13 MiB that are asked and the 13 MiB that are answered. What a tick's records need is kept for the next tick's.
const MOST_KIB: i64 = 12 * 1024;

// A run of 1,000 tools holds memory flat: the deliverable keeps 64 KiB of what passes.
#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_tools_stay_small() {
    let limits = json!({ "agent_per_minute": 0, "result_bytes": "16KiB", "deliverable_bytes": "64KiB" });
    let (mut world, stub) = on(Kind::Sqlite, limits).await;
    let agent = world.agent("a-1", "A1");
    let params = json!({ "crm/find": { "q": "word ".repeat(2_600) } });
    let many = |count: usize| json!({ "tools": vec!["crm/find"; count], "toolParams": params.clone() });
    put(&world, "many", many(1000)).await;
    let pid = world.gateway().pid();
    // The first one fills what is filled once: caches, queues, the allocator's own stock.
    let warm = build(&world, "many", &agent.key, json!({ "mode": "build" })).await.1;
    assert_eq!(warm["deliverable"]["metadata"]["successfulTools"], 1000, "{}", warm["error"]);
    let before = held_kib(pid);
    let built = build(&world, "many", &agent.key, json!({ "mode": "build" })).await.1;
    // What was recorded is on its way to the store for a moment longer, on a busy machine for several.
    let mut grown = held_kib(pid) - before;
    for _ in 0..100 {
        if grown < MOST_KIB {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        grown = held_kib(pid) - before;
    }
    let metadata = &built["deliverable"]["metadata"];
    assert_eq!(metadata["successfulTools"], 1000, "{}", built["error"]);
    assert_eq!((stub.calls(), built["results"].as_array().unwrap().len()), (2000, 1000));
    let omitted = metadata["omitted"].as_u64().unwrap();
    assert!(omitted > 900, "{metadata}");
    let content = built["deliverable"]["content"].as_str().unwrap();
    // Each of those left out has a line that says how large it was.
    assert!(content.len() < (64 << 10) + 1000 * 160, "{} bytes", content.len());
    eprintln!("1,000 tools more: {grown} KiB on {before} KiB, {} bytes delivered", content.len());
    assert!(grown < MOST_KIB, "{grown} KiB more after another 1,000 tools");
}

// So many runs at once on a node, and a run is over when its time is.
#[tokio::test(flavor = "multi_thread")]
async fn runs_are_counted_and_end_in_time() {
    let (world, stub) = on(Kind::Sqlite, json!({ "agent_per_minute": 0, "runs": 1, "run_seconds": 3 })).await;
    let agent = world.agent("a-1", "A1");
    put(&world, "slow", json!({ "tools": ["crm/find", "crm/find"] })).await;
    stub.hold();
    let slow = build(&world, "slow", &agent.key, json!({ "mode": "build" }));
    let another = async {
        until_calls(&stub, 1).await;
        build(&world, "slow", &agent.key, json!({ "mode": "build" })).await
    };
    let ((status, built), (busy, refused)) = tokio::join!(slow, another);
    assert_eq!((busy, &refused["error"]), (429, &json!("Too many runs at once: at most 1")));
    assert_eq!((status, &built["task"]["status"]), (200, &json!("failed")), "{built}");
    assert_eq!(built["task"]["error"], "the run took longer than 3 seconds");
    assert_eq!(built["deliverable"]["metadata"]["toolsExecuted"], 1, "what was attempted is delivered");
    stub.let_go();
    let (_, again) = build(&world, "slow", &agent.key, json!({ "mode": "build" })).await;
    assert_eq!(again["deliverable"]["metadata"]["successfulTools"], 2, "{again}");
}

// A client that goes away stops nothing half-way, and a node that is told to stop waits for the run.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_belongs_to_the_node() {
    let (mut world, stub) = on(Kind::Sqlite, json!({ "agent_per_minute": 0 })).await;
    let agent = world.agent("a-1", "A1");
    put(&world, "slow", json!({ "tools": ["crm/find", "crm/find"] })).await;
    stub.hold();
    let asking = build(&world, "slow", &agent.key, json!({ "mode": "build" }));
    tokio::select! {
        _ = asking => panic!("it cannot be over"),
        () = until_calls(&stub, 1) => {}
    }
    world.gateway().signal("TERM");
    // Once it drains, nothing new begins.
    let mut refused = None;
    for _ in 0..200 {
        let answer = world.api("POST", "/api/agents/acme/slow/tasks", &agent.key, Some(json!({ "mode": "build" })));
        match tokio::time::timeout(Duration::from_millis(200), answer).await {
            Ok(answer) if answer.status == 503 => {
                refused = Some(answer.message());
                break;
            }
            _ => tokio::time::sleep(Duration::from_millis(25)).await,
        }
    }
    let refused = refused.expect("a node that stops begins no run");
    assert!(refused["error"].as_str().unwrap().contains("stopping"), "{refused}");
    stub.let_go();
    assert_eq!(world.gateway().wait(Duration::from_secs(40)), Some(0));
    let first = "SELECT status FROM agent_tasks ORDER BY started_at LIMIT 1";
    assert_eq!(world.database.sql(first), "completed");
    assert_eq!(
        world.database.count("SELECT count(*) FROM deliverables"),
        world.database.count("SELECT count(*) FROM agent_tasks")
    );
    assert_eq!(world.verify().0, 0);
}
