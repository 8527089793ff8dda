//! What is done about personal data and secrets, as far as the chain must know: whose rules, and a name for them.
//!
//! The rules themselves are the plugin's; nobody here looks inside.

use std::any::Any;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::content::Action;
use crate::live::Broken;
use crate::ports::DlpRow;

/// Compiled rules: the operator's, or one tenant's own.
pub trait DlpSet: Send + Sync {
    /// Names everything in it; empty where nothing is.
    fn digest(&self) -> &str;
    /// Which of a tenant's rows could not be followed beside these rules, and why.
    fn check(&self, rows: &[DlpRow]) -> Vec<Broken>;
    /// For the plugin that made it.
    fn as_any(&self) -> &dyn Any;
}

/// Nothing is looked for.
pub struct NoDlp;

impl DlpSet for NoDlp {
    fn digest(&self) -> &str {
        ""
    }

    fn check(&self, rows: &[DlpRow]) -> Vec<Broken> {
        rows.iter().map(|row| Broken::dlp(&row.name, "nobody here looks for anything")).collect()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// What a manifest says of the content of a tool's calls.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DlpHandling {
    /// What is sent to it leaves the house: requests are redacted as answers are.
    #[serde(skip_serializing_if = "is_false")]
    pub egress: bool,
    /// Neither requests nor answers are changed. Records are.
    #[serde(skip_serializing_if = "is_false")]
    pub off: bool,
    /// By rule, tag, severity or `*`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub request: BTreeMap<String, Action>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub result: BTreeMap<String, Action>,
}

impl DlpHandling {
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// A tenant's own word beside the operator's. How a value is hidden is the tenant's to choose; that it is hidden is not
    /// theirs to undo.
    #[must_use]
    pub fn tightened_by(&self, tenant: &Self) -> Self {
        Self {
            egress: self.egress || tenant.egress,
            off: self.off,
            request: stricter(&self.request, &tenant.request),
            result: stricter(&self.result, &tenant.result),
        }
    }
}

fn stricter(operator: &BTreeMap<String, Action>, tenant: &BTreeMap<String, Action>) -> BTreeMap<String, Action> {
    let mut both = operator.clone();
    for (key, wanted) in tenant.iter().filter(|(_, wanted)| **wanted != Action::Observe) {
        both.entry(key.clone()).and_modify(|said| *said = (*said).max(*wanted)).or_insert(*wanted);
    }
    both
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_false(said: &bool) -> bool {
    !said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_may_only_tighten() {
        let said = |pairs: &[(&str, Action)]| pairs.iter().map(|(key, action)| ((*key).to_owned(), *action)).collect();
        let operator = DlpHandling {
            off: false,
            egress: false,
            request: BTreeMap::new(),
            result: said(&[("email", Action::Observe), ("payment_card", Action::Block)]),
        };
        let tenant = DlpHandling {
            off: true,
            egress: true,
            request: said(&[("critical", Action::Observe)]),
            result: said(&[("email", Action::Hash), ("payment_card", Action::Partial), ("phone", Action::Observe)]),
        };
        let both = operator.tightened_by(&tenant);
        assert!(both.egress && !both.off && both.request.is_empty());
        assert_eq!(both.result, said(&[("email", Action::Hash), ("payment_card", Action::Block)]));
    }
}
