//! What a tool may do, and which agent modes may use it.
//!
//! The manifest is exactly five fields, written by an operator; a tool without one is assumed to be the worst there is.

mod suggested;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::classification::{Autonomy, Classification, DecisionType, Reversibility, Risk, scale};
use crate::names::ToolName;
use crate::verdict::{Objection, Remedy, Verdict};

pub use suggested::{Suggested, suggested};

scale!(
    /// From harmless to critical.
    RiskLevel, "READ_ONLY, PROPOSE_ONLY, LOW_WRITE, HIGH_WRITE",
    { ReadOnly = "READ_ONLY", ProposeOnly = "PROPOSE_ONLY", LowWrite = "LOW_WRITE", HighWrite = "HIGH_WRITE", }
);
scale!(
    /// How far an agent has been promoted.
    AgentMode, "SHADOW, ADVISORY, PARTIAL_AUTO, FULL_AUTO",
    { Shadow = "SHADOW", Advisory = "ADVISORY", PartialAuto = "PARTIAL_AUTO", FullAuto = "FULL_AUTO", }
);

impl RiskLevel {
    pub fn writes(self) -> bool {
        self >= Self::LowWrite
    }

    /// The least a call of this level counts as; a policy may raise it, never lower it.
    pub fn classification(self) -> Classification {
        match self {
            Self::ReadOnly | Self::ProposeOnly => Classification::new(DecisionType::D1, Risk::R1, Reversibility::Total),
            Self::LowWrite => Classification::new(DecisionType::D2, Risk::R2, Reversibility::Partial),
            Self::HighWrite => Classification::new(DecisionType::D3, Risk::R3, Reversibility::Irreversible),
        }
    }
}

impl AgentMode {
    pub fn of(autonomy: Autonomy) -> Self {
        match autonomy {
            Autonomy::A1 => Self::Shadow,
            Autonomy::A2 => Self::Advisory,
            Autonomy::A3 => Self::PartialAuto,
            Autonomy::A4 | Autonomy::A5 => Self::FullAuto,
        }
    }

