//! What holds for any scenario and anything that happens to it.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;

use super::Story;
use super::any::{Plot, plot};
use crate::gate::Tri;
use crate::gate::digest::canonical;
use crate::gate::records::{Log, Outcome};
use crate::gate::run::Head;
use crate::gate::verify::ReportStatus;

fn lengths(story: &Story) -> [usize; 6] {
    let logs = &story.run.logs;
    [
        logs.triggers.len(),
        logs.gate_evals.len(),
        logs.decisions.len(),
        logs.packets.len(),
        logs.submissions.len(),
        logs.tool_calls.len(),
    ]
}

/// The head as it comes out of a store.
fn kept(head: &Head) -> Head {
    serde_json::from_str(&serde_json::to_string(head).unwrap()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    // acceptance 118 g, 120 c: nothing but the inputs is in a pack.
    #[test]
    fn the_same_inputs_give_the_same_pack(plot in plot()) {
        let (one, two) = (plot.told(), plot.told());
        prop_assert_eq!(one.pack(true), two.pack(true));
        prop_assert_eq!(one.run, two.run);
    }

    // acceptance 117 c
    #[test]
    fn repeats_are_answered_as_before_and_leave_no_mark(plot in plot(), again in prop::collection::vec(any::<prop::sample::Index>(), 0..12)) {
        let mut story = plot.begin();
        let mut first = HashMap::new();
        for turn in &plot.turns {
            let known = first.contains_key(&turn.trigger);
            if let Ok(answer) = plot.tell(&mut story, turn) {
                let (decision, packets) = (answer.decision, answer.packets);
                if known {
                    prop_assert_eq!(&first[&turn.trigger], &(decision, packets));
                } else if decision.trigger_id.as_str() == format!("t{}", turn.trigger) {
                    first.insert(turn.trigger, (decision, packets));
                }
            }
        }
        let (before, root) = (story.run.clone(), story.root());
        for index in again {
            if plot.turns.is_empty() { break; }
            let turn = &plot.turns[index.index(plot.turns.len())];
            let Some(expected) = first.get(&turn.trigger) else { continue };
            let mut turn = turn.clone();
            turn.submits = false;
            turn.evidence = [None; 4];
            let answer = plot.tell(&mut story, &turn).unwrap();
            prop_assert_eq!(&(answer.decision, answer.packets), expected);
            prop_assert_eq!(answer.status, before.head.status);
        }
        prop_assert_eq!(story.root(), root);
        prop_assert_eq!(story.run, before);
    }

    // acceptance 117 e: every log is numbered without gaps, each trigger has one decision, each packet and eval its own.
    #[test]
    fn logs_are_dense_and_belong_together(plot in plot()) {
        let story = plot.told();
        let logs = &story.run.logs;
        for (at, record) in logs.triggers.iter().enumerate() {
            prop_assert_eq!(record.seq, at as u64);
            prop_assert_eq!(&logs.decisions[at].trigger_id, &record.event.trigger_id);
            prop_assert_eq!(logs.decisions[at].decided_at, record.event.time);
        }
        prop_assert_eq!(logs.triggers.len(), logs.decisions.len());
        for (at, decision) in logs.decisions.iter().enumerate() {
            prop_assert_eq!(decision.seq, at as u64);
            prop_assert_eq!(decision.decision_id.as_str(), format!("decision-{:04}", at + 1));
        }
        let decisions: HashSet<_> = logs.decisions.iter().map(|one| &one.decision_id).collect();
        prop_assert!(logs.packets.iter().all(|packet| decisions.contains(&packet.decision_id)));
        let triggers: HashSet<_> = logs.triggers.iter().map(|one| &one.event.trigger_id).collect();
        prop_assert_eq!(triggers.len(), logs.triggers.len());
        prop_assert!(logs.gate_evals.iter().all(|eval| triggers.contains(&eval.trigger_id)));
        for (at, call) in logs.tool_calls.iter().enumerate() {
            prop_assert_eq!(&call.call_id, &format!("call-{}", at + 1));
        }
        let head = &story.run.head;
        prop_assert_eq!(Log::ALL.map(|log| head.counts.of(log).entries as usize), lengths(&story));
        let sizes = [
            canonical(&logs.triggers), canonical(&logs.gate_evals), canonical(&logs.decisions),
            canonical(&logs.packets), canonical(&logs.submissions), canonical(&logs.tool_calls),
        ];
        for (log, bytes) in Log::ALL.into_iter().zip(sizes) {
            prop_assert!(head.counts.of(log).bytes + 2 >= bytes.unwrap().len() as u64, "{:?}", log);
        }
        prop_assert_eq!(head.last_decision.as_ref(), logs.decisions.last());
    }

    // acceptance 117 d
    #[test]
    fn a_run_that_is_over_stays_as_it_is(plot in plot()) {
        let mut story = plot.begin();
        for turn in &plot.turns {
            let (before, over) = (story.run.clone(), !story.run.head.is_active());
            let submitted = story.run.logs.submissions.len();
            let answer = plot.tell(&mut story, turn);
            if over {
                prop_assert!(answer.is_ok());
                prop_assert_eq!(&story.run.logs.decisions, &before.logs.decisions);
                prop_assert_eq!(&story.run.logs.triggers, &before.logs.triggers);
                prop_assert_eq!(&story.run.logs.packets, &before.logs.packets);
                prop_assert_eq!(story.run.head.status, before.head.status);
                let calls = story.run.logs.submissions.len() - submitted;
                prop_assert_eq!(story.run.logs.tool_calls.len(), before.logs.tool_calls.len() + calls);
            }
        }
    }

    /// A hold names exactly the gates that were not true, stays where it is, and every advance starts from there.
    #[test]
    fn decisions_say_what_happened(plot in plot()) {
        let story = plot.told();
        let logs = &story.run.logs;
        let mut stage = story.scenario.spec().stages[0].stage_id.clone();
        for decision in &logs.decisions {
            prop_assert_eq!(&decision.stage_id, &stage);
            let evals: Vec<_> = logs.gate_evals.iter().filter(|eval| eval.trigger_id == decision.trigger_id).collect();
            prop_assert!(evals.iter().all(|eval| eval.stage_id == stage));
            let unmet: Vec<_> = evals.iter().filter(|eval| eval.evaluation.status != Tri::True)
                .map(|eval| eval.evaluation.gate_id.clone()).collect();
            match &decision.outcome {
                Outcome::Hold { summary } if !evals.is_empty() => {
                    prop_assert!(!unmet.is_empty());
                    prop_assert_eq!(&summary.unmet_gates, &unmet);
                }
                Outcome::Advance { from_stage, to_stage, .. } => {
                    prop_assert_eq!(from_stage, &stage);
                    stage = to_stage.clone();
                }
                _ => {}
            }
        }
        prop_assert_eq!(&story.run.head.current_stage_id, &stage);
    }

    #[test]
    fn every_run_exports_to_a_pack_that_verifies(plot in plot()) {
        let report = plot.told().pack(true).report.unwrap();
        prop_assert_eq!(report.status, ReportStatus::Pass, "{:?}", report.errors);
    }

    /// Kept and read again between any two steps, a run goes on as if it had stayed in memory.
    #[test]
    fn a_head_survives_its_store(plot in plot()) {
        let mut story = plot.begin();
        for turn in &plot.turns {
            story.run.head = kept(&story.run.head);
            let _answer = plot.tell(&mut story, turn);
        }
        prop_assert_eq!(story.pack(true), plot.told().pack(true));
    }
}

/// The generator is worth something only if it reaches what there is.
#[test]
fn the_generator_reaches_every_outcome() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut met = HashSet::new();
    for _ in 0..400 {
        let plot: Plot = plot().new_tree(&mut runner).unwrap().current();
        for decision in plot.told().run.logs.decisions {
            met.insert(match decision.outcome {
                Outcome::Start { .. } => "start",
                Outcome::Complete { .. } => "complete",
                Outcome::Advance { timeout: true, .. } => "late",
                Outcome::Advance { .. } => "advance",
                Outcome::Hold { .. } => "hold",
                Outcome::Fail { .. } => "fail",
            });
        }
    }
    assert_eq!(met.len(), 6, "{met:?}");
}
