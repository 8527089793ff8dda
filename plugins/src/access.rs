//! Who may use what: permissions of roles, and rules in Rego.
//!
//! Everything is read and compiled when it is loaded. What cannot be read is broken, and a broken rule that is to be obeyed
//! lets nothing pass. Rules of the files are everybody's; a tenant's rows are its own.

mod input;
mod plain;
mod rbac;
mod rego;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use gateway_core::access::AccessRules;
use gateway_core::digest;
use gateway_core::live::{Broken, TenantFacts};
use gateway_core::ports::{AccessRow, NewAccessPolicy, RuleType};
use gateway_core::verdict::{Objection, Opinion, PolicyMode, Remedy};
use gateway_core::{Exchange, Judge, Verdict};
use serde_json::Value;
use uuid::Uuid;

use input::Reads;
use rbac::Roles;
use rego::Module;

pub use rego::RegoFile;

pub const NAME: &str = "access";

pub struct Access {
    files: Arc<dyn AccessRules>,
}

impl Access {
    pub fn new(files: Arc<dyn AccessRules>) -> Self {
        Self { files }
    }

    fn speak(&self, exchange: &Exchange, for_list: bool, say: &mut dyn FnMut(Opinion)) {
        let Some(tool) = exchange.tool().filter(|tool| !tool.governs()) else { return };
        let (own, tenant) = (&exchange.rules.access, &exchange.rules.tenant);
        if !self.files.is_empty() {
            self.files.judge(exchange, tenant, for_list, say);
        }
        if !own.is_empty() {
            own.judge(exchange, tenant, for_list, say);
        }
        for broken in exchange.rules.broken.iter().filter(|broken| broken.is_access()) {
            say(broken.opinion());
        }
        let roles = &exchange.principal.roles;
        if !roles.is_empty() && !self.files.decides(exchange) && !own.decides(exchange) {
            let message = format!("no role of this agent ({}) may call {}", roles.join(", "), tool.name);
            let objection = Objection::new("permission", message).cured_by(Remedy::Permission);
            say(Opinion::enforced(Verdict::Deny(objection)));
        }
    }
}

impl Judge for Access {
    fn name(&self) -> &'static str {
        NAME
    }

    fn on_request(&self, _exchange: &Exchange) -> Verdict {
        Verdict::Pass
    }

    fn hear(&self, exchange: &Exchange, say: &mut dyn FnMut(Opinion)) {
        self.speak(exchange, false, say);
    }

    fn hear_for_list(&self, exchange: &Exchange, say: &mut dyn FnMut(Opinion)) {
        self.speak(exchange, true, say);
    }
}

/// One set, compiled: a tenant's rows, or the files.
#[derive(Default)]
struct Compiled {
    roles: Roles,
    modules: Vec<Module>,
    /// What any of them looks at.
    reads: Reads,
    digest: String,
    enforced: String,
}

/// `rows` are one tenant's and everybody's; `statics` is what modules find at `data.static`.
pub fn compile(rows: &[AccessRow], files: &[RegoFile], statics: Option<&Value>) -> (Arc<dyn AccessRules>, Vec<Broken>) {
    let mut compiled = Compiled::default();
    let (mut broken, mut all, mut obeyed) = (Vec::new(), Vec::new(), Vec::new());
    for row in rows.iter().filter(|row| row.is_active) {
        let mode = mode_of(row);
        // A mode that cannot be read is no mode, and what has none is obeyed.
        let worth = *mode.as_ref().unwrap_or(&PolicyMode::Enforce);
        let read = mode.and_then(|mode| match row.rule_type.parse::<RuleType>() {
            Ok(RuleType::Rbac) => compiled.roles.add(&row.rule_definition, mode),
            Ok(RuleType::Abac) => Module::of_row(row, mode).map(|module| compiled.modules.push(module)),
            Err(error) => Err(format!("rule_type: {error}")),
        });
        if let Err(why) = read {
            broken.push(Broken { policy: Broken::access(&row.name), why, mode: worth });
        }
        let named = (&row.name, &row.rule_type, row.rule_definition.to_string(), worth);
        all.push(written(&named));
        if worth == PolicyMode::Enforce {
            obeyed.push(written(&named));
        }
    }
    for file in files {
        match Module::of_file(file, statics) {
            Ok(module) => {
                let named = (&file.name, &file.text, statics.map(Value::to_string));
                all.push(written(&named));
                if module.mode == PolicyMode::Enforce {
                    obeyed.push(written(&named));
                }
                compiled.modules.push(module);
            }
            Err(why) => broken.push(Broken { policy: Broken::access(&file.name), why, mode: PolicyMode::Enforce }),
        }
    }
    compiled.modules.iter().for_each(|module| compiled.reads.add(module.reads));
    compiled.digest = name_of(all);
    compiled.enforced = name_of(obeyed);
    (Arc::new(compiled), broken)
}

