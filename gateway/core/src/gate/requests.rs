//! What callers ask of a run, read strictly. Fields of the newer dialect are accepted and, where they carry a tenant,
//! handed on to be compared with the caller's own.

use serde::Serialize;
use serde_json::Value;

use super::engine::INIT;
use super::evidence::EvidenceContext;
use super::payload::Payload;
use super::read::{Faults, Fields, Place};
use super::records::{TriggerEvent, TriggerKind};
use super::refusal::{Fault, FaultCode};
use super::run::RunConfig;
use super::spec::EvidenceQuery;
use super::{Correlation, GateTime, Id, TARGETS, TenantText};

/// A request and the tenant that was written in it, if any.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked<T> {
    pub request: T,
    pub tenant_id: Option<TenantText>,
}

/// Written as the seed has it: this is what a transcript's `request_hash` is over.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NextRequest {
    pub run_id: Id,
    pub trigger_id: Id,
    pub agent_id: Id,
    pub time: GateTime,
    pub correlation_id: Option<Correlation>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StatusRequest {
    pub run_id: Id,
    pub requested_at: GateTime,
    pub correlation_id: Option<Correlation>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SubmitRequest {
    pub run_id: Id,
    pub submission_id: Id,
    pub payload: Payload,
    pub content_type: String,
    pub submitted_at: GateTime,
    pub correlation_id: Option<Correlation>,
}

impl NextRequest {
    pub fn read(value: &Value, path: &str) -> Result<Asked<Self>, Vec<Fault>> {
        asked(value, path, &["run_id", "trigger_id", "agent_id", "time", "correlation_id"], |fields, faults| {
            let run_id = fields.id("run_id", faults);
            let trigger_id = trigger(fields, faults);
            let agent_id = fields.id("agent_id", faults);
            let time = fields.typed("time", faults);
            let correlation_id = fields.correlation("correlation_id", faults);
            Some(Self {
                run_id: run_id?,
                trigger_id: trigger_id?,
                agent_id: agent_id?,
                time: time?,
                correlation_id: correlation_id?,
            })
        })
    }

    pub fn event(&self) -> TriggerEvent {
        TriggerEvent {
            trigger_id: self.trigger_id.clone(),
            run_id: self.run_id.clone(),
            kind: TriggerKind::AgentRequestNext,
            time: self.time,
            source_id: self.agent_id.clone(),
            payload_ref: None,
            correlation_id: self.correlation_id.clone(),
        }
    }
}

impl StatusRequest {
    pub fn read(value: &Value, path: &str) -> Result<Asked<Self>, Vec<Fault>> {
        asked(value, path, &["run_id", "requested_at", "correlation_id"], |fields, faults| {
            let run_id = fields.id("run_id", faults);
            let requested_at = fields.typed("requested_at", faults);
            let correlation_id = fields.correlation("correlation_id", faults);
            Some(Self { run_id: run_id?, requested_at: requested_at?, correlation_id: correlation_id? })
        })
    }
}

impl SubmitRequest {
    pub fn read(value: &Value, path: &str) -> Result<Asked<Self>, Vec<Fault>> {
        let allowed = ["run_id", "submission_id", "payload", "content_type", "submitted_at", "correlation_id"];
        asked(value, path, &allowed, |fields, faults| {
            let run_id = fields.id("run_id", faults);
            let submission_id = fields.id("submission_id", faults);
            let payload = fields.typed("payload", faults);
            let content_type = fields.text("content_type", faults);
            let submitted_at = fields.typed("submitted_at", faults);
            let correlation_id = fields.correlation("correlation_id", faults);
            Some(Self {
                run_id: run_id?,
                submission_id: submission_id?,
                payload: payload?,
                content_type: content_type?,
                submitted_at: submitted_at?,
                correlation_id: correlation_id?,
            })
        })
    }
}

impl TriggerEvent {
    /// `payload_ref` is an opaque text; the newer `payload` is kept as it is given.
    pub fn read(value: &Value, path: &str) -> Result<Asked<Self>, Vec<Fault>> {
        let newer = value.get("payload").is_some() && value.get("payload_ref").is_none();
        let payload = if newer { "payload" } else { "payload_ref" };
        let allowed = ["trigger_id", "run_id", "kind", "time", "source_id", payload, "correlation_id"];
        asked(value, path, &allowed, |fields, faults| {
            let trigger_id = trigger(fields, faults);
            let run_id = fields.id("run_id", faults);
            let kind = fields.typed("kind", faults);
            let time = fields.typed("time", faults);
            let source_id = fields.id("source_id", faults);
            let opaque = |place: Place<'_>, faults: &mut Faults| {
                if newer { Some(place.value.clone()) } else { place.text(faults).map(Value::from) }
            };
            let payload_ref = fields.maybe(payload, faults, opaque);
            let correlation_id = fields.correlation("correlation_id", faults);
            Some(Self {
                trigger_id: trigger_id?,
                run_id: run_id?,
                kind: kind?,
                time: time?,
                source_id: source_id?,
                payload_ref: payload_ref?,
                correlation_id: correlation_id?,
            })
        })
    }
}

