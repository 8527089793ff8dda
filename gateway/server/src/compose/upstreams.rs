//! The upstreams of the configuration: which adapter each gets, and which of them outlive a change.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use gateway_core::Namespace;
use gateway_core::definitions::{Definitions, PinRule};
use gateway_core::ports::Upstream;
use gateway_upstream::{
    AutoHttp, Commons, HttpUpstream, HttpUpstreamConfig, HttpUpstreamError, Layers, Member, Sharing, SseUpstream,
    StdioConfig, StdioUpstream, stack,
};

use super::ComposeError;
use crate::clock::SystemClock;
use crate::config::{self, Config, HttpKind, Pinning, Transport, UpstreamConfig};

/// Every configured upstream, and what it was built from.
#[derive(Default)]
pub struct Configured {
    built: BTreeMap<Namespace, Built>,
    commons: Commons,
}

#[derive(Clone)]
struct Built {
    from: Recipe,
    upstream: Arc<dyn Upstream>,
}

/// All that an adapter and its layers are told. The same recipe need not be built twice.
#[derive(Clone, PartialEq)]
struct Recipe {
    own: UpstreamConfig,
    depth: usize,
    longest: Duration,
    hold: Duration,
    held_calls: usize,
}

impl Recipe {
    fn new(own: &UpstreamConfig, whole: &Config) -> Self {
        let limits = &whole.limits;
        Self {
            own: own.clone(),
            depth: limits.depth,
            longest: limits.call_time,
            hold: limits.hold_time,
            held_calls: limits.held_calls,
        }
    }

    fn layers(&self, namespace: &Namespace, definitions: &Arc<Definitions>, commons: &Commons) -> Layers {
        Layers {
            namespace: namespace.clone(),
            protocol: self.own.protocol,
            timeout: self.own.timeout,
            longest: self.longest,
            hold: self.hold,
            held_per_principal: self.held_calls,
            cache: self.own.cache,
            definitions: Arc::clone(definitions),
            pins: match self.own.pins {
                Pinning::FirstUse => PinRule::FirstUse,
                Pinning::Explicit => PinRule::Explicit,
                Pinning::Off => PinRule::Off,
            },
            clock: Arc::new(SystemClock),
            commons: commons.clone(),
        }
    }
}

impl Configured {
    /// None yet; what they do for several clients at once, they do there.
    pub fn on(commons: Commons) -> Self {
        Self { commons, ..Self::default() }
    }

    pub fn are_those_of(&self, config: &Config) -> bool {
        let same = |(namespace, upstream)| {
            self.built.get(namespace).is_some_and(|built| built.from == Recipe::new(upstream, config))
        };
        self.built.len() == config.upstreams.len() && config.upstreams.iter().all(same)
    }

    /// The upstreams of a changed configuration, with those that it leaves as they are.
    pub fn changed_to(&self, config: &Config, definitions: &Arc<Definitions>) -> Result<Self, ComposeError> {
        let mut changed = BTreeMap::new();
        for (namespace, upstream) in &config.upstreams {
            let from = Recipe::new(upstream, config);
            let built = match self.built.get(namespace).filter(|built| built.from == from) {
                Some(built) => built.clone(),
                None => {
                    // The layers keep the time, and a caller may ask for more of it than the upstream usually has.
                    let inner = transport_for(namespace, upstream, config, from.longest, &self.commons)?;
                    Built { upstream: stack(inner, &from.layers(namespace, definitions, &self.commons)), from }
                }
            };
            changed.insert(namespace.clone(), built);
        }
        let pinned = config.upstreams.iter().filter(|(_, upstream)| upstream.pins != Pinning::Off);
        definitions.watch(pinned.map(|(namespace, _)| namespace.clone()).collect());
        Ok(Self { built: changed, commons: self.commons.clone() })
    }

    /// Those whose word about their own tools may lower a suggested risk.
    pub fn trusted(&self) -> Vec<Namespace> {
        let trusted = self.built.iter().filter(|(_, built)| built.from.own.trusted);
        trusted.map(|(namespace, _)| namespace.clone()).collect()
    }

    /// Where each is, fit for a screen.
    pub fn addresses(&self) -> BTreeMap<Namespace, String> {
        self.built.iter().map(|(namespace, built)| (namespace.clone(), built.from.own.transport.shown())).collect()
    }

    pub fn members(&self) -> Vec<Member> {
        let member =
            |(namespace, built): (&Namespace, &Built)| Member::new(namespace.clone(), Arc::clone(&built.upstream));
        self.built.iter().map(member).collect()
    }
}

