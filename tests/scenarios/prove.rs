//! Showing that the policies keep their promises: on good data, and on data that somebody spoilt.

use portreeve_tests::{Kind, Stub, World};
use serde_json::{Value, json};

const TOOLS: [(&str, &str); 4] =
    [("read", "READ_ONLY"), ("propose", "PROPOSE_ONLY"), ("write", "LOW_WRITE"), ("destroy", "HIGH_WRITE")];

fn prove(world: &World, more: &[&str]) -> (i32, Value, String) {
    let output = world.cli(&[&["prove", "--json"], more].concat());
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let document = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("prove: {told}"));
    (output.status.code().unwrap_or(-1), document, told)
}

fn write(world: &World, inside: &str, text: &str) {
    std::fs::write(world.directory.path().join("policies").join(inside), text).unwrap();
}

// acceptance 111: every tool that a mode reaches is told, and a mode that reaches a write it must not ends with 1.
async fn safety_is_proved_or_the_counterexample_is_told(kind: Kind) {
    let stub = Stub::start(&["read", "propose", "write", "destroy"]).await;
    let world = World::on(kind).upstream("crm", json!({ "url": stub.url() })).manifests("crm", &TOOLS).start();
    world.agent("a-1", "A1");
    world.agent_with("a-3", &["--autonomy", "A3", "--allowed-types", "D1,D2", "--max-risk", "R2"]);

    let (code, proof, told) = prove(&world, &[]);
    assert_eq!((code, &proof["holds"]), (0, &json!(true)), "{told}");
    let reached = |mode: &str| -> Vec<&str> {
        let of_mode = proof["reach"].as_array().unwrap().iter().filter(|one| one["mode"] == mode);
        of_mode.map(|one| one["tool"].as_str().unwrap()).filter(|tool| tool.starts_with("crm/")).collect()
    };
    assert_eq!(reached("SHADOW"), ["crm/propose", "crm/read"]);
    assert_eq!(reached("PARTIAL_AUTO"), ["crm/propose", "crm/read", "crm/write"]);
    assert_eq!(reached("FULL_AUTO"), ["crm/destroy", "crm/propose", "crm/read", "crm/write"]);
    let (code, shadow, _) = prove(&world, &["--mode", "SHADOW"]);
    assert_eq!(code, 0);
    assert!(shadow["reach"].as_array().unwrap().iter().all(|one| one["side_effects"] == false), "{shadow}");

    // It is in the ledger, with the digests of what was proved.
    let trace = proof["trace_id"].as_str().unwrap();
    let written = format!("SELECT count(*) FROM agent_traces WHERE trace_id = '{trace}' AND agent_id = 'portreeve'");
    assert_eq!(world.database.count(&written), 1);
    let context = world.database.sql(&format!("SELECT context FROM agent_traces WHERE trace_id = '{trace}'"));
    assert!(context.contains(proof["digests"]["policies"].as_str().unwrap()), "{context}");
    assert_eq!(world.database.count("SELECT count(*) FROM proofs"), 2);

    // An administrator proves for its own tenant.
    let answer = world.api("POST", "/api/prove", &world.admin_key, Some(json!({}))).await;
    assert_eq!((answer.status, &answer.message()["holds"]), (200, &json!(true)), "{}", answer.text());
    let latest = world.api("GET", "/api/proofs/latest", &world.admin_key, None).await.message();
    assert_eq!(latest["id"], answer.message()["id"]);

    // Corrupted: the judges are only heard.
    write(&world, "chain.yaml", "plugins: { manifest: observe, matrix: observe }");
    let (code, broken, told) = prove(&world, &[]);
    assert_eq!((code, &broken["holds"]), (1, &json!(false)));
    let shortest =
        "SHADOW (A1) reaches crm/write (LOW_WRITE, side effects): chain.yaml has manifest: observe, matrix: observe";
    assert_eq!(broken["counterexample"], shortest);
    assert!(told.contains(shortest), "{told}");
    std::fs::remove_file(world.directory.path().join("policies/chain.yaml")).unwrap();

    // Corrupted: a manifest that contradicts itself.
    let mut lies = portreeve_tests::world::manifest("crm", "write", "LOW_WRITE");
    lies["allowed_modes"] = json!(["SHADOW", "FULL_AUTO"]);
    write(&world, "manifests/crm.yaml", &json!({ "manifests": [lies] }).to_string());
    let (code, broken, _) = prove(&world, &["--mode", "SHADOW"]);
    assert_eq!(code, 1);
    assert!(
        broken["counterexample"].as_str().unwrap().contains("SHADOW agents may never call a LOW_WRITE tool"),
        "{broken}"
    );
    assert_eq!(world.verify().0, 0);
}

#[tokio::test]
async fn safety_is_proved_on_sqlite() {
    safety_is_proved_or_the_counterexample_is_told(Kind::Sqlite).await;
}

#[tokio::test]
async fn safety_is_proved_on_postgres() {
    safety_is_proved_or_the_counterexample_is_told(Kind::Postgres).await;
}

#[tokio::test]
async fn an_upstream_that_is_only_watched_proves_nothing() {
    let stub = Stub::start(&["anything"]).await;
    let world =
        World::on(Kind::Sqlite).upstream("notes", json!({ "url": stub.url(), "unclassified": "observe" })).start();
    let (code, broken, _) = prove(&world, &[]);
    assert_eq!(code, 1);
    let told = broken["counterexample"].as_str().unwrap();
    assert!(told.contains("notes/unknown") && told.contains("upstreams.notes has unclassified: observe"), "{told}");
    let answer = world.api("POST", "/api/prove", &world.admin_key, None).await.message();
    assert_eq!(answer["holds"], false, "{answer}");
}
