//! `access/*.rego` and `access/data.json`: rules in Rego that hold for every tenant, and what they may look up.

use std::sync::Arc;

use gateway_core::access::AccessRules;
use gateway_core::live::Broken;
use gateway_plugins::access::{RegoFile, compile};
use serde_json::Value;

use crate::config::{Problem, Problems};

#[derive(Default)]
pub struct AccessFiles {
    modules: Vec<(RegoFile, String)>,
    data: Option<Value>,
}

impl AccessFiles {
    /// `name` is the file's, without its ending.
    pub fn add_module(&mut self, name: &str, text: &str, shown: &str) {
        self.modules.push((RegoFile { name: name.into(), text: text.into() }, shown.into()));
    }

    pub fn add_data(&mut self, text: &str, problems: &mut Problems) {
        match serde_json::from_str(text) {
            Ok(data) => self.data = Some(data),
            Err(error) => problems.say("", format!("is not JSON: {error}")),
        }
    }

    /// All files are read before any is compiled: each may look at the data.
    pub fn compile(self, problems: &mut Vec<Problem>) -> Arc<dyn AccessRules> {
        let (files, shown): (Vec<_>, Vec<_>) = self.modules.into_iter().unzip();
        let (rules, broken) = compile(&[], &files, self.data.as_ref());
        for Broken { policy, why, .. } in broken {
            let place = files.iter().position(|file| Broken::access(&file.name) == policy);
            let file = place.and_then(|place| shown.get(place)).cloned().unwrap_or(policy);
            problems.push(Problem { file, path: String::new(), what: why });
        }
        rules
    }
}
