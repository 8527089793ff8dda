//! Roles and what they may call. A set of grants: what no role of the caller's is granted, is not permitted.
//!
//! Rows that are not obeyed yet are heard as if they were, so that the trace shows what obeying them would change.

use std::collections::HashMap;

use gateway_core::permission::Pattern;
use gateway_core::verdict::{Opinion, PolicyMode, Remedy};
use gateway_core::{ToolName, Verdict};
use serde_json::{Map, Value};

#[derive(Debug, Default)]
pub(super) struct Roles {
    /// What each role is granted, and by how much the row that grants it counts.
    granted: HashMap<String, Vec<(Pattern, PolicyMode)>>,
    rows: usize,
    enforced: usize,
    /// The most that a row which is not obeyed is worth.
    trial: Option<PolicyMode>,
}

impl Roles {
    /// `{"role": "viewer", "permissions": [..]}` or `{"roles": {"viewer": [..]}}`. All of it, or nothing.
    pub fn add(&mut self, definition: &Value, mode: PolicyMode) -> Result<(), String> {
        let Value::Object(parts) = definition else {
            return Err("rule_definition: must be an object with `role` and `permissions`, or `roles`".into());
        };
        let read = match (parts.get("role"), parts.get("permissions"), parts.get("roles")) {
            (Some(role), Some(permissions), None) => {
                only(parts, &["role", "permissions", "mode"])?;
                let role = role.as_str().filter(|role| !role.is_empty()).ok_or("role: must be a text")?;
                vec![(role.to_owned(), patterns("permissions", permissions)?)]
            }
            (None, None, Some(Value::Object(roles))) if !roles.is_empty() => {
                only(parts, &["roles", "mode"])?;
                let one = |(role, permissions): (&String, &Value)| {
                    Ok((role.clone(), patterns(&format!("roles.{role}"), permissions)?))
                };
                roles.iter().map(one).collect::<Result<_, String>>()?
            }
            _ => return Err("rule_definition: must have `role` and `permissions`, or `roles` with at least one".into()),
        };
        for (role, patterns) in read {
            self.granted.entry(role).or_default().extend(patterns.into_iter().map(|pattern| (pattern, mode)));
        }
        self.rows += 1;
        match mode {
            PolicyMode::Enforce => self.enforced += 1,
            trial => self.trial = self.trial.max(Some(trial)),
        }
        Ok(())
    }

    pub fn judge(&self, roles: &[String], tool: &ToolName, say: &mut dyn FnMut(Opinion)) {
        if self.rows == 0 {
            return;
        }
        let mut obeyed = false;
        let mut tried = false;
        for (pattern, mode) in roles.iter().filter_map(|role| self.granted.get(role)).flatten() {
            if pattern.matches(tool) {
                tried = true;
                obeyed |= *mode == PolicyMode::Enforce;
            }
        }
        if self.are_enforced() && !obeyed {
            say(Opinion::enforced(self.refusal(roles, tool)));
        } else if let Some(mode) = self.trial.filter(|_| !tried) {
            say(Opinion::new(self.refusal(roles, tool), mode));
        }
    }

    pub fn are_enforced(&self) -> bool {
        self.enforced > 0
    }

    pub fn len(&self) -> usize {
        self.rows
    }

    fn refusal(&self, roles: &[String], tool: &ToolName) -> Verdict {
        let has = if roles.is_empty() { "none".to_owned() } else { roles.join(", ") };
        let message = format!("no role of this agent ({has}) may call {tool}");
        let mut would = self.granted.iter().filter(|(_, granted)| {
            granted.iter().any(|(pattern, mode)| *mode == PolicyMode::Enforce && pattern.matches(tool))
        });
        let least = would.next().map(|first| would.fold(first.0, |least, (role, _)| least.min(role)));
        let mut verdict = Verdict::deny("permission", message);
        if let Verdict::Deny(objection) = &mut verdict {
            objection.remedy = Some(least.map_or(Remedy::Permission, |role| Remedy::Role(role.clone())));
        }
        verdict
    }
}

fn only(parts: &Map<String, Value>, known: &[&str]) -> Result<(), String> {
    match parts.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(format!("{key}: is not known; there are {}", known.join(", "))),
        None => Ok(()),
    }
}

fn patterns(at: &str, written: &Value) -> Result<Vec<Pattern>, String> {
    let list = written.as_array().ok_or_else(|| format!("{at}: must be a list of permissions"))?;
    let one = |value: &Value| match value.as_str() {
        Some(text) => Pattern::read(text).map_err(|error| format!("{at}: {error}")),
        None => Err(format!("{at}: must be a list of texts")),
    };
    list.iter().map(one).collect()
}
