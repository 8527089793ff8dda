//! Which Host and Origin a request may carry: the defence against pages that reach a local gateway through DNS tricks.

use std::net::{IpAddr, SocketAddr};

/// Header checks for one listener.
#[derive(Debug, Clone)]
pub struct Admission {
    listener: SocketAddr,
    hosts: Vec<String>,
    /// What the other nodes call this one.
    advertised: Option<String>,
    origins: Vec<String>,
}

impl Admission {
    /// `hosts` and `origins` are what the operator allows beside the listener's own names.
    pub fn new(listener: SocketAddr, hosts: Vec<String>, origins: Vec<String>) -> Self {
        Self { listener, hosts, advertised: None, origins }
    }

    /// Peers that carry a request here name this address, whatever clients may call the gateway.
    pub fn for_peers(self, advertised: Option<&str>) -> Self {
        let authority = advertised.and_then(|url| url.split_once("://")).map(|(_, rest)| rest);
        let host = authority.and_then(|rest| rest.split('/').next()).map(|authority| host_name(authority).to_owned());
        Self { advertised: host, ..self }
    }

    /// A loopback listener answers only to loopback names; one that faces a network answers to any name unless the
    /// operator listed them.
    pub fn host_allowed(&self, host: Option<&str>) -> bool {
        let Some(name) = host.map(host_name) else {
            return false;
        };
        let own = self.listener.ip();
        let local = own.is_loopback() && is_loopback_name(name);
        let listed = || self.hosts.iter().chain(&self.advertised).any(|listed| listed.eq_ignore_ascii_case(name));
        local || listed() || name.parse() == Ok(own) || (self.hosts.is_empty() && !own.is_loopback())
    }

    /// No Origin: not a browser. An Origin must be listed, or name the host that the request itself names.
    pub fn origin_allowed(&self, origin: Option<&str>, host: Option<&str>) -> bool {
        let Some(origin) = origin else {
            return true;
        };
        let origin = origin.to_ascii_lowercase();
        if self.origins.contains(&origin) {
            return true;
        }
        let Some(authority) = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://")) else {
            return false;
        };
        if is_loopback_name(host_name(authority)) && self.listener.ip().is_loopback() {
            return true;
        }
        !self.listener.ip().is_loopback() && host.is_some_and(|host| host.eq_ignore_ascii_case(authority))
    }
}

/// Without the port and without the brackets of an IPv6 address.
fn host_name(authority: &str) -> &str {
    let authority = authority.trim();
    if let Some(rest) = authority.strip_prefix('[') {
        return rest.split(']').next().unwrap_or_default();
    }
    match authority.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => authority,
    }
}

fn is_loopback_name(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn peers_are_let_in_by_the_name_they_were_told() {
        let advertised = Some("https://node-a.internal:8443/reeve");
        for listener in ["127.0.0.1:8080", "10.0.0.7:8080"] {
            let strict = Admission::new(listener.parse().unwrap(), vec!["gate.example".into()], vec![]);
            assert!(!strict.host_allowed(Some("node-a.internal:8443")));
            let admission = strict.for_peers(advertised);
            assert!(
                admission.host_allowed(Some("node-a.internal:8443")) && admission.host_allowed(Some("gate.example"))
            );
            assert!(!admission.host_allowed(Some("node-b.internal:8443")));
        }
        let open = Admission::new("10.0.0.7:8080".parse().unwrap(), vec![], vec![]).for_peers(advertised);
        assert!(open.host_allowed(Some("any.example")), "it lists nothing for clients");
    }

    #[test]
    fn a_loopback_listener_answers_to_loopback_names_only() {
        let admission = Admission::new("127.0.0.1:8080".parse().unwrap(), vec!["gate.example".into()], vec![]);
        for (host, allowed) in [
            (Some("127.0.0.1:8080"), true),
            (Some("localhost"), true),
            (Some("LOCALHOST:8080"), true),
            (Some("[::1]:8080"), true),
            (Some("gate.example"), true),
            (Some("evil.example:8080"), false),
            (Some("localhost.evil.example"), false),
            (None, false),
        ] {
            assert_eq!(admission.host_allowed(host), allowed, "{host:?}");
        }
    }

    #[test]
    fn origins_are_our_own_or_listed() {
        let local = Admission::new("127.0.0.1:8080".parse().unwrap(), vec![], vec!["https://app.example".into()]);
        for (origin, allowed) in [
            (None, true),
            (Some("http://localhost:3000"), true),
            (Some("https://app.example"), true),
            (Some("https://evil.example"), false),
            (Some("null"), false),
        ] {
            assert_eq!(local.origin_allowed(origin, Some("127.0.0.1:8080")), allowed, "{origin:?}");
        }
        let public = Admission::new("0.0.0.0:443".parse().unwrap(), vec![], vec![]);
        assert!(public.origin_allowed(Some("https://gate.example"), Some("gate.example")));
        assert!(!public.origin_allowed(Some("https://evil.example"), Some("gate.example")));
    }
}
