//! `chain.yaml`: which judges are obeyed and which are only heard.

use std::collections::BTreeMap;

use gateway_core::chain::PluginMode;
use gateway_plugins::NAMES;
use serde::Deserialize;

use crate::config::{Problems, nearest, parse, read};

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct WrittenChain {
    plugins: BTreeMap<String, PluginMode>,
}

pub fn read_modes(text: &str, problems: &mut Problems) -> BTreeMap<String, PluginMode> {
    let Some(tree) = parse(text, problems) else { return BTreeMap::new() };
    let written: WrittenChain = read(tree, "", problems).unwrap_or_default();
    for name in written.plugins.keys().filter(|name| !NAMES.contains(&name.as_str())) {
        let what = match nearest(name, NAMES) {
            Some(likely) => format!("there is no such plugin; did you mean `{likely}`?"),
            None => format!("there is no such plugin; there are {}", NAMES.join(", ")),
        };
        problems.say(format!("plugins.{name}"), what);
    }
    written.plugins
}
