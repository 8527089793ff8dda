//! Policy directories, good and broken.
#![allow(clippy::unwrap_used)]

mod starters;

use std::fs;
use std::path::Path;

use gateway_core::matrix::{Authorization, Matrix};
use gateway_core::{Autonomy, DecisionType, ToolName};

use super::*;

const GOOD: &str = "manifests:
  - { id: notes/search, domain: notes, risk_level: READ_ONLY, side_effects: false, allowed_modes: [SHADOW] }
  - { id: notes/run_sql, domain: notes, risk_level: READ_ONLY, side_effects: false, allowed_modes: [FULL_AUTO] }
handling:
  notes/run_sql:
    sql: { argument: query, dialect: postgres, allowed_tables: [notes] }
    classification: { decision_type: D1, risk: R2, reversibility: total }
";

fn directory(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("manifests")).unwrap();
    for (name, text) in files {
        fs::write(dir.path().join(name), text).unwrap();
    }
    dir
}

/// Every problem, with the directory's own path cut off.
fn problems_of(files: &[(&str, &str)]) -> Vec<String> {
    let dir = directory(files);
    let found = load_policies(Some(dir.path())).err().unwrap_or_default();
    let root = dir.path().display().to_string();
    found
        .iter()
        .map(|problem| problem.to_string().replace(&root, "").trim_start_matches(['/', ':', ' ']).to_owned())
        .collect()
}

fn tool(name: &str) -> ToolName {
    name.parse().unwrap()
}

#[test]
fn the_example_of_a_gate_loads_and_is_bound_to_its_scenario() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/examples/gate/two-stage/policies");
    let policies = load_policies(Some(&dir)).unwrap().policies;
    let release = policies.scenarios.get("release").unwrap();
    let gate = |name: &str| policies.tool(&tool(name)).unwrap().handling.gate.clone();
    assert_eq!(gate("crm/update_contact").unwrap().spec_hash, *release.hash());
    assert_eq!(gate("crm/get_contact"), None, "reading is free");
}

#[test]
fn a_gate_that_could_never_open_is_told() {
    let manifest = "manifests:
  - { id: notes/write, domain: notes, risk_level: LOW_WRITE, side_effects: true, allowed_modes: [FULL_AUTO] }
handling:
  notes/write:
    gate: { scenario: release, run_from: meta, stage: write }
";
    let found = problems_of(&[("manifests/notes.yaml", manifest)]);
    assert!(found.iter().any(|problem| problem.contains("handling.notes/write.gate.scenario")), "{found:?}");
}

#[test]
fn the_shipped_policies_load_and_cover_the_built_in_and_demo_tools() {
    let loaded = load_policies(None).unwrap();
    for (name, code) in [
        ("adp/adp_log_trace", "D2-R2-partial"),
        ("adp/adp_classify", "D1-R1-total"),
        ("database/execute_sql", "D1-R1-total"),
        ("database/apply_migration", "D3-R3-irreversible"),
        ("crm/update_contact", "D2-R2-partial"),
        ("mail/draft_message", "D1-R1-total"),
        ("mail/send_message", "D3-R3-irreversible"),
        ("supabase/execute-sql", "D1-R1-total"),
    ] {
        assert_eq!(loaded.policies.tool(&tool(name)).unwrap().classification.code(), code, "{name}");
    }
    assert_eq!(loaded.policies.tools.len(), 32 + 162, "ours, and those of nine servers of others");
    assert_eq!(loaded.policies.matrix, Matrix::standard(), "the file says what the code says");
    assert_eq!(loaded.mode("matrix"), PluginMode::Enforce);
}

