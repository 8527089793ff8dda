//! From JSON to a [`Spec`]: every field known, every fault told with its path.

use serde_json::Value;

use super::super::counting;
use super::super::read::{Faults, Fields, Place};
use super::super::refusal::{Fault, FaultCode};
use super::super::requirement::Requirement;
use super::super::{SPEC_BYTES, digest};
use super::{Dialect, EvidenceQuery, Gate, Predicate, Spec, Stage};

impl Spec {
    pub fn read(submitted: &Value) -> Result<Self, Vec<Fault>> {
        let mut faults = Faults::new();
        let size = counting::most_bytes(submitted);
        if size > SPEC_BYTES {
            faults.add("", FaultCode::TooLarge, format!("has {size} bytes, at most {SPEC_BYTES} are allowed"));
            return faults.settle(None);
        }
        let spec = read(Place::new(submitted, ""), &mut faults);
        // Hashing would fail later, with nobody to tell.
        if digest::canonical(submitted).is_err() {
            faults.add("", FaultCode::Field, "cannot be written as canonical JSON");
        }
        faults.settle(spec)
    }

    /// As the store keeps it.
    pub fn from_text(text: &str) -> Result<Self, Vec<Fault>> {
        let fault = |error: serde_json::Error| {
            vec![Fault { path: String::new(), code: FaultCode::Field, what: format!("is not JSON: {error}") }]
        };
        Self::read(&serde_json::from_str(text).map_err(fault)?)
    }
}

fn read(place: Place<'_>, faults: &mut Faults) -> Option<Spec> {
    let dialect = dialect_of(place.value);
    let mut allowed = vec!["scenario_id", "spec_version", "default_tenant_id", "policies", "schemas", "stages"];
    allowed.push(dialect.predicates());
    if dialect == Dialect::Newer {
        allowed.push("namespace_id");
    }
    let fields = place.fields(&allowed, faults)?;
    // All are read before the first `?`, so that all faults are found.
    let scenario_id = fields.id("scenario_id", faults);
    let spec_version = fields.text("spec_version", faults);
    let default_tenant_id = fields.maybe("default_tenant_id", faults, Place::typed);
    let policies = fields.required("policies", faults).and_then(|place| place.each(faults, Place::typed));
    let schemas = fields.required("schemas", faults).and_then(|place| place.each(faults, Place::typed));
    let predicates = fields
        .required(dialect.predicates(), faults)
        .and_then(|place| place.each(faults, |place, faults| predicate(place, dialect, faults)));
    let stages = fields
        .required("stages", faults)
        .and_then(|place| place.each(faults, |place, faults| stage(place, dialect, faults)));
    Some(Spec {
        dialect,
        scenario_id: scenario_id?,
        spec_version: spec_version?,
        default_tenant_id: default_tenant_id?,
        namespace_id: fields.optional("namespace_id").map(|place| place.value.clone()),
        policies: policies?,
        schemas: schemas?,
        predicates: predicates?,
        stages: stages?,
    })
}

/// By the list everything else refers to. With both, the other one is an unknown field.
fn dialect_of(value: &Value) -> Dialect {
    if value.get("conditions").is_some() && value.get("predicates").is_none() { Dialect::Newer } else { Dialect::Seed }
}

fn predicate(place: Place<'_>, dialect: Dialect, faults: &mut Faults) -> Option<Predicate> {
    let mut allowed = vec![dialect.predicate(), "query", "comparator", "expected", "policy_tags"];
    allowed.extend((dialect == Dialect::Newer).then_some("trust"));
    let fields = place.fields(&allowed, faults)?;
    let id = fields.id(dialect.predicate(), faults);
    let query = fields.required("query", faults).and_then(|place| query(place, dialect, faults));
    let comparator = fields.typed("comparator", faults);
    let policy_tags = fields.texts("policy_tags", faults);
    Some(Predicate {
        id: id?,
        query: query?,
        comparator: comparator?,
        expected: fields.optional("expected").map(|place| place.value.clone()),
        policy_tags: policy_tags?,
        trust: fields.optional("trust").map(|place| place.value.clone()),
    })
}

fn query(place: Place<'_>, dialect: Dialect, faults: &mut Faults) -> Option<EvidenceQuery> {
    let fields = place.fields(&["provider_id", dialect.check(), "params"], faults)?;
    query_of(&fields, dialect, faults)
}

fn query_of(fields: &Fields<'_>, dialect: Dialect, faults: &mut Faults) -> Option<EvidenceQuery> {
    let provider_id = fields.text("provider_id", faults);
    let check = fields.text(dialect.check(), faults);
    let params = fields.has("params").then(|| fields.required("params", faults)).flatten();
    Some(EvidenceQuery { provider_id: provider_id?, check: check?, params: params.map(|place| place.value.clone()) })
}

impl EvidenceQuery {
    /// One that is asked for by itself, in whichever words.
    pub(in crate::gate) fn read(place: Place<'_>, faults: &mut Faults) -> Option<Self> {
        let newer = place.value.get("check_id").is_some() && place.value.get("predicate").is_none();
        query(place, if newer { Dialect::Newer } else { Dialect::Seed }, faults)
    }
}

fn stage(place: Place<'_>, dialect: Dialect, faults: &mut Faults) -> Option<Stage> {
    let allowed = ["stage_id", "entry_packets", "gates", "advance_to", "timeout", "on_timeout"];
    let fields = place.fields(&allowed, faults)?;
    let stage_id = fields.id("stage_id", faults);
    let entry_packets = fields.required("entry_packets", faults).and_then(|place| place.each(faults, Place::typed));
    let gates = fields
        .required("gates", faults)
        .and_then(|place| place.each(faults, |place, faults| gate(place, dialect, faults)));
    let advance_to = fields.typed("advance_to", faults);
    let timeout = fields.maybe("timeout", faults, Place::typed);
    let on_timeout = fields.typed("on_timeout", faults);
    Some(Stage {
        stage_id: stage_id?,
        entry_packets: entry_packets?,
        gates: gates?,
        advance_to: advance_to?,
        timeout: timeout?,
        on_timeout: on_timeout?,
    })
}

fn gate(place: Place<'_>, dialect: Dialect, faults: &mut Faults) -> Option<Gate> {
    let mut allowed = vec!["gate_id", "requirement"];
    allowed.extend((dialect == Dialect::Newer).then_some("trust"));
    let fields = place.fields(&allowed, faults)?;
    let gate_id = fields.id("gate_id", faults);
    let requirement =
        fields.required("requirement", faults).and_then(|place| Requirement::read(place, dialect, faults));
    let trust = fields.optional("trust").map(|place| place.value.clone());
    Some(Gate { gate_id: gate_id?, requirement: requirement?, trust })
}
