//! Strong Kleene logic: what is not known stays unknown until it no longer matters.

use serde::{Deserialize, Serialize};

/// Ordered, so that "and" is the least and "or" the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Tri {
    False,
    Unknown,
    True,
}

impl From<bool> for Tri {
    fn from(known: bool) -> Self {
        if known { Self::True } else { Self::False }
    }
}

impl std::ops::Not for Tri {
    type Output = Self;

    fn not(self) -> Self {
        match self {
            Self::True => Self::False,
            Self::Unknown => Self::Unknown,
            Self::False => Self::True,
        }
    }
}

/// Of none: true. Specs cannot say that; a stage without gates can.
pub fn and(all: impl IntoIterator<Item = Tri>) -> Tri {
    all.into_iter().min().unwrap_or(Tri::True)
}

pub fn or(all: impl IntoIterator<Item = Tri>) -> Tri {
    all.into_iter().max().unwrap_or(Tri::False)
}

/// At least `least` of them: false once even the unknown ones would not be enough.
pub fn group(least: usize, all: impl IntoIterator<Item = Tri>) -> Tri {
    let (mut trues, mut unknowns) = (0, 0);
    for one in all {
        match one {
            Tri::True => trues += 1,
            Tri::Unknown => unknowns += 1,
            Tri::False => {}
        }
    }
    if trues >= least {
        Tri::True
    } else if trues + unknowns < least {
        Tri::False
    } else {
        Tri::Unknown
    }
}
