//! The Decision Gate's settings, checked. What is not opened here stays closed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use gateway_core::gate::dispatch::DispatchRules;
use gateway_core::gate::policies::{AnchorRule, AnchorRules, Disclosure};

use super::gate::{EvidenceSource, Gate, GateProvider};
use super::numbers::Size;
use super::problem::Problems;
use super::written::{
    DispatchEngine, ProviderKind, TrustPolicy, WrittenAnchor, WrittenDispatch, WrittenGate, WrittenProvider, WrittenProviderConfig,
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
    let sources = [
        ("time", EvidenceSource::Time { allow_logical: true }),
        ("env", environment),
        ("adp", EvidenceSource::Adp),
    ];
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
            continue;
        };
        let Some(source) = source(kind, provider.config, &at, base, problems) else { continue };
        let keys = match provider.trust.as_ref().unwrap_or(default_trust) {
            TrustPolicy::Audit => None,
            TrustPolicy::RequireSignature { keys } => {
                Some(keys.iter().map(|(id, file)| (id.clone(), base.join(file))).collect::<BTreeMap<_, _>>())
            }
        };
        sound.push(GateProvider { name: provider.name, source, keys, allow_raw: provider.allow_raw.unwrap_or(false) });
    }
    sound
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
