//! The Decision Gate's settings, checked. What is not opened here stays closed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use gateway_core::Namespace;
use gateway_core::gate::dispatch::DispatchRules;
use gateway_core::gate::policies::{AnchorRule, AnchorRules, Disclosure};

use super::gate::{EvidenceSource, Gate, GateProvider};
use super::numbers::{Count, Size};
use super::problem::Problems;
use super::sound_upstreams::asked_server;
use super::written::{
    DispatchEngine, ProviderDialect, ProviderKind, ProviderSource, TrustPolicy, WrittenAnchor, WrittenDispatch,
    WrittenGate, WrittenProvider, WrittenProviderConfig, WrittenUpstream,
};

const DEPLOY_ENV: &str = "DEPLOY_ENV";
/// Evidence itself may have at most 1 MiB; the file around it somewhat more.
const LARGEST: u64 = 16 << 20;

pub fn gate(written: WrittenGate, store: &str, base: &Path, problems: &mut Problems) -> Gate {
    let anchor = |one: WrittenAnchor| AnchorRule {
        provider_id: one.provider_id,
        anchor_type: one.anchor_type,
        required_fields: one.required_fields,
    };
    let default_trust = written.trust.default_policy.unwrap_or(TrustPolicy::Audit);
    Gate {
        file: written.file.map(|file| base.join(file)),
        runpacks: runpacks(&written.runpacks, store, base),
        disclosure: Disclosure {
            allow_raw_values: written.evidence.allow_raw_values.unwrap_or(false),
            require_provider_opt_in: written.evidence.require_provider_opt_in.unwrap_or(true),
        },
        anchors: AnchorRules { providers: written.anchors.providers.into_iter().map(anchor).collect() },
        dispatch: dispatch(written.policy, problems),
        lexicographic: written.validation.enable_lexicographic.unwrap_or(false),
        deep_equals: written.validation.enable_deep_equals.unwrap_or(false),
        providers: match written.providers {
            Some(providers) => self::providers(providers, &default_trust, base, problems),
            None => usual(),
        },
    }
}

fn runpacks(written: &[String], store: &str, base: &Path) -> Vec<PathBuf> {
    if !written.is_empty() {
        return written.iter().map(|directory| base.join(directory)).collect();
    }
    let beside = store.strip_prefix("sqlite://").and_then(|file| Path::new(file).parent());
    vec![beside.map_or_else(|| base.join("data/runpacks"), |directory| directory.join("runpacks"))]
}

fn dispatch(written: WrittenDispatch, problems: &mut Problems) -> DispatchRules {
    let WrittenDispatch { engine, rules } = written;
    match (engine.unwrap_or(DispatchEngine::PermitAll), rules) {
        (DispatchEngine::Static, Some(rules)) => rules,
        (DispatchEngine::Static, None) => {
            problems.say("gate.policy.static", "is missing: `engine: static` needs its rules");
            DispatchRules::deny_all()
        }
        (_, Some(_)) => {
            problems.say("gate.policy.static", "is only read with `engine: static`");
            DispatchRules::deny_all()
        }
        (DispatchEngine::PermitAll, None) => DispatchRules::permit_all(),
        (DispatchEngine::DenyAll, None) => DispatchRules::deny_all(),
    }
}

/// The few that open nothing.
fn usual() -> Vec<GateProvider> {
    let allowlist = BTreeSet::from([DEPLOY_ENV.to_owned()]);
    let environment = EvidenceSource::Environment { allowlist, denylist: BTreeSet::new(), overrides: None };
    let sources =
        [("time", EvidenceSource::Time { allow_logical: true }), ("env", environment), ("adp", EvidenceSource::Adp)];
    let provider = |(name, source): (&str, _)| GateProvider { name: name.into(), source, keys: None, allow_raw: false };
    sources.map(provider).into()
}

fn providers(
    written: Vec<WrittenProvider>,
    default_trust: &TrustPolicy,
    base: &Path,
    problems: &mut Problems,
) -> Vec<GateProvider> {
    let mut sound: Vec<GateProvider> = Vec::new();
    for (place, provider) in written.into_iter().enumerate() {
        let at = format!("gate.providers[{place}]");
        if provider.name.trim().is_empty() || provider.name.chars().any(char::is_control) {
            problems.say(format!("{at}.name"), "must not be empty");
            continue;
        }
        if sound.iter().any(|other| other.name == provider.name) {
            problems.say(format!("{at}.name"), format!("`{}` is there twice", provider.name));
            continue;
        }
        let keys = keys(provider.trust.as_ref().unwrap_or(default_trust), base);
        let (name, allow_raw) = (provider.name.clone(), provider.allow_raw.unwrap_or(false));
        let source = match provider.source {
            Some(ProviderSource::Mcp) => server(provider, &at, base, problems),
            Some(ProviderSource::Builtin) | None => built_in(provider, &at, base, problems),
        };
        sound.extend(source.map(|source| GateProvider { name, source, keys, allow_raw }));
    }
    sound
}

fn keys(trust: &TrustPolicy, base: &Path) -> Option<BTreeMap<String, PathBuf>> {
    match trust {
        TrustPolicy::Audit => None,
        TrustPolicy::RequireSignature { keys } => {
            Some(keys.iter().map(|(id, file)| (id.clone(), base.join(file))).collect())
        }
    }
}

