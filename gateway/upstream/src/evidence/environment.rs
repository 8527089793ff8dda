//! `env`: variables of the gateway's own environment. It also holds passwords, so only what is listed can be asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::sync::Arc;

use async_trait::async_trait;
use gateway_core::gate::Comparator;
use gateway_core::gate::contracts::{CheckContract, ValueKind};
use gateway_core::gate::evidence::EvidenceResult;
use gateway_core::ports::{EvidenceAsked, EvidenceProvider};
use serde_json::{Value, json};

use super::params::Params;
use super::{Switches, contract};

const LONGEST_KEY: usize = 255;
const LARGEST_VALUE: usize = 64 * 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvironmentSettings {
    pub allowlist: BTreeSet<String>,
    /// Stronger than everything else.
    pub denylist: BTreeSet<String>,
    /// Instead of the process's own environment, which is then not read. What is written here may be asked for.
    pub overrides: Option<BTreeMap<String, String>>,
}

impl Default for EnvironmentSettings {
    fn default() -> Self {
        Self { allowlist: BTreeSet::from(["DEPLOY_ENV".into()]), denylist: BTreeSet::new(), overrides: None }
    }
}

pub struct Environment {
    settings: EnvironmentSettings,
    checks: Vec<CheckContract>,
    read: fn(&str) -> Option<OsString>,
}

impl Environment {
    pub fn new(settings: EnvironmentSettings, switches: Switches) -> Self {
        Self::reading(settings, switches, |key| std::env::var_os(key))
    }

    fn reading(settings: EnvironmentSettings, switches: Switches, read: fn(&str) -> Option<OsString>) -> Self {
        let mut comparators = switches.of_texts();
        comparators.push(Comparator::Contains);
        let named = Arc::new(|params: &Value| key(params).map(|_| ()));
        Self { settings, checks: vec![contract("get", ValueKind::Text, comparators, Some(named))], read }
    }

    fn allows(&self, key: &str) -> bool {
        let listed = self.settings.allowlist.contains(key)
            || self.settings.overrides.as_ref().is_some_and(|overrides| overrides.contains_key(key));
        listed && !self.settings.denylist.contains(key)
    }

    fn answer(&self, key: &str) -> EvidenceResult {
        if !self.allows(key) {
            return EvidenceResult::failed("key_blocked", "this variable is not among those that may be asked for");
        }
        let value = match &self.settings.overrides {
            Some(overrides) => overrides.get(key).map(OsString::from),
            None => (self.read)(key),
        };
        // Unset is an answer, not an error.
        let Some(value) = value else { return EvidenceResult::default() };
        if value.len() > LARGEST_VALUE {
            let words = format!("the value has more than {LARGEST_VALUE} bytes");
            return EvidenceResult::failed("size_limit_exceeded", words);
        }
        match value.into_string() {
            Ok(text) => EvidenceResult::json(json!(text), "text/plain"),
            Err(_) => EvidenceResult::failed("value_not_text", "the value is not UTF-8"),
        }
    }
}

#[async_trait]
impl EvidenceProvider for Environment {
    fn checks(&self) -> &[CheckContract] {
        &self.checks
    }

    async fn query(&self, asked: &EvidenceAsked<'_>) -> EvidenceResult {
        match asked.query.params.as_ref().ok_or_else(|| "`key` is missing".to_owned()).and_then(key) {
            Ok(key) => self.answer(key).anchored("env", key),
            Err(words) => EvidenceResult::failed("params_invalid", words),
        }
    }
}

