//! `check`: everything that `serve` would load, and everything that is wrong with it.

use clap::Args;
use gateway_core::PluginMode;
use gateway_tools::supabase::NAMESPACE;

use super::output::{Colour, painted, painted_for_errors, print};
use super::{Failure, Place};
use crate::config::{Config, Problem, Supabase};
use crate::policy_files::{LoadedPolicies, load_for};

#[derive(Debug, Args)]
pub struct CheckArgs {
    #[command(flatten)]
    place: Place,
}

pub fn run(args: &CheckArgs) -> Result<(), Failure> {
    let (config, policies) = load(args)?;
    for warning in warnings(&config, &policies) {
        eprintln!("{} {warning}", painted_for_errors(Colour::Yellow, "warning:"));
    }
    let (upstreams, tools) = (config.upstreams.len(), policies.policies.tools.len());
    let file = config.file.as_ref().map_or("the built-in default".into(), |file| file.display().to_string());
    print(&format!(
        "{} {file}: {upstreams} upstreams, {tools} classified tools, policies {}",
        painted(Colour::Green, "ok"),
        policies.policies.digest
    ))
}

/// The problems of configuration and policies together, where the configuration can be read at all.
fn load(args: &CheckArgs) -> Result<(Config, LoadedPolicies), Failure> {
    let config = args.place.config()?;
    let mut problems: Vec<Problem> = config.missing_files();
    match load_for(&config) {
        Ok(policies) if problems.is_empty() => return Ok((config, policies)),
        Ok(_) => {}
        Err(more) => problems.extend(more),
    }
    Err(problems.into())
}

/// Allowed, and worth knowing.
fn warnings(config: &Config, policies: &LoadedPolicies) -> Vec<String> {
    let mut told = Vec::new();
    for (namespace, upstream) in &config.upstreams {
        if upstream.observe_unclassified {
            told.push(format!("upstreams.{namespace}.unclassified: tools without a manifest are let through"));
        }
        if !upstream.lacks.is_empty() {
            let names = upstream.lacks.join(", ");
            told.push(format!("upstreams.{namespace}.required_env: {names} is not set; tool agents cannot use it"));
        }
        let classified = policies.policies.tools.keys().any(|tool| tool.namespace() == namespace.as_str());
        if !classified && !upstream.observe_unclassified {
            told.push(format!("upstreams.{namespace}: no tool of it has a manifest, so all are refused; try `portreeve manifest suggest {namespace}`"));
        }
    }
    let supabase = config.upstreams.keys().any(|namespace| namespace.as_str() == NAMESPACE);
    match &config.supabase {
        Supabase::Complete(_) if supabase => {
            told.push(format!("built_in.supabase: is not used, because `upstreams.{NAMESPACE}` has its namespace"))
        }
        Supabase::Lacks(names) if !supabase && names.iter().any(|name| name.ends_with("_KEY")) => {
            told.push(format!("built_in.supabase: has a URL and no key, so it is not there: set {}", names.join(", ")));
        }
        _ => {}
    }
    for (plugin, mode) in &policies.modes {
        if *mode == PluginMode::Observe {
            told.push(format!("chain.yaml: plugins.{plugin}: its objections are written down and not obeyed"));
        }
    }
    if let Some(agent) = &config.identity.anonymous {
        told.push(format!("identity.anonymous: callers without credentials act as `{agent}`"));
    }
    if !config.listen.mcp.ip().is_loopback() && config.listen.tls.is_none() {
        told.push(format!(
            "listen.tls: {} is reachable from other machines and keys travel in clear",
            config.listen.mcp
        ));
    }
    let mutual = config.listen.tls.as_ref().is_some_and(|tls| tls.client_ca.is_some());
    if mutual && config.cluster.advertise.is_some() {
        told.push("cluster.advertise: nodes have no client certificate, so with `listen.tls.client_ca` none reaches another; sessions are only rebuilt".into());
    }
    if !config.listen.console.ip().is_loopback() {
        told.push(format!("listen.console: {} is reachable from other machines", config.listen.console));
    }
    told
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs;

    use super::*;

    fn check(dir: &std::path::Path) -> Result<(Config, LoadedPolicies), Failure> {
        load(&CheckArgs { place: Place { config: Some(dir.join("p.yaml")) } })
    }

    #[test]
    fn files_and_policies_are_told_together() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("p.yaml"), "policies: pol\nlisten: { tls: { cert: c, key: k } }").unwrap();
        let told = format!("{:?}", check(dir.path()).err().unwrap());
        assert!(
            ["listen.tls.cert", "listen.tls.key", "pol: cannot be read"].iter().all(|part| told.contains(part)),
            "{told}"
        );
    }

    #[test]
    fn what_is_allowed_but_daring_is_said() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("pol")).unwrap();
        fs::write(dir.path().join("pol/chain.yaml"), "plugins: { matrix: observe }").unwrap();
        let text = "policies: pol\nidentity: { anonymous: bob }\nupstreams: { a: { command: b }, c: { command: d, unclassified: observe } }";
        fs::write(dir.path().join("p.yaml"), text).unwrap();
        let (config, policies) = check(dir.path()).unwrap();
        assert_eq!(warnings(&config, &policies).len(), 4, "{:?}", warnings(&config, &policies));
    }
}
