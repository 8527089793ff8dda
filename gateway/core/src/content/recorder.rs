//! What records are made with: whatever a rule lets pass to a tool, nobody reads it in the books.

use serde_json::Value;

use crate::keys;
use crate::live::TenantRules;

/// The text as it may be kept, or `None` where it may be kept as it is.
pub trait Recorder: Send + Sync {
    /// `text` is sound JSON, and what comes back is.
    fn json(&self, rules: &TenantRules, text: &[u8]) -> Option<Vec<u8>>;
    fn value(&self, rules: &TenantRules, value: &Value) -> Option<Value>;
    fn text(&self, rules: &TenantRules, text: &str) -> Option<String>;
}

/// For a chain without anybody who looks for secrets: our own keys alone are left out.
pub struct PlainRecorder;

impl Recorder for PlainRecorder {
    fn json(&self, rules: &TenantRules, text: &[u8]) -> Option<Vec<u8>> {
        self.text(rules, std::str::from_utf8(text).ok()?).map(String::into_bytes)
    }

    fn value(&self, rules: &TenantRules, value: &Value) -> Option<Value> {
        // What cannot be read again is left out whole.
        let hidden = self.text(rules, &value.to_string())?;
        Some(serde_json::from_str(&hidden).unwrap_or(Value::Null))
    }

    fn text(&self, _rules: &TenantRules, text: &str) -> Option<String> {
        keys::in_text(text).then(|| keys::hide_in_text(text))
    }
}
