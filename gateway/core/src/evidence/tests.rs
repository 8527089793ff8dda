#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::sync::Mutex;

use async_trait::async_trait;
use futures::FutureExt;
use serde_json::{Value, json};

use super::*;
use crate::gate::contracts::ValueKind;
use crate::gate::evidence::{EvidenceValue, Signature};
use crate::gate::policies::AnchorRule;
use crate::gate::{Comparator, GateTime, Id, TenantText};

/// Says the same to everybody, and remembers what it was asked.
struct Says {
    checks: Vec<CheckContract>,
    result: EvidenceResult,
    asked: Mutex<Vec<String>>,
}

impl Says {
    fn new(result: EvidenceResult) -> Arc<Self> {
        let check = CheckContract {
            check: "get".into(),
            params_required: true,
            params: Arc::new(|_: &Value| Ok(())),
            value: ValueKind::Any,
            comparators: Comparator::ALL.to_vec(),
        };
        Arc::new(Self { checks: vec![check], result, asked: Mutex::default() })
    }
}

#[async_trait]
impl EvidenceProvider for Says {
    fn checks(&self) -> &[CheckContract] {
        &self.checks
    }

    async fn query(&self, asked: &EvidenceAsked<'_>) -> EvidenceResult {
        self.asked.lock().unwrap().push(asked.query.check.clone());
        self.result.clone()
    }
}

/// Key `k` fits the signature [1], and no other.
struct OneKey;

impl Keyring for OneKey {
    fn verifies(&self, key_id: &str, _message: &[u8], signature: &[u8]) -> Option<bool> {
        (key_id == "k").then_some(signature == [1])
    }
}

fn id(text: &str) -> Id {
    Id::try_from(text).unwrap()
}

fn context() -> EvidenceContext {
    EvidenceContext {
        tenant_id: TenantText::Text(id("tenant-001")),
        run_id: id("run-0001"),
        scenario_id: id("example"),
        stage_id: id("main"),
        trigger_id: id("trigger-0001"),
        trigger_time: GateTime::Logical(1),
        correlation_id: None,
    }
}

fn query(provider: &str, check: &str, params: Option<Value>) -> EvidenceQuery {
    EvidenceQuery { provider_id: provider.into(), check: check.into(), params }
}

fn desk(
    provider: &Arc<Says>,
    keys: bool,
    allow_raw: bool,
    anchors: AnchorRules,
    disclosure: Disclosure,
) -> EvidenceDesk {
    let keys = keys.then(|| Arc::new(OneKey) as Arc<dyn Keyring + Send + Sync>);
    let provided = Provided { provider: Arc::clone(provider) as Arc<dyn EvidenceProvider>, keys, allow_raw };
    EvidenceDesk::new(BTreeMap::from([("env".into(), provided)]), anchors, disclosure)
}

fn plain(provider: &Arc<Says>) -> EvidenceDesk {
    desk(provider, false, false, AnchorRules::default(), Disclosure::default())
}

fn shown(desk: &EvidenceDesk, query: &EvidenceQuery) -> EvidenceResult {
    let (by, context) = ("agent-alpha".parse().unwrap(), context());
    let asking = Asking { tenant: TenantId(uuid::Uuid::nil()), by: &by, context: &context, run: None };
    desk.shown(query, asking).now_or_never().unwrap().unwrap()
}

fn code(result: &EvidenceResult) -> &str {
    result.error.as_ref().map_or("", |error| error.code.as_str())
}

// acceptance 119 e: what cannot be asked is an error of the evidence, and nobody is bothered with it.
#[test]
fn what_cannot_be_asked_is_told_without_asking() {
    let provider = Says::new(EvidenceResult::json(json!("production"), "text/plain"));
    let desk = plain(&provider);
    for (asked, expected) in
        [(query("nobody", "get", None), "provider_missing"), (query("env", "put", None), "check_missing")]
    {
        let result = shown(&desk, &asked);
        assert_eq!((code(&result), &result.value), (expected, &None), "{asked:?}");
    }
    assert!(provider.asked.lock().unwrap().is_empty());
}

