//! A step while it is being written: every entry is counted as it is added.

use super::super::records::{Decision, Entry, Outcome, Packet, TriggerEvent, TriggerRecord};
use super::super::run::{Head, RunStatus};
use super::super::{Id, Refusal};
use super::{Answer, Step};

/// A step being written.
pub struct Draft<'h> {
    pub head: &'h mut Head,
    pub event: TriggerEvent,
    entries: Vec<Entry>,
}

pub struct Ended {
    entries: Vec<Entry>,
    answer: Answer,
}

impl Ended {
    pub fn into_entries(self) -> Vec<Entry> {
        self.entries
    }

    pub fn into_step(self, head: Head) -> Step<Answer> {
        Step { head, entries: self.entries, answer: self.answer }
    }
}

impl<'h> Draft<'h> {
    pub fn new(head: &'h mut Head, event: TriggerEvent) -> Result<Self, Refusal> {
        let record = TriggerRecord { seq: head.counts.triggers.entries, event: event.clone() };
        let mut draft = Self { head, event, entries: Vec::new() };
        draft.write(Entry::Trigger(record))?;
        Ok(draft)
    }

    pub fn write(&mut self, entry: Entry) -> Result<(), Refusal> {
        self.head.count(&entry)?;
        self.entries.push(entry);
        Ok(())
    }

    pub fn decision(&self, outcome: Outcome) -> Result<Decision, Refusal> {
        let seq = self.head.counts.decisions.entries;
        Ok(Decision {
            decision_id: own(&format!("decision-{:04}", seq + 1))?,
            seq,
            trigger_id: self.event.trigger_id.clone(),
            stage_id: self.head.current_stage_id.clone(),
            decided_at: self.event.time,
            outcome,
            correlation_id: self.event.correlation_id.clone(),
        })
    }

    /// A decision that hands out nothing and leaves the stage as it is.
    pub fn end(self, outcome: Outcome, status: RunStatus) -> Result<Ended, Refusal> {
        let decision = self.decision(outcome)?;
        self.head.status = status;
        self.close(decision, Vec::new())
    }

    pub fn close(mut self, decision: Decision, packets: Vec<Packet>) -> Result<Ended, Refusal> {
        self.write(Entry::Decision(decision.clone()))?;
        for packet in &packets {
            let id = &packet.envelope.packet_id;
            if !self.head.issued_packet_ids.contains(id) {
                self.head.issued_packet_ids.push(id.clone());
            }
            self.write(Entry::Packet(packet.clone()))?;
        }
        self.head.last_decision = Some(decision.clone());
        let status = self.head.status;
        Ok(Ended { entries: self.entries, answer: Answer { decision, packets, status } })
    }
}

/// A name of our own making.
pub fn own(id: &str) -> Result<Id, Refusal> {
    Id::try_from(id).map_err(|error| Refusal::Invalid(error.to_string()))
}
