//! Two gateways on one database.

use portreeve_tests::{Kind, Stub, World};
use serde_json::json;

// acceptance 22 over two processes: one agent's chain grows on both nodes and never forks.
#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_share_a_chain_and_a_session_key() {
    let stub = Stub::start(&["write"]).await;
    let world = World::on(Kind::Postgres)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &[("write", "LOW_WRITE")])
        .start();
    let node = world.second_node();
    let here = world.agent("a-3", "A3");
    let there = here.at(&node);
    let calls = (0..200).map(|n| {
        let agent = if n % 2 == 0 { here.clone() } else { there.clone() };
        tokio::spawn(async move { agent.call("crm/write", json!({ "n": n })).await.decision() })
    });
    for decision in futures::future::join_all(calls.collect::<Vec<_>>()).await {
        assert_eq!(decision.unwrap(), "allow");
    }
    assert_eq!(world.database.count("SELECT count(*) FROM agent_traces WHERE agent_id = 'a-3'"), 200);
    assert_eq!(world.database.count("SELECT max(seq) FROM agent_traces WHERE agent_id = 'a-3'"), 200);
    assert_eq!(
        world.database.count("SELECT count(DISTINCT previous_hash) FROM agent_traces WHERE agent_id = 'a-3'"),
        199
    );
    assert_eq!(world.verify().0, 0);
}
