#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::sync::Mutex;

use gateway_core::gate::contracts::{ParamsCheck, ValueKind};
use gateway_core::gate::{Comparator, GateTime};
use gateway_core::ports::{Answered, UpstreamError};

use super::*;
use crate::evidence::testing::{asked, asked_at, code, value};
use crate::testing::space;

/// Answers every question with the same result, and remembers what it was asked.
struct Provider {
    result: Value,
    seen: Mutex<Vec<Value>>,
}

#[async_trait]
impl Upstream for Provider {
    async fn call(&self, permit: &Permit) -> Result<Answered, UpstreamError> {
        let Some(Message::Request(request)) = permit.exchange().message() else { panic!("no request") };
        self.seen.lock().unwrap().push(json!(permit.exchange().message().unwrap()));
        let message = Message::result(request.id.clone(), self.result.clone());
        Ok(Answered::one(200, &message))
    }
}

fn provider(result: Value, dialect: ServerDialect) -> (Arc<Provider>, ServerProvider) {
    let upstream = Arc::new(Provider { result, seen: Mutex::default() });
    let check = CheckContract {
        check: "build".into(),
        params_required: true,
        params: Arc::new(|params: &Value| params.get("id").map(|_| ()).ok_or_else(|| "`id` is missing".into())),
        value: ValueKind::Boolean,
        comparators: vec![Comparator::Equals],
    };
    let settings = ServerSettings {
        upstream: Arc::clone(&upstream) as Arc<dyn Upstream>,
        namespace: space("ci"),
        checks: vec![check],
        dialect,
        timeout: Duration::from_secs(5),
    };
    (upstream, ServerProvider::new(settings))
}

fn evidence() -> Value {
    json!({ "value": { "kind": "json", "value": true }, "content_type": "application/json", "lane": "verified" })
}

// acceptance 119 e: an external server is asked in its own words.
#[tokio::test]
async fn it_is_asked_in_its_dialect() {
    let params = Some(json!({ "id": 7 }));
    let (upstream, seed) = provider(json!({ "structuredContent": evidence() }), ServerDialect::Seed);
    let result = asked_at(&seed, GateTime::Logical(3), "build", params.clone()).await;
    assert_eq!((value(&result), code(&result)), (Some(json!(true)), ""));
    let asked = upstream.seen.lock().unwrap()[0]["params"].clone();
    assert_eq!(asked["name"], "evidence_query");
    assert_eq!(asked["arguments"]["query"], json!({ "provider_id": "p", "predicate": "build", "params": { "id": 7 } }));
    assert_eq!(asked["arguments"]["context"]["tenant_id"], "tenant-001");
    assert_eq!(asked["arguments"]["context"]["trigger_time"], json!({ "kind": "logical", "value": 3 }));
    let (upstream, newer) = provider(json!({ "structuredContent": evidence() }), ServerDialect::Newer);
    asked_at(&newer, GateTime::Logical(3), "build", params).await;
    let asked = upstream.seen.lock().unwrap()[0]["params"]["arguments"].clone();
    assert_eq!(asked["query"]["check_id"], "build");
    assert_eq!((&asked["context"]["tenant_id"], &asked["context"]["namespace_id"]), (&json!(1), &json!(1)));
}

// acceptance 119 e: wherever the result stands in the answer, and nothing that is not one.
#[tokio::test]
async fn its_answer_is_read_or_refused() {
    let text = |text: String| json!({ "content": [{ "type": "text", "text": text }] });
    let large = json!({ "value": { "kind": "json", "value": "x".repeat(LARGEST_ANSWER) } });
    for (answer, expected) in [
        (json!({ "content": [{ "type": "json", "json": evidence() }] }), ""),
        (text(evidence().to_string()), ""),
        (text("all green".into()), "provider_failed"),
        (text(json!({ "ok": true }).to_string()), "provider_failed"),
        (text(json!({ "value": { "kind": "json" } }).to_string()), "provider_failed"),
        (json!({ "structuredContent": evidence(), "isError": true }), "provider_failed"),
        (json!({ "content": [] }), "provider_failed"),
        (json!({ "structuredContent": large }), "size_limit_exceeded"),
        (
            json!({ "structuredContent": { "value": null, "error": { "code": "away", "message": "m", "details": null } } }),
            "away",
        ),
    ] {
        let (_, provider) = provider(answer, ServerDialect::Seed);
        let result = asked(&provider, "build", Some(json!({ "id": 7 }))).await;
        assert_eq!((code(&result), value(&result).is_some()), (expected, expected.is_empty()));
    }
}

#[tokio::test]
async fn what_breaks_its_contract_is_not_sent() {
    let (upstream, provider) = provider(json!({ "structuredContent": evidence() }), ServerDialect::Seed);
    assert_eq!(code(&asked(&provider, "build", Some(json!({}))).await), "params_invalid");
    assert!(upstream.seen.lock().unwrap().is_empty());
}

// acceptance 114: its capabilities are the contract that scenarios are held against.
#[test]
fn capabilities_become_contracts() {
    let compile = |schema: &Value| -> Result<ParamsCheck, String> {
        if schema.is_object() { Ok(Arc::new(|_: &Value| Ok(()))) } else { Err("no schema".into()) }
    };
    let one = json!({
        "check_id": "build", "params_required": true, "params_schema": { "type": "object" },
        "result_schema": { "type": "boolean" }, "allowed_comparators": ["equals", "exists"], "description": "x",
    });
    let made = checks(&json!({ "checks": [one] }).to_string(), compile).unwrap();
    assert_eq!((made[0].check.as_str(), made[0].params_required, made[0].value), ("build", true, ValueKind::Boolean));
    assert_eq!(made[0].comparators, [Comparator::Equals, Comparator::Exists]);
    for broken in [
        json!({ "checks": [] }),
        json!({ "checks": [one, one] }),
        json!({ "checks": [{ "check_id": "a", "allowed_comparators": [] }] }),
        json!({ "checks": [{ "check_id": "a", "allowed_comparators": ["like"] }] }),
        json!({ "checks": [{ "check_id": "a", "params_schema": 1, "allowed_comparators": ["equals"] }] }),
    ] {
        assert!(checks(&broken.to_string(), compile).is_err(), "{broken}");
    }
}
