//! Who may use what, as roles and attributes say it. The engine that reads such rules stays behind this trait.

use crate::exchange::Exchange;
use crate::live::TenantFacts;
use crate::verdict::Opinion;

/// Compiled access rules: of the policy files, or of one tenant's rows.
pub trait AccessRules: Send + Sync {
    /// Says nothing where nothing applies. `for_list` asks for a whole list of tools: only what is cheap may speak.
    fn judge(&self, exchange: &Exchange, tenant: &TenantFacts, for_list: bool, say: &mut dyn FnMut(Opinion));
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

    fn digest(&self) -> &str {
        ""
    }

    fn len(&self) -> usize {
        0
    }
}
