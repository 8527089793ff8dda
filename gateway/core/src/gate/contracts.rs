//! What providers say they can be asked, so that a scenario that could never open is refused when it is defined.

use std::sync::Arc;

use serde_json::Value;

use super::compare::Comparator;
use super::read::Faults;
use super::refusal::FaultCode;
use super::spec::Predicate;

pub trait Contracts {
    fn provider(&self, id: &str) -> bool;
    fn check(&self, provider: &str, check: &str) -> Option<&CheckContract>;
    /// For the words of a refusal.
    fn known(&self) -> Vec<String>;
}

/// Says what is wrong with params.
pub type ParamsCheck = Arc<dyn Fn(&Value) -> Result<(), String> + Send + Sync>;

#[derive(Clone)]
pub struct CheckContract {
    pub check: String,
    pub params_required: bool,
    pub params: ParamsCheck,
    pub value: ValueKind,
    pub comparators: Vec<Comparator>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    Boolean,
    Integer,
    Number,
    Text,
    Any,
    Digest,
}

impl ValueKind {
    fn fits(self, value: &Value) -> bool {
        match self {
            Self::Boolean => value.is_boolean(),
            // Written as 10.0 it is still the number 10.
            Self::Integer | Self::Number => value.is_number(),
            Self::Text => value.is_string(),
            Self::Digest => value.is_object(),
            Self::Any => true,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Boolean => "true or false",
            Self::Integer | Self::Number => "a number",
            Self::Text => "a text",
            Self::Digest => "a digest",
            Self::Any => "a value",
        }
    }

    /// What `expected` would have to be, if it is not.
    fn objection(self, comparator: Comparator, expected: Option<&Value>) -> Option<String> {
        match (comparator, expected) {
            (comparator, None) if comparator.is_presence() => None,
            (comparator, Some(_)) if comparator.is_presence() => Some("must be null: presence expects nothing".into()),
            (_, None) => Some(format!("must be {}", self.words())),
            (Comparator::InSet, Some(Value::Array(set))) if set.iter().all(|value| self.fits(value)) => None,
            (Comparator::InSet, Some(_)) => Some(format!("must be a list, each of them {}", self.words())),
            (_, Some(expected)) if self.fits(expected) => None,
            (_, Some(_)) => Some(format!("must be {}", self.words())),
        }
    }
}

/// One predicate against the contract of what it asks.
pub(super) fn hold(contracts: &dyn Contracts, predicate: &Predicate, path: &str, faults: &mut Faults) {
    let query = &predicate.query;
    // Told already.
    if query.provider_id.trim().is_empty() || query.check.trim().is_empty() {
        return;
    }
    if !contracts.provider(&query.provider_id) {
        let what = format!("no provider `{}`; there are {}", query.provider_id, contracts.known().join(", "));
        faults.add(format!("{path}.query.provider_id"), FaultCode::ProviderMissing, what);
        return;
    }
    let Some(contract) = contracts.check(&query.provider_id, &query.check) else {
        let what = format!("provider `{}` has no check `{}`", query.provider_id, query.check);
        faults.add(format!("{path}.query"), FaultCode::CheckMissing, what);
        return;
    };
    match &query.params {
        None | Some(Value::Null) if contract.params_required => {
            faults.add(format!("{path}.query.params"), FaultCode::ParamsMissing, "is missing");
        }
        None | Some(Value::Null) => {}
        Some(params) => {
            if let Err(what) = (contract.params)(params) {
                faults.add(format!("{path}.query.params"), FaultCode::ParamsInvalid, what);
            }
        }
    }
    if !contract.comparators.contains(&predicate.comparator) {
        let what = format!("is not allowed for `{}` of `{}`", query.check, query.provider_id);
        faults.add(format!("{path}.comparator"), FaultCode::ComparatorNotAllowed, what);
    } else if let Some(what) = contract.value.objection(predicate.comparator, predicate.expected.as_ref()) {
        faults.add(format!("{path}.expected"), FaultCode::ExpectedInvalid, what);
    }
}
