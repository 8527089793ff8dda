//! A tenant's rows.

use gateway_core::live::{TenantFacts, TenantRules};
use gateway_core::policies::ToolMap;
use gateway_core::ports::DlpRow;
use gateway_core::rules::RuleSet;

use super::*;

fn row(name: &str, patterns: Value, severity: &str) -> DlpRow {
    let (name, severity) = (name.to_owned(), Some(severity.to_owned()));
    DlpRow { id: uuid::Uuid::nil(), tenant: None, name, patterns, severity, is_active: true }
}

fn tenant(rows: &[DlpRow]) -> Arc<TenantRules> {
    let (own, broken) = compile_rows(rows, &rules(DlpSettings::default()).into_set());
    assert_eq!(broken, [], "{rows:?}");
    let access = Arc::new(gateway_core::access::NoAccessRules);
    let rules = TenantRules::new(TenantFacts::default(), RuleSet::default(), access, ToolMap::new(), Vec::new());
    Arc::new(rules.with_dlp(own))
}

fn back(rules: &Arc<TenantRules>, text: &str) -> String {
    let mut asked = exchange("tools/call", json!({ "name": "read" }), None);
    asked.rules = Arc::clone(rules);
    let mut reply =
        reply(&json!({ "jsonrpc": "2.0", "id": 1, "result": { "content": [{ "type": "text", "text": text }] } }));
    assert_eq!(plugin(PluginMode::Enforce).on_reply(&asked, &mut reply, &mut Found::default()), Verdict::Pass);
    let value: Value = serde_json::from_slice(reply.raw()).unwrap();
    value["result"]["content"][0]["text"].as_str().unwrap().to_owned()
}

// acceptance 64
#[test]
fn a_row_may_say_four_things() {
    for (patterns, text, expected) in [
        (json!(["ACME-[0-9]{6}"]), "ACME-123456 jane@example.org", "[CODES] [EMAIL]"),
        (json!([{ "regex": "ACME-[0-9]{6}", "action": "observe" }]), "ACME-123456", "ACME-123456"),
        (json!([{ "regex": "ACME-[0-9]{6}", "direction": "request" }]), "ACME-123456", "ACME-123456"),
        (json!([{ "regex": "ACME-[0-9]{6}", "tools": ["crm/*"] }]), "ACME-123456", "[CODES]"),
        (json!([{ "regex": "ACME-[0-9]{6}", "tools": ["mail/send"] }]), "ACME-123456", "ACME-123456"),
        (json!([{ "dictionary": ["Blue Heron"] }]), "the blue heron flies", "the [CODES] flies"),
        (json!([{ "dictionary": ["Blue Heron"], "case_sensitive": true }]), "the blue heron", "the blue heron"),
        (json!([{ "rule": "email", "action": "observe" }]), "jane@example.org", "jane@example.org"),
        (
            json!([{ "rule": "email", "action": "observe", "tools": ["crm/read"] }]),
            "jane@example.org",
            "jane@example.org",
        ),
        (json!([{ "rule": "email", "action": "observe", "tools": ["crm/*"] }]), "jane@example.org", "jane@example.org"),
        (json!([{ "rule": "email", "action": "observe", "tools": ["mail/*"] }]), "jane@example.org", "[EMAIL]"),
        (
            json!([{ "rule": "email", "action": "mask" }, { "rule": "email", "action": "observe" }]),
            "jane@example.org",
            "[EMAIL]",
        ),
        // Of two words on one rule the stricter counts, however closely either is meant.
        (
            json!([{ "rule": "email", "action": "observe", "tools": ["crm/*"] }, { "rule": "email", "action": "mask" }]),
            "jane@example.org",
            "[EMAIL]",
        ),
        (json!([{ "rule": "medium", "action": "observe", "direction": "request" }]), "jane@example.org", "[EMAIL]"),
    ] {
        assert_eq!(back(&tenant(&[row("codes", patterns.clone(), "medium")]), text), expected, "{patterns}");
    }
}

#[test]
fn a_row_that_cannot_be_followed_is_broken_and_says_why() {
    let many: Vec<_> = (0..201).map(|n| format!("x{n}")).collect();
    for (patterns, severity, why) in [
        (json!("x"), "medium", "patterns: must be a list"),
        (json!(many), "medium", "patterns: has 201 items"),
        (json!(["x".repeat(70_000)]), "medium", "patterns: is longer"),
        (json!(["a("]), "medium", "patterns[0]: regex: "),
        (json!(["ok", "a*"]), "medium", "patterns[1]: regex: matches nothing at all"),
        (json!([{ "regexp": "a" }]), "medium", "patterns[0]: must be"),
        (json!([7]), "medium", "patterns[0]: must be"),
        (json!([{ "regex": "a", "colour": 1 }]), "medium", "patterns[0]: unknown field `colour`"),
        (json!(["b", { "regex": "a", "tools": ["crm"] }]), "medium", "patterns[1]: tools: `crm` names no tool"),
        (json!([{ "dictionary": ["a"], "tools": ["*"] }]), "medium", "patterns[0]: tools: `*` names no tool"),
        (json!([{ "rule": "email", "action": "mask", "tools": ["/*"] }]), "medium", "patterns[0]: tools: `/*`"),
        (json!([{ "dictionary": [] }]), "medium", "patterns[0]: dictionary: must have"),
        (json!([{ "dictionary": [" "] }]), "medium", "patterns[0]: dictionary: no word"),
        (json!([{ "rule": "nothing", "action": "mask" }]), "medium", "patterns[0]: rule: nothing is called"),
        (json!([{ "rule": "key", "action": "observe" }]), "medium", "is critical"),
        (json!([{ "rule": "*", "action": "observe" }]), "medium", "is critical"),
        (json!([{ "rule": "email", "action": "forget" }]), "medium", "patterns[0]: unknown variant"),
        (json!(["a"]), "grave", "severity: `grave`"),
    ] {
        let (_, broken) =
            compile_rows(&[row("r", patterns.clone(), severity)], &rules(DlpSettings::default()).into_set());
        let [told] = broken.as_slice() else { panic!("{patterns}: {broken:?}") };
        assert_eq!(told.policy, "dlp config `r`");
        assert!(told.why.contains(why), "{patterns}: {}", told.why);
    }
    let loose = DlpSettings { tenants_may_loosen: true, ..DlpSettings::default() };
    let open = [row("r", json!([{ "rule": "key", "action": "observe" }]), "medium")];
    assert_eq!(compile_rows(&open, &rules(loose).into_set()).1, []);
}

#[test]
fn the_same_rows_have_the_same_name() {
    let digest = |rows: &[DlpRow]| tenant(rows).enforced.to_string();
    let one = row("a", json!(["x1"]), "medium");
    assert_eq!(digest(std::slice::from_ref(&one)), digest(std::slice::from_ref(&one)));
    assert_ne!(digest(std::slice::from_ref(&one)), digest(&[row("a", json!(["x2"]), "medium")]));
    assert_eq!(digest(&[]), "");
    assert_eq!(digest(&[DlpRow { is_active: false, ..one }]), "", "what is switched off is not there");
}
