//! What would make a refused call pass, asked of every judge: a row for each way there is.
#![allow(clippy::unwrap_used, clippy::panic, clippy::needless_pass_by_value, clippy::too_many_lines)]

use std::collections::HashMap;
use std::sync::Arc;

use gateway_core::content::Action;
use gateway_core::definitions::{Defined, Standing, hash};
use gateway_core::dlp::DlpHandling;
use gateway_core::exchange::ToolSubject;
use gateway_core::explain::explain;
use gateway_core::gate::binding::{GateBinding, RunFrom};
use gateway_core::gate::{Digest, Id};
use gateway_core::imagine::Imagined;
use gateway_core::live::{Broken, Suspended, Suspension, SuspensionKind, TenantFacts, TenantRules};
use gateway_core::matrix::Matrix;
use gateway_core::policies::{ClassifiedTool, Dialect, Handling, Raise, SqlArgument, ToolMap};
use gateway_core::ports::AccessRow;
use gateway_core::rules::{AgentPolicy, Condition, RuleSet, WrittenPolicy};
use gateway_core::sql::SqlHandling;
use gateway_core::{
    AgentMode, Autonomy, Chain, Classification, Decision, DecisionType, Live, PluginMode, Policies, PolicyMode,
    Principal, PrincipalKind, Reversibility, Risk, RiskLevel, ToolManifest,
};
use gateway_dlp::{Detectors, Severity, WrittenDetector};
use gateway_plugins::access;
use gateway_plugins::dlp::{DlpRules, DlpSettings};
use gateway_plugins::sql_guard::{Lists, SqlGrammars};
use serde_json::{Value, json};
use uuid::Uuid;

/// One call, and everything it is judged by. As it begins, nothing stands in its way.
struct Case {
    principal: Principal,
    manifest: Option<ToolManifest>,
    handling: Handling,
    standing: Standing,
    arguments: Value,
    schema: Option<Value>,
    declared: Option<Classification>,
    rules: Vec<Value>,
    access: Vec<Value>,
    broken: Vec<Broken>,
    suspended: bool,
}

fn case(autonomy: Autonomy, level: RiskLevel) -> Case {
    let reaches = |mode: &AgentMode| mode.reach(level) != gateway_core::manifest::Reach::Denied;
    let manifest = ToolManifest {
        id: "crm/update".parse().unwrap(),
        domain: "crm".into(),
        risk_level: level,
        side_effects: level.writes(),
        allowed_modes: AgentMode::ALL.iter().copied().filter(reaches).collect(),
    };
    let kind = PrincipalKind::Agent;
    let agent = "a-1".parse().unwrap();
    Case {
        principal: Principal { kind, agent, autonomy, max_risk: Risk::R4, ..Principal::anonymous() },
        manifest: Some(manifest),
        handling: Handling::default(),
        standing: Standing::Pinned,
        arguments: json!({ "id": 7 }),
        schema: None,
        declared: None,
        rules: Vec::new(),
        access: Vec::new(),
        broken: Vec::new(),
        suspended: false,
    }
}

/// An agent that may do what it does.
fn plain() -> Case {
    case(Autonomy::A3, RiskLevel::LowWrite)
}

fn rule(rule: &Value) -> AgentPolicy {
    let written = WrittenPolicy {
        id: None,
        policy_id: "POL-1".into(),
        name: "one".into(),
        category: None,
        severity: None,
        rule: rule.clone(),
        regulatory_mapping: Vec::new(),
        mode: Some(PolicyMode::Enforce),
    };
    AgentPolicy::compile(&written).unwrap()
}

fn row(definition: &Value) -> AccessRow {
    AccessRow {
        id: Uuid::nil(),
        tenant: None,
        name: "roles".into(),
        rule_type: "RBAC".into(),
        rule_definition: definition.clone(),
        is_active: true,
        mode: None,
    }
}

fn grammars() -> SqlGrammars {
    let list = |text: &str| serde_saphyr::from_str::<gateway_sql::WrittenList>(text).unwrap().into();
    SqlGrammars::new(Lists {
        postgres: list(include_str!("../../policies/sql/postgres.yaml")),
        sqlite: list(include_str!("../../policies/sql/sqlite.yaml")),
        mysql: list(include_str!("../../policies/sql/mysql.yaml")),
        generic: list(include_str!("../../policies/sql/generic.yaml")),
    })
}

fn keys() -> DlpRules {
    let detector = WrittenDetector {
        id: "key".into(),
        tier: 1,
        severity: Severity::Critical,
        pattern: Some("sk_[0-9a-f]{16}".into()),
        anchors: vec!["sk_".into()],
        ..WrittenDetector::default()
    };
    DlpRules::new(Detectors::compile(vec![detector]).unwrap_or_else(|_| panic!("a detector")), DlpSettings::default())
}

