//! `rules/*.yaml`: agent policies that hold for every tenant.

use std::collections::BTreeMap;

use gateway_core::rules::{AgentPolicy, WrittenPolicy};
use serde::Deserialize;
use serde_json::Value;

use crate::config::{Problems, parse, read};

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct WrittenFile {
    /// Read one by one, so that a fault in one does not hide the faults of the others.
    policies: Vec<Value>,
}

/// The policies of all files read so far, and the file each name is taken by.
#[derive(Default)]
pub struct RuleFiles {
    pub policies: Vec<AgentPolicy>,
    names: BTreeMap<String, String>,
}

impl RuleFiles {
    pub fn read_file(&mut self, inside: &str, text: &str, problems: &mut Problems) {
        let Some(tree) = parse(text, problems) else { return };
        let written: WrittenFile = read(tree, "", problems).unwrap_or_default();
        for (place, tree) in written.policies.into_iter().enumerate() {
            let path = format!("policies[{place}]");
            let Some(policy) = read::<WrittenPolicy>(tree, &path, problems) else { continue };
            if policy.id.is_some() {
                problems.say(format!("{path}.id"), "is for rows of the database; a file has `policy_id`");
            }
            if let Some(before) = self.names.insert(policy.policy_id.clone(), inside.to_owned()) {
                problems.say(format!("{path}.policy_id"), format!("`{}` stands in {before} already", policy.policy_id));
            }
            match AgentPolicy::compile(&policy) {
                Ok(compiled) => self.policies.push(compiled),
                Err(error) => problems.say(format!("{path}.{}", error.field), error.what),
            }
        }
    }
}
