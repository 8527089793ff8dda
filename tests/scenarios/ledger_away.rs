//! The store goes away: first the spool holds what happened, then the gateway refuses rather than forgets.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use portreeve_tests::{Database, Kind, Stub, World};
use serde_json::json;

#[tokio::test]
async fn while_the_store_is_away_the_spool_is_the_ledger() {
    let stub = Stub::start(&["write"]).await;
    let mut world = World::on(Kind::Postgres)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &[("write", "LOW_WRITE")])
        .start();
    let agent = world.agent("a-3", "A3");
    assert_eq!(agent.call("crm/write", json!({ "n": 0 })).await.decision(), "allow");

    // An exclusive lock stalls every insert without touching anything else: a stuck store.
    let mut lock = stall(&world);
    let began = std::time::Instant::now();
    let during = agent.call("crm/write", json!({ "n": 1 })).await;
    assert_eq!(during.decision(), "allow", "{}", during.text());
    assert!(began.elapsed() < Duration::from_secs(20), "a stuck store is given up on");
    assert_eq!(stub.calls(), 2);
    release(&world, &mut lock);
    world.eventually("SELECT count(*) FROM agent_traces WHERE agent_id = 'a-3'", 2).await;
    assert_eq!(agent.call("crm/write", json!({ "n": 2 })).await.decision(), "allow");
    world.gateway().signal("TERM");
    world.gateway().wait(Duration::from_secs(30));
    assert_eq!(
        world.database.count("SELECT count(*) FROM agent_traces WHERE agent_id = 'a-3'"),
        3,
        "nothing lost, nothing doubled"
    );
    assert_eq!(world.verify().0, 0);
}

/// A read under the given `audit.wait` while the store is stuck: how long its caller waited.
async fn read_while_stuck(kind: Kind, wait: &str) -> Duration {
    let stub = Stub::start(&["read"]).await;
    let mut world = World::on(kind)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &[("read", "READ_ONLY")])
        .set("audit", json!({ "wait": wait }))
        .start();
    let agent = world.agent("a-1", "A1");
    assert_eq!(agent.call("crm/read", json!({ "n": 0 })).await.decision(), "allow");
    world.eventually("SELECT count(*) FROM audit_logs WHERE agent_id = 'a-1'", 1).await;
    let mut lock = stall(&world);
    let began = std::time::Instant::now();
    let answer = agent.call("crm/read", json!({ "n": 1 })).await;
    let waited = began.elapsed();
    assert_eq!(answer.decision(), "allow", "{wait}: {}", answer.text());
    release(&world, &mut lock);
    world.gateway().signal("TERM");
    world.gateway().wait(Duration::from_secs(30));
    assert_eq!(world.database.count("SELECT count(*) FROM agent_traces WHERE agent_id = 'a-1'"), 2, "{wait}");
    assert_eq!(world.verify().0, 0, "{wait}");
    waited
}

/// The spool takes over from a stuck store after this long, and not before: whoever waits for a record waits so long.
const SPOOL_TAKES_OVER: Duration = Duration::from_secs(2);

// acceptance 70, in part: by default a read does not wait for its record; with `audit.wait: all` it does.
#[tokio::test]
async fn reads_wait_for_their_record_only_where_all_do() {
    for kind in [Kind::Sqlite, Kind::Postgres] {
        let waited = read_while_stuck(kind, "all").await;
        assert!(waited >= SPOOL_TAKES_OVER, "{kind:?}: answered after {waited:?}, before anything was durable");
        let waited = read_while_stuck(kind, "side_effects").await;
        assert!(waited < SPOOL_TAKES_OVER, "{kind:?}: a plain read waited {waited:?} for its record");
    }
}

fn stall(world: &World) -> Child {
    if let Database::Sqlite(path) = &world.database {
        // Whoever wants to write waits for this transaction; reading goes on.
        let script = "import sqlite3,sys,time\n\
            c=sqlite3.connect(sys.argv[1],timeout=30,isolation_level=None)\n\
            c.execute('BEGIN IMMEDIATE')\n\
            print('held',flush=True)\n\
            time.sleep(60)";
        let mut child = Command::new("python3").args(["-c", script]).arg(path).stdout(Stdio::piped()).spawn().unwrap();
        let mut held = [0; 4];
        child.stdout.as_mut().unwrap().read_exact(&mut held).unwrap();
        return child;
    }
    let script = "BEGIN; LOCK TABLE agent_traces IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(60);";
    let child = Command::new("psql").args(["-X", "-q", "-d", &world.database.url(), "-c", script]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    child
}

/// Ends the session that holds the lock: killing the client alone would leave it asleep on the server.
fn release(world: &World, lock: &mut Child) {
    if let Database::Postgres(_) = world.database {
        world.database.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(60)%' AND pid <> pg_backend_pid()");
    }
    let _ = lock.kill();
    let _ = lock.wait();
}

#[tokio::test]
async fn what_cannot_be_recorded_is_not_done() {
    let stub = Stub::start(&["write"]).await;
    // A spool that is full as soon as anything is in it.
    let world = World::on(Kind::Postgres)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &[("write", "LOW_WRITE")])
        .set("audit", json!({ "spool_bytes": 1 }))
        .start();
    let agent = world.agent("a-3", "A3");
    let mut lock = stall(&world);
    let held = agent.call("crm/write", json!({ "n": 1 })).await;
    assert_eq!(held.decision(), "allow", "the spool still takes one: {}", held.text());
    let refused = agent.call("crm/write", json!({ "n": 2 })).await;
    assert_eq!(refused.status, 503, "{}", refused.text());
    assert_eq!(refused.message()["error"]["code"], 5030);
    assert_eq!(stub.calls(), 1, "an unrecorded call does not leave");
    release(&world, &mut lock);
}
