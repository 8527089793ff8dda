//! Why a call is refused, in words for whoever called. A refused call has changed nothing.

use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("invalid_spec: {}", listed(.0))]
    Spec(Vec<Fault>),
    #[error("invalid: {0}")]
    Invalid(String),
    /// A foreign run and one that never was are told in the same words.
    #[error("not_found: run `{run}` of scenario `{scenario}`")]
    NotFound { scenario: String, run: String },
    #[error("conflict: {0}")]
    Conflict(String),
    #[error("submission_conflict: submission `{0}` was made before with other content")]
    SubmissionConflict(String),
    #[error("too_large: {what} has {actual}, at most {limit} are allowed")]
    TooLarge { what: String, limit: u64, actual: u64 },
    #[error(
        "time_kinds: the trigger's time and the stage's are not counted alike; send both as `unix_millis` or both as `logical`"
    )]
    TimeKinds,
    #[error("no_branch: no branch matched at stage `{0}`")]
    NoBranch(String),
    #[error("policy_denied: the dispatch policy denied packet `{0}`")]
    PolicyDenied(String),
    #[error("invalid: trigger_id `init` is the run's own; choose another")]
    ReservedTrigger,
    #[error("conflict: the run is over")]
    Over,
}

/// One thing wrong with what was submitted, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub path: String,
    pub code: FaultCode,
    pub what: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultCode {
    Field,
    NoStages,
    DuplicateStage,
    DuplicateGate,
    DuplicatePacket,
    DuplicatePredicate,
    PredicateMissing,
    QueryEmpty,
    TargetMissing,
    ProviderMissing,
    CheckMissing,
    ParamsMissing,
    ParamsInvalid,
    ComparatorNotAllowed,
    ExpectedInvalid,
    GroupSize,
    EmptyGroup,
    BranchGateMissing,
    TooDeep,
    TooLarge,
    PayloadTooLarge,
}

impl FaultCode {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Field => "field",
            Self::NoStages => "no_stages",
            Self::DuplicateStage => "duplicate_stage",
            Self::DuplicateGate => "duplicate_gate",
            Self::DuplicatePacket => "duplicate_packet",
            Self::DuplicatePredicate => "duplicate_predicate",
            Self::PredicateMissing => "predicate_missing",
            Self::QueryEmpty => "query_empty",
            Self::TargetMissing => "target_missing",
            Self::ProviderMissing => "provider_missing",
            Self::CheckMissing => "check_missing",
            Self::ParamsMissing => "params_missing",
            Self::ParamsInvalid => "params_invalid",
            Self::ComparatorNotAllowed => "comparator_not_allowed",
            Self::ExpectedInvalid => "expected_invalid",
            Self::GroupSize => "group_size",
            Self::EmptyGroup => "empty_group",
            Self::BranchGateMissing => "branch_gate_missing",
            Self::TooDeep => "too_deep",
            Self::TooLarge => "too_large",
            Self::PayloadTooLarge => "payload_too_large",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(out, "{}: ", self.path)?;
        }
        write!(out, "{} ({})", self.what, self.code.as_str())
    }
}

fn listed(faults: &[Fault]) -> String {
    faults.iter().map(Fault::to_string).collect::<Vec<_>>().join("; ")
}
