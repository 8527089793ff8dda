//! What records hold: everything that any rule knows is masked, whatever the rule lets pass elsewhere.

use std::sync::Arc;

use bytes::Bytes;
use gateway_core::content::Recorder;
use gateway_core::keys;
use gateway_core::live::TenantRules;
use gateway_dlp::{Action, Actions, Counts, Paths, Redaction};
use serde_json::Value;

use super::Inner;
use super::scope::sets;

pub(super) struct MaskedRecorder(pub Arc<Inner>);

/// Masks alone: a record needs no hashes, so no key either.
const KEY: [u8; 32] = [0; 32];

impl MaskedRecorder {
    fn with<T>(&self, rules: &TenantRules, paths: &Paths, look: impl FnOnce(&Redaction<'_>) -> T) -> T {
        let actions = Actions::all(Action::Mask);
        let sets = sets(&self.0.rules, rules);
        look(&Redaction { sets, actions: &actions, key: &KEY, paths })
    }
}

impl Recorder for MaskedRecorder {
    fn json(&self, rules: &TenantRules, text: &[u8]) -> Option<Vec<u8>> {
        if !self.0.suspects_answer(rules, text) {
            return None;
        }
        let raw = Bytes::copy_from_slice(text);
        // Nothing is blocked here; were it, nothing would be kept.
        let paths = &self.0.rules.places.record;
        match self.with(rules, paths, |redaction| redaction.json(&raw, &mut Counts::default())) {
            Ok(edited) => edited.map(Into::into),
            Err(_) => Some(b"null".to_vec()),
        }
    }

    fn value(&self, rules: &TenantRules, value: &Value) -> Option<Value> {
        let mut seen = value.clone();
        let edited = self.with(rules, &Paths::none(), |redaction| redaction.value(&mut seen, &mut Counts::default()));
        let text = seen.to_string();
        if keys::in_text(&text) {
            return Some(serde_json::from_str(&keys::hide_in_text(&text)).unwrap_or(Value::Null));
        }
        match edited {
            Ok(edited) => edited.then_some(seen),
            Err(_) => Some(Value::Null),
        }
    }

    fn text(&self, rules: &TenantRules, text: &str) -> Option<String> {
        let suspected = self.0.suspects(rules, text.as_bytes());
        let look = || self.with(rules, &Paths::none(), |redaction| redaction.text(text, &mut Counts::default()));
        let edited = match suspected.then(look) {
            Some(Ok(edited)) => edited,
            Some(Err(_)) => Some(String::new()),
            None => None,
        };
        let seen = edited.as_deref().unwrap_or(text);
        if keys::in_text(seen) { Some(keys::hide_in_text(seen)) } else { edited }
    }
}