    /// The mode table: shadow and advisory never write, partial auto writes a little, full auto asks before it writes much.
    pub fn reach(self, level: RiskLevel) -> Reach {
        match (self, level) {
            (_, RiskLevel::ReadOnly | RiskLevel::ProposeOnly)
            | (Self::PartialAuto | Self::FullAuto, RiskLevel::LowWrite) => Reach::Allowed,
            (Self::FullAuto, RiskLevel::HighWrite) => Reach::WithApproval,
            _ => Reach::Denied,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    Allowed,
    WithApproval,
    Denied,
}

/// Tools of this domain govern the gateway itself: authenticated, scoped, limited and audited, but not mode-gated, or an
/// agent in shadow could not even log its own decisions.
pub const GOVERNANCE: &str = "governance";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolManifest {
    pub id: ToolName,
    pub domain: String,
    pub risk_level: RiskLevel,
    pub side_effects: bool,
    pub allowed_modes: Vec<AgentMode>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {what}")]
pub struct Contradiction {
    pub field: &'static str,
    pub what: String,
}

impl ToolManifest {
    /// Nothing is known, so everything is possible.
    pub fn unclassified(id: ToolName) -> Self {
        Self {
            id,
            domain: "unclassified".into(),
            risk_level: RiskLevel::HighWrite,
            side_effects: true,
            allowed_modes: Vec::new(),
        }
    }

    /// A well-formed manifest may still contradict itself.
    pub fn contradictions(&self) -> Vec<Contradiction> {
        let mut found = Vec::new();
        let mut say = |field, what: String| found.push(Contradiction { field, what });
        let level = self.risk_level;
        if self.domain.trim().is_empty() {
            say("domain", "must not be empty".into());
        }
        if self.side_effects != level.writes() {
            let must = if level.writes() { "true" } else { "false" };
            say("side_effects", format!("must be {must} for a {level} tool"));
        }
        if self.allowed_modes.is_empty() {
            say("allowed_modes", "must name at least one mode".into());
        }
        for (place, mode) in self.allowed_modes.iter().enumerate() {
            if self.allowed_modes.iter().take(place).any(|earlier| earlier == mode) {
                say("allowed_modes", format!("names {mode} twice"));
            }
            if mode.reach(level) == Reach::Denied && !self.governs() {
                say("allowed_modes", format!("{mode} agents may never call a {level} tool; take {mode} out"));
            }
        }
        found
    }

    pub fn governs(&self) -> bool {
        self.domain == GOVERNANCE
    }

    /// The manifest's own answer for an agent of this mode.
    pub fn gate(&self, mode: AgentMode) -> Verdict {
        self.gate_at(mode, self.risk_level)
    }

    /// The same for a call that counts as this level.
    pub fn gate_at(&self, mode: AgentMode, level: RiskLevel) -> Verdict {
        let tool = &self.id;
        match mode.reach(level) {
            _ if self.governs() => Verdict::Grant,
            Reach::Denied => {
                Verdict::deny("mode_x_risk", format!("{mode} agents may not call {level} tools such as {tool}"))
            }
            _ if !self.allowed_modes.contains(&mode) => {
                let message = format!("the manifest of {tool} does not list {mode}");
                Verdict::Deny(Objection::new("allowed_modes", message).cured_by(Remedy::Mode(mode)))
            }
            Reach::WithApproval => Verdict::escalate(
                "mode_x_risk",
                format!("{mode} agents need an approval for {level} tools such as {tool}"),
            ),
            Reach::Allowed => Verdict::Grant,
        }
    }
}

/// What an upstream says about its own tool. A hint for an operator's draft, never a fact.
fn suggest(id: ToolName, domain: &str, annotations: Option<&Value>) -> (ToolManifest, Classification) {
    let hint = |key: &str| annotations.and_then(|hints| hints.get(key)).and_then(Value::as_bool);
    let (read_only, destructive) = (hint("readOnlyHint").unwrap_or(false), hint("destructiveHint").unwrap_or(true));
    let (idempotent, open_world) = (hint("idempotentHint").unwrap_or(false), hint("openWorldHint").unwrap_or(true));
    let risk_level = match (read_only, destructive) {
        (true, _) => RiskLevel::ReadOnly,
        (false, false) => RiskLevel::LowWrite,
        (false, true) => RiskLevel::HighWrite,
    };
    let mut classification = risk_level.classification();
    if risk_level == RiskLevel::LowWrite && idempotent {
        classification.reversibility = Reversibility::Total;
    }
    if open_world {
        classification.risk = classification.risk.max(Risk::R2);
    }
    let reachable = |mode: &AgentMode| mode.reach(risk_level) != Reach::Denied;
    let allowed_modes = AgentMode::ALL.iter().copied().filter(reachable).collect();
    let manifest =
        ToolManifest { id, domain: domain.into(), risk_level, side_effects: risk_level.writes(), allowed_modes };
    (manifest, classification)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    fn manifest(level: RiskLevel, modes: &[AgentMode]) -> ToolManifest {
        ToolManifest {
            id: "crm/tool".parse().unwrap(),
            domain: "crm".into(),
            risk_level: level,
            side_effects: level.writes(),
            allowed_modes: modes.to_vec(),
        }
    }

    // acceptance 107: the sixteen cells, as the table in the decision record has them.
    #[test]
    fn sixteen_cells_of_mode_and_risk() {
        let rows = [("SHADOW", "AAXX"), ("ADVISORY", "AAXX"), ("PARTIAL_AUTO", "AAAX"), ("FULL_AUTO", "AAAP")];
        for (mode, cells) in rows {
            let mode: AgentMode = mode.parse().unwrap();
            for (level, cell) in RiskLevel::ALL.iter().zip(cells.chars()) {
                let expected = match cell {
                    'A' => Reach::Allowed,
                    'P' => Reach::WithApproval,
                    _ => Reach::Denied,
                };
                assert_eq!(mode.reach(*level), expected, "{mode} x {level}");
            }
        }
    }

    // acceptance 108
    #[test]
    fn allowed_modes_narrow_further() {
        let tool = manifest(RiskLevel::ReadOnly, &[AgentMode::FullAuto]);
        assert!(matches!(tool.gate(AgentMode::Shadow), Verdict::Deny(_)));
        assert_eq!(tool.gate(AgentMode::FullAuto), Verdict::Grant);
    }

    // acceptance 106: well-formed is not enough, and anything beyond the five fields is refused.
    #[test]
    fn contradictory_manifests_are_named() {
        let mut wrong = manifest(RiskLevel::ReadOnly, &[AgentMode::Shadow]);
        wrong.side_effects = true;
        assert_eq!(wrong.contradictions().first().map(|found| found.field), Some("side_effects"));
        let mut wrong = manifest(RiskLevel::LowWrite, &[AgentMode::FullAuto]);
        wrong.side_effects = false;
        assert_eq!(wrong.contradictions().first().map(|found| found.field), Some("side_effects"));
        assert_eq!(manifest(RiskLevel::ReadOnly, &[]).contradictions().len(), 1);
        assert_eq!(manifest(RiskLevel::HighWrite, &[AgentMode::PartialAuto]).contradictions().len(), 1);
        assert!(manifest(RiskLevel::HighWrite, &[AgentMode::FullAuto]).contradictions().is_empty());
        let good = json!({"id": "a/b", "domain": "d", "risk_level": "READ_ONLY", "side_effects": false, "allowed_modes": ["SHADOW"]});
        assert!(serde_json::from_value::<ToolManifest>(good.clone()).is_ok());
        for (key, value) in [
            ("extra", json!(1)),
            ("risk_level", json!("READ")),
            ("id", json!("b")),
            ("allowed_modes", json!(["AUTO"])),
            ("side_effects", json!("no")),
        ] {
            let mut bad = good.clone();
            bad.as_object_mut().unwrap().insert(key.into(), value);
            assert!(serde_json::from_value::<ToolManifest>(bad).is_err(), "{key}");
        }
        for key in ["id", "domain", "risk_level", "side_effects", "allowed_modes"] {
            let mut bad = good.clone();
            bad.as_object_mut().unwrap().remove(key);
            assert!(serde_json::from_value::<ToolManifest>(bad).is_err(), "without {key}");
        }
    }

    // acceptance 109: what an operator is shown for a tool nobody classified.
    #[test]
    fn a_suggestion_follows_the_annotations_and_assumes_the_worst_of_silence() {
        for (annotations, level, code) in [
            (json!({"readOnlyHint": true, "openWorldHint": false}), RiskLevel::ReadOnly, "D1-R1-total"),
            (json!({"readOnlyHint": true}), RiskLevel::ReadOnly, "D1-R2-total"),
            (json!({"destructiveHint": false}), RiskLevel::LowWrite, "D2-R2-partial"),
            (json!({"destructiveHint": false, "idempotentHint": true}), RiskLevel::LowWrite, "D2-R2-total"),
            (json!({}), RiskLevel::HighWrite, "D3-R3-irreversible"),
        ] {
            let (manifest, classification) = suggest("a/b".parse().unwrap(), "a", Some(&annotations));
            assert_eq!((manifest.risk_level, classification.code().as_str()), (level, code), "{annotations}");
            assert!(manifest.contradictions().is_empty(), "{annotations}");
        }
    }
}
