//! The layers around a transport: what every upstream gets, whatever it speaks and however it is reached.

use std::sync::Arc;
use std::time::Duration;

use gateway_core::Namespace;
use gateway_core::definitions::{Definitions, PinRule};
use gateway_core::ports::{Clock, Upstream};
use gateway_protocol::Revision;

use crate::bridge::{Bridge, BridgeSettings};
use crate::catalogue::Catalogue;
use crate::commons::Commons;
use crate::guard::{Guard, Patience};
use crate::observed::Observed;
use crate::vitals::{Vitals, Watched};

/// What the layers need to know of one upstream.
pub struct Layers {
    pub namespace: Namespace,
    pub protocol: Protocol,
    /// Until an answer begins, and between its messages.
    pub timeout: Duration,
    /// The whole of a call, however lively it is.
    pub longest: Duration,
    /// How long a call waits for its caller to answer a question.
    pub hold: Duration,
    /// Calls of one principal that may wait at once.
    pub held_per_principal: usize,
    /// `None`: lists are kept as long as the upstream says.
    pub cache: Option<CacheRule>,
    /// What was accepted of its tools, and when a definition counts as accepted.
    pub definitions: Arc<Definitions>,
    pub pins: PinRule,
    pub clock: Arc<dyn Clock>,
    /// Where they do what is not for one caller alone.
    pub commons: Commons,
}

/// Which era an upstream speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// It is asked.
    #[default]
    Auto,
    Modern,
    /// The session eras, with the revision to offer; `None` offers the newest.
    Legacy(Option<Revision>),
}

/// What the operator says of keeping lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheRule {
    /// Instead of what the upstream says; zero keeps nothing.
    pub lifetime: Option<Duration>,
    /// One list for all principals, whatever the upstream says.
    pub shared: bool,
}

/// The upstream as the gateway calls it: each layer around the one before, the transport innermost.
pub fn stack(inner: Arc<dyn Upstream>, layers: &Layers) -> Arc<dyn Upstream> {
    let vitals = Vitals::new(layers.namespace.clone(), Arc::clone(&layers.clock));
    let inner = Arc::new(Watched { inner, vitals: Arc::clone(&vitals) });
    let settings = BridgeSettings {
        namespace: layers.namespace.clone(),
        revision: match layers.protocol {
            Protocol::Legacy(revision) => revision,
            Protocol::Auto | Protocol::Modern => None,
        },
        hold: layers.hold,
        held_per_principal: layers.held_per_principal,
        longest: layers.longest,
        commons: layers.commons.clone(),
    };
    // Next to the transport: the bridge leaves out what older clients do not know, which is no change of the tool.
    let (namespace, definitions) = (layers.namespace.clone(), Arc::clone(&layers.definitions));
    let inner: Arc<dyn Upstream> =
        Arc::new(Observed::new(inner, namespace, definitions, layers.pins, Arc::clone(&layers.clock)));
    let bridged: Arc<dyn Upstream> = Arc::new(Bridge::new(inner, layers.protocol, settings, Arc::clone(&layers.clock)));
    // Around the bridge, so that it sees every list in its caller's era.
    let (clock, commons) = (Arc::clone(&layers.clock), layers.commons.clone());
    let kept = Arc::new(Catalogue::new(bridged, layers.namespace.clone(), layers.cache, clock, commons));
    let patience = Patience { timeout: layers.timeout, longest: layers.longest, hold: layers.hold };
    Arc::new(Guard::new(kept, layers.namespace.clone(), patience, vitals))
}
