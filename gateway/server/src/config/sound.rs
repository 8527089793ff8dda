//! From the written configuration to the sound one: defaults, paths, and every check of what the values mean.
//!
//! A check that fails tells its problem and goes on with the default, so that the next one is heard as well.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gateway_core::AgentId;
use tracing_subscriber::EnvFilter;

use super::environment::Lookup;
use super::numbers::{Count, Size};
use super::problem::Problems;
use super::sound_built_in::{llm, supabase};
use super::sound_decision::{approvals, pins_recheck};
use super::sound_gate::gate;
use super::sound_telemetry::otlp;
use super::sound_upstreams::{separator, upstreams};
use super::written::{
    WrittenAudit, WrittenConfig, WrittenIdentity, WrittenLimits, WrittenListen, WrittenLog, WrittenTls,
};
use super::{Audit, Cluster, Config, Identity, Limits, Listen, Log, Oidc, Runs, Secret, Tls};

const STORE: &str = "sqlite://data/portreeve.db";

pub fn config(written: WrittenConfig, file: Option<&Path>, lookup: Lookup<'_>, problems: &mut Problems) -> Config {
    let base = file.and_then(Path::parent).unwrap_or(Path::new(""));
    let listen = listen(written.listen, base, problems);
    let cluster = Cluster {
        advertise: base_url(written.cluster.advertise, "cluster.advertise", problems),
        ca: written.cluster.ca.map(|file| base.join(file)),
    };
    let store = store_url(written.store.url.as_deref().unwrap_or(STORE), base, problems);
    let audit = audit(written.audit, &store, base, problems);
    let gate = gate(written.gate, &store, base, problems);
    let tool_separator = separator(written.tool_separator, problems);
    let upstreams =
        upstreams(written.upstreams, &tool_separator, listen.mcp.ip().is_loopback(), (base, lookup), problems);
    let replaced = upstreams.keys().any(|namespace| namespace.as_str() == gateway_tools::supabase::NAMESPACE);
    Config {
        file: file.map(Path::to_owned),
        cluster,
        upstreams,
        supabase: supabase(written.built_in.supabase, replaced, base, lookup, problems),
        llm: llm(written.llm, problems),
        store: Secret::new(store),
        shared_state: shared_state(written.shared_state.url, problems),
        policies: written.policies.map(|dir| base.join(dir)),
        candidate: written.candidate.map(|dir| base.join(dir)),
        pins_recheck: pins_recheck(&written.pins, problems),
        approvals: approvals(written.approvals, problems),
        gate,
        identity: identity(written.identity, listen.mcp, problems),
        audit,
        limits: limits(&written.limits, problems),
        tool_separator,
        on_denied: written.on_denied.unwrap_or_default(),
        explain_to_caller: written.explain_to_caller.unwrap_or(true),
        otlp: otlp(written.telemetry, problems),
        log: log(written.log, problems),
        listen,
    }
}

fn listen(written: WrittenListen, base: &Path, problems: &mut Problems) -> Listen {
    let mcp = address(written.mcp, "listen.mcp", 8080, problems);
    let console = address(written.console, "listen.console", 8081, problems);
    if mcp == console && mcp.port() != 0 {
        problems.say("listen.console", format!("is {mcp}, which `listen.mcp` already uses"));
    }
    for (place, host) in written.hosts.iter().enumerate() {
        if host.is_empty() || host.contains(['/', ' ', '*']) {
            problems.say(format!("listen.hosts[{place}]"), format!("`{host}` is not a host name"));
        }
    }
    for (place, origin) in written.origins.iter().enumerate() {
        if !is_origin(origin) {
            let what = format!(
                "`{origin}` is not an origin: expected `https://host` or `https://host:port`, nothing after it"
            );
            problems.say(format!("listen.origins[{place}]"), what);
        }
    }
    let lower = |texts: Vec<String>| texts.into_iter().map(|text| text.to_ascii_lowercase()).collect();
    Listen {
        mcp,
        console,
        tls: written.tls.map(|tls| tls_files(tls, base)),
        hosts: lower(written.hosts),
        origins: lower(written.origins),
        public_url: base_url(written.public_url, "listen.public_url", problems),
    }
}

