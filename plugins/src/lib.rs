//! The judges and mutators of the chain, one file each. Synchronous, over data they already hold.

pub mod access;
pub mod dlp;
pub mod gate;
pub mod injection;
pub mod manifest;
pub mod matrix;
pub mod methods;
pub mod pins;
pub mod rules;
pub mod scan;
pub mod schema;
pub mod scopes;
pub mod sql_guard;
pub mod standing;

use std::sync::Arc;

use gateway_core::{Plugin, PluginMode, Policies};

/// Every plugin there is, in the order it is heard. Configuration chooses the mode of each, not the order.
pub const NAMES: [&str; 13] = [
    dlp::NAME,
    injection::NAME,
    scopes::NAME,
    methods::NAME,
    standing::NAME,
    pins::NAME,
    schema::NAME,
    manifest::NAME,
    matrix::NAME,
    access::NAME,
    rules::NAME,
    sql_guard::NAME,
    gate::NAME,
];

/// The chain's plugins, each in the mode the policies give it. Hashes of what is taken out are nobody's: for whoever only asks
/// what would be decided.
pub fn all(policies: &Policies, mode: impl Fn(&str) -> PluginMode) -> Vec<(Plugin, PluginMode)> {
    all_with(policies, mode, Arc::new(|_| [0; 32]))
}

/// The same for a gateway that serves tenants, each with a key of its own.
pub fn all_with(
    policies: &Policies,
    mode: impl Fn(&str) -> PluginMode,
    keys: dlp::MaskKeys,
) -> Vec<(Plugin, PluginMode)> {
    let plugins = [
        Plugin::Mutator(Box::new(dlp::Dlp::new(policies, mode(dlp::NAME), keys))),
        Plugin::Mutator(Box::new(injection::Injection::new(policies.injection.clone(), mode(injection::NAME)))),
        Plugin::Judge(Box::new(scopes::Scopes)),
        Plugin::Judge(Box::new(methods::Methods)),
        Plugin::Judge(Box::new(standing::Standing)),
        Plugin::Judge(Box::new(pins::Pins)),
        Plugin::Judge(Box::new(schema::Schemas)),
        Plugin::Judge(Box::new(manifest::Manifest)),
        Plugin::Judge(Box::new(matrix::MatrixJudge::new(policies.matrix.clone()))),
        Plugin::Judge(Box::new(access::Access::new(policies.access.clone()))),
        Plugin::Judge(Box::new(rules::Rules::new(policies.rules.clone()))),
        Plugin::Judge(Box::new(sql_guard::SqlGuard)),
        Plugin::Judge(Box::new(gate::Gate)),
    ];
    plugins
        .into_iter()
        .map(|plugin| {
            let mode = mode(plugin.name());
            (plugin, mode)
        })
        .collect()
}
