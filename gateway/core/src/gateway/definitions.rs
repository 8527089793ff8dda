//! Whether the called tool is still what was accepted, and how it describes itself, found out before anybody judges the call.

use std::sync::Arc;

use super::Gateway;
use crate::definitions::{Defined, Standing};
use crate::exchange::{Exchange, Subject, ToolSubject};
use crate::names::{Namespace, ToolName};
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
        let (mut standing, mut pin) = definitions.standing(&self.ports.live.load().pins, &name);
        if standing == Standing::Unpinned && definitions.owes_a_look(&name) {
            (standing, pin) = self.look_again(&name).await;
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

    /// Read word by word, which is no work for a thread that others wait for. What could not be read to its end was not compared
    /// with anything.
    async fn look_again(&self, tool: &ToolName) -> (Standing, Option<Arc<str>>) {
        let definitions = &self.ports.definitions;
        let (all, wanted) = (Arc::clone(definitions), tool.clone());
        if let Err(error) = self.ports.aside.take(Box::new(move || all.look_again(&wanted))).await {
            tracing::error!(tool.name = %tool, "what {tool} looks like could not be compared with what was accepted: {error}");
            return (Standing::Unverified, None);
        }
        definitions.standing(&self.ports.live.load().pins, tool)
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

    use async_trait::async_trait;
    use jiff::SignedDuration;
    use serde_json::{Value, json};

    use crate::chain::{Judge, Plugin, PluginMode};
    use crate::definitions::{Defined, Definitions, NoScanner, PinRule, Standing};
    use crate::exchange::Exchange;
    use crate::names::ToolName;
    use crate::ports::{Clock, PinNews, PinRow, PinStore, StoreError};
    use crate::testing::FixedClock;
    use crate::testing::bench::Bench;
    use crate::verdict::Verdict;

    struct Forgets;

    #[async_trait]
    impl PinStore for Forgets {
        async fn pins(&self) -> Result<Vec<PinRow>, StoreError> {
            Ok(Vec::new())
        }

        fn note(&self, _: PinNews) {}

        async fn accept(&self, _: &ToolName, _: &str, _: &Value, _: &str, _: bool) -> Result<(), StoreError> {
            Ok(())
        }
    }

    #[derive(Clone, Default)]
    struct Standings(Arc<Mutex<Vec<Standing>>>);

    impl Judge for Standings {
        fn name(&self) -> &'static str {
            "standings"
        }

        fn on_request(&self, exchange: &Exchange) -> Verdict {
            self.0.lock().unwrap().push(exchange.tool().unwrap().standing);
            Verdict::Grant
        }
    }

    /// How a tool stands that was seen before anybody classified it, at each of two calls.
    fn looked_at(refused: bool) -> (Vec<Standing>, usize) {
        let standings = Standings::default();
        let recheck = SignedDuration::from_mins(10);
        let definitions = Definitions::new(Arc::default(), Arc::new(NoScanner), Arc::new(Forgets), recheck);
        let (crm, now) = ("crm".parse().unwrap(), FixedClock::default().now());
        definitions.saw(&crm, PinRule::FirstUse, &[], &[json!({ "name": "read" })], now);
        definitions.follow(|_| true);
        let judges = vec![(Plugin::Judge(Box::new(standings.clone())), PluginMode::Enforce)];
        let bench = Bench::knowing(judges, definitions);
        *bench.world.refuses_work.lock().unwrap() = refused;
        bench.modern("tools/call", json!({ "name": "read" }));
        bench.modern("tools/call", json!({ "name": "read" }));
        let standings = standings.0.lock().unwrap().clone();
        (standings, *bench.world.set_aside.lock().unwrap())
    }

    // It may take most of a second, and the thread has others to serve.
    #[test]
    fn a_definition_is_not_read_on_the_thread_of_the_call() {
        assert_eq!(looked_at(false), (vec![Standing::Pinned, Standing::Pinned], 1), "once, and not again");
        assert_eq!(looked_at(true), (vec![Standing::Unverified, Standing::Unverified], 2), "nobody has read it");
    }

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
