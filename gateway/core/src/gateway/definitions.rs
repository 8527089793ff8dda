//! Whether the called tool is still what was accepted, and how it describes itself, found out before anybody judges the call.

use std::sync::Arc;

use super::Gateway;
use crate::definitions::{Defined, Standing};
use crate::exchange::{Exchange, Subject, ToolSubject};
use crate::names::Namespace;
use crate::ports::{Upstream, UpstreamError};

impl Gateway {
    /// What can be known of the called tool before anybody judges the call. An upstream that cannot say what its tools are
    /// fails here; the call is judged all the same.
    pub(super) async fn known(&self, exchange: &mut Exchange, upstream: &dyn Upstream) -> Result<(), UpstreamError> {
        let read = self.verify(exchange, upstream).await;
        exchange.definition = match exchange.tool() {
            Some(tool) if !tool.governs() && read.is_ok() => self.defined(exchange, tool, upstream).await,
            Some(_) => None,
            None => self.defined_for_task(exchange),
        };
        read
    }

    /// Asks the upstream what the tool looks like, where this node does not know or has not looked for a while. The answer
    /// passes the layer that compares it with what was accepted. Fails where nothing could be read, now or before: what
    /// the upstream says then is its answer to the call too.
    async fn verify(&self, exchange: &mut Exchange, upstream: &dyn Upstream) -> Result<(), UpstreamError> {
        let definitions = &self.ports.definitions;
        let Some(tool) = exchange.tool() else { return Ok(()) };
        // What nobody classified is refused or watched, whatever it looks like; our own tools are ours.
        if tool.classified.is_none() || tool.governs() {
            return Ok(());
        }
        let name = tool.name.clone();
        let mut listed = None;
        if !definitions.fresh(&name, exchange.at) {
            if !definitions.watches(name.namespace()) {
                return Ok(());
            }
            let Ok(namespace) = name.namespace().parse::<Namespace>() else { return Ok(()) };
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
                // An empty list is a list too.
                Ok(false) => standing = Standing::Unlisted,
                Err(error) => unread = Err(error),
            }
        }
        if let Subject::Tool(tool) = &mut exchange.subject {
            (tool.standing, tool.pin) = (standing, pin);
        }
        unread
    }

    /// The accepted form, which is in memory. Where nobody pins (the operator said so, or the tool is only watched) it is
    /// what the upstream shows this caller.
    async fn defined(&self, exchange: &Exchange, tool: &ToolSubject, upstream: &dyn Upstream) -> Option<Arc<Defined>> {
        let definitions = &self.ports.definitions;
        let name = &tool.name;
        if let Some(pin) = &tool.pin {
            return definitions.defined(&self.ports.live.load().pins, name, pin);
        }
        // What will be refused anyway is asked nothing about.
        let unseen = matches!(tool.standing, Standing::Unverified | Standing::Unlisted);
        let refused = (tool.classified.is_none() && !tool.observed) || unseen;
        if refused || definitions.compiled().is_silent(name, exchange.at) {
            return None;
        }
        let Ok(Some(definition)) = upstream.definition(exchange, name.tool()).await else {
            tracing::debug!(tool.name = %name, "nobody says what {name} looks like, so its arguments are not checked");
            definitions.compiled().was_silent(name, exchange.at);
            return None;
        };
        Some(definitions.compiled().of(&definition))
    }

    /// Whose output a task's result is.
    fn defined_for_task(&self, exchange: &Exchange) -> Option<Arc<Defined>> {
        let tool = exchange.about.as_ref()?;
        let live = self.ports.live.load();
        let (_, pin) = self.ports.definitions.standing(&live.pins, tool);
        self.ports.definitions.defined(&live.pins, tool, &pin?)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use std::sync::{Arc, Mutex};

    use serde_json::json;

    use crate::chain::{Judge, Plugin, PluginMode};
    use crate::definitions::Defined;
    use crate::exchange::Exchange;
    use crate::testing::bench::Bench;
    use crate::verdict::Verdict;

    #[derive(Clone, Default)]
    struct Looks(Arc<Mutex<Vec<Option<Arc<Defined>>>>>);

    impl Judge for Looks {
        fn name(&self) -> &'static str {
            "looks"
        }

        fn on_request(&self, exchange: &Exchange) -> Verdict {
            self.0.lock().unwrap().push(exchange.definition.clone());
            Verdict::Grant
        }
    }

    #[test]
    fn judges_see_what_an_unpinned_tool_says_of_itself() {
        let looks = Looks::default();
        let bench = Bench::with(vec![(Plugin::Judge(Box::new(looks.clone())), PluginMode::Enforce)]);
        *bench.world.definition.lock().unwrap() = Some(Arc::new(json!({ "name": "read", "inputSchema": {} })));
        bench.modern("tools/call", json!({ "name": "read" }));
        bench.modern("tools/call", json!({ "name": "read" }));
        // Nobody classified it and nobody watches it: it is refused, and nothing is asked for its sake.
        bench.modern("tools/call", json!({ "name": "unknown" }));
        bench.modern("prompts/get", json!({ "name": "read" }));
        let seen = looks.0.lock().unwrap();
        let names: Vec<_> = seen.iter().map(|one| one.as_ref().map(|one| one.definition["name"].clone())).collect();
        assert_eq!(names, [Some(json!("read")), Some(json!("read")), None, None]);
        assert!(Arc::ptr_eq(seen[0].as_ref().unwrap(), seen[1].as_ref().unwrap()), "compiled once");
    }

    #[test]
    fn who_cannot_say_is_not_asked_for_every_call() {
        let looks = Looks::default();
        let bench = Bench::with(vec![(Plugin::Judge(Box::new(looks.clone())), PluginMode::Enforce)]);
        bench.modern("tools/call", json!({ "name": "read" }));
        *bench.world.definition.lock().unwrap() = Some(Arc::new(json!({ "name": "read" })));
        bench.modern("tools/call", json!({ "name": "read" }));
        assert!(looks.0.lock().unwrap().iter().all(Option::is_none), "it was asked a moment ago");
    }
}