/// One configured upstream's adapter, without the layers around it; `patience` is all that it may take over one answer.
pub fn transport_for(
    namespace: &Namespace,
    config: &UpstreamConfig,
    whole: &Config,
    patience: Duration,
    commons: &Commons,
) -> Result<Arc<dyn Upstream>, ComposeError> {
    if config.observe_unclassified {
        tracing::warn!(%namespace, "unclassified tools of {namespace} are only observed: calls to them are not refused");
    }
    match &config.transport {
        Transport::Http { url, headers, kind } => {
            let headers = headers.iter().map(|(name, value)| (name.clone(), value.reveal().to_owned())).collect();
            let told = HttpUpstreamConfig {
                headers,
                unclassified_observe: config.observe_unclassified,
                request_timeout: patience,
                max_depth: whole.limits.depth,
                commons: commons.clone(),
                ..HttpUpstreamConfig::new(namespace.clone(), url.clone())
            };
            http_adapter(*kind, &told).map_err(|error| ComposeError::Upstream(namespace.clone(), error.to_string()))
        }
        Transport::Stdio { command, args, env, cwd, sharing } => {
            let env = env.iter().map(|(name, value)| (name.clone(), value.reveal().to_owned())).collect();
            Ok(Arc::new(StdioUpstream::new(StdioConfig {
                args: args.clone(),
                env,
                cwd: cwd.clone(),
                sharing: match sharing {
                    config::Sharing::PerPrincipal => Sharing::PerPrincipal,
                    config::Sharing::Shared => Sharing::Shared,
                },
                unclassified_observe: config.observe_unclassified,
                request_timeout: patience,
                start_timeout: config.timeout,
                commons: commons.clone(),
                ..StdioConfig::new(namespace.clone(), command.clone())
            })))
        }
    }
}

fn http_adapter(kind: HttpKind, told: &HttpUpstreamConfig) -> Result<Arc<dyn Upstream>, HttpUpstreamError> {
    Ok(match kind {
        HttpKind::Auto => Arc::new(AutoHttp::new(told)?),
        HttpKind::StreamableHttp => Arc::new(HttpUpstream::new(told)?),
        HttpKind::Sse => Arc::new(SseUpstream::new(told)?),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn config(text: &str) -> Config {
        Config::parse(text, None, &|_| None).unwrap()
    }

    fn upstream(configured: &Configured, name: &str) -> Arc<dyn Upstream> {
        let found = configured.members().into_iter().find(|member| member.namespace.as_str() == name);
        found.unwrap().upstream
    }

    #[test]
    fn an_address_is_shown_without_what_may_be_a_secret() {
        for (url, shown) in [
            ("http://crm:9000/mcp", "http://crm:9000/mcp"),
            ("https://me:s3cret@crm/mcp?token=s3cret#s3cret", "https://crm/mcp"),
            ("http://me@crm", "http://crm"),
            ("http://crm/@team/mcp", "http://crm/@team/mcp"),
        ] {
            let transport = Transport::Http { url: url.into(), headers: BTreeMap::new(), kind: HttpKind::Auto };
            assert_eq!(transport.shown(), shown, "{url}");
        }
    }

    #[test]
    fn only_what_changed_is_built_anew() {
        let first = config("upstreams: { a: { url: http://a/ }, b: { url: http://b/ } }");
        let before = Configured::default().changed_to(&first, &Arc::default()).unwrap();
        assert!(before.are_those_of(&first));
        let second = config("upstreams: { a: { url: http://a/ }, b: { url: http://b2/ }, c: { url: http://c/ } }");
        assert!(!before.are_those_of(&second));
        let after = before.changed_to(&second, &Arc::default()).unwrap();
        assert!(Arc::ptr_eq(&upstream(&before, "a"), &upstream(&after, "a")), "untouched");
        assert!(!Arc::ptr_eq(&upstream(&before, "b"), &upstream(&after, "b")), "another URL");
        assert_eq!(after.members().len(), 3);
        let fewer = config("upstreams: { a: { url: http://a/ } }");
        assert!(!after.are_those_of(&fewer));
        let held = config("upstreams: { a: { url: http://a/ } }\nlimits: { hold_seconds: 5 }");
        let held = after.changed_to(&held, &Arc::default()).unwrap();
        assert!(!Arc::ptr_eq(&upstream(&after, "a"), &upstream(&held, "a")), "its layers are told another time");
    }
}