impl RunConfig {
    pub fn read(value: &Value, path: &str) -> Result<Self, Vec<Fault>> {
        let allowed = ["run_id", "scenario_id", "dispatch_targets", "policy_tags"];
        let asked = asked(value, path, &allowed, |fields, faults| {
            let tenant_id = fields.typed("tenant_id", faults);
            let run_id = fields.id("run_id", faults);
            let scenario_id = fields.id("scenario_id", faults);
            let targets =
                fields.required("dispatch_targets", faults).and_then(|place| place.each(faults, Place::typed));
            let policy_tags = fields.texts("policy_tags", faults);
            let dispatch_targets: Vec<_> = targets?;
            if dispatch_targets.len() > TARGETS {
                let what = format!("has {} targets, at most {TARGETS} are allowed", dispatch_targets.len());
                faults.add(fields.at("dispatch_targets"), FaultCode::TooLarge, what);
            }
            Some(Self {
                tenant_id: tenant_id?,
                run_id: run_id?,
                scenario_id: scenario_id?,
                dispatch_targets,
                policy_tags: policy_tags?,
            })
        })?;
        Ok(asked.request)
    }
}

impl EvidenceContext {
    pub fn read(value: &Value, path: &str) -> Result<Self, Vec<Fault>> {
        let allowed = ["run_id", "scenario_id", "stage_id", "trigger_id", "trigger_time", "correlation_id"];
        let asked = asked(value, path, &allowed, |fields, faults| {
            let tenant_id = fields.typed("tenant_id", faults);
            let run_id = fields.id("run_id", faults);
            let scenario_id = fields.id("scenario_id", faults);
            let stage_id = fields.id("stage_id", faults);
            let trigger_id = fields.id("trigger_id", faults);
            let trigger_time = fields.typed("trigger_time", faults);
            let correlation_id = fields.correlation("correlation_id", faults);
            Some(Self {
                tenant_id: tenant_id?,
                run_id: run_id?,
                scenario_id: scenario_id?,
                stage_id: stage_id?,
                trigger_id: trigger_id?,
                trigger_time: trigger_time?,
                correlation_id: correlation_id?,
            })
        })?;
        Ok(asked.request)
    }
}

impl EvidenceQuery {
    pub fn read_alone(value: &Value, path: &str) -> Result<Self, Vec<Fault>> {
        let mut faults = Faults::new();
        let query = Self::read(Place::new(value, path), &mut faults);
        faults.settle(query)
    }
}

/// Not the one that a run writes itself.
fn trigger(fields: &Fields<'_>, faults: &mut Faults) -> Option<Id> {
    let id = fields.id("trigger_id", faults)?;
    if id.as_str() == INIT {
        faults.add(fields.at("trigger_id"), FaultCode::Field, "`init` is the run's own; choose another");
        return None;
    }
    Some(id)
}

fn asked<T>(
    value: &Value,
    path: &str,
    own: &[&str],
    read: impl FnOnce(&Fields<'_>, &mut Faults) -> Option<T>,
) -> Result<Asked<T>, Vec<Fault>> {
    let mut faults = Faults::new();
    let allowed: Vec<&str> = own.iter().copied().chain(["tenant_id", "namespace_id"]).collect();
    let request = Place::new(value, path).fields(&allowed, &mut faults).and_then(|fields| {
        let tenant_id = fields.maybe("tenant_id", &mut faults, Place::typed);
        let request = read(&fields, &mut faults);
        Some(Asked { request: request?, tenant_id: tenant_id? })
    });
    faults.settle(request)
}