/// What the table says of its mode, then what the definition says; a row that says nothing is obeyed.
fn mode_of(row: &AccessRow) -> Result<PolicyMode, String> {
    match (row.mode, row.rule_definition.get("mode")) {
        (Some(mode), _) => Ok(mode),
        (None, None) => Ok(PolicyMode::Enforce),
        (None, Some(text)) => match text.as_str().map(str::parse) {
            Some(Ok(mode)) => Ok(mode),
            _ => Err(format!("mode: {text} is not one of shadow, advisory, enforce")),
        },
    }
}

fn written(parts: &impl serde::Serialize) -> String {
    serde_json::to_string(parts).unwrap_or_default()
}

/// The same rules in another order are the same rules; none have no name.
fn name_of(mut parts: Vec<String>) -> String {
    parts.sort();
    if parts.is_empty() { String::new() } else { digest::named(parts.join("\n").as_bytes()) }
}

impl AccessRules for Compiled {
    fn judge(&self, exchange: &Exchange, tenant: &TenantFacts, for_list: bool, say: &mut dyn FnMut(Opinion)) {
        let Some(tool) = exchange.tool() else { return };
        self.roles.judge(&exchange.principal.roles, &tool.name, say);
        if for_list {
            return;
        }
        let mut input = None;
        for module in self.modules.iter().filter(|module| module.applies(&tool.name)) {
            let input = input.get_or_insert_with(|| input::input(exchange, tenant, self.reads));
            let mut object = |verdict| say(Opinion::new(verdict, module.mode));
            match input {
                Ok(input) => module.judge(input, &mut object),
                Err(why) => object(refused(&module.name, why)),
            }
        }
    }

    fn decides(&self, exchange: &Exchange) -> bool {
        let decides = |tool| {
            let applies = |module: &Module| module.mode == PolicyMode::Enforce && module.applies(tool);
            self.roles.are_enforced() || self.modules.iter().any(applies)
        };
        exchange.tool().is_some_and(|tool| decides(&tool.name))
    }

    fn check(&self, policy: &NewAccessPolicy) -> Result<(), String> {
        let row = AccessRow {
            id: Uuid::nil(),
            tenant: None,
            name: policy.name.clone(),
            rule_type: policy.rule_type.as_str().into(),
            rule_definition: policy.rule_definition.clone(),
            is_active: true,
            mode: None,
        };
        compile(&[row], &[], None).1.pop().map_or(Ok(()), |broken| Err(broken.why))
    }

    fn digest(&self) -> &str {
        &self.digest
    }

    fn enforced_digest(&self) -> &str {
        &self.enforced
    }

    fn len(&self) -> usize {
        self.roles.len() + self.modules.len()
    }
}

/// A rule that cannot be followed lets nothing pass.
fn refused(policy: &str, why: &str) -> Verdict {
    let objection = Objection::new(policy.to_owned(), format!("{policy}: {why}"));
    Verdict::Deny(objection.cured_by(Remedy::Policy(policy.to_owned())))
}