#[test]
fn a_built_in_tools_manifest_stands_until_the_operator_writes_another() {
    let own = "manifests:\n  - { id: supabase/get-schema, domain: x, risk_level: LOW_WRITE, side_effects: true, allowed_modes: [FULL_AUTO] }\n";
    let dir = directory(&[("manifests/supabase.yaml", own)]);
    let loaded = load_policies(Some(dir.path())).unwrap();
    let level = |name: &str| loaded.policies.tool(&tool(name)).unwrap().manifest.risk_level;
    assert_eq!(level("supabase/get-schema"), gateway_core::RiskLevel::LowWrite);
    assert_eq!(level("supabase/execute-sql"), gateway_core::RiskLevel::ReadOnly, "the others stay");
}

#[test]
fn another_server_in_a_built_in_ones_place_is_not_taken_for_it() {
    let none: [Namespace; 0] = [];
    let (mine, others): ([Namespace; 1], [Namespace; 1]) = (["supabase".parse().unwrap()], ["crm".parse().unwrap()]);
    for (upstreams, is_known) in [(&none[..], true), (&others[..], true), (&mine[..], false)] {
        let supabase = Supabase::among(upstreams.iter());
        for loaded in [load(None, supabase), load_texts(BTreeMap::new(), supabase)] {
            let policies = loaded.unwrap().policies;
            assert_eq!(policies.tool(&tool("supabase/execute-sql")).is_some(), is_known, "{upstreams:?}");
        }
    }
    let own = "manifests:\n  - { id: supabase/execute-sql, domain: x, risk_level: LOW_WRITE, side_effects: true, allowed_modes: [FULL_AUTO] }\n";
    let dir = directory(&[("manifests/supabase.yaml", own)]);
    let policies = load(Some(dir.path()), Supabase::Configured).unwrap().policies;
    assert!(policies.tool(&tool("supabase/execute-sql")).is_some(), "what the operator wrote of it holds");
    assert!(policies.tool(&tool("supabase/get-schema")).is_none());
}

#[test]
fn the_directory_in_the_repository_is_the_shipped_one() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies");
    let from_directory = load_policies(Some(&dir)).unwrap();
    assert_eq!(from_directory.policies.digest, load_policies(None).unwrap().policies.digest);
}

#[test]
fn an_operators_directory_keeps_the_built_in_tools_unless_it_has_its_own() {
    let dir = directory(&[("manifests/notes.yaml", GOOD)]);
    let loaded = load_policies(Some(dir.path())).unwrap();
    assert!(loaded.policies.tool(&tool("adp/adp_classify")).is_some());
    assert!(loaded.policies.tool(&tool("crm/get_contact")).is_none(), "demo manifests are not forced on anybody");
    assert_eq!(loaded.policies.tool(&tool("notes/run_sql")).unwrap().classification.code(), "D1-R2-total");

    fs::write(dir.path().join("manifests/adp.yaml"), "manifests: []").unwrap();
    let loaded = load_policies(Some(dir.path())).unwrap();
    assert!(loaded.policies.tool(&tool("adp/adp_classify")).is_none());
}

