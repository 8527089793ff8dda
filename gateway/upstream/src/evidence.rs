//! Where scenarios get their evidence from: the trigger's own time, the environment, files, web pages, the gateway's own
//! records, and MCP servers that answer `evidence_query`.
//!
//! A provider never fails a call. Whatever goes wrong is the result's own error, with a code that scenarios' authors can
//! look up, and makes the predicate unknown.

pub mod adp;
pub mod environment;
pub mod files;
mod jsonpath;
mod keys;
mod params;
pub mod server;
#[cfg(test)]
mod testing;
mod time;
pub mod web;

use std::collections::BTreeMap;
use std::sync::Arc;

use gateway_core::evidence::{Provided, Providers};
use gateway_core::gate::Comparator;
use gateway_core::gate::contracts::{CheckContract, ParamsCheck, ValueKind};
use gateway_core::gate::policies::Keyring;
use gateway_core::ports::EvidenceProvider;
use serde_json::Value;

pub use adp::{AdpPorts, AdpRecords};
pub use environment::{Environment, EnvironmentSettings};
pub use files::{FileSettings, Files};
pub use keys::Ed25519Keys;
pub use server::{ServerDialect, ServerProvider, ServerSettings};
pub use time::TriggerTime;
pub use web::{Web, WebSettings};

/// Everything that scenarios may ask, as the operator configured it.
pub struct Settings {
    pub providers: Vec<ProviderSettings>,
    pub switches: Switches,
}

/// Comparators that are off until an operator wants them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Switches {
    pub lexicographic: bool,
    pub deep: bool,
}

pub struct ProviderSettings {
    /// What scenarios call it.
    pub name: String,
    pub kind: Kind,
    /// Key id to the key's file as it was read; with any, every value must be signed with one of them.
    pub keys: Option<BTreeMap<String, Vec<u8>>>,
    pub allow_raw: bool,
}

pub enum Kind {
    Time { allow_logical: bool },
    Environment(EnvironmentSettings),
    Files(FileSettings),
    Web(WebSettings),
    Adp(AdpPorts),
    Server(ServerSettings),
}

#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error("provider `{0}` is there twice")]
    Twice(String),
    #[error("provider `{name}`: {what}")]
    Provider { name: String, what: String },
}

/// The providers of one configuration, ready to be asked.
pub fn providers(settings: Settings) -> Result<Providers, SetupError> {
    let Settings { providers, switches } = settings;
    let mut made = Providers::new();
    for ProviderSettings { name, kind, keys, allow_raw } in providers {
        let wrong = |what: String| SetupError::Provider { name: name.clone(), what };
        let provider: Arc<dyn EvidenceProvider> = match kind {
            Kind::Time { allow_logical } => Arc::new(TriggerTime::new(allow_logical)),
            Kind::Environment(settings) => Arc::new(Environment::new(settings, switches)),
            Kind::Files(settings) => Arc::new(Files::new(settings, switches).map_err(wrong)?),
            Kind::Web(settings) => Arc::new(Web::new(settings).map_err(wrong)?),
            Kind::Adp(ports) => Arc::new(AdpRecords::new(ports, switches)),
            Kind::Server(settings) => Arc::new(ServerProvider::new(settings)),
        };
        let keys = match keys {
            None => None,
            Some(files) => Some(Arc::new(Ed25519Keys::read(&files).map_err(wrong)?) as Arc<dyn Keyring + Send + Sync>),
        };
        if made.insert(name.clone(), Provided { provider, keys, allow_raw }).is_some() {
            return Err(SetupError::Twice(name));
        }
    }
    Ok(made)
}

/// What fits values that are the same or not, there or not.
const EQUALITY: [Comparator; 5] =
    [Comparator::Equals, Comparator::NotEquals, Comparator::InSet, Comparator::Exists, Comparator::NotExists];
const PRESENCE: [Comparator; 2] = [Comparator::Exists, Comparator::NotExists];
const ORDER: [Comparator; 4] =
    [Comparator::GreaterThan, Comparator::GreaterThanOrEqual, Comparator::LessThan, Comparator::LessThanOrEqual];

impl Switches {
    /// Those of `some` that are not switched off.
    fn left(self, some: impl IntoIterator<Item = Comparator>) -> Vec<Comparator> {
        let deep = |one: Comparator| matches!(one, Comparator::DeepEquals | Comparator::DeepNotEquals);
        let on = |one: &Comparator| (self.lexicographic || !one.is_lexicographic()) && (self.deep || !deep(*one));
        some.into_iter().filter(on).collect()
    }

    /// For texts that are compared, but not searched.
    fn of_texts(self) -> Vec<Comparator> {
        let lexicographic = Comparator::ALL.into_iter().filter(|one| one.is_lexicographic());
        self.left(EQUALITY.into_iter().chain(lexicographic))
    }
}

fn contract(check: &str, value: ValueKind, comparators: Vec<Comparator>, params: Option<ParamsCheck>) -> CheckContract {
    let params_required = params.is_some();
    let params = params.unwrap_or_else(|| Arc::new(|given: &Value| params::Params::of(given, &[]).map(|_| ())));
    CheckContract { check: check.into(), params_required, params, value, comparators }
}
