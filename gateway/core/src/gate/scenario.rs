//! A scenario that can be run: validated, hashed, and with every name found once and for all.

mod checking;

use std::collections::{BTreeMap, HashMap};

use super::contracts::Contracts;
use super::refusal::{Fault, FaultCode};
use super::requirement::Op;
use super::spec::{AdvanceTo, Predicate, Spec, Stage};
use super::{Digest, Id};

pub struct Scenario {
    spec: Spec,
    hash: Digest,
    stages: Vec<CompiledStage>,
    stage_of: HashMap<Id, usize>,
}

pub(super) struct CompiledStage {
    /// Predicates that any gate names, each once, in the order they are first met.
    pub wanted: Vec<usize>,
    pub gates: Vec<CompiledGate>,
    pub packet_hashes: Vec<Digest>,
    pub way: Way,
}

/// Positions are those in [`CompiledStage::wanted`].
pub(super) struct CompiledGate {
    pub ops: Box<[Op]>,
    pub leaves: Vec<usize>,
    /// Each once, by the predicates' names.
    pub evidence: Vec<usize>,
}

/// Where a stage leads, as positions.
pub(super) enum Way {
    Complete,
    To(usize),
    /// (gate, the rule's own outcome, stage), then the default.
    Branch(Vec<(usize, super::Tri, usize)>, Option<usize>),
}

impl Scenario {
    pub fn compile(spec: Spec, contracts: &dyn Contracts) -> Result<Self, Vec<Fault>> {
        Self::checked(spec, Some(contracts))
    }

    /// One that was accepted before: its providers may have changed since, its runs go on.
    pub fn recompile(spec: Spec) -> Result<Self, Vec<Fault>> {
        Self::checked(spec, None)
    }

    fn checked(spec: Spec, contracts: Option<&dyn Contracts>) -> Result<Self, Vec<Fault>> {
        checking::check(&spec, contracts)?;
        let unwritable = |error: super::Refusal| {
            vec![Fault { path: String::new(), code: FaultCode::Field, what: error.to_string() }]
        };
        let hash = Digest::of_json(&spec.written()).map_err(unwritable)?;
        let stage_of: HashMap<Id, usize> =
            spec.stages.iter().enumerate().map(|(index, stage)| (stage.stage_id.clone(), index)).collect();
        let predicate_of: BTreeMap<&Id, usize> =
            spec.predicates.iter().enumerate().map(|(index, one)| (&one.id, index)).collect();
        let stages = spec
            .stages
            .iter()
            .enumerate()
            .map(|(index, stage)| compiled(stage, index, spec.stages.len(), &stage_of, &predicate_of))
            .collect::<Result<_, _>>()
            .map_err(unwritable)?;
        Ok(Self { hash, stages, stage_of, spec })
    }

    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    pub fn hash(&self) -> &Digest {
        &self.hash
    }

    /// The first stage. There is one, or it would not have been accepted.
    pub(super) fn first(&self) -> Option<&Stage> {
        self.spec.stages.first()
    }

    pub(super) fn stage(&self, id: &Id) -> Option<(&Stage, &CompiledStage)> {
        self.stage_at(*self.stage_of.get(id)?)
    }

    pub(super) fn stage_at(&self, index: usize) -> Option<(&Stage, &CompiledStage)> {
        Some((self.spec.stages.get(index)?, self.stages.get(index)?))
    }

    pub(super) fn wanted<'s>(&'s self, stage: &'s CompiledStage) -> impl Iterator<Item = &'s Predicate> {
        stage.wanted.iter().filter_map(|index| self.spec.predicates.get(*index))
    }
}

fn compiled(
    stage: &Stage,
    index: usize,
    count: usize,
    stage_of: &HashMap<Id, usize>,
    predicate_of: &BTreeMap<&Id, usize>,
) -> Result<CompiledStage, super::Refusal> {
    let mut wanted: Vec<usize> = Vec::new();
    let mut slot_of: BTreeMap<&Id, usize> = BTreeMap::new();
    let mut gates = Vec::with_capacity(stage.gates.len());
    for gate in &stage.gates {
        let names = gate.requirement.leaves();
        for name in &names {
            // Checked before: every leaf names a predicate.
            let Some(predicate) = predicate_of.get(*name) else { continue };
            slot_of.entry(name).or_insert_with(|| {
                wanted.push(*predicate);
                wanted.len() - 1
            });
        }
        let slot = |name: &&Id| slot_of.get(*name).copied();
        let by_name: BTreeMap<&Id, usize> = names.iter().filter_map(|name| Some((*name, slot(name)?))).collect();
        gates.push(CompiledGate {
            ops: gate.requirement.flat(),
            leaves: names.iter().filter_map(slot).collect(),
            evidence: by_name.into_values().collect(),
        });
    }
    let hashed = |packet: &super::spec::PacketSpec| Ok(packet.payload.measured()?.1);
    let packet_hashes = stage.entry_packets.iter().map(hashed).collect::<Result<_, super::Refusal>>()?;
    let at = |id: &Id| stage_of.get(id).copied();
    let way = match &stage.advance_to {
        AdvanceTo::Terminal {} => Way::Complete,
        AdvanceTo::Linear {} if index + 1 == count => Way::Complete,
        AdvanceTo::Linear {} => Way::To(index + 1),
        // Checked before; a place that is not there leads nowhere, not out.
        AdvanceTo::Fixed { stage_id } => at(stage_id).map_or(Way::Branch(Vec::new(), None), Way::To),
        AdvanceTo::Branch { branches, default } => {
            let gate_at = |id: &Id| stage.gates.iter().position(|gate| gate.gate_id == *id);
            let rules = branches
                .iter()
                .filter_map(|rule| Some((gate_at(&rule.gate_id)?, rule.outcome.into(), at(&rule.next_stage_id)?)));
            Way::Branch(rules.collect(), default.as_ref().and_then(at))
        }
    };
    Ok(CompiledStage { wanted, gates, packet_hashes, way })
}