// acceptance 106: exactly five fields, known words, no contradiction; and every fault of a file is told at once.
#[test]
fn faulty_manifests_are_refused_with_every_reason() {
    let start = "manifests:\n  - { id: notes/ok, domain: n, risk_level: READ_ONLY, side_effects: false, allowed_modes: [SHADOW] }\n";
    for (entry, expected) in [
        (
            "{ id: notes/a, domain: n, risk_level: READ_ONLY, side_effects: false }",
            "manifests[1].allowed_modes: is missing",
        ),
        (
            "{ id: notes/a, domain: n, risk_level: READ, side_effects: false, allowed_modes: [SHADOW] }",
            "manifests[1].risk_level: unknown variant `READ`, expected one of `READ_ONLY`, `PROPOSE_ONLY`, `LOW_WRITE`, `HIGH_WRITE`",
        ),
        (
            "{ id: notes/a, domain: n, risk_level: READ_ONLY, side_effects: false, allowed_modes: [SHADOW], extra: 1 }",
            "manifests[1].extra: unknown key; known here: id, domain, risk_level, side_effects, allowed_modes",
        ),
        (
            "{ id: notes/a, domain: n, risk_level: READ_ONLY, side_effects: true, allowed_modes: [SHADOW] }",
            "manifests[1].side_effects: must be false for a READ_ONLY tool",
        ),
        (
            "{ id: notes/a, domain: n, risk_level: HIGH_WRITE, side_effects: true, allowed_modes: [PARTIAL_AUTO] }",
            "manifests[1].allowed_modes: PARTIAL_AUTO agents may never call a HIGH_WRITE tool; take PARTIAL_AUTO out",
        ),
        (
            "{ id: notes/a, domain: n, risk_level: READ_ONLY, side_effects: false, allowed_modes: [] }",
            "manifests[1].allowed_modes: must name at least one mode",
        ),
        (
            "{ id: a, domain: n, risk_level: READ_ONLY, side_effects: false, allowed_modes: [SHADOW] }",
            "manifests[1].id: `a` is not a tool name: expected `namespace/tool`",
        ),
        (
            "{ id: crm/a, domain: n, risk_level: READ_ONLY, side_effects: false, allowed_modes: [SHADOW] }",
            "manifests[1].id: `crm/a` belongs in manifests/crm.yaml; this file is for `notes/...`",
        ),
        (
            "{ id: notes/ok, domain: n, risk_level: READ_ONLY, side_effects: false, allowed_modes: [SHADOW] }",
            "manifests[1].id: `notes/ok` has a manifest already",
        ),
        (
            "{ id: notes/a, domain: governance, risk_level: READ_ONLY, side_effects: false, allowed_modes: [SHADOW] }",
            "manifests[1].domain: `governance` is for the built-in tools of adp and gate",
        ),
    ] {
        let told = problems_of(&[("manifests/notes.yaml", &format!("{start}  - {entry}\n"))]);
        assert_eq!(told, [format!("manifests/notes.yaml: {expected}")], "{entry}");
    }
}

#[test]
fn handling_may_only_raise_and_only_known_tools() {
    let tool = "manifests:\n  - { id: n/a, domain: n, risk_level: LOW_WRITE, side_effects: true, allowed_modes: [FULL_AUTO] }\nhandling:\n";
    for (handling, expected) in [
        (
            "  n/a: { classification: { decision_type: D1, risk: R1, reversibility: irreversible } }",
            vec![
                "handling.n/a.classification.decision_type: D1 is below D2, the least a LOW_WRITE tool counts as; it may only be raised",
                "handling.n/a.classification.risk: R1 is below R2, the least a LOW_WRITE tool counts as; it may only be raised",
            ],
        ),
        ("  n/b: {}", vec!["handling.n/b: no manifest in this file has this id; did you mean `n/a`?"]),
        ("  n/a: { sql: { argument: q } }", vec!["handling.n/a.sql.dialect: is missing"]),
        (
            "  n/a: { sql: { argument: '', dialect: sqlite, allowed_tables: [''] } }",
            vec![
                "handling.n/a.sql.argument: must name the argument that holds the SQL",
                "handling.n/a.sql.allowed_tables[0]: must not be empty",
            ],
        ),
        (
            "  n/a: { sql: { argument: [q, q], dialect: sqlite } }",
            vec!["handling.n/a.sql.argument: `q` is named twice"],
        ),
        (
            "  n/a: { clasification: 1 }",
            vec!["handling.n/a.clasification: unknown key; did you mean `classification`?"],
        ),
    ] {
        let told = problems_of(&[("manifests/n.yaml", &format!("{tool}{handling}\n"))]);
        let expected: Vec<_> = expected.iter().map(|what| format!("manifests/n.yaml: {what}")).collect();
        assert_eq!(told, expected, "{handling}");
    }
}

