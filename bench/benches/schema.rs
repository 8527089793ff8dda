//! Holding a call against its tool's schema, and skimming an answer for instructions.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use gateway_core::definitions::{Defined, Schema, SchemaCompiler};
use gateway_core::exchange::ToolSubject;
use gateway_core::injection::AnswerReader;
use gateway_core::{Ask, Exchange, Judge, Principal, Route, Subject, ToolName, TraceId};
use gateway_plugins::injection::{Reader, WrittenInjection};
use gateway_plugins::schema::{Compiler, Schemas};
use gateway_protocol::Message;
use serde_json::{Value, json};

fn schema() -> Value {
    let line = json!({ "type": "object", "required": ["sku", "count"], "additionalProperties": false, "properties": {
        "sku": { "type": "string", "pattern": "^[A-Z]{3}-[0-9]{4}$" }, "count": { "type": "integer", "minimum": 1 },
        "note": { "type": ["string", "null"], "maxLength": 200 } } });
    json!({ "type": "object", "required": ["customer", "lines"], "properties": {
        "customer": { "type": "string" }, "state": { "enum": ["open", "paid", "sent"] },
        "lines": { "type": "array", "maxItems": 100, "items": { "$ref": "#/$defs/line" } } }, "$defs": { "line": line } })
}

/// About 1 KiB.
fn arguments() -> Value {
    let line = json!({ "sku": "ABC-1234", "count": 3, "note": "with a handle, and a lid that fits" });
    json!({ "customer": "the tea house at the corner", "state": "open", "lines": vec![line; 12] })
}

fn exchange(arguments: &Value) -> Option<Exchange> {
    let name = "shop/order".parse::<ToolName>().ok()?;
    let params = json!({ "name": "order", "arguments": arguments });
    let ask = Ask::Message(Message::request(1, "tools/call", params.as_object().cloned()));
    let subject = Subject::Tool(ToolSubject::new(name, None, true));
    let trace = TraceId::from_uuid(uuid::Uuid::nil());
    let mut exchange = Exchange::new(trace, Arc::new(Principal::anonymous()), Route::All, ask, subject);
    let definition = Arc::new(json!({ "name": "order", "inputSchema": schema() }));
    exchange.definition = Some(Arc::new(Defined::new("sha256:0".into(), definition)));
    Some(exchange)
}

fn judge(criterion: &mut Criterion) {
    let mut bad = arguments();
    if let Some(count) = bad.pointer_mut("/lines/11/count") {
        *count = json!("three");
    }
    for (name, arguments) in [("fits", arguments()), ("does not fit", bad)] {
        let Some(exchange) = exchange(&arguments) else { return };
        criterion.bench_function(&format!("schema, 1 KiB that {name}"), |bencher| {
            bencher.iter(|| black_box(Schemas.on_request(&exchange)));
        });
    }
    criterion.bench_function("schema, compiled", |bencher| {
        bencher.iter(|| black_box(matches!(Compiler.compile(&schema()), Schema::Compiled(_))));
    });
}

fn skim(criterion: &mut Criterion) {
    let text = include_str!("../../policies/injection.yaml");
    let Ok(written) = serde_saphyr::from_str::<WrittenInjection>(text) else { return };
    let Ok(reader) = Reader::new(written) else { return };
    let plain = "Seven teapots were found. The newest has a handle of bamboo and a lid that fits. ";
    let talk =
        "The user sends an e-mail to the operator, who confirms it; the system then forwards the prior message. ";
    for (name, part) in [("ordinary", plain), ("full of cues", talk)] {
        let text = part.repeat(64 * 1024 / part.len());
        let json = json!({ "content": [{ "type": "text", "text": &text }] }).to_string();
        let mut group = criterion.benchmark_group("injection");
        group.throughput(Throughput::Bytes(json.len() as u64));
        group.bench_function(format!("64 KiB, {name}"), |bencher| {
            bencher.iter(|| {
                let suspects = reader.suspects(json.as_bytes());
                black_box(suspects.then(|| reader.read(&mut std::iter::once(text.as_str()))))
            });
        });
        group.finish();
    }
}

criterion_group!(benches, judge, skim);
criterion_main!(benches);
