//! Whole configurations: defaults, every kind of problem, and what must stay hidden.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod eras;
mod gate;

use std::path::Path;

use super::*;

fn environment(name: &str) -> Option<String> {
    let known = [
        ("TOKEN", "t0p-secret"),
        ("PORTREEVE_DATABASE_URL", "postgres://reeve:t0p-secret@db/portreeve"),
        ("CRM_TOKEN", "t0p-secret"),
        ("MAIL_TOKEN", "t0p-secret"),
        ("RATE", "7"),
    ];
    known.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
}

fn load(text: &str) -> Result<Config, Vec<Problem>> {
    Config::parse(text, Some(Path::new("conf/p.yaml")), &environment)
}

fn problems_of(text: &str) -> Vec<String> {
    let found = load(text).err().unwrap_or_default();
    found.iter().map(|problem| problem.to_string().replace("conf/p.yaml: ", "")).collect()
}

#[test]
fn an_empty_file_is_the_default() {
    let config = load("").unwrap();
    assert_eq!(config.listen.mcp.to_string(), "127.0.0.1:8080");
    assert_eq!(config.listen.console.to_string(), "127.0.0.1:8081");
    assert_eq!(config.store.reveal(), "sqlite://conf/data/portreeve.db", "relative to the file");
    assert_eq!(
        config.audit,
        Audit { wait: AuditWait::SideEffects, spool: "conf/data/spool".into(), spool_bytes: 64 << 20 }
    );
    assert_eq!((config.limits.body_bytes, config.limits.header_bytes, config.limits.depth), (4 << 20, 10 << 10, 128));
    assert_eq!(config.limits.agent_per_minute.map(std::num::NonZeroU32::get), Some(100));
    assert_eq!(
        (config.tool_separator.as_str(), config.on_denied, config.explain_to_caller),
        ("__", OnDenied::ToolError, true)
    );
    assert_eq!((config.policies, config.identity.anonymous, config.upstreams.len()), (None, None, 0));
}

#[test]
fn runs_of_tool_agents_are_bounded() {
    let runs = load("").unwrap().limits.runs;
    assert_eq!((runs.longest.as_secs(), runs.at_once, runs.tools, runs.parallel_tools), (600, 4, 2000, 64));
    assert_eq!((runs.result_bytes, runs.deliverable_bytes), (256 << 10, 4 << 20));
    let set = load("limits: { run_seconds: 5, runs: 1, result_bytes: 1KiB }").unwrap().limits.runs;
    assert_eq!((set.longest.as_secs(), set.at_once, set.result_bytes), (5, 1, 1024));
    assert_eq!(problems_of("limits: { runs: 0 }"), ["limits.runs: is 0, must be between 1 and 1000"]);
}

#[test]
fn the_embedded_default_says_what_the_code_assumes() {
    let embedded = Config::parse(DEFAULT, None, &environment).unwrap();
    assert_eq!(embedded, Config::parse("", None, &environment).unwrap());
    assert_eq!(embedded.store.reveal(), "sqlite://data/portreeve.db");
}

#[test]
fn every_file_in_config_loads() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config");
    let mut seen = 0;
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "yaml") {
            let text = std::fs::read_to_string(&path).unwrap();
            Config::parse(&text, Some(&path), &environment).unwrap();
            seen += 1;
        }
    }
    assert!(seen >= 2, "{seen}");
}

