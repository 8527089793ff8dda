//! `adp_validate`: whether a trace event has the form of one. Its hash is not recomputed: that is `adp_verify_chain`'s.
//!
//! Takes the event itself or wrapped as `trace_data`, its decision nested or flat, its time as `timestamp` or, as a stored row
//! has it, `created_at`. What is wrong is a finding and not a failure: all of it is told at once.

use async_trait::async_trait;
use gateway_core::{Classification, DecisionType, EventType, Reversibility, Risk};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::builtin::{BuiltinTool, Called, ToolFailure, ToolSpec, annotations};

pub(super) struct Validate {
    spec: ToolSpec,
}

impl Validate {
    pub(super) fn new() -> Self {
        Self { spec: spec() }
    }
}

#[async_trait]
impl BuiltinTool for Validate {
    fn definition(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, _: Called<'_>, arguments: &Map<String, Value>) -> Result<Value, ToolFailure> {
        let mut found = Findings::default();
        match arguments.get("trace_data") {
            None => found.read(arguments),
            Some(Value::Object(event)) => found.read(event),
            Some(_) => found.wrong("trace_data", "expected an object"),
        }
        Ok(json!({ "valid": found.errors.is_empty(), "errors": found.errors, "warnings": found.warnings }))
    }
}

#[derive(Default)]
struct Findings {
    errors: Vec<String>,
    warnings: Vec<String>,
}

impl Findings {
    fn wrong(&mut self, field: &str, what: &str) {
        self.errors.push(format!("Invalid {field}: {what}"));
    }

    fn read(&mut self, event: &Map<String, Value>) {
        let nested = match event.get("decision") {
            None | Some(Value::Null) => None,
            Some(Value::Object(decision)) => Some(decision),
            Some(_) => {
                self.wrong("decision", "expected an object");
                None
            }
        };
        for field in ["trace_id", "agent_id"] {
            self.required(event, &[field]);
        }
        if let Some(kind) = self.required(event, &["event_type"]) {
            self.on_scale::<EventType>("event_type", kind);
        }
        if let Some(time) = self.required(event, &["timestamp", "created_at"])
            && time.parse::<Timestamp>().is_err()
        {
            self.wrong("timestamp", "expected an ISO 8601 time with its offset, such as 2026-02-23T00:00:00.000Z");
        }
        for field in ["event_hash", "previous_hash"] {
            if let Some(hash) = self.text(event, field)
                && !is_hash(hash)
            {
                self.wrong(field, "expected `sha256:` and 64 hexadecimal digits");
            }
        }
        for field in ["authorization", "context"] {
            if event.get(field).is_some_and(|value| !value.is_null() && !value.is_object()) {
                self.wrong(field, "expected an object");
            }
        }
        self.classification(event, nested);
        for field in ["description", "reasoning"] {
            if self.part(event, nested, &[field]).is_none_or(|text| text.trim().is_empty()) {
                self.warnings.push(format!("Missing {field}"));
            }
        }
    }

    fn classification(&mut self, event: &Map<String, Value>, nested: Option<&Map<String, Value>>) {
        let kind = self.part(event, nested, &["type", "decision_type"]);
        let kind = kind.and_then(|text| self.on_scale::<DecisionType>("decision_type", text));
        let risk = self.part(event, nested, &["risk_level"]);
        let risk = risk.and_then(|text| self.on_scale::<Risk>("risk_level", text));
        let reversibility = self.part(event, nested, &["reversibility"]);
        let reversibility = reversibility.and_then(|text| self.on_scale::<Reversibility>("reversibility", text));
        let Some(code) = self.part(event, nested, &["classification_code"]) else { return };
        let Some(said) = read_code(code) else {
            self.wrong("classification_code", "expected a code such as D2-R2-partial");
            return;
        };
        let agrees = kind.is_none_or(|kind| kind == said.decision_type)
            && risk.is_none_or(|risk| risk == said.risk)
            && reversibility.is_none_or(|reversibility| reversibility == said.reversibility);
        if !agrees {
            self.wrong("classification_code", &format!("{code} does not agree with its parts"));
        }
    }

