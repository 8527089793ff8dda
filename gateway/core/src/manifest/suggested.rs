//! What an operator is shown to start from: the stricter of what a server says of its tool and what is known already.

use serde_json::Value;

use super::{ToolManifest, suggest};
use crate::classification::Classification;
use crate::names::ToolName;
use crate::policies::ClassifiedTool;

#[derive(Debug, Clone, PartialEq)]
pub struct Suggested {
    pub manifest: ToolManifest,
    pub classification: Classification,
    /// What the server claims and the suggestion does not follow.
    pub notes: Vec<String>,
}

/// `trusted`: the operator vouches for the server. A hint may raise; of others it lowers nothing.
pub fn suggested(
    tool: &ToolName,
    annotations: Option<&Value>,
    known: Option<&ClassifiedTool>,
    trusted: bool,
) -> Suggested {
    let (claimed, classification) = suggest(tool.clone(), tool.namespace(), annotations);
    let Some(known) = known else {
        // What nobody reviewed and nobody vouches for is taken for the worst, whatever it says of itself.
        let (worst, severest) = suggest(tool.clone(), tool.namespace(), None);
        if trusted || claimed.risk_level >= worst.risk_level {
            return Suggested { manifest: claimed, classification, notes: Vec::new() };
        }
        let note = format!("the server says {}; it is not marked `trusted`", claimed.risk_level);
        return Suggested { manifest: worst, classification: severest, notes: vec![note] };
    };
    let mut notes = Vec::new();
    let manifest = if claimed.risk_level > known.manifest.risk_level {
        notes.push(format!("raised from {}: the server says {}", known.manifest.risk_level, claimed.risk_level));
        // A higher level opens a tool to nobody to whom it was closed, and policies find it by the same domain.
        let mut modes = claimed.allowed_modes.clone();
        modes.retain(|mode| known.manifest.allowed_modes.contains(mode));
        if modes.is_empty() {
            let before: Vec<_> = known.manifest.allowed_modes.iter().map(|mode| mode.as_str()).collect();
            notes.push(format!("no mode is left of {}: take the tool out, or choose anew", before.join(", ")));
            modes.clone_from(&claimed.allowed_modes);
        }
        ToolManifest { domain: known.manifest.domain.clone(), allowed_modes: modes, ..claimed }
    } else {
        if claimed.risk_level < known.manifest.risk_level {
            notes.push(format!("the server says {}; {} stays", claimed.risk_level, known.manifest.risk_level));
        }
        known.manifest.clone()
    };
    Suggested { manifest, classification: classification.raised_to(known.classification), notes }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;
    use crate::manifest::{AgentMode, RiskLevel};

    // acceptance 109: hints of a server that nobody vouches for may raise and never lower.
    #[test]
    fn only_a_trusted_server_is_taken_at_its_word() {
        let tool: ToolName = "notes/search".parse().unwrap();
        let known = |risk_level: RiskLevel| {
            let (id, allowed_modes) = (tool.clone(), vec![AgentMode::FullAuto]);
            let side_effects = risk_level.writes();
            ClassifiedTool::new(
                ToolManifest { id, domain: "notes".into(), risk_level, side_effects, allowed_modes },
                None,
            )
        };
        let (read, worst) = (json!({"readOnlyHint": true}), json!({}));
        for (annotations, known, trusted, level, notes) in [
            (&read, None, true, RiskLevel::ReadOnly, 0),
            (&read, None, false, RiskLevel::HighWrite, 1),
            (&worst, None, false, RiskLevel::HighWrite, 0),
            (&read, Some(known(RiskLevel::LowWrite)), true, RiskLevel::LowWrite, 1),
            (&worst, Some(known(RiskLevel::ReadOnly)), false, RiskLevel::HighWrite, 1),
        ] {
            let found = suggested(&tool, Some(annotations), known.as_ref(), trusted);
            assert_eq!((found.manifest.risk_level, found.notes.len()), (level, notes), "{annotations} {trusted}");
            assert!(found.manifest.contradictions().is_empty());
        }
    }
}
