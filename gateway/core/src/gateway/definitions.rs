//! Whether the called tool is still what was accepted, found out before anybody judges the call.

use super::Gateway;
use crate::definitions::Standing;
use crate::exchange::{Exchange, Subject};
use crate::names::Namespace;
use crate::ports::Upstream;

impl Gateway {
    /// Asks the upstream what the tool looks like, where this node does not know or has not looked for a while. The answer
    /// passes the layer that compares it with what was accepted.
    pub(super) async fn known(&self, exchange: &mut Exchange, upstream: &dyn Upstream) {
        let definitions = &self.ports.definitions;
        let Some(tool) = exchange.tool() else { return };
        // What nobody classified is refused or watched, whatever it looks like; our own tools are ours.
        if tool.classified.is_none() || tool.governs() {
            return;
        }
        let name = tool.name.clone();
        if !definitions.fresh(&name, exchange.at) {
            let Ok(namespace) = name.namespace().parse::<Namespace>() else { return };
            if !definitions.watches(&namespace) {
                return;
            }
            let found = upstream.definition(exchange, name.tool()).await.is_some();
            if !definitions.has_seen(&namespace) {
                if let Subject::Tool(tool) = &mut exchange.subject
                    && tool.standing == Standing::Unpinned
                {
                    tool.standing = Standing::Unverified;
                }
                return;
            }
            // A tool that is not in the list was described to nobody: there is nothing that it could have changed from.
            if !found && definitions.lists(&name) {
                tracing::warn!(tool.name = %name, "what {name} looks like could not be read again; what was seen last counts");
            }
            definitions.checked(&namespace, exchange.at);
        }
        let live = self.ports.live.load();
        let (mut standing, mut pin) = definitions.standing(&live.pins, &name);
        if standing == Standing::Unpinned {
            definitions.look_again(&name);
            (standing, pin) = definitions.standing(&live.pins, &name);
        }
        if let Subject::Tool(tool) = &mut exchange.subject {
            (tool.standing, tool.pin) = (standing, pin);
        }
    }
}