#[test]
fn metadata_describes_known_tools() {
    let tools = "manifests:\n  - { id: n/a, domain: n, risk_level: READ_ONLY, side_effects: false, allowed_modes: [SHADOW] }\nmetadata:\n";
    for (metadata, expected) in [
        ("  n/b: {}", "metadata.n/b: no manifest in this file has this id; did you mean `n/a`?"),
        ("  n/a: { categry: x }", "metadata.n/a.categry: unknown key; did you mean `category`?"),
        ("  n/a: { category: '' }", "metadata.n/a.category: must not be empty"),
        ("  n/a: { tags: [x, ' '] }", "metadata.n/a.tags[1]: must not be empty"),
    ] {
        let told = problems_of(&[("manifests/n.yaml", &format!("{tools}{metadata}\n"))]);
        assert_eq!(told, [format!("manifests/n.yaml: {expected}")], "{metadata}");
    }
    let written = format!("{tools}  n/a: {{ category: search, description: Finds notes., tags: [text] }}\n");
    let dir = directory(&[("manifests/n.yaml", &written)]);
    let loaded = load_policies(Some(dir.path())).unwrap().policies;
    let metadata = loaded.tool(&tool("n/a")).unwrap().metadata.clone().unwrap();
    assert_eq!((metadata.category.as_deref(), metadata.tags.len()), (Some("search"), 1));
    let plain = directory(&[("manifests/n.yaml", tools.trim_end_matches("metadata:\n"))]);
    assert_ne!(load_policies(Some(plain.path())).unwrap().policies.digest, loaded.digest, "part of the policies");
}

#[test]
fn matrix_and_chain_are_checked() {
    let row = "{ D1: authorized, D2: authorized, D3: prohibited, D4: prohibited }";
    let matrix = |a5: &str| format!("matrix:\n  A1: {row}\n  A2: {row}\n  A3: {row}\n  A4: {row}\n  A5: {a5}\n");
    let lawless = "{ D1: authorized, D2: authorized, D3: authorized, D4: authorized }";
    let told = problems_of(&[("matrix.yaml", &matrix(lawless))]);
    assert!(
        told.len() == 1 && told.iter().all(|told| told.starts_with("matrix.yaml: matrix.A5.D4: may not")),
        "{told:?}"
    );
    assert_eq!(
        problems_of(&[("matrix.yaml", &matrix("{ D1: authorized }"))]),
        ["matrix.yaml: matrix.A5.D2: is missing"]
    );
    assert_eq!(
        problems_of(&[("chain.yaml", "plugins: { matrx: observe, manifest: maybe }")]),
        [
            "chain.yaml: plugins.manifest: unknown variant `maybe`, expected `enforce` or `observe`",
            "chain.yaml: plugins.matrx: there is no such plugin; did you mean `matrix`?",
        ]
    );

    let dir = directory(&[("matrix.yaml", &matrix(row)), ("chain.yaml", "plugins: { matrix: observe }")]);
    let loaded = load_policies(Some(dir.path())).unwrap();
    assert_eq!(loaded.policies.matrix.cell(Autonomy::A5, DecisionType::D3), Authorization::Prohibited);
    assert_eq!((loaded.mode("matrix"), loaded.mode("manifest")), (PluginMode::Observe, PluginMode::Enforce));
}

#[test]
fn files_that_nothing_would_read_are_told() {
    let told = problems_of(&[("matrx.yaml", ""), ("manifests/notes.yml", GOOD), ("manifests/README.md", "hello")]);
    assert_eq!(
        told,
        [
            "nothing reads `matrx.yaml`; did you mean `matrix.yaml`?",
            "nothing reads `manifests/notes.yml`; call it `.yaml`"
        ]
    );
    let missing = load_policies(Some(Path::new("/nowhere/policies"))).err().unwrap();
    assert!(
        missing.iter().any(|problem| problem.to_string().starts_with("/nowhere/policies: cannot be read")),
        "{missing:?}"
    );
}

// One broken file refuses the whole directory, and the problems of every file are told together.
#[test]
fn all_files_are_heard() {
    let told = problems_of(&[
        ("chain.yaml", "plugin: {}"),
        ("manifests/a.yaml", "manifest: []"),
        ("manifests/b.yaml", "manifests: ["),
    ]);
    assert_eq!(told.len(), 3, "{told:?}");
}
