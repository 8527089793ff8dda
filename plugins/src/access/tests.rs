#![allow(clippy::unwrap_used, clippy::panic, clippy::needless_pass_by_value)]
use gateway_core::exchange::ToolSubject;
use gateway_core::live::TenantRules;
use gateway_core::policies::ClassifiedTool;
use gateway_core::policies::ToolMap;
use gateway_core::rules::RuleSet;
use gateway_core::{
    AgentMode, Ask, Principal, PrincipalKind, RiskLevel, Route, Subject, TenantId, ToolManifest, TraceId,
};
use gateway_protocol::Message;
use serde_json::json;
use uuid::Uuid;

use super::*;

fn row(kind: &str, definition: Value) -> AccessRow {
    AccessRow {
        id: Uuid::nil(),
        tenant: None,
        name: "rule".into(),
        rule_type: kind.into(),
        rule_definition: definition,
        is_active: true,
        mode: None,
    }
}

/// A call of `crm/delete_contact` by an agent with these roles, whose tenant has these rows.
fn call(tenant: &str, roles: &[&str], rows: &[AccessRow], arguments: Value) -> Exchange {
    let manifest = ToolManifest {
        id: "crm/delete_contact".parse().unwrap(),
        domain: "crm".into(),
        risk_level: RiskLevel::LowWrite,
        side_effects: true,
        allowed_modes: vec![AgentMode::FullAuto],
    };
    let (name, classified) = (manifest.id.clone(), Arc::new(ClassifiedTool::new(manifest, None)));
    let params = json!({"name": "crm/delete_contact", "arguments": arguments});
    let ask = Ask::Message(Message::request(1, "tools/call", params.as_object().cloned()));
    let id = TenantId(Uuid::nil());
    let principal = Principal {
        kind: PrincipalKind::Agent,
        tenant: Some(id),
        roles: roles.iter().map(|role| (*role).to_owned()).collect(),
        ..Principal::anonymous()
    };
    let subject = Subject::Tool(ToolSubject::new(name, Some(classified), false));
    let mut exchange = Exchange::new(TraceId::from_stored("trc_1"), Arc::new(principal), Route::All, ask, subject);
    let (access, broken) = compile(rows, &[], None);
    let facts = TenantFacts { id: Some(id), name: tenant.into() };
    exchange.rules = Arc::new(TenantRules::new(facts, RuleSet::default(), access, ToolMap::new(), broken));
    exchange
}

fn heard(exchange: &Exchange) -> Vec<Opinion> {
    let mut said = Vec::new();
    Access::new(Arc::new(gateway_core::access::NoAccessRules)).hear(exchange, &mut |opinion| said.push(opinion));
    said
}

fn refusal(exchange: &Exchange) -> Option<String> {
    heard(exchange).into_iter().find_map(|opinion| match opinion.verdict {
        Verdict::Deny(why) if opinion.mode == PolicyMode::Enforce => Some(why.message),
        _ => None,
    })
}

fn rego(text: &str) -> AccessRow {
    row("ABAC", json!({"rego": text}))
}

fn judged(text: &str, arguments: Value) -> Option<String> {
    refusal(&call("acme", &[], &[rego(text)], arguments))
}

// acceptance 49
#[test]
fn a_role_is_what_it_was_granted() {
    let viewer = |permissions: &[&str]| row("RBAC", json!({"role": "viewer", "permissions": permissions}));
    let nobody: [AccessRow; 0] = [];
    for (roles, rows, passes) in [
        (&[][..], nobody.to_vec(), true),
        (&["viewer"][..], nobody.to_vec(), false),
        (&["viewer"], vec![viewer(&["crm/search", "notes/*"])], false),
        (&["viewer"], vec![viewer(&["crm/delete_contact"])], true),
        (&["viewer"], vec![viewer(&["crm/*"])], true),
        (&["viewer"], vec![viewer(&["tools:call:*/delete_contact"])], true),
        (&["viewer"], vec![viewer(&["*"])], true),
        (&["clerk"], vec![viewer(&["*"])], false),
        (&["clerk", "viewer"], vec![viewer(&["*"])], true),
        (&[], vec![viewer(&["*"])], false),
        (&["a"], vec![row("RBAC", json!({"roles": {"a": ["crm/*"], "b": []}}))], true),
        (&["b"], vec![row("RBAC", json!({"roles": {"a": ["crm/*"], "b": []}}))], false),
    ] {
        let refused = refusal(&call("acme", roles, &rows, json!({})));
        assert_eq!(refused.is_none(), passes, "{roles:?} {rows:?}: {refused:?}");
    }
}

