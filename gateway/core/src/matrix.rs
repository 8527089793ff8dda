//! The authorization matrix: 5 autonomy levels by 4 decision types, and the overrides that only tighten.
//!
//! The cells are data (`policies/matrix.yaml`); the overrides are law and stand here: self-modification always needs a
//! human, and high or critical risk always escalates.

use std::fmt;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::classification::{Autonomy, DecisionType, Risk};

/// From free to forbidden, so that the stricter of two is the greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Authorization {
    Authorized,
    ApprovalRequired,
    Prohibited,
}

impl Authorization {
    const ALL: [Self; 3] = [Self::Authorized, Self::ApprovalRequired, Self::Prohibited];
}

impl fmt::Display for Authorization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Authorized => "AUTHORIZED",
            Self::ApprovalRequired => "APPROVAL_REQUIRED",
            Self::Prohibited => "PROHIBITED",
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Matrix {
    rows: [[Authorization; 4]; 5],
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{autonomy} x {decision_type}: D4 may not be authorized without a human")]
pub struct LawlessCell {
    pub autonomy: Autonomy,
    pub decision_type: DecisionType,
}

impl Matrix {
    /// The matrix as decided; also what an empty policy directory means.
    pub fn standard() -> Self {
        use Authorization::{ApprovalRequired as P, Authorized as A, Prohibited as X};
        Self { rows: [[A, P, X, X], [A, P, X, X], [A, A, P, X], [A, A, A, P], [A, A, A, P]] }
    }

    pub fn new(cell: impl Fn(Autonomy, DecisionType) -> Authorization) -> Result<Self, LawlessCell> {
        let mut matrix = Self::standard();
        for (autonomy, row) in Autonomy::ALL.iter().zip(matrix.rows.iter_mut()) {
            for (decision_type, slot) in DecisionType::ALL.iter().zip(row.iter_mut()) {
                *slot = cell(*autonomy, *decision_type);
                if *decision_type == DecisionType::D4 && *slot == Authorization::Authorized {
                    return Err(LawlessCell { autonomy: *autonomy, decision_type: *decision_type });
                }
            }
        }
        Ok(matrix)
    }

    pub fn cell(&self, autonomy: Autonomy, decision_type: DecisionType) -> Authorization {
        let row = self.rows.get(autonomy as usize);
        row.and_then(|row| row.get(decision_type as usize)).copied().unwrap_or(Authorization::Prohibited)
    }

    /// The cell, then every rule that applies; a rule whose condition holds is listed even if the cell was as strict.
    pub fn judge(&self, question: &Question<'_>) -> Judgement {
        let cell = self.cell(question.autonomy, question.decision_type);
        let mut judgement = Judgement {
            result: cell,
            reasons: Vec::new(),
            cell: cell_text(question.autonomy, question.decision_type, cell),
        };
        if question.decision_type == DecisionType::D4 {
            judgement
                .tighten(Authorization::ApprovalRequired, "D4 self-modification always requires human approval".into());
        }
        if let Some(risk) = question.risk.filter(|risk| *risk >= Risk::R3) {
            judgement.tighten(Authorization::ApprovalRequired, format!("Risk {risk} triggers mandatory escalation"));
        }
        if !question.allowed_types.is_empty() && !question.allowed_types.contains(&question.decision_type) {
            let allowed: Vec<_> = question.allowed_types.iter().map(|kind| kind.as_str()).collect();
            let reason =
                format!("{} is not among the agent's allowed types {}", question.decision_type, allowed.join(", "));
            judgement.tighten(Authorization::Prohibited, reason);
        }
        if let Some(risk) = question.risk.filter(|risk| *risk > question.max_risk) {
            let reason = format!("Risk {risk} is above the agent's maximum {}", question.max_risk);
            judgement.tighten(Authorization::ApprovalRequired, reason);
        }
        judgement
    }
}

/// There are sixty of these texts, and each decision has one.
fn cell_text(autonomy: Autonomy, decision_type: DecisionType, cell: Authorization) -> &'static str {
    static TEXTS: LazyLock<Vec<String>> = LazyLock::new(|| {
        let cells =
            Autonomy::ALL.iter().flat_map(|autonomy| DecisionType::ALL.iter().map(move |kind| (autonomy, kind)));
        cells
            .flat_map(|(autonomy, kind)| Authorization::ALL.map(|cell| format!("{autonomy} x {kind} = {cell}")))
            .collect()
    });
    let row = autonomy as usize * DecisionType::ALL.len() + decision_type as usize;
    TEXTS.get(row * Authorization::ALL.len() + cell as usize).map_or("", String::as_str)
}

pub struct Question<'a> {
    pub autonomy: Autonomy,
    pub decision_type: DecisionType,
    /// Not supplied: only the cell and the D4 rule speak.
    pub risk: Option<Risk>,
    /// Empty: no limit beyond the matrix.
    pub allowed_types: &'a [DecisionType],
    pub max_risk: Risk,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    pub result: Authorization,
    pub reasons: Vec<String>,
    /// The raw cell, `A3 x D2 = AUTHORIZED`, whatever the overrides made of it.
    pub cell: &'static str,
}

impl Judgement {
    fn tighten(&mut self, at_least: Authorization, reason: String) {
        self.result = self.result.max(at_least);
        self.reasons.push(reason);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(autonomy: Autonomy, decision_type: DecisionType, risk: Option<Risk>) -> Judgement {
        let question = Question { autonomy, decision_type, risk, allowed_types: &[], max_risk: Risk::R4 };
        Matrix::standard().judge(&question)
    }

    #[test]
    fn the_seeds_cell_reads_as_the_seed_writes_it() {
        let judgement = ask(Autonomy::A3, DecisionType::D2, Some(Risk::R2));
        assert_eq!(judgement.cell, "A3 x D2 = AUTHORIZED");
        assert_eq!((judgement.result, judgement.reasons.len()), (Authorization::Authorized, 0));
    }

    #[test]
    fn d4_and_high_risk_are_never_authorized() {
        for autonomy in Autonomy::ALL {
            for decision_type in DecisionType::ALL {
                for risk in Risk::ALL {
                    let judgement = ask(*autonomy, *decision_type, Some(*risk));
                    if *decision_type == DecisionType::D4 || *risk >= Risk::R3 {
                        assert!(judgement.result > Authorization::Authorized, "{}", judgement.cell);
                        assert!(!judgement.reasons.is_empty(), "{}", judgement.cell);
                    } else {
                        assert_eq!(judgement.result, Matrix::standard().cell(*autonomy, *decision_type));
                        assert!(judgement.reasons.is_empty());
                    }
                }
            }
        }
    }

    #[test]
    fn an_agents_own_limits_tighten() {
        let own = |decision_type, risk| {
            let allowed = [DecisionType::D1];
            Matrix::standard().judge(&Question {
                autonomy: Autonomy::A5,
                decision_type,
                risk: Some(risk),
                allowed_types: &allowed,
                max_risk: Risk::R1,
            })
        };
        assert_eq!(own(DecisionType::D2, Risk::R1).result, Authorization::Prohibited);
        assert_eq!(own(DecisionType::D1, Risk::R2).result, Authorization::ApprovalRequired);
        assert_eq!(own(DecisionType::D1, Risk::R1).result, Authorization::Authorized);
    }

    #[test]
    fn a_matrix_that_frees_self_modification_is_refused() {
        let lawless = Matrix::new(|_, _| Authorization::Authorized);
        assert_eq!(lawless.map_err(|cell| cell.decision_type), Err(DecisionType::D4));
    }
}
