//! Whether the called tool is still what was accepted, found out before anybody judges the call.

use super::Gateway;
use crate::definitions::Standing;
use crate::exchange::{Exchange, Subject};
use crate::names::Namespace;
use crate::ports::{Upstream, UpstreamError};

impl Gateway {
    /// Asks the upstream what the tool looks like, where this node does not know or has not looked for a while. The answer
    /// passes the layer that compares it with what was accepted. Fails where nothing could be read, now or before: what
    /// the upstream says then is its answer to the call too.
    pub(super) async fn known(&self, exchange: &mut Exchange, upstream: &dyn Upstream) -> Result<(), UpstreamError> {
        let definitions = &self.ports.definitions;
        let Some(tool) = exchange.tool() else { return Ok(()) };
        // What nobody classified is refused or watched, whatever it looks like; our own tools are ours.
        if tool.classified.is_none() || tool.governs() {
            return Ok(());
        }
        let name = tool.name.clone();
        let mut listed = None;
        if !definitions.fresh(&name, exchange.at) {
            let Ok(namespace) = name.namespace().parse::<Namespace>() else { return Ok(()) };
            if !definitions.watches(&namespace) {
                return Ok(());
            }
            let read = upstream.definition(exchange, name.tool()).await.map(|found| found.is_some());
            if read.is_err() && definitions.lists(&name) {
                tracing::warn!(tool.name = %name, "what {name} looks like could not be read again; what was seen last counts");
            }
            if definitions.has_seen(&namespace) {
                definitions.checked(&namespace, exchange.at);
            }
            listed = Some(read);
        }
        let live = self.ports.live.load();
        let (mut standing, mut pin) = definitions.standing(&live.pins, &name);
        if standing == Standing::Unpinned {
            definitions.look_again(&name);
            (standing, pin) = definitions.standing(&live.pins, &name);
        }
        let mut unread = Ok(());
        if standing == Standing::Unpinned
            && !definitions.lists(&name)
            && let Some(read) = listed
        {
            match read {
                // In the list, but whoever compares it has not got that far.
                Ok(true) => standing = Standing::Unverified,
                Ok(false) if definitions.lists_some(&name) => standing = Standing::Unlisted,
                // Who lists nothing at all keeps no list that a tool could be missing from.
                Ok(false) => {}
                Err(error) => unread = Err(error),
            }
        }
        if let Subject::Tool(tool) = &mut exchange.subject {
            (tool.standing, tool.pin) = (standing, pin);
        }
        unread
    }
}