    /// The first of these names that is there.
    fn required<'a>(&mut self, event: &'a Map<String, Value>, names: &[&str]) -> Option<&'a str> {
        let there = names.iter().find(|name| event.get(**name).is_some_and(|value| !value.is_null()));
        let Some(name) = there else {
            self.errors.extend(names.first().map(|name| format!("Missing required field: {name}")));
            return None;
        };
        let text = self.text(event, name)?;
        if text.trim().is_empty() {
            self.wrong(name, "must not be empty");
            return None;
        }
        Some(text)
    }

    fn text<'a>(&mut self, event: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
        match event.get(name) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text),
            Some(_) => {
                self.wrong(name, "expected a string");
                None
            }
        }
    }

    /// A part of the decision, wherever it stands. Said twice is fine only if it is the same.
    fn part<'a>(
        &mut self,
        event: &'a Map<String, Value>,
        nested: Option<&'a Map<String, Value>>,
        names: &[&str],
    ) -> Option<&'a str> {
        let mut found = None;
        for fields in nested.into_iter().chain([event]) {
            for name in names {
                match (found, self.text(fields, name)) {
                    (Some(first), Some(second)) if first != second => {
                        self.wrong(name, &format!("given twice, as `{first}` and as `{second}`"));
                    }
                    (None, given) => found = given,
                    _ => {}
                }
            }
        }
        found
    }

    fn on_scale<T: std::str::FromStr<Err: std::fmt::Display>>(&mut self, field: &str, text: &str) -> Option<T> {
        text.parse().map_err(|error: T::Err| self.wrong(field, &error.to_string())).ok()
    }
}

