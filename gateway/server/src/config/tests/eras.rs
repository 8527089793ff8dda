//! What a configuration says of nodes, of the eras and transports of upstreams, and of calls that wait.

use super::*;

#[test]
fn each_problem_is_told_at_its_path() {
    for (text, expected) in [
        ("limits: { hold_seconds: 3601 }", "limits.hold_seconds: is 3601, must be between 1 and 3600"),
        ("limits: { held_calls: 0 }", "limits.held_calls: is 0, must be between 1 and 1000"),
        ("limits: { call_seconds: 0 }", "limits.call_seconds: is 0, must be between 1 and 86400"),
        ("limits: { streams: 0 }", "limits.streams: is 0, must be between 1 and 100000"),
        (
            "listen: { public_url: gateway.example.com }",
            "listen.public_url: is not a plain URL: expected `https://host` or `https://host:port/path`",
        ),
        (
            "cluster: { advertise: 'https://a/?b' }",
            "cluster.advertise: is not a plain URL: expected `https://host` or `https://host:port/path`",
        ),
        (
            "upstreams: { n: { url: http://a/, protocol: newest } }",
            "upstreams.n.protocol: unknown variant `newest`, expected one of `auto`, `modern`, `legacy`, `2024-11-05`, `2025-03-26`, `2025-06-18`, `2025-11-25`, `2026-07-28`",
        ),
        (
            "upstreams: { n: { command: b, transport: sse } }",
            "upstreams.n.transport: only means something beside `url`",
        ),
        (
            "upstreams: { n: { url: http://a/, transport: sse, protocol: modern } }",
            "upstreams.n.transport: `sse` never carried the `protocol` that is set",
        ),
        (
            "upstreams: { n: { url: http://a/, cache: { seconds: 86401 } } }",
            "upstreams.n.cache.seconds: is 86401, must be between 0 and 86400",
        ),
    ] {
        assert_eq!(problems_of(text), [expected], "{text}");
    }
}

#[test]
fn an_upstream_says_how_it_speaks_and_how_its_lists_are_kept() {
    let config = load(
        "upstreams:
  a: { url: http://a/ }
  b: { url: http://b/, protocol: 2025-06-18, transport: sse, cache: { seconds: 0 } }
  c: { url: http://c/, protocol: modern, transport: streamable_http, cache: { seconds: 30, shared: true } }
  d: { command: d, protocol: legacy, cache: { shared: true } }",
    )
    .unwrap();
    let kept = |seconds: Option<u64>, shared| Some(CacheRule { lifetime: seconds.map(Duration::from_secs), shared });
    let expected = [
        ("a", Protocol::Auto, Some(HttpKind::Auto), None),
        (
            "b",
            Protocol::Legacy(Some(gateway_protocol::Revision::V2025_06_18)),
            Some(HttpKind::Sse),
            kept(Some(0), false),
        ),
        ("c", Protocol::Modern, Some(HttpKind::StreamableHttp), kept(Some(30), true)),
        ("d", Protocol::Legacy(None), None, kept(None, true)),
    ];
    for (name, protocol, kind, cache) in expected {
        let upstream = config.upstreams.get(&name.parse::<Namespace>().unwrap()).unwrap();
        let spoken = match &upstream.transport {
            Transport::Http { kind, .. } => Some(*kind),
            Transport::Stdio { .. } => None,
        };
        assert_eq!((upstream.protocol, spoken, upstream.cache), (protocol, kind, cache), "{name}");
    }
}

#[test]
fn a_node_knows_its_names() {
    let config = load("listen: { public_url: 'https://g.example.com/reeve/' }\ncluster: { advertise: 'http://10.0.0.7:8080', ca: ca.pem }").unwrap();
    assert_eq!(config.listen.public_url.as_deref(), Some("https://g.example.com/reeve"), "no slash at its end");
    let cluster = Cluster { advertise: Some("http://10.0.0.7:8080".into()), ca: Some("conf/ca.pem".into()) };
    assert_eq!(config.cluster, cluster);
    assert_eq!(config.missing_files().len(), 1);
    let usual = load("").unwrap();
    assert_eq!((usual.listen.public_url, usual.cluster), (None, Cluster::default()));
    let limits = usual.limits;
    assert_eq!((limits.hold_time.as_secs(), limits.held_calls), (300, 16));
    assert_eq!((limits.call_time.as_secs(), limits.streams), (3600, 64));
}
