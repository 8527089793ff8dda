//! A call as a span of OpenTelemetry: every attribute's name is here, because the conventions for MCP still move.

use std::time::SystemTime;

use gateway_core::outcome::Status;
use gateway_core::ports::CallSpan;
use opentelemetry::trace::{SpanContext, SpanId, SpanKind, Status as SpanStatus, TraceFlags, TraceId, TraceState};
use opentelemetry::{InstrumentationScope, KeyValue, Value};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SpanData;

/// A caller chooses methods and tools' names, and may choose long ones.
const LONGEST: usize = 200;

/// Who says all this. The environment is not asked: what leaves is what the configuration says.
pub(super) fn resource(service: &str, instance: &str) -> Resource {
    Resource::builder_empty()
        .with_service_name(service.to_owned())
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .with_attribute(KeyValue::new("service.instance.id", instance.to_owned()))
        .build()
}

pub(super) fn drawn(span: CallSpan, end: SystemTime) -> SpanData {
    let place = span.place;
    let context = SpanContext::new(
        TraceId::from_bytes(place.trace),
        SpanId::from_bytes(place.span),
        TraceFlags::SAMPLED,
        false,
        // The caller's state is for its own systems, which read it elsewhere.
        TraceState::NONE,
    );
    SpanData {
        span_context: context,
        parent_span_id: place.parent.map_or(SpanId::INVALID, |parent| SpanId::from_bytes(parent.span)),
        parent_span_is_remote: place.parent.is_some(),
        span_kind: SpanKind::Server,
        name: name(&span).into(),
        start_time: span.began,
        end_time: end.max(span.began),
        status: status(&span),
        attributes: attributes(span),
        dropped_attributes_count: 0,
        events: Default::default(),
        links: Default::default(),
        instrumentation_scope: InstrumentationScope::builder("portreeve")
            .with_version(env!("CARGO_PKG_VERSION"))
            .build(),
    }
}

fn name(span: &CallSpan) -> String {
    match (&span.method, &span.tool) {
        (Some(method), Some(tool)) => [short(method), " ", short(tool.as_str())].concat(),
        (Some(method), None) => short(method).to_owned(),
        (None, _) => "refused".to_owned(),
    }
}

/// A call that waits for somebody has not failed, nor has one whose caller went away.
fn status(span: &CallSpan) -> SpanStatus {
    match span.status {
        Status::Ok | Status::ApprovalRequired | Status::InputRequired | Status::Cancelled => SpanStatus::Unset,
        failed => SpanStatus::error(match &span.reason {
            Some((plugin, rule)) => format!("{}: {plugin}.{rule}", failed.as_str()),
            None => failed.as_str().to_owned(),
        }),
    }
}

fn attributes(span: CallSpan) -> Vec<KeyValue> {
    let mut written = Vec::with_capacity(18);
    let mut write = |key: &'static str, value: Option<Value>| {
        written.extend(value.map(|value| KeyValue::new(key, value)));
    };
    let text = |text: String| Value::from(text);
    let error = matches!(status(&span), SpanStatus::Error { .. }).then(|| span.status.as_str().into());
    // As OpenTelemetry names them.
    write("mcp.method.name", span.method.as_deref().map(|method| text(short(method).to_owned())));
    write("mcp.protocol.version", span.revision.map(|revision| revision.as_str().into()));
    write("gen_ai.operation.name", span.tool.as_ref().map(|_| "execute_tool".into()));
    write("gen_ai.tool.name", span.tool.as_ref().map(|tool| text(short(tool.as_str()).to_owned())));
    write("gen_ai.agent.id", Some(text(span.agent.into())));
    write("error.type", error);
    // As nobody else has them.
    write("portreeve.namespace", span.namespace.map(|namespace| text(namespace.into())));
    write("portreeve.tenant.id", span.tenant.map(|tenant| text(tenant.to_string())));
    write("portreeve.decision", Some(span.decision.as_str().into()));
    let (plugin, rule) = span.reason.unzip();
    write("portreeve.reason.plugin", plugin.map(text));
    write("portreeve.reason.rule", rule.map(text));
    write("portreeve.status", Some(span.status.as_str().into()));
    write("portreeve.classification", span.classification.map(|part| text(part.code())));
    write("portreeve.audit.trace_id", Some(text(span.audit.to_string())));
    write("portreeve.audit.seq", span.seq.map(Value::from));
    write("portreeve.audit.continues", span.continues.map(|before| text(before.to_string())));
    write("portreeve.run.id", span.run.map(|run| text(run.to_string())));
    written
}

fn short(text: &str) -> &str {
    let end = text.char_indices().nth(LONGEST).map_or(text.len(), |(end, _)| end);
    text.get(..end).unwrap_or(text)
}
