//! Where a run is, and what it has written so far.

use serde::{Deserialize, Serialize};

use super::records::{
    Decision, Entry, GateEval, Log, Outcome, Packet, Submission, Summary, Target, ToolCall, TriggerRecord,
};
use super::{Digest, GateTime, Id, LOG_BYTES, Refusal, TRIGGERS, TenantText, counting};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    Active,
    Completed,
    Failed,
}

impl RunStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct RunConfig {
    pub tenant_id: TenantText,
    pub run_id: Id,
    pub scenario_id: Id,
    pub dispatch_targets: Vec<Target>,
    pub policy_tags: Vec<String>,
}

/// All that the next step needs to know. The logs are only ever added to, so they need not be read for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    pub tenant_id: TenantText,
    pub run_id: Id,
    pub scenario_id: Id,
    pub spec_hash: Digest,
    pub current_stage_id: Id,
    pub stage_entered_at: GateTime,
    /// The decision that entered the stage, by its number; none for a run that was only started.
    pub entered_by: Option<u64>,
    pub status: RunStatus,
    pub dispatch_targets: Vec<Target>,
    pub counts: Counts,
    pub last_decision: Option<Decision>,
    /// Each once, in the order they were first issued.
    pub issued_packet_ids: Vec<Id>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    pub triggers: Count,
    pub gate_evals: Count,
    pub decisions: Count,
    pub packets: Count,
    pub submissions: Count,
    pub tool_calls: Count,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Count {
    pub entries: u64,
    /// Of the log as a file, or a little more.
    pub bytes: u64,
}

impl Counts {
    pub fn of(&self, log: Log) -> Count {
        match log {
            Log::Trigger => self.triggers,
            Log::GateEval => self.gate_evals,
            Log::Decision => self.decisions,
            Log::Packet => self.packets,
            Log::Submission => self.submissions,
            Log::ToolCall => self.tool_calls,
        }
    }

    fn of_mut(&mut self, log: Log) -> &mut Count {
        match log {
            Log::Trigger => &mut self.triggers,
            Log::GateEval => &mut self.gate_evals,
            Log::Decision => &mut self.decisions,
            Log::Packet => &mut self.packets,
            Log::Submission => &mut self.submissions,
            Log::ToolCall => &mut self.tool_calls,
        }
    }
}

impl Head {
    /// Counts an entry that is about to be written. What could not be exported later is refused now.
    pub(super) fn count(&mut self, entry: &Entry) -> Result<(), Refusal> {
        let log = entry.log();
        let count = self.counts.of_mut(log);
        count.entries += 1;
        count.bytes += counting::most_bytes(entry) + 1;
        let Count { entries, bytes } = *count;
        let refused = |what: &str, limit, actual| Refusal::TooLarge { what: what.into(), limit, actual };
        if bytes + 2 > LOG_BYTES {
            return Err(refused(&format!("the run's {} log in bytes", log.as_str()), LOG_BYTES, bytes + 2));
        }
        if log == Log::Trigger && entries > TRIGGERS {
            return Err(refused("the run's triggers", TRIGGERS, entries));
        }
        Ok(())
    }

    pub fn is_active(&self) -> bool {
        self.status == RunStatus::Active
    }

    /// What `scenario_status` tells: no evidence in it.
    pub fn snapshot(&self) -> Snapshot<'_> {
        let safe_summary = match self.last_decision.as_ref().map(|decision| &decision.outcome) {
            Some(Outcome::Hold { summary }) => Some(summary),
            _ => None,
        };
        Snapshot {
            run_id: &self.run_id,
            scenario_id: &self.scenario_id,
            current_stage_id: &self.current_stage_id,
            status: self.status,
            last_decision: self.last_decision.as_ref(),
            issued_packet_ids: &self.issued_packet_ids,
            safe_summary,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Snapshot<'a> {
    pub run_id: &'a Id,
    pub scenario_id: &'a Id,
    pub current_stage_id: &'a Id,
    pub status: RunStatus,
    pub last_decision: Option<&'a Decision>,
    pub issued_packet_ids: &'a [Id],
    pub safe_summary: Option<&'a Summary>,
}

/// The six logs, whole.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Logs {
    pub triggers: Vec<TriggerRecord>,
    pub gate_evals: Vec<GateEval>,
    pub decisions: Vec<Decision>,
    pub packets: Vec<Packet>,
    pub submissions: Vec<Submission>,
    pub tool_calls: Vec<ToolCall>,
}

impl Logs {
    pub fn push(&mut self, entry: Entry) {
        match entry {
            Entry::Trigger(record) => self.triggers.push(record),
            Entry::GateEval(eval) => self.gate_evals.push(eval),
            Entry::Decision(decision) => self.decisions.push(decision),
            Entry::Packet(packet) => self.packets.push(packet),
            Entry::Submission(submission) => self.submissions.push(submission),
            Entry::ToolCall(call) => self.tool_calls.push(call),
        }
    }
}

impl Extend<Entry> for Logs {
    fn extend<T: IntoIterator<Item = Entry>>(&mut self, entries: T) {
        entries.into_iter().for_each(|entry| self.push(entry));
    }
}