#[test]
fn each_problem_is_told_at_its_path() {
    for (text, expected) in [
        ("listn: {}", "listn: unknown key; did you mean `listen`?"),
        ("listen: { mpc: 1 }", "listen.mpc: unknown key; did you mean `mcp`?"),
        ("listen: { mcp: here }", "listen.mcp: `here` is not an address: expected `IP:PORT` such as `127.0.0.1:8080`"),
        ("listen: { console: 127.0.0.1:8080 }", "listen.console: is 127.0.0.1:8080, which `listen.mcp` already uses"),
        ("listen: { tls: { cert: a } }", "listen.tls.key: is missing"),
        (
            "listen: { origins: [https://a/b] }",
            "listen.origins[0]: `https://a/b` is not an origin: expected `https://host` or `https://host:port`, nothing after it",
        ),
        ("store: { url: mysql://a }", "store.url: expected `sqlite://FILE` or `postgres://user:password@host/db`"),
        (
            "store: { url: 'sqlite://p.db?mode=rwc' }",
            "store.url: names a file with options; `sqlite://FILE` takes none",
        ),
        ("store: { url: 'sqlite::memory:' }", "store.url: must name a file: what is kept in memory is no record"),
        (
            "upstreams: { adp: { url: http://127.0.0.1/ } }",
            "upstreams.adp: is the namespace of built-in tools; choose another name",
        ),
        (
            "upstreams: { a b: { url: http://127.0.0.1/ } }",
            "upstreams.a b: `a b` is not a namespace: 1 to 64 letters, digits, `-` or `_`",
        ),
        (
            "upstreams: { a__b: { url: http://127.0.0.1/ } }",
            "upstreams.a__b: runs into the tool separator `__`; choose another name",
        ),
        (
            "upstreams: { a_: { url: http://127.0.0.1/ } }",
            "upstreams.a_: runs into the tool separator `__`; choose another name",
        ),
        ("upstreams: { n: {} }", "upstreams.n: needs `url` (a server) or `command` (a program)"),
        (
            "upstreams: { n: { url: http://a/, command: b } }",
            "upstreams.n: has both `url` and `command`; an upstream is one or the other",
        ),
        ("upstreams: { n: { url: http://a/, args: [b] } }", "upstreams.n.args: only means something beside `command`"),
        ("upstreams: { n: { url: ftp://a/ } }", "upstreams.n.url: must start with `http://` or `https://`"),
        (
            "upstreams: { n: { url: https://u:p@a/ } }",
            "upstreams.n.url: must not hold a user name or password; send them in `headers`",
        ),
        (
            "upstreams: { n: { url: http://a/, headers: { Host: b } } }",
            "upstreams.n.headers.Host: is set by the gateway itself",
        ),
        (
            "upstreams: { n: { url: https://example.com/, unclassified: observe } }",
            "upstreams.n.unclassified: must be `deny`: this upstream is not on a loopback address",
        ),
        (
            "listen: { mcp: 0.0.0.0:1 }\nupstreams: { n: { command: b, unclassified: observe } }",
            "upstreams.n.unclassified: must be `deny`: `listen.mcp` is not a loopback address",
        ),
        (
            "upstreams: { n: { command: b, required_env: ['A=1'] } }",
            "upstreams.n.required_env[0]: `A=1` is not the name of a variable",
        ),
        (
            "upstreams: { n: { command: b, sharing: some } }",
            "upstreams.n.sharing: unknown variant `some`, expected `per_principal` or `shared`",
        ),
        (
            "listen: { mcp: 0.0.0.0:1 }\nidentity: { anonymous: bob }",
            "identity.anonymous: must be `deny`, because `listen.mcp` is 0.0.0.0:1: only a loopback listener may let callers in without credentials",
        ),
        (
            "identity: { oidc: [{ issuer: http://id.example.com, audience: a }] }",
            "identity.oidc[0].issuer: `http://id.example.com` is not an `https://` URL",
        ),
        (
            "limits: { body_bytes: 4MB }",
            "limits.body_bytes: `4MB` is not a size: write a number of bytes, or one with B, KiB, MiB or GiB such as `4MiB`",
        ),
        ("limits: { depth: 0 }", "limits.depth: is 0, must be between 8 and 512"),
        ("tool_separator: '::'", "tool_separator: `::` must be 1 to 3 letters, digits, `_`, `.` or `-`"),
        ("tool_separator: p", "tool_separator: `p` cannot be told apart from the built-in namespace `adp`"),
        (
            "log: { level: loud }",
            "log.level: `loud` is not a level: expected error, warn, info, debug, trace, or a list such as `info,portreeve=debug`",
        ),
        ("explain_to_caller: 'no'", "explain_to_caller: invalid type: string \"no\", expected a boolean"),
        ("store: { url: '${NOT_SET}' }", "store.url: the environment variable `NOT_SET` is not set"),
        ("limits: { depth: '${NOT_SET}' }", "limits.depth: the environment variable `NOT_SET` is not set"),
        ("- a", "expected keys with values"),
    ] {
        assert_eq!(problems_of(text), [expected], "{text}");
    }
}

