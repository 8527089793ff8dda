//! What a stage's gates say about the evidence.

use super::super::compare::compare;
use super::super::evidence::EvidenceResult;
use super::super::policies::AnchorRules;
use super::super::records::{Evaluation, EvidenceRecord, GateEval, Leaf, TriggerEvent};
use super::super::requirement;
use super::super::scenario::{CompiledGate, CompiledStage, Scenario};
use super::super::spec::{Gate, Predicate, Stage};
use super::super::{Refusal, Tri};

/// One predicate of the stage, settled.
struct Settled<'s> {
    predicate: &'s Predicate,
    status: Tri,
    result: EvidenceResult,
}

pub fn judge(
    scenario: &Scenario,
    stage: &Stage,
    compiled: &CompiledStage,
    evidence: Vec<EvidenceResult>,
    trigger: &TriggerEvent,
    anchors: &AnchorRules,
) -> Result<Vec<GateEval>, Refusal> {
    let mut evidence = evidence.into_iter();
    let mut settled = Vec::with_capacity(compiled.wanted.len());
    for predicate in scenario.wanted(compiled) {
        let result = evidence.next().unwrap_or_else(|| EvidenceResult::failed("evidence_missing", "nobody was asked"));
        let result = anchors.applied(&predicate.query.provider_id, result).recorded()?;
        // An error decides before anything is compared.
        let status = match &result.error {
            Some(_) => Tri::Unknown,
            None => compare(predicate.comparator, predicate.expected.as_ref(), result.value.as_ref()),
        };
        settled.push(Settled { predicate, status, result });
    }
    let gates = stage.gates.iter().zip(&compiled.gates);
    Ok(gates.map(|(gate, compiled)| one(gate, compiled, &settled, stage, trigger)).collect())
}

fn one(
    gate: &Gate,
    compiled: &CompiledGate,
    settled: &[Settled<'_>],
    stage: &Stage,
    trigger: &TriggerEvent,
) -> GateEval {
    let at = |slots: &[usize]| slots.iter().filter_map(|slot| settled.get(*slot)).collect::<Vec<_>>();
    let leaves = at(&compiled.leaves);
    let status = requirement::evaluate(&compiled.ops, leaves.iter().map(|leaf| leaf.status));
    let trace = leaves.iter().map(|leaf| Leaf { predicate: leaf.predicate.id.clone(), status: leaf.status });
    let evidence = at(&compiled.evidence).into_iter().map(|one| EvidenceRecord {
        predicate: one.predicate.id.clone(),
        status: one.status,
        result: one.result.clone(),
    });
    GateEval {
        trigger_id: trigger.trigger_id.clone(),
        stage_id: stage.stage_id.clone(),
        evaluation: Evaluation { gate_id: gate.gate_id.clone(), status, trace: trace.collect() },
        evidence: evidence.collect(),
    }
}