/// A foreign provider has five seconds, unless the operator gives it more.
const PATIENCE: Count = Count(5);

fn server(written: WrittenProvider, at: &str, base: &Path, problems: &mut Problems) -> Option<EvidenceSource> {
    for (key, _) in written.config.written() {
        problems.say(format!("{at}.config.{key}"), "is not for this kind of provider");
    }
    let namespace = match written.name.parse::<Namespace>() {
        Ok(namespace) => namespace,
        Err(error) => {
            problems.say(format!("{at}.name"), error.to_string());
            return None;
        }
    };
    let Some(capabilities) = written.capabilities else {
        problems.say(format!("{at}.capabilities"), "is missing: a file of what the server can be asked");
        return None;
    };
    let upstream = WrittenUpstream {
        url: written.url,
        headers: written.headers,
        command: written.command,
        args: written.args,
        env: written.env,
        timeout_seconds: written.timeout_seconds.or(Some(PATIENCE)),
        ..WrittenUpstream::default()
    };
    Some(EvidenceSource::Server {
        namespace,
        upstream: Box::new(asked_server(upstream, at, base, problems)?),
        capabilities: base.join(capabilities),
        newer: written.dialect == Some(ProviderDialect::Newer),
    })
}

fn built_in(provider: WrittenProvider, at: &str, base: &Path, problems: &mut Problems) -> Option<EvidenceSource> {
    let strays = [
        ("url", provider.url.is_some()),
        ("headers", !provider.headers.is_empty()),
        ("command", provider.command.is_some()),
        ("args", !provider.args.is_empty()),
        ("env", !provider.env.is_empty()),
        ("timeout_seconds", provider.timeout_seconds.is_some()),
        ("capabilities", provider.capabilities.is_some()),
        ("dialect", provider.dialect.is_some()),
    ];
    for (key, _) in strays.iter().filter(|(_, there)| *there) {
        problems.say(format!("{at}.{key}"), "only means something with `type: mcp`");
    }
    let named = match provider.name.as_str() {
        "time" => Some(ProviderKind::Time),
        "env" => Some(ProviderKind::Env),
        "json" => Some(ProviderKind::Json),
        "http" => Some(ProviderKind::Http),
        "adp" => Some(ProviderKind::Adp),
        _ => None,
    };
    let Some(kind) = provider.kind.or(named) else {
        let what = format!("`{}` is none of time, env, json, http, adp: say which with `kind`", provider.name);
        problems.say(format!("{at}.kind"), what);
        return None;
    };
    source(kind, provider.config, at, base, problems)
}

fn source(
    kind: ProviderKind,
    written: WrittenProviderConfig,
    at: &str,
    base: &Path,
    problems: &mut Problems,
) -> Option<EvidenceSource> {
    for (key, _) in written.written().filter(|(_, of)| *of != kind) {
        problems.say(format!("{at}.config.{key}"), "is not for this kind of provider");
    }
    let set = |texts: Option<Vec<String>>| texts.map(|texts| texts.into_iter().collect::<BTreeSet<_>>());
    Some(match kind {
        ProviderKind::Time => EvidenceSource::Time { allow_logical: written.allow_logical.unwrap_or(true) },
        ProviderKind::Env => EvidenceSource::Environment {
            allowlist: set(written.allowlist).unwrap_or_else(|| BTreeSet::from([DEPLOY_ENV.to_owned()])),
            denylist: set(written.denylist).unwrap_or_default(),
            overrides: written.overrides,
        },
        ProviderKind::Json => {
            let Some(root) = written.root else {
                problems.say(format!("{at}.config.root"), "is missing: files are only read below it");
                return None;
            };
            EvidenceSource::Files {
                root: base.join(root),
                root_id: written.root_id.unwrap_or_else(|| "evidence-root".into()),
                max_bytes: size(written.max_bytes, &format!("{at}.config.max_bytes"), problems),
                allow_yaml: written.allow_yaml.unwrap_or(true),
            }
        }
        ProviderKind::Http => {
            let millis = written.timeout_ms.map_or(5000, |count| count.0);
            if !(1..=60_000).contains(&millis) {
                problems.say(format!("{at}.config.timeout_ms"), format!("is {millis}, must be between 1 and 60000"));
            }
            let most = size(written.max_response_bytes, &format!("{at}.config.max_response_bytes"), problems);
            EvidenceSource::Web {
                allowed_hosts: set(written.allowed_hosts).unwrap_or_default(),
                allow_http: written.allow_http.unwrap_or(false),
                timeout: Duration::from_millis(millis),
                max_response_bytes: usize::try_from(most).unwrap_or(usize::MAX),
            }
        }
        ProviderKind::Adp => EvidenceSource::Adp,
    })
}

fn size(written: Option<Size>, path: &str, problems: &mut Problems) -> u64 {
    let size = written.map_or(1 << 20, |size| size.0);
    if !(1..=LARGEST).contains(&size) {
        problems.say(path, format!("is {size}, must be between 1 and {LARGEST}"));
    }
    size
}