// acceptance 119 d: values are shown only where the operator and the provider both let them be; the hash always is.
#[test]
fn a_value_is_shown_only_where_both_allow_it() {
    let provider = Says::new(EvidenceResult::json(json!("production"), "text/plain"));
    let asked = query("env", "get", Some(json!({ "key": "DEPLOY_ENV" })));
    for (allow_raw_values, require_provider_opt_in, allow_raw, seen) in
        [(false, false, true, false), (true, true, false, false), (true, true, true, true), (true, false, false, true)]
    {
        let disclosure = Disclosure { allow_raw_values, require_provider_opt_in };
        let desk = desk(&provider, false, allow_raw, AnchorRules::default(), disclosure);
        let result = shown(&desk, &asked);
        let value = seen.then(|| EvidenceValue::Json(json!("production")));
        assert_eq!((result.value, result.content_type.is_some()), (value, seen));
        let hash = "80be2eb0944c0453a6ad339a56e1c8f39f8cc57a4e627758246ccfd274176fd8";
        assert_eq!(result.evidence_hash.unwrap().hex(), hash);
    }
}

// acceptance 119 f: a provider that must sign is believed only with its own key's signature.
#[test]
fn an_unsigned_value_is_not_believed_where_it_must_be_signed() {
    let value = EvidenceValue::Json(json!(true));
    let hash = Some(value.measured().unwrap().1);
    let signed = |key: &str, bytes: Vec<u8>| {
        let signature = Signature { scheme: "ed25519".into(), key_id: key.into(), signature: bytes };
        EvidenceResult {
            evidence_hash: hash,
            signature: Some(signature),
            ..EvidenceResult::json(json!(true), "text/plain")
        }
    };
    let asked = query("env", "get", Some(json!({ "key": "A" })));
    for (result, expected) in [
        (signed("k", vec![1]), ""),
        (signed("k", vec![2]), "signature_invalid"),
        (signed("other", vec![1]), "signature_key"),
        (EvidenceResult::json(json!(true), "text/plain"), "signature_missing"),
    ] {
        let desk = desk(&Says::new(result), true, false, AnchorRules::default(), Disclosure::default());
        assert_eq!(code(&shown(&desk, &asked)), expected);
    }
}

// acceptance 119 e: an anchor that breaks its rule takes everything with it.
#[test]
fn a_missing_anchor_spoils_what_is_shown() {
    let rule = AnchorRule { provider_id: "env".into(), anchor_type: "env".into(), required_fields: Vec::new() };
    let anchors = AnchorRules { providers: vec![rule] };
    let asked = query("env", "get", Some(json!({ "key": "A" })));
    let value = || EvidenceResult::json(json!(true), "text/plain");
    for (result, expected) in [(value(), "anchor_invalid"), (value().anchored("env", "A"), "")] {
        let desk = desk(&Says::new(result), false, false, anchors.clone(), Disclosure::default());
        let result = shown(&desk, &asked);
        assert_eq!((code(&result), result.evidence_hash.is_some()), (expected, expected.is_empty()));
    }
}

#[test]
fn a_step_gets_its_answers_in_the_order_it_wants_them() {
    let provider = Says::new(EvidenceResult::json(json!(1), "application/json"));
    let desk = plain(&provider);
    let predicates: Vec<Predicate> = (0..20)
        .map(|at| Predicate {
            id: id(&format!("p{at}")),
            query: query(if at % 3 == 0 { "nobody" } else { "env" }, "get", Some(json!({ "key": "A" }))),
            comparator: Comparator::Exists,
            expected: None,
            policy_tags: Vec::new(),
            trust: None,
        })
        .collect();
    let wanted: Vec<&Predicate> = predicates.iter().collect();
    let (by, context) = ("agent-alpha".parse().unwrap(), context());
    let asking = Asking { tenant: TenantId(uuid::Uuid::nil()), by: &by, context: &context, run: None };
    let collected = desk.collect(&wanted, asking).now_or_never().unwrap().unwrap();
    assert_eq!(collected.len(), 20);
    for (at, result) in collected.iter().enumerate() {
        assert_eq!(code(result), if at % 3 == 0 { "provider_missing" } else { "" }, "{at}");
    }
}