/// A URL that paths are put behind: whatever else it holds would end up in the middle of them.
pub fn base_url(written: Option<String>, path: &str, problems: &mut Problems) -> Option<String> {
    let text = written?;
    let good = |uri: &http::Uri| {
        let plain = uri.authority().is_some_and(|authority| !authority.as_str().contains('@'));
        matches!(uri.scheme_str(), Some("http" | "https")) && plain && uri.query().is_none()
    };
    if text.contains('#') || !text.parse().is_ok_and(|uri| good(&uri)) {
        problems.say(path, "is not a plain URL: expected `https://host` or `https://host:port/path`");
        return None;
    }
    Some(text.trim_end_matches('/').to_owned())
}

fn address(written: Option<String>, path: &str, usual_port: u16, problems: &mut Problems) -> SocketAddr {
    let usual = SocketAddr::from(([127, 0, 0, 1], usual_port));
    let Some(text) = written else { return usual };
    text.parse().unwrap_or_else(|_| {
        problems.say(path, format!("`{text}` is not an address: expected `IP:PORT` such as `{usual}`"));
        usual
    })
}

fn is_origin(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")) else {
        return false;
    };
    !rest.is_empty() && !rest.contains(['/', '?', '#', '@', ' ', '*']) && text.parse::<http::Uri>().is_ok()
}

fn tls_files(written: WrittenTls, base: &Path) -> Tls {
    Tls {
        cert: base.join(written.cert),
        key: base.join(written.key),
        client_ca: written.client_ca.map(|file| base.join(file)),
    }
}

fn store_url(text: &str, base: &Path, problems: &mut Problems) -> String {
    if text.starts_with("postgres://") || text.starts_with("postgresql://") {
        return text.to_owned();
    }
    let Some(rest) = text.strip_prefix("sqlite:") else {
        problems.say("store.url", "expected `sqlite://FILE` or `postgres://user:password@host/db`");
        return STORE.to_owned();
    };
    let file = rest.strip_prefix("//").unwrap_or(rest);
    match file {
        "" => problems.say("store.url", "names no file: expected `sqlite://FILE`"),
        ":memory:" => problems.say("store.url", "must name a file: what is kept in memory is no record"),
        _ if file.contains('?') => problems.say("store.url", "names a file with options; `sqlite://FILE` takes none"),
        _ => return format!("sqlite://{}", base.join(file).display()),
    }
    STORE.to_owned()
}

fn shared_state(url: Option<String>, problems: &mut Problems) -> Option<Secret> {
    let url = url?;
    if !url.starts_with("redis://") && !url.starts_with("rediss://") {
        problems.say("shared_state.url", "expected `redis://HOST:PORT`");
    }
    Some(Secret::new(url))
}

fn identity(written: WrittenIdentity, mcp: SocketAddr, problems: &mut Problems) -> Identity {
    let named = written.anonymous.filter(|text| text != "deny");
    let anonymous = named.and_then(|text| match text.parse::<AgentId>() {
        Ok(_) if !mcp.ip().is_loopback() => {
            let what = format!("must be `deny`, because `listen.mcp` is {mcp}: only a loopback listener may let callers in without credentials");
            problems.say("identity.anonymous", what);
            None
        }
        Ok(agent) => Some(agent),
        Err(error) => {
            problems.say("identity.anonymous", format!("{error}; or `deny`"));
            None
        }
    });
    for (place, oidc) in written.oidc.iter().enumerate() {
        let issuer: Option<http::Uri> = oidc.issuer.parse().ok();
        let secure = |uri: &http::Uri| uri.scheme_str() == Some("https") || uri.host().is_some_and(is_loopback);
        if !issuer.is_some_and(|uri| uri.host().is_some() && secure(&uri)) {
            problems
                .say(format!("identity.oidc[{place}].issuer"), format!("`{}` is not an `https://` URL", oidc.issuer));
        }
        if oidc.audience.is_empty() {
            problems.say(format!("identity.oidc[{place}].audience"), "must not be empty");
        }
    }
    let oidc = written.oidc.into_iter().map(|oidc| Oidc { issuer: oidc.issuer, audience: oidc.audience }).collect();
    Identity { anonymous, oidc }
}

/// This machine and nobody else, as far as a name can promise it.
pub fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// More would take too long to replay.
const MOST_SPOOLED: u64 = 64 << 20;

