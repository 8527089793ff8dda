//! Whether the logs of a pack fit together. Read leniently, in either dialect: others may write more about a record than
//! we do.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Value;

use super::super::evidence::Anchor;
use super::super::runpack::ArtifactKind;
use super::Findings;
use super::manifest::Written;

/// The seven as JSON, as far as they are.
pub struct Artifacts(HashMap<ArtifactKind, Result<Value, String>>);

impl Artifacts {
    pub fn of(manifest: &Written, contents: &BTreeMap<String, Vec<u8>>) -> Self {
        let read = |kind: ArtifactKind| {
            let bytes = contents.get(manifest.path_of(kind)?)?;
            Some((kind, serde_json::from_slice(bytes).map_err(|error| error.to_string())))
        };
        Self(ArtifactKind::SEVEN.into_iter().filter_map(read).collect())
    }

    /// None if it is not there, which has been told already.
    fn get(&self, kind: ArtifactKind) -> Option<&Value> {
        self.0.get(&kind)?.as_ref().ok()
    }

    fn log(&self, kind: ArtifactKind, findings: &mut Findings) -> &[Value] {
        match self.get(kind) {
            Some(Value::Array(entries)) => entries,
            None => &[],
            Some(_) => {
                findings.add(format!("{} is not a list", kind.as_str()));
                &[]
            }
        }
    }
}

pub fn check(manifest: &Written, artifacts: &Artifacts, findings: &mut Findings) {
    for kind in ArtifactKind::SEVEN {
        if let Some(Err(error)) = artifacts.0.get(&kind) {
            findings.add(format!("{} is not JSON: {error}", kind.as_str()));
        }
    }
    let spec = artifacts.get(ArtifactKind::ScenarioSpec);
    if let Some(spec) = spec {
        let same = text(spec, "/scenario_id") == Some(manifest.scenario_id.as_str());
        findings.unless(same, || "scenario_id is not that of the scenario_spec artifact".into());
    }
    let triggers = triggers(manifest, artifacts, findings);
    let decisions = decisions(artifacts, &triggers, findings);
    let evals = artifacts.log(ArtifactKind::GateEvalLog, findings);
    for (at, eval) in evals.iter().enumerate() {
        let known = text(eval, "/trigger_id").is_some_and(|id| triggers.contains(id));
        findings.unless(known, || format!("gate_eval_log[{at}] names no trigger of the log"));
    }
    for (at, packet) in artifacts.log(ArtifactKind::PacketLog, findings).iter().enumerate() {
        let known = text(packet, "/decision_id").is_some_and(|id| decisions.contains(id));
        findings.unless(known, || format!("packet_log[{at}] names no decision of the log"));
        let own = text(packet, "/envelope/run_id") == Some(manifest.run_id.as_str())
            && text(packet, "/envelope/scenario_id") == Some(manifest.scenario_id.as_str());
        findings.unless(own, || format!("packet_log[{at}] is of another run"));
    }
    for (at, submission) in artifacts.log(ArtifactKind::SubmissionLog, findings).iter().enumerate() {
        let own = text(submission, "/run_id") == Some(manifest.run_id.as_str());
        findings.unless(own, || format!("submission_log[{at}] is of another run"));
    }
    artifacts.log(ArtifactKind::ToolTranscript, findings);
    if let Some(spec) = spec {
        anchors(manifest, spec, evals, findings);
    }
}

fn text<'v>(value: &'v Value, pointer: &str) -> Option<&'v str> {
    value.pointer(pointer)?.as_str()
}

/// Numbers that grow by one, from 0 or from 1.
fn in_order(entries: &[Value], kind: ArtifactKind, findings: &mut Findings) {
    let seqs: Option<Vec<u64>> = entries.iter().map(|entry| entry.get("seq")?.as_u64()).collect();
    let dense = seqs.is_some_and(|seqs| {
        let first = seqs.first().copied().unwrap_or_default();
        first <= 1 && seqs.iter().zip(first..).all(|(seq, wanted)| *seq == wanted)
    });
    findings.unless(dense, || format!("{} is not numbered without gaps", kind.as_str()));
}