#[test]
fn all_problems_are_told_at_once() {
    let told = problems_of(
        "listen: { mcp: x, colour: red }
store: { url: '${NOT_SET}' }
upstreams: { a: { urll: http://b/ }, c: { url: 3 }, d: {} }
limits: { body_bytes: lots, depth: 9999 }
on_denied: shout",
    );
    let paths: Vec<_> = told.iter().map(|told| told.split(": ").next().unwrap()).collect();
    let expected = [
        "store.url",
        "listen.colour",
        "upstreams.a.urll",
        "upstreams.c.url",
        "limits.body_bytes",
        "on_denied",
        "listen.mcp",
        "upstreams.d",
        "limits.depth",
    ];
    assert_eq!(paths, expected, "{told:#?}");
}

#[test]
fn values_come_from_the_environment_and_are_never_shown() {
    let config = load(
        "store: { url: '${PORTREEVE_DATABASE_URL}' }
shared_state: { url: 'redis://:${TOKEN}@cache:6379' }
upstreams:
  a: { url: 'https://a.example.com/mcp?key=${TOKEN}', headers: { Authorization: 'Bearer ${TOKEN}' } }
  b: { command: ./b, args: ['--token', '${TOKEN}'], env: { TOKEN: '${TOKEN}', PLAIN: '$${X}' }, unclassified: observe }
limits: { agent_per_minute: '${RATE}' }",
    )
    .unwrap();
    let shown = format!("{config:?}");
    assert!(!shown.contains("t0p-secret"), "{shown}");
    assert_eq!(config.store.reveal(), "postgres://reeve:t0p-secret@db/portreeve");
    assert_eq!(config.limits.agent_per_minute.map(std::num::NonZeroU32::get), Some(7));
    let mut upstreams = config.upstreams.values();
    let (a, b) = (upstreams.next().unwrap(), upstreams.next().unwrap());
    let Transport::Http { url, headers, .. } = &a.transport else { panic!("{a:?}") };
    assert_eq!(url, "https://a.example.com/mcp?key=t0p-secret");
    assert_eq!(headers.get("authorization").map(Secret::reveal), Some("Bearer t0p-secret"));
    let Transport::Stdio { command, args, env, .. } = &b.transport else { panic!("{b:?}") };
    assert_eq!((command.as_str(), args.last().map(String::as_str)), ("conf/./b", Some("t0p-secret")));
    assert_eq!(env.get("PLAIN").map(Secret::reveal), Some("${X}"));
    assert!(b.observe_unclassified && !a.observe_unclassified);
}

#[test]
fn a_secret_is_not_repeated_in_a_problem() {
    for text in [
        "upstreams: { a: { url: 'nonsense ${TOKEN}' } }",
        "upstreams: { b: { url: 'http://b/', headers: { x: \"${TOKEN}\\n\" } } }",
        "upstreams: { c: { url: 'http://c/', headers: '${TOKEN}' } }",
        "store: { url: '${TOKEN}' }",
        "shared_state: { url: '${TOKEN}' }",
        "limits: { depth: '${TOKEN}' }",
        "listen: { mcp: '${TOKEN}' }",
        "explain_to_caller: '${TOKEN}'",
    ] {
        let told = problems_of(text);
        assert_eq!(told.len(), 1, "{text}: {told:?}");
        assert!(told.iter().all(|told| !told.contains("t0p-secret")), "{told:?}");
    }
}

#[test]
fn paths_start_at_the_file() {
    let config = load("policies: pol\nlisten: { tls: { cert: c.pem, key: /k.pem } }\naudit: { spool: s }\nstore: { url: 'sqlite:///var/p.db' }").unwrap();
    assert_eq!(config.policies.as_deref(), Some(Path::new("conf/pol")));
    assert_eq!(config.store.reveal(), "sqlite:///var/p.db");
    assert_eq!(config.audit.spool, Path::new("conf/s"));
    assert_eq!(config.missing_files().len(), 2);
    assert_eq!(config.watched(), [Path::new("conf/p.yaml"), Path::new("conf/pol")]);
    let beside = load("store: { url: 'sqlite:///var/p.db' }").unwrap();
    assert_eq!(beside.audit.spool, Path::new("/var/spool"));
}

#[test]
fn a_file_that_is_not_there_is_a_problem() {
    let found = Config::load(Some(Path::new("/nowhere/p.yaml"))).unwrap_err();
    assert!(
        found.iter().all(|problem| problem.to_string().starts_with("/nowhere/p.yaml: cannot be read")),
        "{found:?}"
    );
}
