//! The `upstreams` section and the separator that keeps their names apart.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use gateway_core::Namespace;
use gateway_protocol::Revision;
use gateway_upstream::{CacheRule, Protocol};
use http::{HeaderName, HeaderValue, Uri};

use super::environment::Lookup;
use super::problem::Problems;
use super::sound::is_loopback;
use super::written::{Unclassified, WrittenCache, WrittenProtocol, WrittenUpstream};
use super::{BUILT_IN, HttpKind, Pinning, Secret, Transport, UpstreamConfig};

const SEPARATOR: &str = "__";
const TIMEOUT_SECONDS: u64 = 60;

pub fn separator(written: Option<String>, problems: &mut Problems) -> String {
    let Some(text) = written else { return SEPARATOR.into() };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    if !(1..=3).contains(&text.len()) || !text.chars().all(plain) {
        problems.say("tool_separator", format!("`{text}` must be 1 to 3 letters, digits, `_`, `.` or `-`"));
        return SEPARATOR.into();
    }
    if let Some(name) = BUILT_IN.iter().find(|name| !splits_cleanly(name, &text)) {
        problems.say("tool_separator", format!("`{text}` cannot be told apart from the built-in namespace `{name}`"));
    }
    text
}

/// Whether `namespace` + separator is split again where it was joined, whatever tool follows.
fn splits_cleanly(namespace: &str, separator: &str) -> bool {
    format!("{namespace}{separator}").find(separator) == Some(namespace.len())
}

pub fn upstreams(
    written: BTreeMap<String, WrittenUpstream>,
    separator: &str,
    listens_on_loopback: bool,
    (base, lookup): (&Path, Lookup<'_>),
    problems: &mut Problems,
) -> BTreeMap<Namespace, UpstreamConfig> {
    let mut sound = BTreeMap::new();
    for (name, upstream) in written {
        let path = format!("upstreams.{name}");
        let namespace = match name.parse::<Namespace>() {
            Ok(namespace) => namespace,
            Err(error) => {
                problems.say(path, error.to_string());
                continue;
            }
        };
        if BUILT_IN.contains(&name.as_str()) {
            problems.say(path.as_str(), "is the namespace of built-in tools; choose another name");
        } else if !splits_cleanly(&name, separator) {
            problems.say(path.as_str(), format!("runs into the tool separator `{separator}`; choose another name"));
        }
        let timeout = timeout(&upstream, &path, problems);
        let protocol = upstream.protocol.map(protocol).unwrap_or_default();
        let cache = cache(upstream.cache.as_ref(), &path, problems);
        let (pins, trusted) = (upstream.pins.unwrap_or_default(), upstream.trusted.unwrap_or(false));
        let lacks = lacking(&upstream.required_env, &path, lookup, problems);
        let observe = upstream.unclassified == Some(Unclassified::Observe);
        let Some(transport) = transport(upstream, &path, base, problems) else { continue };
        if observe {
            allow_observing(&transport, listens_on_loopback, &path, problems);
        }
        let config =
            UpstreamConfig { transport, observe_unclassified: observe, timeout, protocol, cache, pins, trusted, lacks };
        sound.insert(namespace, config);
    }
    sound
}

/// A server that is only asked for evidence: nobody is shown its tools, so there is nothing of it to pin or to observe.
pub fn asked_server(
    written: WrittenUpstream,
    path: &str,
    base: &Path,
    problems: &mut Problems,
) -> Option<UpstreamConfig> {
    let timeout = timeout(&written, path, problems);
    let transport = transport(written, path, base, problems)?;
    let (protocol, pins) = (Protocol::default(), Pinning::Off);
    Some(UpstreamConfig {
        transport,
        observe_unclassified: false,
        timeout,
        protocol,
        cache: None,
        pins,
        trusted: false,
        lacks: Vec::new(),
    })
}

/// Nothing set is as good as nothing there: servers take an empty token for one that is missing.
fn lacking(required: &[String], path: &str, lookup: Lookup<'_>, problems: &mut Problems) -> Vec<String> {
    let is_name = |name: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(plain)
    };
    for (place, name) in required.iter().enumerate().filter(|(_, name)| !is_name(name)) {
        problems.say(format!("{path}.required_env[{place}]"), format!("`{name}` is not the name of a variable"));
    }
    let set = |name: &String| lookup(name).is_some_and(|value| !value.is_empty());
    required.iter().filter(|name| is_name(name) && !set(name)).cloned().collect()
}

fn timeout(upstream: &WrittenUpstream, path: &str, problems: &mut Problems) -> Duration {
    let seconds = upstream.timeout_seconds.map_or(TIMEOUT_SECONDS, |count| count.0);
    if !(1..=86_400).contains(&seconds) {
        problems.say(format!("{path}.timeout_seconds"), format!("is {seconds}, must be between 1 and 86400"));
    }
    Duration::from_secs(seconds)
}

fn protocol(written: WrittenProtocol) -> Protocol {
    match written {
        WrittenProtocol::Auto => Protocol::Auto,
        WrittenProtocol::Modern | WrittenProtocol::V2026_07_28 => Protocol::Modern,
        WrittenProtocol::Legacy => Protocol::Legacy(None),
        WrittenProtocol::V2024_11_05 => Protocol::Legacy(Some(Revision::V2024_11_05)),
        WrittenProtocol::V2025_03_26 => Protocol::Legacy(Some(Revision::V2025_03_26)),
        WrittenProtocol::V2025_06_18 => Protocol::Legacy(Some(Revision::V2025_06_18)),
        WrittenProtocol::V2025_11_25 => Protocol::Legacy(Some(Revision::V2025_11_25)),
    }
}