fn read_code(code: &str) -> Option<Classification> {
    let mut parts = code.splitn(3, '-');
    Some(Classification::new(parts.next()?.parse().ok()?, parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

fn is_hash(text: &str) -> bool {
    text.strip_prefix("sha256:").is_some_and(|hex| hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn spec() -> ToolSpec {
    // No types: what has the wrong one is a finding of the tool, not a reason to refuse the question.
    let said = |text: &str| json!({ "description": text });
    ToolSpec {
        name: "adp_validate".into(),
        title: "Check the form of a trace".into(),
        description:
            "Says whether a trace event has the required fields, known values, well-formed hashes and times, and a \
                      classification code that agrees with its parts. Changes nothing; does not recompute hashes."
                .into(),
        input_schema: json!({
            "type": "object",
            "properties": {
                "trace_data": said("The event, if it is not given as the arguments themselves."),
                "trace_id": said("Required."),
                "agent_id": said("Required."),
                "event_type": said("Required: decision, approval or escalation."),
                "timestamp": said("Required, ISO 8601; `created_at` is taken instead."),
                "decision": said("type, risk_level, reversibility, classification_code, description, reasoning; or beside it."),
                "authorization": said("An object, or null."),
                "context": said("An object, or null."),
                "previous_hash": said("`sha256:` and 64 hexadecimal digits; null for the first of a chain."),
                "event_hash": said("`sha256:` and 64 hexadecimal digits."),
            },
        }),
        output_schema: Some(json!({
            "type": "object",
            "properties": {
                "valid": { "type": "boolean" },
                "errors": { "type": "array", "items": { "type": "string" } },
                "warnings": { "type": "array", "items": { "type": "string" } },
            },
            "required": ["valid", "errors", "warnings"],
        })),
        annotations: annotations::reads(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;
    use crate::adp::fakes::{Chains, agent, call};

    fn event() -> Value {
        let chains = Chains::default();
        chains.grow("a", 2);
        let mut row = serde_json::to_value(chains.traces_of("a").pop().unwrap()).unwrap();
        row["description"] = json!("Selected vendor B over vendor A");
        row["reasoning"] = json!("Lower fees");
        row["decision_type"] = json!("D2");
        row["risk_level"] = json!("R2");
        row["reversibility"] = json!("partial");
        row["classification_code"] = json!("D2-R2-partial");
        row
    }

    async fn findings(event: Value) -> (bool, Vec<String>, Vec<String>) {
        let answer = call(&Validate::new(), &agent("a"), event).await.unwrap();
        let texts = |key: &str| {
            let texts = answer[key].as_array().unwrap().iter();
            texts.map(|text| text.as_str().unwrap().to_owned()).collect()
        };
        (answer["valid"].as_bool().unwrap(), texts("errors"), texts("warnings"))
    }

    // acceptance 24: a stored row, its nested and wrapped forms, and the other name of its time.
    #[tokio::test]
    async fn what_is_a_trace_is_accepted() {
        let fine = (true, Vec::new(), Vec::new());
        assert_eq!(findings(event()).await, fine);
        assert_eq!(findings(json!({ "trace_data": event() })).await, fine);
        let mut row = event();
        let time = row.as_object_mut().unwrap().remove("timestamp").unwrap();
        row["created_at"] = time;
        assert_eq!(findings(row).await, fine);
        let nested = json!({
            "trace_id": "trc_1", "agent_id": "a", "event_type": "approval", "timestamp": "2026-02-23T01:00:00+01:00",
            "decision": { "type": "D4", "risk_level": "R3", "reversibility": "irreversible",
                          "classification_code": "D4-R3-irreversible", "description": "d", "reasoning": "r" },
        });
        assert_eq!(findings(nested).await, fine);
    }

    // acceptance 24: enums, hash format, time, missing fields; each named, and all at once.
    #[tokio::test]
    async fn every_fault_is_named() {
        for (field, value, expected) in [
            ("event_type", json!("note"), "Invalid event_type: `note` is not one of decision, approval, escalation"),
            ("event_type", json!(7), "Invalid event_type: expected a string"),
            ("event_type", Value::Null, "Missing required field: event_type"),
            ("trace_id", json!(""), "Invalid trace_id: must not be empty"),
            ("agent_id", Value::Null, "Missing required field: agent_id"),
            ("timestamp", Value::Null, "Missing required field: timestamp"),
            (
                "timestamp",
                json!("yesterday"),
                "Invalid timestamp: expected an ISO 8601 time with its offset, such as 2026-02-23T00:00:00.000Z",
            ),
            ("event_hash", json!("sha256:12"), "Invalid event_hash: expected `sha256:` and 64 hexadecimal digits"),
            ("event_hash", json!("f".repeat(64)), "Invalid event_hash: expected `sha256:` and 64 hexadecimal digits"),
            (
                "previous_hash",
                json!(format!("sha256:{}", "g".repeat(64))),
                "Invalid previous_hash: expected `sha256:` and 64 hexadecimal digits",
            ),
            ("risk_level", json!("R5"), "Invalid risk_level: `R5` is not one of R1, R2, R3, R4"),
            ("decision_type", json!("D9"), "Invalid decision_type: `D9` is not one of D1, D2, D3, D4"),
            (
                "reversibility",
                json!("never"),
                "Invalid reversibility: `never` is not one of total, partial, irreversible",
            ),
            (
                "classification_code",
                json!("D3-R2-partial"),
                "Invalid classification_code: D3-R2-partial does not agree with its parts",
            ),
            ("classification_code", json!("D2"), "Invalid classification_code: expected a code such as D2-R2-partial"),
            ("context", json!([]), "Invalid context: expected an object"),
            ("authorization", json!("yes"), "Invalid authorization: expected an object"),
            ("decision", json!("D2"), "Invalid decision: expected an object"),
            ("decision", json!({ "risk_level": "R1" }), "Invalid risk_level: given twice, as `R1` and as `R2`"),
        ] {
            let mut wrong = event();
            wrong[field] = value.clone();
            let (valid, errors, _) = findings(wrong).await;
            assert!(!valid && errors.contains(&expected.to_owned()), "{field} = {value}: {errors:?}");
        }
        let (valid, errors, warnings) = findings(json!({})).await;
        assert_eq!((valid, errors.len()), (false, 4), "{errors:?}");
        assert_eq!(warnings, ["Missing description", "Missing reasoning"]);
        let (_, errors, _) = findings(json!({ "trace_data": "x" })).await;
        assert_eq!(errors, ["Invalid trace_data: expected an object"]);
    }

    // acceptance 24: without words it is still a trace.
    #[tokio::test]
    async fn silence_is_only_warned_of() {
        let mut quiet = event();
        quiet["reasoning"] = Value::Null;
        quiet["description"] = json!(" ");
        let expected = vec!["Missing description".to_owned(), "Missing reasoning".to_owned()];
        assert_eq!(findings(quiet).await, (true, Vec::new(), expected));
    }
}
