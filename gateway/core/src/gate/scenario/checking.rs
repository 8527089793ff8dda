//! Whether a well-formed scenario makes sense: names are told apart, found, and everything asked can be answered.

use std::collections::HashSet;

use super::super::contracts::{self, Contracts};
use super::super::read::Faults;
use super::super::refusal::{Fault, FaultCode};
use super::super::spec::{AdvanceTo, Spec, Stage};
use super::super::{Id, PAYLOAD_BYTES};

pub fn check(spec: &Spec, contracts: Option<&dyn Contracts>) -> Result<(), Vec<Fault>> {
    let mut faults = Faults::new();
    if spec.stages.is_empty() {
        faults.add("stages", FaultCode::NoStages, "must have at least one stage");
    }
    names(spec, &mut faults);
    let predicates: HashSet<&Id> = spec.predicates.iter().map(|one| &one.id).collect();
    let stages: HashSet<&Id> = spec.stages.iter().map(|one| &one.stage_id).collect();
    for (index, stage) in spec.stages.iter().enumerate() {
        let path = format!("stages[{index}]");
        leaves(stage, &path, &predicates, &mut faults);
        targets(stage, &path, &stages, &mut faults);
        payloads(stage, &path, &mut faults);
    }
    for (index, predicate) in spec.predicates.iter().enumerate() {
        // In the words of the document, so that the path can be found in it.
        let path = format!("{}[{index}]", spec.dialect.predicates());
        for (field, text) in
            [("provider_id", &predicate.query.provider_id), (spec.dialect.check(), &predicate.query.check)]
        {
            if text.trim().is_empty() {
                faults.add(format!("{path}.query.{field}"), FaultCode::QueryEmpty, "must not be empty");
            }
        }
        if let Some(contracts) = contracts {
            contracts::hold(contracts, predicate, &path, &mut faults);
        }
    }
    faults.settle(Some(()))
}

/// Each name once: of stages, of predicates, and of gates and packets across all stages.
fn names(spec: &Spec, faults: &mut Faults) {
    let mut stages = Once::new(FaultCode::DuplicateStage, "stage");
    let mut gates = Once::new(FaultCode::DuplicateGate, "gate");
    let mut packets = Once::new(FaultCode::DuplicatePacket, "packet");
    let mut predicates = Once::new(FaultCode::DuplicatePredicate, spec.dialect.predicate());
    for (index, stage) in spec.stages.iter().enumerate() {
        stages.meet(&stage.stage_id, || format!("stages[{index}].stage_id"), faults);
        for (at, gate) in stage.gates.iter().enumerate() {
            gates.meet(&gate.gate_id, || format!("stages[{index}].gates[{at}].gate_id"), faults);
        }
        for (at, packet) in stage.entry_packets.iter().enumerate() {
            packets.meet(&packet.packet_id, || format!("stages[{index}].entry_packets[{at}].packet_id"), faults);
        }
    }
    for (index, predicate) in spec.predicates.iter().enumerate() {
        let (list, field) = (spec.dialect.predicates(), spec.dialect.predicate());
        predicates.meet(&predicate.id, || format!("{list}[{index}].{field}"), faults);
    }
}

struct Once<'s> {
    met: HashSet<&'s Id>,
    code: FaultCode,
    what: &'static str,
}

impl<'s> Once<'s> {
    fn new(code: FaultCode, what: &'static str) -> Self {
        Self { met: HashSet::new(), code, what }
    }

    fn meet(&mut self, id: &'s Id, path: impl FnOnce() -> String, faults: &mut Faults) {
        if !self.met.insert(id) {
            faults.add(path(), self.code, format!("duplicate {} `{id}`", self.what));
        }
    }
}

fn leaves(stage: &Stage, path: &str, predicates: &HashSet<&Id>, faults: &mut Faults) {
    for (at, gate) in stage.gates.iter().enumerate() {
        let unknown: HashSet<&Id> =
            gate.requirement.leaves().into_iter().filter(|leaf| !predicates.contains(leaf)).collect();
        let mut unknown: Vec<&Id> = unknown.into_iter().collect();
        unknown.sort();
        for leaf in unknown {
            let what = format!("predicate `{leaf}` is not defined");
            faults.add(format!("{path}.gates[{at}].requirement"), FaultCode::PredicateMissing, what);
        }
    }
}

fn targets(stage: &Stage, path: &str, stages: &HashSet<&Id>, faults: &mut Faults) {
    let mut known = |id: &Id, field: String| {
        if !stages.contains(id) {
            let what = format!("stage `{id}` is not defined");
            faults.add(format!("{path}.advance_to.{field}"), FaultCode::TargetMissing, what);
        }
    };
    let AdvanceTo::Branch { branches, default } = &stage.advance_to else {
        if let AdvanceTo::Fixed { stage_id } = &stage.advance_to {
            known(stage_id, "stage_id".into());
        }
        return;
    };
    for (at, rule) in branches.iter().enumerate() {
        known(&rule.next_stage_id, format!("branches[{at}].next_stage_id"));
    }
    if let Some(default) = default {
        known(default, "default".into());
    }
    for (at, rule) in branches.iter().enumerate() {
        if !stage.gates.iter().any(|gate| gate.gate_id == rule.gate_id) {
            let what = format!("gate `{}` is not one of this stage", rule.gate_id);
            faults.add(format!("{path}.advance_to.branches[{at}].gate_id"), FaultCode::BranchGateMissing, what);
        }
    }
}

fn payloads(stage: &Stage, path: &str, faults: &mut Faults) {
    for (at, packet) in stage.entry_packets.iter().enumerate() {
        let path = format!("{path}.entry_packets[{at}].payload");
        match packet.payload.measured() {
            Ok((size, _)) if size <= PAYLOAD_BYTES => {}
            Ok((size, _)) => {
                let what = format!("has {size} bytes, at most {PAYLOAD_BYTES} are allowed");
                faults.add(path, FaultCode::PayloadTooLarge, what);
            }
            Err(error) => faults.add(path, FaultCode::Field, error.to_string()),
        }
    }
}
