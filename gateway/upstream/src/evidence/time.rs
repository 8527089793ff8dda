//! `time`: when the trigger says it is. No clock is asked, so the same run opens the same gates whenever it is repeated.

use std::sync::Arc;

use async_trait::async_trait;
use gateway_core::gate::GateTime;
use gateway_core::gate::contracts::{CheckContract, ValueKind};
use gateway_core::gate::evidence::EvidenceResult;
use gateway_core::gate::moments::moment;
use gateway_core::ports::{EvidenceAsked, EvidenceProvider};
use serde_json::{Value, json};

use super::params::Params;
use super::{EQUALITY, ORDER, contract};

pub struct TriggerTime {
    allow_logical: bool,
    checks: Vec<CheckContract>,
}

impl TriggerTime {
    pub fn new(allow_logical: bool) -> Self {
        let numbers = EQUALITY.into_iter().chain(ORDER).collect();
        let compared = |check| contract(check, ValueKind::Boolean, EQUALITY.to_vec(), Some(Arc::new(is_timestamp)));
        let now = contract("now", ValueKind::Integer, numbers, None);
        Self { allow_logical, checks: vec![now, compared("after"), compared("before")] }
    }

    fn answer(&self, asked: &EvidenceAsked<'_>) -> EvidenceResult {
        let now = asked.context.trigger_time;
        if matches!(now, GateTime::Logical(_)) && !self.allow_logical {
            return EvidenceResult::failed("logical_time_disabled", "counted time is switched off for this provider");
        }
        let value = match asked.query.check.as_str() {
            "now" => match now {
                GateTime::UnixMillis(millis) => Ok(json!(millis)),
                GateTime::Logical(tick) => Ok(json!(tick)),
            },
            // At that very moment it is after, not before.
            "after" => reached(now, asked.query.params.as_ref()).map(|reached| json!(reached)),
            "before" => reached(now, asked.query.params.as_ref()).map(|reached| json!(!reached)),
            other => return EvidenceResult::failed("check_missing", format!("`time` has no check `{other}`")),
        };
        match value {
            Ok(value) => EvidenceResult::json(value, "application/json"),
            Err(words) => EvidenceResult::failed("params_invalid", words),
        }
    }
}

#[async_trait]
impl EvidenceProvider for TriggerTime {
    fn checks(&self) -> &[CheckContract] {
        &self.checks
    }

    async fn query(&self, asked: &EvidenceAsked<'_>) -> EvidenceResult {
        let answer = self.answer(asked);
        match asked.context.trigger_time {
            GateTime::UnixMillis(millis) => answer.anchored("trigger_time_unix_millis", millis.to_string()),
            GateTime::Logical(tick) => answer.anchored("trigger_time_logical", tick.to_string()),
        }
    }
}

fn is_timestamp(params: &Value) -> Result<(), String> {
    match Params::of(params, &["timestamp"])?.get("timestamp") {
        None => Err("`timestamp` is missing".into()),
        Some(Value::Number(number)) if number.is_i64() || number.is_u64() => Ok(()),
        Some(Value::String(text)) if moment(text).is_some() => Ok(()),
        Some(_) => Err("`timestamp` must be an integer or an RFC 3339 date-time with a zone".into()),
    }
}

