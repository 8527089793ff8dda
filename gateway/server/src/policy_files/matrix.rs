//! `matrix.yaml`: five rows of four cells, all of them written out, so that nobody has to know a default to read it.

use gateway_core::matrix::{Authorization, Matrix};
use gateway_core::{Autonomy, DecisionType};
use serde::Deserialize;

use crate::config::{Problems, parse, read};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenMatrix {
    matrix: Rows,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rows {
    #[serde(rename = "A1")]
    a1: Row,
    #[serde(rename = "A2")]
    a2: Row,
    #[serde(rename = "A3")]
    a3: Row,
    #[serde(rename = "A4")]
    a4: Row,
    #[serde(rename = "A5")]
    a5: Row,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    #[serde(rename = "D1")]
    d1: Authorization,
    #[serde(rename = "D2")]
    d2: Authorization,
    #[serde(rename = "D3")]
    d3: Authorization,
    #[serde(rename = "D4")]
    d4: Authorization,
}

impl WrittenMatrix {
    fn cell(&self, autonomy: Autonomy, decision_type: DecisionType) -> Authorization {
        let row = match autonomy {
            Autonomy::A1 => &self.matrix.a1,
            Autonomy::A2 => &self.matrix.a2,
            Autonomy::A3 => &self.matrix.a3,
            Autonomy::A4 => &self.matrix.a4,
            Autonomy::A5 => &self.matrix.a5,
        };
        match decision_type {
            DecisionType::D1 => row.d1,
            DecisionType::D2 => row.d2,
            DecisionType::D3 => row.d3,
            DecisionType::D4 => row.d4,
        }
    }
}

pub fn read_matrix(text: &str, problems: &mut Problems) -> Option<Matrix> {
    let tree = parse(text, problems)?;
    let written: WrittenMatrix = read(tree, "", problems)?;
    for autonomy in Autonomy::ALL {
        if written.cell(*autonomy, DecisionType::D4) == Authorization::Authorized {
            let what = "may not be `authorized`: an agent never changes itself without a human; write `approval_required` or `prohibited`";
            problems.say(format!("matrix.{autonomy}.D4"), what);
        }
    }
    Matrix::new(|autonomy, decision_type| written.cell(autonomy, decision_type)).ok()
}
