//! The autonomy matrix: is a decision of this type and risk this agent's to take?

use gateway_core::matrix::{Authorization, Matrix, Question};
use gateway_core::{Exchange, Judge, Verdict};

pub const NAME: &str = "matrix";

pub struct MatrixJudge {
    matrix: Matrix,
}

impl MatrixJudge {
    pub fn new(matrix: Matrix) -> Self {
        Self { matrix }
    }
}

impl Judge for MatrixJudge {
    fn name(&self) -> &'static str {
        NAME
    }

    fn on_request(&self, exchange: &Exchange) -> Verdict {
        let Some(tool) = exchange.tool() else {
            return Verdict::Pass;
        };
        if tool.governs() {
            return Verdict::Pass;
        }
        let (principal, part) = (&exchange.principal, tool.classification());
        let judged = self.matrix.judge(&Question {
            autonomy: principal.autonomy,
            decision_type: part.decision_type,
            risk: Some(part.risk),
            allowed_types: &principal.allowed_types,
            max_risk: principal.max_risk,
        });
        let message = || match judged.reasons.is_empty() {
            true => judged.cell.to_owned(),
            false => format!("{}; {}", judged.cell, judged.reasons.join("; ")),
        };
        match judged.result {
            Authorization::Authorized => Verdict::Grant,
            Authorization::ApprovalRequired => Verdict::escalate("matrix", message()),
            Authorization::Prohibited => Verdict::deny("matrix", message()),
        }
    }
}