fn ways(case: Case) -> (Decision, Vec<(Vec<String>, Decision)>) {
    let rules = RuleSet::compile(case.rules.iter().map(rule).collect());
    let rows: Vec<_> = case.access.iter().map(row).collect();
    let (access, broken) = access::compile(&rows, &[], None);
    assert!(broken.is_empty(), "{broken:?}");
    let policies = Policies::new([], Matrix::standard()).with_rules(rules, access);
    let policies = Arc::new(policies.with_sql(Arc::new(grammars())).with_dlp(keys().into_set()));
    let chain = Chain::new(gateway_plugins::all(&policies, |_| PluginMode::Enforce), policies);
    let stop = Suspension {
        id: Uuid::nil(),
        tenant: None,
        kind: SuspensionKind::Tool,
        subject: "crm/update".into(),
        reason: None,
        by: "somebody".into(),
        since: String::new(),
    };
    let (standing, _) = Suspended::new(case.suspended.then_some(stop));
    let own = (RuleSet::default(), Arc::new(gateway_core::access::NoAccessRules));
    let rows = TenantRules::new(TenantFacts::default(), own.0, own.1, ToolMap::new(), case.broken);
    let mut live = Live::new(1, HashMap::new(), Arc::default(), standing);
    live.nobody = Arc::new(rows);
    let known = case.manifest.map(|manifest| Arc::new(ClassifiedTool::new(manifest, None).handled(case.handling)));
    let tool = ToolSubject::new("crm/update".parse().unwrap(), known, false);
    let defined = case.schema.map(|schema| {
        let definition = json!({ "name": "update", "inputSchema": schema });
        Arc::new(Defined::new(hash(&definition).into(), Arc::new(definition)))
    });
    let call = Imagined {
        principal: Arc::new(case.principal),
        tool: ToolSubject { standing: case.standing, ..tool },
        arguments: Some(case.arguments),
        at: "2026-11-18T12:00:00Z".parse().unwrap(),
        declared: case.declared,
        definition: defined,
    };
    let explained = explain(&chain, &Arc::new(live), &call, &|| 0);
    (explained.decision, explained.would_pass.into_iter().map(|way| (way.changes, way.then)).collect())
}

fn sql(level: RiskLevel, query: &str) -> Case {
    let handling =
        Handling { sql: SqlHandling::Argument(SqlArgument::new("query", Dialect::Postgres)), ..Handling::default() };
    Case { handling, arguments: json!({ "query": query }), ..case(Autonomy::A3, level) }
}

