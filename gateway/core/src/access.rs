//! Who may use what, as roles and attributes say it. The engine that reads such rules stays behind this trait.

mod input;

pub use input::{PARTS, input, part};

use crate::exchange::Exchange;
use crate::live::TenantFacts;
use crate::ports::NewAccessPolicy;
use crate::verdict::Opinion;

/// Compiled access rules: of the policy files, or of one tenant's rows.
pub trait AccessRules: Send + Sync {
    /// Says nothing where nothing applies. `for_list` asks for a whole list of tools: only what is cheap may speak.
    fn judge(&self, exchange: &Exchange, tenant: &TenantFacts, for_list: bool, say: &mut dyn FnMut(Opinion));
    /// Whether a rule here that is obeyed settles who may use this tool. Where none does, a caller with roles has no
    /// permission: a role without one is not a role with all.
    fn decides(&self, exchange: &Exchange) -> bool;
    /// Whether such a rule could be followed, before it is written down.
    fn check(&self, policy: &NewAccessPolicy) -> Result<(), String>;
    /// Names all of them, whatever their mode.
    fn digest(&self) -> &str;
    /// Names those that are obeyed.
    fn enforced_digest(&self) -> &str {
        self.digest()
    }
    fn len(&self) -> usize;
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Nobody wrote any.
pub struct NoAccessRules;

impl AccessRules for NoAccessRules {
    fn judge(&self, _: &Exchange, _: &TenantFacts, _: bool, _: &mut dyn FnMut(Opinion)) {}

    fn decides(&self, _: &Exchange) -> bool {
        false
    }

    fn check(&self, _: &NewAccessPolicy) -> Result<(), String> {
        Err("nobody here reads access rules".into())
    }

    fn digest(&self) -> &str {
        ""
    }

    fn len(&self) -> usize {
        0
    }
}