// acceptance 50: "Tool X requires Senior Admin role for Tenant Y".
#[test]
fn an_attribute_rule_asks_for_role_and_tenant() {
    let rule = row(
        "ABAC",
        json!({"tools": ["crm/delete_contact"], "rego": r#"
            package acme.deletion
            deny contains "deleting a contact needs a senior administrator" if {
                input.tenant.name == "acme"
                not "senior_admin" in input.principal.roles
            }
            deny contains "nobody outside acme deletes contacts" if input.tenant.name != "acme"
        "#}),
    );
    for (tenant, role, passes) in
        [("acme", "senior_admin", true), ("acme", "admin", false), ("zeta", "senior_admin", false)]
    {
        let refused = refusal(&call(tenant, &[role], std::slice::from_ref(&rule), json!({})));
        assert_eq!(refused.is_none(), passes, "{tenant} {role}: {refused:?}");
    }
}

// acceptance 51: whatever a rule fails to say counts against the call.
#[test]
fn a_rule_that_fails_denies() {
    for (text, says) in [
        ("package a\nallow if input.arguments.ok", "does not allow this"),
        ("package a\nallow := 1 if true", "neither true nor false"),
        ("package a\ndeny contains 7 if true", "a reason is not a text"),
        ("package a\ndeny contains \"x\" if to_number(input.arguments.text) > 3", "the policy failed"),
        ("package a\ndeny contains \"x\" if no_such(input.arguments.text)", ""),
        (
            "package a\ndeny contains \"x\" if {\n  input.arguments.text == \"many\"\n  some i in numbers.range(1, 3000)\n  some j in numbers.range(1, 3000)\n  i + j < 0\n}",
            "longer than",
        ),
        ("package a\nthis is not rego", "cannot be followed"),
        ("package a\nhelps if true", "neither `deny` nor"),
        ("package a\ndeny contains \"x\" if time.now_ns() > 3", "time.now_ns"),
        ("package a\nallow if http.send({}).ok", "http.send"),
    ] {
        let why = judged(text, json!({"text": "many"}));
        assert!(why.as_ref().is_some_and(|why| why.contains(says)), "{text}: {why:?}");
    }
    for definition in [json!({"cel": "true"}), json!({}), json!(7), json!({"rego": "package a\nallow := true", "x": 1})]
    {
        assert!(refusal(&call("acme", &[], &[row("ABAC", definition.clone())], json!({}))).is_some(), "{definition}");
    }
    for definition in [json!({"role": "a"}), json!({"role": "a", "permissions": ["search"]}), json!({"roles": {}})] {
        assert!(
            refusal(&call("acme", &["a"], &[row("RBAC", definition.clone())], json!({}))).is_some(),
            "{definition}"
        );
    }
    let unknown = row("ACL", json!({"role": "a", "permissions": ["*"]}));
    assert!(refusal(&call("acme", &[], &[unknown], json!({}))).is_some_and(|why| why.contains("RBAC, ABAC")));
}

#[test]
fn a_failing_rule_does_not_repeat_what_it_was_shown() {
    let why =
        judged("package a\ndeny contains \"x\" if to_number(input.arguments.text) > 3", json!({"text": "s3cret"}));
    assert!(why.as_ref().is_some_and(|why| !why.contains("s3cret")), "{why:?}");
}

#[test]
fn reasons_come_in_every_shape_rego_has() {
    for (rule, expected) in [
        ("deny := false", None),
        ("deny if input.arguments.no", None),
        ("deny := \"because\"", Some("because")),
        ("deny := [\"because\"]", Some("because")),
        ("deny := []", None),
        ("deny contains \"because\" if true", Some("because")),
        ("deny := {\"because\": true, \"other\": false}", Some("because")),
        ("deny := {\"a\": \"because\"}", Some("because")),
        ("deny[\"a\"] := \"because\"", Some("deny contains")),
        ("allow := true", None),
        ("default allow := false\nallow if input.arguments.n == 3", None),
        ("default allow := false\nallow if input.arguments.n == 4", Some("does not allow")),
    ] {
        let why = judged(&format!("package a\n{rule}"), json!({"n": 3}));
        match expected {
            None => assert_eq!(why, None, "{rule}"),
            Some(expected) => assert!(why.as_ref().is_some_and(|why| why.contains(expected)), "{rule}: {why:?}"),
        }
    }
    let asks = heard(&call("acme", &[], &[rego("package a\nescalate contains \"ask first\" if true")], json!({})));
    assert!(matches!(asks.as_slice(), [Opinion { verdict: Verdict::Escalate(_), .. }]), "{asks:?}");
}

#[test]
fn a_mode_decides_what_a_rule_is_worth_and_broken_ones_keep_theirs() {
    for (mode, expected) in
        [("shadow", PolicyMode::Shadow), ("advisory", PolicyMode::Advisory), ("enforce", PolicyMode::Enforce)]
    {
        for text in ["package a\ndeny := true", "package a\nnot rego"] {
            let said = heard(&call("acme", &[], &[row("ABAC", json!({"rego": text, "mode": mode}))], json!({})));
            assert!(matches!(said.as_slice(), [Opinion { mode, .. }] if *mode == expected), "{mode} {text}: {said:?}");
        }
        let roles = row("RBAC", json!({"role": "a", "permissions": [], "mode": mode}));
        let said = heard(&call("acme", &[], &[roles], json!({})));
        assert!(matches!(said.as_slice(), [Opinion { mode, .. }] if *mode == expected), "{mode} RBAC: {said:?}");
    }
    let stored = AccessRow { mode: Some(PolicyMode::Shadow), ..rego("package a\ndeny := true") };
    assert_eq!(refusal(&call("acme", &[], &[stored], json!({}))), None);
    assert!(judged("package a\ndeny := true", json!({})).is_some(), "a row that nobody gave a mode is obeyed");
}

#[test]
fn a_module_sees_arguments_and_nothing_of_another_module() {
    let limit = "package a\ndeny contains \"too many\" if input.arguments.limit > 100";
    assert_eq!(judged(limit, json!({"limit": 100})), None);
    assert!(judged(limit, json!({"limit": 101})).is_some());
    assert!(judged(limit, json!({"text": "x".repeat(300_000)})).is_some_and(|why| why.contains("larger")));
    let other = [rego("package a\nsecret := 1\ndeny := false"), rego("package a\ndeny if data.a.secret == 1")];
    assert_eq!(refusal(&call("acme", &[], &other, json!({}))), None);
    // Each is shown what any of them asks for, however it asks.
    let named = rego("package a\ndeny contains \"by name\" if input.tool.name == \"crm/delete_contact\"");
    let chosen = rego(
        "package a\ndeny contains \"by key\" if {\n  some part in [\"tool\"]\n  input[part].tool == \"delete_contact\"\n}",
    );
    for rows in [vec![named.clone()], vec![chosen.clone()], vec![named, chosen]] {
        assert_eq!(heard(&call("acme", &[], &rows, json!({}))).len(), rows.len(), "{rows:?}");
    }
    let elsewhere = row("ABAC", json!({"rego": "package a\ndeny := true", "tools": ["notes/*"]}));
    assert_eq!(refusal(&call("acme", &[], &[elsewhere], json!({}))), None);
}

#[test]
fn a_file_says_what_it_is_for_at_its_head() {
    let file = |text: &str| RegoFile { name: "deletion".into(), text: text.into() };
    let statics = json!({"closed": ["acme"]});
    let text = "# Contacts.\n# tools: crm/delete_* notes/*   mode: enforce\npackage a\n\
                deny contains \"closed\" if input.tenant.name in data.static.closed";
    let (compiled, broken) = compile(&[], &[file(text)], Some(&statics));
    assert_eq!((compiled.len(), broken.len()), (1, 0));
    let exchange = call("acme", &[], &[], json!({}));
    let mut said = Vec::new();
    compiled.judge(&exchange, &exchange.rules.tenant, false, &mut |opinion| said.push(opinion));
    assert!(matches!(said.as_slice(), [Opinion { mode: PolicyMode::Enforce, .. }]), "{said:?}");
    let (shadow, _) = compile(&[], &[file("package a\ndeny := true")], None);
    assert_eq!(shadow.enforced_digest(), "", "a file that names no mode is only heard");
    assert_ne!(shadow.digest(), "");
    for wrong in ["# mode: loud\npackage a\ndeny := true", "# tools: a*b\npackage a\ndeny := true"] {
        assert_eq!(compile(&[], &[file(wrong)], None).1.len(), 1, "{wrong}");
    }
}

#[test]
fn engines_are_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<regorus::Engine>();
}