fn triggers<'a>(manifest: &Written, artifacts: &'a Artifacts, findings: &mut Findings) -> HashSet<&'a str> {
    let entries = artifacts.log(ArtifactKind::TriggerLog, findings);
    in_order(entries, ArtifactKind::TriggerLog, findings);
    let mut ids = HashSet::new();
    for (at, entry) in entries.iter().enumerate() {
        match text(entry, "/event/trigger_id") {
            None => findings.add(format!("trigger_log[{at}] has no trigger_id")),
            Some(id) => {
                findings.unless(ids.insert(id), || format!("trigger_log[{at}] repeats trigger {}", id.escape_debug()));
            }
        }
        let own = text(entry, "/event/run_id") == Some(manifest.run_id.as_str());
        findings.unless(own, || format!("trigger_log[{at}] is of another run"));
        // Numbers of the other implementation: they stand in its triggers too.
        for (key, written) in [("tenant_id", manifest.tenant_id), ("namespace_id", manifest.namespace_id)] {
            let same =
                written.is_none() || entry.pointer("/event").and_then(|event| event.get(key)?.as_u64()) == written;
            findings.unless(same, || format!("trigger_log[{at}] is of another {key}"));
        }
    }
    ids
}

fn decisions<'a>(artifacts: &'a Artifacts, triggers: &HashSet<&str>, findings: &mut Findings) -> HashSet<&'a str> {
    let entries = artifacts.log(ArtifactKind::DecisionLog, findings);
    in_order(entries, ArtifactKind::DecisionLog, findings);
    let (mut ids, mut answered) = (HashSet::new(), HashSet::new());
    let mut before: Option<u64> = None;
    for (at, entry) in entries.iter().enumerate() {
        let (Some(id), Some(trigger)) = (text(entry, "/decision_id"), text(entry, "/trigger_id")) else {
            findings.add(format!("decision_log[{at}] is not a decision"));
            continue;
        };
        ids.insert(id);
        findings.unless(answered.insert(trigger), || format!("two decisions for trigger {}", trigger.escape_debug()));
        findings.unless(triggers.contains(trigger), || format!("decision_log[{at}] names no trigger of the log"));
        let number = id.strip_prefix("decision-").and_then(|number| number.parse::<u64>().ok());
        let follows = number.is_some_and(|number| before.is_none_or(|before| before.checked_add(1) == Some(number)));
        findings.unless(follows, || format!("decision_log[{at}] has the wrong decision_id"));
        before = number;
    }
    ids
}

/// The rules that the manifest carries, once more: evidence that breaks them must have been recorded as an error.
fn anchors(manifest: &Written, spec: &Value, evals: &[Value], findings: &mut Findings) {
    let Some(policy) = &manifest.anchor_policy else {
        return;
    };
    let rules = policy.rules();
    let named = |value: &Value| {
        ["predicate", "condition_id"].iter().find_map(|key| text(value, &format!("/{key}")).map(str::to_owned))
    };
    let lists = ["predicates", "conditions"].iter().filter_map(|key| spec.get(key)?.as_array()).flatten();
    let provider_of: HashMap<String, &str> =
        lists.filter_map(|one| Some((named(one)?, text(one, "/query/provider_id")?))).collect();
    let records = evals.iter().filter_map(|eval| eval.get("evidence")?.as_array()).flatten();
    for record in records {
        let Some(name) = named(record) else {
            findings.add("evidence without a predicate");
            continue;
        };
        let Some(provider) = provider_of.get(&name) else {
            findings.add(format!("evidence for {}, which the scenario does not have", name.escape_debug()));
            continue;
        };
        let failed = record.pointer("/result/error").is_some_and(|error| !error.is_null());
        let anchor = record.pointer("/result/evidence_anchor").and_then(|anchor| {
            let part = |key: &str| Some(anchor.get(key)?.as_str()?.to_owned());
            Some(Anchor { anchor_type: part("anchor_type")?, anchor_value: part("anchor_value")? })
        });
        if let Some(rule) = rules.rule(provider).filter(|_| !failed)
            && let Some(words) = rule.broken(anchor.as_ref())
        {
            findings.add(format!("anchor invalid for {}: {words}", name.escape_debug()));
        }
    }
}