#[test]
fn every_judge_says_what_would_make_a_call_pass() {
    use Autonomy::{A1, A3, A4};
    use RiskLevel::{HighWrite, LowWrite, ReadOnly};
    let only = |case: Case, modes: &[AgentMode]| {
        let manifest = case.manifest.map(|manifest| ToolManifest { allowed_modes: modes.to_vec(), ..manifest });
        Case { manifest, ..case }
    };
    let as_one = |change: fn(&mut Principal)| {
        let mut case = plain();
        change(&mut case.principal);
        case
    };
    let whole = || json!({ "type": "object", "properties": { "id": { "type": "string" } } });
    let elsewhere = || json!({ "$ref": "http://127.0.0.1:1/schema.json" });
    let limit = || json!({ "condition": { "tool": "crm/update" }, "requirement": { "max": { "id": 5 } } });
    let never = || json!({ "condition": { "tool": "crm/update" }, "requirement": "prohibited" });
    let raise = Raise {
        when: Condition::compile(&json!({ "id": { "gt": 5 } }), "when").unwrap(),
        to: HighWrite,
        classification: None,
    };
    let worse = Classification::new(DecisionType::D4, Risk::R4, Reversibility::Irreversible);
    let no_key = DlpHandling { request: [("key".to_owned(), Action::Block)].into(), ..DlpHandling::default() };
    let broken = Broken { policy: "policy POL-7".into(), why: "no".into(), mode: PolicyMode::Enforce };
    let rows: Vec<(&str, Case, &str)> = vec![
        ("mode", case(A1, LowWrite), "a-1 is promoted to A3 (PARTIAL_AUTO)"),
        ("a human", case(A4, HighWrite), "a human approves this call"),
        ("risk", as_one(|one| one.max_risk = Risk::R1), "a-1 may take risks up to R2"),
        ("types", as_one(|one| one.allowed_types = vec![DecisionType::D1]), "a-1 may take decisions of type D2"),
        (
            "drift",
            Case { standing: Standing::Quarantined, ..plain() },
            "the definition of crm/update is accepted, as with `portreeve manifest accept crm/update`",
        ),
        ("unlisted", Case { standing: Standing::Unlisted, ..plain() }, "its upstream lists crm/update"),
        (
            "unverified",
            Case { standing: Standing::Unverified, ..plain() },
            "its upstream answers, so that crm/update can be held against what was accepted",
        ),
        ("unclassified", Case { manifest: None, ..plain() }, "crm/update gets a manifest, as READ_ONLY"),
        (
            "allowed_modes",
            only(plain(), &[AgentMode::FullAuto]),
            "the manifest of crm/update lists PARTIAL_AUTO among its `allowed_modes`",
        ),
        ("standing", Case { suspended: true, ..plain() }, "tool crm/update is restored"),
        (
            "role",
            Case { access: vec![json!({ "role": "clerk", "permissions": ["crm/*"] })], ..plain() },
            "a-1 has the role `clerk`",
        ),
        (
            "permission",
            as_one(|one| one.roles = vec!["clerk".into()]),
            "a role of a-1 is given the permission for crm/update",
        ),
        (
            "sql",
            sql(ReadOnly, "delete from t"),
            "`query` is one statement that reads, with listed functions and tables",
        ),
        (
            "sql that only counts for more",
            sql(LowWrite, "delete from t"),
            "the arguments are others, and do not raise it: `query`: the SQL removes or alters what is there",
        ),
        (
            "schema",
            Case { schema: Some(whole()), ..plain() },
            "the arguments fit the schema of crm/update: `/id`: expected string, found integer",
        ),
        (
            "a schema nobody can read",
            Case { schema: Some(elsewhere()), ..plain() },
            "`schema: off` stands in the handling of crm/update",
        ),
        ("a limit", Case { rules: vec![limit()], ..plain() }, "the arguments are others: `id` may be at most 5"),
        ("a limit's policy", Case { rules: vec![limit()], ..plain() }, "rules/POL-1 is changed, or only advises"),
        ("a policy", Case { rules: vec![never()], ..plain() }, "rules/POL-1 is changed, or only advises"),
        (
            "a broken policy",
            Case { broken: vec![broken], ..plain() },
            "policy POL-7 is written so that it can be followed",
        ),
        (
            "arguments that raise",
            Case { handling: Handling { raises: vec![raise], ..Handling::default() }, ..plain() },
            "the arguments are others, and do not raise it: crm/update is HIGH_WRITE where {\"id\":{\"gt\":5}}",
        ),
        ("declared", Case { declared: Some(worse), ..plain() }, "a-1 itself does not raise it"),
        (
            "dlp",
            Case {
                handling: Handling { dlp: no_key, ..Handling::default() },
                arguments: json!({ "note": "sk_0123456789abcdef" }),
                ..plain()
            },
            "the arguments are others: `key` is left out at `/arguments/note`",
        ),
    ];
    assert_eq!(ways(plain()), (Decision::Allow, Vec::new()));
    for (name, case, way) in rows {
        let (decision, ways) = ways(case);
        assert_ne!(decision, Decision::Allow, "{name}");
        let told = ways.iter().find(|(changes, _)| *changes == [way]);
        assert_eq!(told.map(|(_, then)| *then), Some(Decision::Allow), "{name}: {ways:?}");
    }
    // What stands in the way twice takes two changes.
    let (_, both) = ways(Case { schema: Some(whole()), rules: vec![never()], ..plain() });
    let two = both.iter().find(|(changes, then)| changes.len() == 2 && *then == Decision::Allow);
    assert!(two.is_some() && both.iter().all(|(changes, _)| changes.len() == 2), "{both:?}");
    assert_eq!(ways(case(A3, ReadOnly)).0, Decision::Allow);
}

// A call that nobody makes has no run: what it would wait for is said beside what is decided.
#[test]
fn what_a_gate_waits_for_is_said_of_a_call_that_nobody_made() {
    let id = |text: &str| Id::try_from(text).unwrap();
    let binding = GateBinding {
        scenario: id("release"),
        spec_hash: Digest::of_bytes(b"spec"),
        run_from: RunFrom::Meta,
        stages: vec![id("write"), id("late")],
        anyone: false,
    };
    let case = plain();
    let handling = Handling { gate: Some(Arc::new(binding)), ..Handling::default() };
    let known = ClassifiedTool::new(case.manifest.unwrap(), None).handled(handling);
    let policies = Arc::new(Policies::new([], Matrix::standard()));
    let chain = Chain::new(gateway_plugins::all(&policies, |_| PluginMode::Enforce), policies);
    let call = Imagined {
        principal: Arc::new(case.principal),
        tool: ToolSubject::new("crm/update".parse().unwrap(), Some(Arc::new(known)), false),
        arguments: None,
        at: "2026-11-18T12:00:00Z".parse().unwrap(),
        declared: None,
        definition: None,
    };
    let explained = explain(&chain, &Live::none(), &call, &|| 0);
    assert_eq!(explained.decision, Decision::Allow);
    assert_eq!(explained.awaits, ["an active run of scenario release that names the agent is at `write` or `late`"]);
}