fn audit(written: WrittenAudit, store: &str, base: &Path, problems: &mut Problems) -> Audit {
    let beside_store = || {
        let dir = store.strip_prefix("sqlite://").and_then(|file| Path::new(file).parent()).map(Path::to_owned);
        dir.map_or_else(|| base.join("data/spool"), |dir: PathBuf| dir.join("spool"))
    };
    let spool = written.spool.map(|dir| base.join(dir)).unwrap_or_else(beside_store);
    let spool_bytes = written.spool_bytes.map_or(MOST_SPOOLED, |size| size.0);
    if spool_bytes > MOST_SPOOLED {
        problems.say("audit.spool_bytes", "must be at most 64MiB");
    }
    Audit { wait: written.wait.unwrap_or_default(), spool, spool_bytes }
}

fn limits(written: &WrittenLimits, problems: &mut Problems) -> Limits {
    let seconds = |value: Option<Count>, key: &str, usual: u64, problems: &mut Problems| {
        Duration::from_secs(within(value.map(|count| count.0), key, usual, 1..=86_400, problems))
    };
    let bytes = |value: Option<Size>, key: &str, usual: u64, most: u64, problems: &mut Problems| {
        within(value.map(|size| size.0), key, usual, 1024..=most, problems) as usize
    };
    let count = |value: Option<Count>, key: &str, usual: u64, most: u64, problems: &mut Problems| {
        within(value.map(|count| count.0), key, usual, 1..=most, problems)
    };
    let per_minute = within(
        written.agent_per_minute.map(|count| count.0),
        "agent_per_minute",
        100,
        0..=u64::from(u32::MAX),
        problems,
    );
    Limits {
        body_bytes: bytes(written.body_bytes, "body_bytes", 4 << 20, 1 << 30, problems),
        header_bytes: bytes(written.header_bytes, "header_bytes", 10 << 10, 1 << 20, problems),
        depth: within(written.depth.map(|count| count.0), "depth", 128, 8..=512, problems) as usize,
        header_time: seconds(written.header_seconds, "header_seconds", 10, problems),
        body_time: seconds(written.body_seconds, "body_seconds", 30, problems),
        idle_time: seconds(written.idle_seconds, "idle_seconds", 60, problems),
        agent_per_minute: u32::try_from(per_minute).ok().and_then(NonZeroU32::new),
        hold_time: Duration::from_secs(count(written.hold_seconds, "hold_seconds", 300, 3600, problems)),
        held_calls: count(written.held_calls, "held_calls", 16, 1000, problems) as usize,
        call_time: seconds(written.call_seconds, "call_seconds", 3600, problems),
        streams: count(written.streams, "streams", 64, 100_000, problems) as usize,
        pending_approvals: count(written.pending_approvals, "pending_approvals", 100, 100_000, problems) as usize,
        runs: Runs {
            longest: seconds(written.run_seconds, "run_seconds", 600, problems),
            at_once: count(written.runs, "runs", 4, 1000, problems) as usize,
            tools: count(written.run_tools, "run_tools", 2000, 10_000, problems) as usize,
            parallel_tools: count(written.parallel_tools, "parallel_tools", 64, 1000, problems) as usize,
            result_bytes: bytes(written.result_bytes, "result_bytes", 256 << 10, 16 << 20, problems),
            deliverable_bytes: bytes(written.deliverable_bytes, "deliverable_bytes", 4 << 20, 64 << 20, problems),
        },
    }
}

fn within(
    value: Option<u64>,
    key: &str,
    usual: u64,
    range: std::ops::RangeInclusive<u64>,
    problems: &mut Problems,
) -> u64 {
    let value = value.unwrap_or(usual);
    if range.contains(&value) {
        return value;
    }
    problems.say(format!("limits.{key}"), format!("is {value}, must be between {} and {}", range.start(), range.end()));
    usual
}

fn log(written: WrittenLog, problems: &mut Problems) -> Log {
    let level = written.level.unwrap_or_else(|| "info".into());
    let plain = ["off", "error", "warn", "info", "debug", "trace"].contains(&level.as_str());
    // A lone word that is no level would be taken for the name of a module, and silence everything else.
    if !plain && (!level.contains('=') || EnvFilter::try_new(&level).is_err()) {
        let what = format!(
            "`{level}` is not a level: expected error, warn, info, debug, trace, or a list such as `info,portreeve=debug`"
        );
        problems.say("log.level", what);
    }
    Log { level, json: written.json.unwrap_or(false) }
}
