//! The judges and mutators of the chain, one file each. Synchronous, over data they already hold.

pub mod access;
pub mod injection;
pub mod manifest;
pub mod matrix;
pub mod methods;
pub mod pins;
pub mod rules;
pub mod scan;
pub mod schema;
pub mod scopes;
pub mod standing;

use gateway_core::{Plugin, PluginMode, Policies};

/// Every plugin there is, in the order it is heard. Configuration chooses the mode of each, not the order.
pub const NAMES: [&str; 10] = [
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
];

/// The chain's plugins, each in the mode the policies give it.
pub fn all(policies: &Policies, mode: impl Fn(&str) -> PluginMode) -> Vec<(Plugin, PluginMode)> {
    let plugins = [
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
    ];
    plugins
        .into_iter()
        .map(|plugin| {
            let mode = mode(plugin.name());
            (plugin, mode)
        })
        .collect()
}
