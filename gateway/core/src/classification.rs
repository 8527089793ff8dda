//! The axes of a decision: how free the agent is (A), what kind of decision (D), how risky (R), how reversible.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not one of {allowed}")]
pub struct NotInScale {
    pub text: String,
    pub allowed: &'static str,
}

macro_rules! scale {
    ($(#[$doc:meta])* $name:ident, $allowed:literal, { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, ::serde::Serialize, ::serde::Deserialize)]
        pub enum $name { $($(#[$variant_doc])* #[serde(rename = $text)] $variant,)* }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::classification::NotInScale;

            fn from_str(text: &str) -> Result<Self, $crate::classification::NotInScale> {
                match text {
                    $($text => Ok(Self::$variant),)*
                    _ => Err($crate::classification::NotInScale { text: text.into(), allowed: $allowed }),
                }
            }
        }
    };
}
pub(crate) use scale;

scale!(
    /// How much an agent may do alone.
    Autonomy, "A1, A2, A3, A4, A5", { A1 = "A1", A2 = "A2", A3 = "A3", A4 = "A4", A5 = "A5", }
);
scale!(
    /// Operational, tactical, strategic, self-modifying.
    DecisionType, "D1, D2, D3, D4", { D1 = "D1", D2 = "D2", D3 = "D3", D4 = "D4", }
);
scale!(
    /// Low, moderate, high, critical.
    Risk, "R1, R2, R3, R4", { R1 = "R1", R2 = "R2", R3 = "R3", R4 = "R4", }
);
scale!(
    /// Ordered from harmless to final, so that the stricter of two is the greater.
    Reversibility, "total, partial, irreversible", { Total = "total", Partial = "partial", Irreversible = "irreversible", }
);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Classification {
    pub decision_type: DecisionType,
    pub risk: Risk,
    pub reversibility: Reversibility,
}

impl Classification {
    pub const fn new(decision_type: DecisionType, risk: Risk, reversibility: Reversibility) -> Self {
        Self { decision_type, risk, reversibility }
    }

    /// `D2-R2-partial`
    pub fn code(&self) -> String {
        [self.decision_type.as_str(), self.risk.as_str(), self.reversibility.as_str()].join("-")
    }

    /// The same, read back.
    pub fn from_code(code: &str) -> Option<Self> {
        let mut axes = code.splitn(3, '-');
        let (decision_type, risk, reversibility) = (axes.next()?, axes.next()?, axes.next()?);
        Some(Self::new(decision_type.parse().ok()?, risk.parse().ok()?, reversibility.parse().ok()?))
    }

    /// Each axis at the stricter of the two: a second opinion never lowers.
    #[must_use]
    pub fn raised_to(self, other: Self) -> Self {
        Self {
            decision_type: self.decision_type.max(other.decision_type),
            risk: self.risk.max(other.risk),
            reversibility: self.reversibility.max(other.reversibility),
        }
    }

    pub fn is_high_risk(&self) -> bool {
        self.risk >= Risk::R3
    }

    pub fn requires_escalation(&self) -> bool {
        self.decision_type == DecisionType::D4 || self.is_high_risk()
    }
}
