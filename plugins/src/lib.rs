//! The judges and mutators of the chain, one file each. Synchronous, over data they already hold.

pub mod manifest;
pub mod matrix;
pub mod methods;
pub mod scan;
pub mod scopes;

use gateway_core::{Plugin, PluginMode};

/// Every plugin there is, in the order it is heard. Configuration chooses the mode of each, not the order.
pub const NAMES: [&str; 4] = [scopes::NAME, methods::NAME, manifest::NAME, matrix::NAME];

/// The chain's plugins, each in the mode the policies give it.
pub fn all(matrix: gateway_core::matrix::Matrix, mode: impl Fn(&str) -> PluginMode) -> Vec<(Plugin, PluginMode)> {
    let plugins = [
        Plugin::Judge(Box::new(scopes::Scopes)),
        Plugin::Judge(Box::new(methods::Methods)),
        Plugin::Judge(Box::new(manifest::Manifest)),
        Plugin::Judge(Box::new(matrix::MatrixJudge::new(matrix))),
    ];
    plugins
        .into_iter()
        .map(|plugin| {
            let mode = mode(plugin.name());
            (plugin, mode)
        })
        .collect()
}