fn key(params: &Value) -> Result<&str, String> {
    let key = Params::of(params, &["key"])?.text("key")?;
    if key.is_empty() || key.len() > LONGEST_KEY {
        return Err(format!("`key` must have 1 to {LONGEST_KEY} bytes"));
    }
    // Asking the system for such a name would be a panic, not an answer.
    if key.contains(['=', '\0']) {
        return Err("`key` must be the name of a variable".into());
    }
    Ok(key)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::evidence::testing::{asked, code, contracted, value};

    fn some(key: &str) -> Option<OsString> {
        match key {
            "DEPLOY_ENV" => Some("production".into()),
            "DATABASE_URL" => Some("postgres://user:canary@db".into()),
            "LONG" => Some("x".repeat(LARGEST_VALUE + 1).into()),
            _ => None,
        }
    }

    fn environment(settings: EnvironmentSettings) -> Environment {
        Environment::reading(settings, Switches::default(), some)
    }

    fn list(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    async fn get(environment: &Environment, key: &str) -> EvidenceResult {
        asked(environment, "get", Some(json!({ "key": key }))).await
    }

    // acceptance 119 c: the seed's example, whole.
    #[tokio::test]
    async fn the_seeds_variable_can_be_asked_for_out_of_the_box() {
        let result = get(&environment(EnvironmentSettings::default()), "DEPLOY_ENV").await;
        let expected = EvidenceResult::json(json!("production"), "text/plain").anchored("env", "DEPLOY_ENV");
        assert_eq!(result, expected);
    }

    // acceptance 119 e: what is not listed is not even looked at, and its value is nowhere in the answer.
    #[tokio::test]
    async fn nothing_else_can_be() {
        let blocked = get(&environment(EnvironmentSettings::default()), "DATABASE_URL").await;
        assert_eq!((code(&blocked), value(&blocked)), ("key_blocked", None));
        assert!(!serde_json::to_string(&blocked).unwrap().contains("canary"));
        let denied = EnvironmentSettings { denylist: list(&["DEPLOY_ENV"]), ..EnvironmentSettings::default() };
        assert_eq!(code(&get(&environment(denied), "DEPLOY_ENV").await), "key_blocked");
    }

    // acceptance 118 d: unset is no value and no error, so that `not_exists` can hold.
    #[tokio::test]
    async fn an_unset_variable_has_no_value_and_no_error() {
        let settings = EnvironmentSettings { allowlist: list(&["UNSET", "LONG"]), ..EnvironmentSettings::default() };
        let environment = environment(settings);
        assert_eq!(get(&environment, "UNSET").await, EvidenceResult::default().anchored("env", "UNSET"));
        assert_eq!(code(&get(&environment, "LONG").await), "size_limit_exceeded");
    }

    #[tokio::test]
    async fn overrides_take_the_place_of_the_environment() {
        let overrides = Some(BTreeMap::from([("CI".to_owned(), "green".to_owned())]));
        let environment = environment(EnvironmentSettings { overrides, ..EnvironmentSettings::default() });
        assert_eq!(value(&get(&environment, "CI").await), Some(json!("green")));
        assert_eq!(value(&get(&environment, "DEPLOY_ENV").await), None, "the process is not asked");
        assert_eq!(code(&get(&environment, "DATABASE_URL").await), "key_blocked");
    }

    // acceptance 114
    #[test]
    fn params_and_comparators_are_held_against_the_contract() {
        let environment = environment(EnvironmentSettings::default());
        for (params, fits) in [
            (json!({ "key": "A" }), true),
            (json!({ "key": "" }), false),
            (json!({ "key": "A=B" }), false),
            (json!({ "key": "x".repeat(256) }), false),
            (json!({ "key": 1 }), false),
            (json!({ "name": "A" }), false),
        ] {
            assert_eq!(contracted(&environment, "get", &params).is_ok(), fits, "{params}");
        }
        let allowed = |switches| {
            Environment::reading(EnvironmentSettings::default(), switches, some).checks.remove(0).comparators
        };
        assert!(!allowed(Switches::default()).contains(&Comparator::LexLessThan));
        assert!(allowed(Switches { lexicographic: true, deep: true }).contains(&Comparator::LexLessThan));
        assert!(!allowed(Switches::default()).contains(&Comparator::GreaterThan), "texts have no order of their own");
    }
}
