//! What is read, by whom, and that nothing else is.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use super::*;
use crate::adp::fakes::{Chains, Registry, Rows, agent, agent_of};

fn books(registry: Registry, rows: &Rows, chains: &Chains) -> Books {
    Books {
        tenants: Arc::new(registry),
        policies: Arc::new(rows.clone()),
        ledger: Arc::new(chains.clone()),
        matrix: Arc::new(|| Arc::new(Matrix::standard())),
    }
}

fn empty() -> Books {
    books(Registry::default(), &Rows::default(), &Chains::default())
}

async fn read(books: &Books, caller: &Principal, uri: &str) -> Value {
    let contents = books.read(caller, uri).await.unwrap();
    assert_eq!(contents.mime_type, JSON, "{uri}");
    serde_json::from_str(&contents.text).unwrap()
}

// acceptance 28: four resources and one template.
#[test]
fn the_seeds_resources() {
    let uris: Vec<_> = empty().list().into_iter().map(|spec| spec.uri).collect();
    assert_eq!(uris, ["adp://registry", "adp://policies", "adp://traces", "adp://matrix"]);
    let templates: Vec<_> = empty().templates().into_iter().map(|spec| spec.uri).collect();
    assert_eq!(templates, ["adp://specs/{name}"]);
}

// acceptance 29: the caller's own rows; active policies; the newest hundred, newest first.
#[tokio::test]
async fn each_tenant_reads_its_own_rows() {
    let registry = Registry::default().with("a", Autonomy::A3, &[DecisionType::D1], Risk::R2);
    let rows = Rows::default().with("POL-1", Some("low"), json!({})).with("POL-2", None, json!({})).inactive("POL-2");
    let chains = Chains::default();
    chains.grow("a", 120);
    let books = books(registry, &rows, &chains);

    let agents = read(&books, &agent("a"), "adp://registry").await;
    let columns: Vec<_> = agents["agents"][0].as_object().unwrap().keys().cloned().collect();
    assert_eq!(
        columns.join(" "),
        "id organization_id agent_id name description autonomy_level allowed_types max_risk owner_name owner_email status \
         metadata created_at updated_at"
    );
    assert_eq!(agents["agents"][0]["autonomy_level"], "A3");
    let policies = read(&books, &agent("a"), "adp://policies").await;
    assert_eq!(policies["policies"].as_array().map(Vec::len), Some(1), "{policies}");
    assert_eq!(policies["policies"][0]["policy_id"], "POL-1");
    let traces = read(&books, &agent("a"), "adp://traces").await;
    let seqs: Vec<_> = traces["traces"].as_array().unwrap().iter().map(|one| one["seq"].as_i64().unwrap()).collect();
    assert_eq!(seqs, (21..=120).rev().collect::<Vec<_>>());
    let newest = &traces["traces"][0];
    assert_eq!(newest["created_at"], newest["timestamp"]);
    let event: gateway_core::trace::Event = serde_json::from_value(newest.clone()).unwrap();
    assert_eq!(json!(event.hash().unwrap()), newest["event_hash"], "what is read can be recomputed");

    for stranger in [agent_of(9, "a"), Principal::anonymous()] {
        assert_eq!(read(&books, &stranger, "adp://policies").await, json!({ "policies": [] }));
        assert_eq!(read(&books, &stranger, "adp://traces").await, json!({ "traces": [] }));
        assert_eq!(read(&books, &stranger, "adp://registry").await, json!({ "agents": [] }));
    }
}

// acceptance 14, acceptance 29: five levels by four kinds, as they are in force, and the law beside them.
#[tokio::test]
async fn the_matrix_is_the_one_in_force() {
    let document = read(&empty(), &agent("a"), "adp://matrix").await;
    for level in Autonomy::ALL {
        for kind in DecisionType::ALL {
            let cell = &document["matrix"][level.as_str()][kind.as_str()];
            assert_eq!(*cell, json!(Matrix::standard().cell(*level, *kind)), "{level} x {kind}");
        }
    }
    assert_eq!(document["matrix"]["A3"]["D2"], "authorized");
    assert_eq!(document["overrides"].as_array().map(Vec::len), Some(2));
}

// acceptance 30: seven texts and no eighth.
#[tokio::test]
async fn the_specifications_are_texts_of_our_own() {
    let books = empty();
    for (name, _) in specs::ALL {
        let contents = books.read(&agent("a"), &format!("adp://specs/{name}")).await.unwrap();
        assert_eq!(contents.mime_type, MARKDOWN);
        assert!(contents.text.starts_with("# "), "{name}");
        assert!(
            (60..=140).contains(&contents.text.lines().count()),
            "{name} has {} lines",
            contents.text.lines().count()
        );
    }
    for uri in
        ["adp://specs/", "adp://specs/unknown", "adp://specs/../registry", "adp://specs", "adp://registry/", "adp://x"]
    {
        assert_eq!(books.read(&agent("a"), uri).await, Err(Unread::NotThere), "{uri}");
    }
    let vector = "sha256:5efe256c39fd60700ab981bcfdae5849447c5a5d4a8821c3c1eb4b103482f629";
    assert!(specs::named("trace-format").unwrap().contains(vector), "a reader can check an implementation against it");
}