/// Whether it is that time or later. Times that are not counted alike cannot be compared.
fn reached(now: GateTime, params: Option<&Value>) -> Result<bool, String> {
    let params = params.ok_or("`timestamp` is missing")?;
    let given = Params::of(params, &["timestamp"])?.get("timestamp").ok_or("`timestamp` is missing")?;
    match now {
        GateTime::Logical(tick) => {
            let given = given.as_u64().ok_or("`timestamp` must be an unsigned integer where time is counted")?;
            Ok(tick >= given)
        }
        GateTime::UnixMillis(millis) => {
            if let Some(text) = given.as_str() {
                let given = moment(text).ok_or("`timestamp` must be an RFC 3339 date-time with a zone")?;
                // In nanoseconds: a moment between two milliseconds is after the first.
                return Ok(i128::from(millis) * 1_000_000 >= given.as_nanosecond());
            }
            let given = given.as_i64().ok_or("`timestamp` must be milliseconds or an RFC 3339 date-time")?;
            Ok(millis >= given)
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::evidence::testing::{asked_at, code, contracted, value};

    const UNIX: GateTime = GateTime::UnixMillis(1_710_000_000_000);
    const TICK: GateTime = GateTime::Logical(5);

    // acceptance 119 e: after counts the moment itself, before does not (D-2).
    #[tokio::test]
    async fn the_moment_itself_is_after_and_not_before() {
        let time = TriggerTime::new(true);
        for (at, timestamp, after) in [
            (UNIX, json!(1_709_999_999_999_i64), true),
            (UNIX, json!(1_710_000_000_000_i64), true),
            (UNIX, json!(1_710_000_000_001_i64), false),
            (UNIX, json!("2024-03-09T16:00:00Z"), true),
            (UNIX, json!("2024-03-09T17:00:00+01:00"), true),
            (UNIX, json!("2024-03-09T16:00:00.000000001Z"), false),
            (TICK, json!(5), true),
            (TICK, json!(6), false),
        ] {
            let params = json!({ "timestamp": timestamp });
            assert_eq!(
                value(&asked_at(&time, at, "after", Some(params.clone())).await),
                Some(json!(after)),
                "{params}"
            );
            assert_eq!(
                value(&asked_at(&time, at, "before", Some(params.clone())).await),
                Some(json!(!after)),
                "{params}"
            );
        }
    }

    // acceptance 119 e: now, and the anchor that says which time was meant, on errors too.
    #[tokio::test]
    async fn now_is_the_triggers_own_time() {
        let time = TriggerTime::new(true);
        let now = asked_at(&time, UNIX, "now", None).await;
        let anchor = now.evidence_anchor.clone().unwrap();
        assert_eq!(
            (anchor.anchor_type.as_str(), anchor.anchor_value.as_str()),
            ("trigger_time_unix_millis", "1710000000000")
        );
        assert_eq!(
            (value(&now), now.content_type.as_deref()),
            (Some(json!(1_710_000_000_000_i64)), Some("application/json"))
        );
        let counted = asked_at(&time, TICK, "now", None).await;
        assert_eq!((value(&counted), counted.evidence_anchor.unwrap().anchor_value), (Some(json!(5)), "5".into()));
        let off = asked_at(&TriggerTime::new(false), TICK, "now", None).await;
        assert_eq!(
            (code(&off), off.evidence_anchor.clone().unwrap().anchor_type),
            ("logical_time_disabled", "trigger_time_logical".into())
        );
    }

    #[tokio::test]
    async fn times_that_are_not_counted_alike_are_an_error() {
        let time = TriggerTime::new(true);
        for (at, timestamp) in
            [(TICK, json!("2024-03-09T16:00:00Z")), (TICK, json!(-1)), (UNIX, json!(1.5)), (UNIX, json!("soon"))]
        {
            let result = asked_at(&time, at, "after", Some(json!({ "timestamp": timestamp }))).await;
            assert_eq!(code(&result), "params_invalid", "{timestamp}");
        }
    }

    // acceptance 114: what could never be asked is refused when the scenario is defined.
    #[test]
    fn params_are_held_against_the_contract() {
        let time = TriggerTime::new(true);
        for (params, fits) in [
            (json!({ "timestamp": 1 }), true),
            (json!({ "timestamp": "2024-03-09T16:00:00Z" }), true),
            (json!({ "timestamp": "2024-03-09" }), false),
            (json!({ "timestamp": 1.5 }), false),
            (json!({ "timestamp": 1, "zone": "UTC" }), false),
            (json!({}), false),
            (json!([]), false),
        ] {
            assert_eq!(contracted(&time, "after", &params).is_ok(), fits, "{params}");
        }
        assert!(contracted(&time, "now", &json!({})).is_ok() && contracted(&time, "now", &json!({ "at": 1 })).is_err());
    }
}