fn cache(written: Option<&WrittenCache>, path: &str, problems: &mut Problems) -> Option<CacheRule> {
    let written = written?;
    let seconds = written.seconds.map(|count| count.0);
    if let Some(seconds) = seconds.filter(|seconds| *seconds > 86_400) {
        problems.say(format!("{path}.cache.seconds"), format!("is {seconds}, must be between 0 and 86400"));
    }
    Some(CacheRule { lifetime: seconds.map(Duration::from_secs), shared: written.shared.unwrap_or(false) })
}

/// Unknown tools may be watched where nobody else can reach them; anywhere else it would be an open door.
fn allow_observing(transport: &Transport, listens_on_loopback: bool, path: &str, problems: &mut Problems) {
    let near = match transport {
        Transport::Http { url, .. } => url.parse::<Uri>().is_ok_and(|uri| uri.host().is_some_and(is_loopback)),
        Transport::Stdio { .. } => true,
    };
    let why = match (near, listens_on_loopback) {
        (true, true) => return,
        (false, _) => "this upstream is not on a loopback address",
        (true, false) => "`listen.mcp` is not a loopback address",
    };
    problems.say(format!("{path}.unclassified"), format!("must be `deny`: {why}"));
}

fn transport(written: WrittenUpstream, path: &str, base: &Path, problems: &mut Problems) -> Option<Transport> {
    match (written.url.is_some(), written.command.is_some()) {
        (true, true) => {
            problems.say(path, "has both `url` and `command`; an upstream is one or the other");
            None
        }
        (false, false) => {
            problems.say(path, "needs `url` (a server) or `command` (a program)");
            None
        }
        (true, false) => {
            let strays = [
                ("args", !written.args.is_empty()),
                ("env", !written.env.is_empty()),
                ("cwd", written.cwd.is_some()),
                ("sharing", written.sharing.is_some()),
            ];
            refuse_strays(&strays, "command", path, problems);
            let url = written.url.unwrap_or_default();
            check_url(&url, path, problems);
            let kind = written.transport.unwrap_or_default();
            // The older transport is older than the stateless era.
            let modern = [Some(WrittenProtocol::Modern), Some(WrittenProtocol::V2026_07_28)];
            if kind == HttpKind::Sse && modern.contains(&written.protocol) {
                problems.say(format!("{path}.transport"), "`sse` never carried the `protocol` that is set");
            }
            Some(Transport::Http { url, headers: headers(written.headers, path, problems), kind })
        }
        (false, true) => {
            let strays = [("headers", !written.headers.is_empty()), ("transport", written.transport.is_some())];
            refuse_strays(&strays, "url", path, problems);
            let command = written.command.unwrap_or_default();
            if command.trim().is_empty() {
                problems.say(format!("{path}.command"), "must not be empty");
            }
            for name in written.env.keys().filter(|name| name.is_empty() || name.contains(['=', '\0'])) {
                problems.say(format!("{path}.env"), format!("`{name}` is not a name for a variable"));
            }
            Some(Transport::Stdio {
                // A path is relative to the file; a bare name is looked up as a shell would.
                command: if command.contains('/') { base.join(&command).display().to_string() } else { command },
                args: written.args,
                env: written.env.into_iter().map(|(name, value)| (name, Secret::new(value))).collect(),
                cwd: written.cwd.map(|dir| base.join(dir)),
                sharing: written.sharing.unwrap_or_default(),
            })
        }
    }
}

fn refuse_strays(keys: &[(&str, bool)], belongs_to: &str, path: &str, problems: &mut Problems) {
    for (key, _) in keys.iter().filter(|(_, present)| *present) {
        problems.say(format!("{path}.{key}"), format!("only means something beside `{belongs_to}`"));
    }
}

fn check_url(url: &str, path: &str, problems: &mut Problems) {
    let path = format!("{path}.url");
    // The text itself is not repeated: it may hold a key.
    let Some(uri) = url.parse::<Uri>().ok().filter(|uri| uri.host().is_some()) else {
        return problems.say(path, "is not a URL: expected `https://host/path`");
    };
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return problems.say(path, "must start with `http://` or `https://`");
    }
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        problems.say(path, "must not hold a user name or password; send them in `headers`");
    }
}

pub fn headers(written: BTreeMap<String, String>, path: &str, problems: &mut Problems) -> BTreeMap<String, Secret> {
    // Set by the gateway for each request, or meaningless once a message is written anew.
    const OURS: [&str; 9] = [
        "host",
        "content-length",
        "content-type",
        "accept",
        "connection",
        "transfer-encoding",
        "mcp-session-id",
        "mcp-protocol-version",
        "te",
    ];
    let mut sound = BTreeMap::new();
    for (name, value) in written {
        let path = format!("{path}.headers.{name}");
        if HeaderName::from_bytes(name.as_bytes()).is_err() {
            problems.say(path, "is not a header name");
        } else if OURS.contains(&name.to_ascii_lowercase().as_str()) {
            problems.say(path, "is set by the gateway itself");
        } else if HeaderValue::from_str(&value).is_err() {
            problems.say(path, "holds characters that a header may not");
        } else {
            sound.insert(name.to_ascii_lowercase(), Secret::new(value));
        }
    }
    sound
}
