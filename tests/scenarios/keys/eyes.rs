//! Two pairs of eyes, by the names on people's keys: nobody approves what their own agent asks for.

use portreeve_tests::{Agent, Answer, Kind, Stub, World};
use serde_json::json;

use super::named;

/// What `agent` wants done, which needs somebody; the approval's id.
async fn waits(agent: &Agent, n: u32) -> String {
    let answer = agent.call("crm/delete", json!({ "id": n })).await.message();
    let object = &answer["result"]["_meta"]["io.portreeve/decision"];
    assert_eq!(object["decision"], "approval_required", "{answer}");
    object["approval_id"].as_str().unwrap().to_owned()
}

async fn approve(world: &World, key: &str, id: &str) -> Answer {
    world.api("POST", &format!("/api/approvals/{id}/approve"), key, None).await
}

#[track_caller]
fn is_refused(answer: &Answer, part: &str) {
    assert_eq!(answer.status, 403, "{}", answer.text());
    assert!(answer.text().contains(part), "{}", answer.text());
}

/// Traces of decisions in an agent's chain that say both.
fn told(world: &World, agent: &str, description: &str, context: &str) -> i64 {
    world.database.count(&format!(
        "SELECT count(*) FROM agent_traces WHERE agent_id = '{agent}' AND description LIKE '{description}' AND CAST(context AS TEXT) LIKE '%{context}%'"
    ))
}

async fn register(world: &World, key: &str, agent: &str) -> Agent {
    let arguments = json!({ "agent_id": agent, "name": agent, "autonomy_level": "A4", "max_risk": "R4" });
    let registrar = world.agent_with_key("registrar", key);
    let made = registrar.call("adp/adp_register_agent", arguments).await.tool_json();
    world.agent_with_key(agent, made["api_key"].as_str().unwrap_or_else(|| panic!("{made}")))
}

async fn another_person_approves(kind: Kind) {
    let stub = Stub::start(&["delete"]).await;
    let world = World::on(kind)
        .upstream("crm", json!({ "url": stub.url() }))
        .manifests("crm", &[("delete", "HIGH_WRITE")])
        .start();
    let (ada, grace) = (named(&world, "Ada@Example.com"), named(&world, "grace@example.com"));
    let shared = world.admin_key.as_str();

    // Ada's agent: her own key is refused, and so is one that anybody may hold, hers among them.
    let owned = world.agent_with("a-4", &["--autonomy", "A4", "--max-risk", "R4", "--owner-email", "ada@example.com"]);
    let id = waits(&owned, 1).await;
    is_refused(&approve(&world, &ada, &id).await, "other than the agent's own user");
    is_refused(&approve(&world, shared, &id).await, "names nobody");
    let own_word = world.cli(&["approval", "approve", &id, "--by", "ADA@example.com"]);
    assert_eq!(
        own_word.status.code(),
        Some(1),
        "at the command line the name is the operator's word, and this one is hers"
    );
    assert_eq!(
        (stub.calls(), owned.call("crm/delete", json!({ "id": 1 })).await.decision().as_str()),
        (0, "approval_required")
    );
    let approved = approve(&world, &grace, &id).await;
    assert_eq!(
        (approved.status, &approved.message()["decided_by"]),
        (200, &json!("grace@example.com")),
        "{}",
        approved.text()
    );
    assert_eq!(owned.call("crm/delete", json!({ "id": 1 })).await.decision(), "allow");
    assert_eq!(stub.calls(), 1);
    let by = "crm/delete not approved: administrator:";
    assert_eq!(told(&world, "a-4", &format!("{by}Ada@Example.com is%"), "Ada@Example.com"), 1, "who tried");
    assert_eq!(told(&world, "a-4", &format!("{by}admin is%"), "names nobody"), 1, "and with what");
    assert_eq!(told(&world, "a-4", "crm/delete approved", "grace@example.com"), 1, "and whose yes it was");
    assert_eq!(told(&world, "a-4", "%", "owner unknown"), 0);
    // A no is anybody's, the owner's first of all.
    let id = waits(&owned, 2).await;
    assert_eq!(world.api("POST", &format!("/api/approvals/{id}/reject"), &ada, None).await.status, 200);

    // An agent that Grace registered without an owner: neither that key nor another of hers, nor one that may be hers.
    let registered = register(&world, &grace, "b-4").await;
    let id = waits(&registered, 1).await;
    is_refused(&approve(&world, &grace, &id).await, "other than");
    is_refused(&approve(&world, &named(&world, "GRACE@example.com"), &id).await, "other than");
    is_refused(&approve(&world, shared, &id).await, "names nobody");
    assert_eq!(approve(&world, &ada, &id).await.status, 200);
    assert_eq!(told(&world, "b-4", "crm/delete approved", "owner unknown"), 1);

    // The key that registered it is nobody else's, whatever it is called.
    let registered = register(&world, shared, "c-4").await;
    let id = waits(&registered, 1).await;
    is_refused(&approve(&world, shared, &id).await, "registered with this key");
    assert_eq!(approve(&world, &grace, &id).await.status, 200);

    // Nobody said whose it is: whoever administers may decide, and the chain says what that was worth.
    let nobodys = world.agent("d-4", "A4");
    let id = waits(&nobodys, 1).await;
    assert_eq!(approve(&world, &nobodys.key, &id).await.status, 403, "not the agent itself");
    assert_eq!(approve(&world, shared, &id).await.status, 200);
    assert_eq!(told(&world, "d-4", "crm/delete approved", "owner unknown"), 1);
    assert_eq!(world.verify().0, 0);
}

#[tokio::test]
async fn another_person_approves_on_sqlite() {
    another_person_approves(Kind::Sqlite).await;
}

#[tokio::test]
async fn another_person_approves_on_postgres() {
    another_person_approves(Kind::Postgres).await;
}
