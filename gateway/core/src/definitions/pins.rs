//! How every tool's definition stands: what the rows say, and over it what this node has seen since.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arc_swap::ArcSwap;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::defined::{Compiled, Defined};
use super::{Accepted, ScanAction, Scanner, completed, diff, hash, verdict};
use crate::live::LiveHandle;
use crate::names::{Namespace, ToolName};
use crate::ports::{PinNews, PinRow, PinState, PinStore};

/// How a tool's definition stands to the accepted one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Nobody accepted any: first use will, or the tool is not classified.
    Unpinned,
    Pinned,
    /// It changed, or it was blocked when it was first seen.
    Quarantined,
    /// It was read and could not be compared with anything, so nobody knows.
    Unverified,
    /// Its upstream does not list it, so that nothing could be accepted.
    Unlisted,
}

/// Every tool's standing, compiled from the rows.
#[derive(Debug, Clone, Default)]
pub struct PinSet {
    tools: HashMap<ToolName, Pinned>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Pinned {
    pub standing: Standing,
    /// Of the definition that was accepted last.
    pub hash: Option<Arc<str>>,
    /// Every definition that the rows know.
    pub forms: Vec<Form>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    pub hash: Arc<str>,
    pub state: PinState,
    pub definition: Arc<Value>,
}

impl PinSet {
    pub fn new(tools: HashMap<ToolName, Pinned>) -> Self {
        Self { tools }
    }

    /// A tool with a definition that waits for a human is held back, whatever else was accepted of it.
    pub fn of(rows: Vec<PinRow>) -> Self {
        let mut tools: HashMap<ToolName, Pinned> = HashMap::new();
        for row in rows {
            let fresh = Pinned { standing: Standing::Pinned, hash: None, forms: Vec::new() };
            let held = tools.entry(row.tool).or_insert(fresh);
            let hash: Arc<str> = row.hash.into();
            match row.state {
                PinState::Accepted => held.hash = Some(Arc::clone(&hash)),
                PinState::Quarantined => held.standing = Standing::Quarantined,
            }
            held.forms.push(Form { hash, state: row.state, definition: Arc::new(row.definition) });
        }
        Self { tools }
    }

    pub fn get(&self, tool: &ToolName) -> Option<&Pinned> {
        self.tools.get(tool)
    }

    pub fn standing(&self, tool: &ToolName) -> Standing {
        self.get(tool).map_or(Standing::Unpinned, |pinned| pinned.standing)
    }

    pub fn tools(&self) -> impl Iterator<Item = (&ToolName, &Pinned)> {
        self.tools.iter()
    }

    fn accepted(&self) -> impl Iterator<Item = Accepted<'_>> {
        self.tools.iter().flat_map(|(tool, pinned)| {
            let accepted = pinned.forms.iter().filter(|form| form.state == PinState::Accepted);
            accepted.map(|form| Accepted { server: tool.namespace(), definition: &form.definition })
        })
    }
}

/// When a tool's definition counts as accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PinRule {
    /// The first one that is seen, unless the scanner blocks it.
    #[default]
    FirstUse,
    /// The one that somebody accepts.
    Explicit,
    /// Any.
    Off,
}

/// What this node has seen of its upstreams' definitions, over what the rows say.
#[derive(Default)]
pub struct Definitions {
    watch: Option<Watch>,
    /// Seen here and not yet in the rows.
    ahead: ArcSwap<HashMap<ToolName, Ahead>>,
    seen: ArcSwap<HashMap<Namespace, Arc<Seen>>>,
    watched: ArcSwap<HashSet<Namespace>>,
    compiled: Compiled,
    /// Held while either is made anew.
    writing: Mutex<()>,
}

type Classified = Box<dyn Fn(&ToolName) -> bool + Send + Sync>;

struct Watch {
    live: Arc<LiveHandle>,
    scanner: ArcSwap<Arc<dyn Scanner>>,
    sink: Arc<dyn PinStore>,
    /// Whether anybody has said what the tool may do; without that it is refused anyway, and not pinned.
    classified: OnceLock<Classified>,
    recheck: SignedDuration,
}

#[derive(Debug, Clone, PartialEq)]
struct Ahead {
    hash: Arc<str>,
    standing: Standing,
    /// What was accepted here and is not in the rows yet: a change that comes before them is still a change.
    accepted: Option<(Arc<str>, Arc<Value>)>,
}

#[derive(Clone, Default)]
struct Seen {
    /// Of the last look at any of it; `None` once the upstream said that it changed.
    at: Option<Timestamp>,
    tools: HashMap<String, (Arc<str>, Arc<Value>)>,
    rule: PinRule,
    /// Members that the revision did not have in which it was seen.
    absent: &'static [&'static str],
}

impl Definitions {
    pub fn new(
        live: Arc<LiveHandle>,
        scanner: Arc<dyn Scanner>,
        sink: Arc<dyn PinStore>,
        recheck: SignedDuration,
    ) -> Self {
        let (scanner, classified) = (ArcSwap::from_pointee(scanner), OnceLock::new());
        Self { watch: Some(Watch { live, scanner, sink, classified, recheck }), ..Self::default() }
    }

    /// Who knows which tools are classified; said once, when everything stands.
    pub fn follow(&self, classified: impl Fn(&ToolName) -> bool + Send + Sync + 'static) {
        if let Some(watch) = &self.watch {
            // A second one would be the same.
            let _ = watch.classified.set(Box::new(classified));
        }
    }

    pub fn replace_scanner(&self, scanner: Arc<dyn Scanner>) {
        if let Some(watch) = &self.watch {
            watch.scanner.store(Arc::new(scanner));
        }
    }

    pub fn standing(&self, pins: &PinSet, tool: &ToolName) -> (Standing, Option<Arc<str>>) {
        let pinned = pins.get(tool);
        let ahead = self.ahead.load();
        if !ahead.is_empty()
            && let Some(ahead) = ahead.get(tool)
            && !pinned.is_some_and(|pinned| pinned.forms.iter().any(|form| form.hash == ahead.hash))
        {
            let accepted = pinned.and_then(|pinned| pinned.hash.clone());
            let pin = if ahead.standing == Standing::Pinned { Some(Arc::clone(&ahead.hash)) } else { accepted };
            return (ahead.standing, pin);
        }
        pinned.map_or((Standing::Unpinned, None), |pinned| (pinned.standing, pinned.hash.clone()))
    }

    /// The definition with this hash, from the rows or from what was seen here since.
    pub fn defined(&self, pins: &PinSet, tool: &ToolName, hash: &Arc<str>) -> Option<Arc<Defined>> {
        let forms = pins.get(tool).map_or(&[][..], |pinned| pinned.forms.as_slice());
        if let Some(form) = forms.iter().find(|form| form.hash == *hash) {
            return Some(self.compiled.under(hash, &form.definition));
        }
        let seen = self.seen.load();
        let (known, definition) = seen.get(tool.namespace())?.tools.get(tool.tool())?;
        (known == hash).then(|| self.compiled.under(hash, definition))
    }

    pub fn compiled(&self) -> &Compiled {
        &self.compiled
    }

    /// Namespaces whose lists pass by here; built-in ones do not, and those that the operator left out.
    pub fn watches(&self, namespace: &str) -> bool {
        self.watched.load().contains(namespace)
    }

    pub fn watch(&self, namespaces: HashSet<Namespace>) {
        self.watched.store(Arc::new(namespaces));
    }

    /// Whether this node knows of late what the tool looks like. What nobody watches is always known.
    pub fn fresh(&self, tool: &ToolName, now: Timestamp) -> bool {
        let Some(watch) = &self.watch else { return true };
        let seen = self.seen.load();
        let Some(seen) = seen.get(tool.namespace()) else { return false };
        let late = seen.at.is_none_or(|at| now.duration_since(at) > watch.recheck);
        !late && seen.tools.contains_key(tool.tool())
    }

    /// Whether any list of this upstream could be read, ever.
    pub fn has_seen(&self, namespace: &Namespace) -> bool {
        self.seen.load().contains_key(namespace)
    }

    pub fn lists(&self, tool: &ToolName) -> bool {
        self.seen.load().get(tool.namespace()).is_some_and(|seen| seen.tools.contains_key(tool.tool()))
    }

    /// The upstream announced another list.
    pub fn stale(&self, namespace: &Namespace) {
        if self.has_seen(namespace) {
            self.see(namespace, |seen| seen.at = None);
        }
    }

    /// Nothing about it could be found out just now; what was seen before stays good for a while.
    pub fn checked(&self, namespace: &Namespace, now: Timestamp) {
        self.see(namespace, |seen| seen.at = Some(now));
    }

    /// One list, or one page of it, as the upstream gave it. Takes a while where something is new: it is read and scanned.
    pub fn saw(
        &self,
        namespace: &Namespace,
        rule: PinRule,
        absent: &'static [&'static str],
        tools: &[Value],
        now: Timestamp,
    ) {
        if self.watch.is_none() || rule == PinRule::Off {
            return;
        }
        let known = self.seen.load().get(namespace).cloned().unwrap_or_default();
        let mut listed = Vec::with_capacity(tools.len());
        for tool in tools {
            let Some(name) = tool.get("name").and_then(Value::as_str) else { continue };
            // Comparing values is cheaper than hashing them, and lists seldom change.
            let same = known.tools.get(name).filter(|(_, before)| **before == *tool).cloned();
            let (hash, tool) = same.unwrap_or_else(|| (hash(tool).into(), Arc::new(tool.clone())));
            listed.push((name.to_owned(), (hash, tool)));
        }
        for (name, (hash, tool)) in &listed {
            if let Some(name) = ToolName::listed(namespace, name) {
                self.look_at(&name, rule, absent, hash, tool);
            }
        }
        self.see(namespace, |seen| {
            seen.at = Some(now);
            (seen.rule, seen.absent) = (rule, absent);
            seen.tools.extend(listed);
        });
    }

    /// Whether the tool was seen, and nobody looked at it for want of a classification that it has now.
    pub fn owes_a_look(&self, tool: &ToolName) -> bool {
        let Some(classified) = self.watch.as_ref().and_then(|watch| watch.classified.get()) else { return false };
        self.lists(tool) && classified(tool)
    }

    /// The tool was classified after it was seen: what was seen is held against nothing, and becomes what is accepted. Takes a
    /// while, as `saw` does.
    pub fn look_again(&self, tool: &ToolName) {
        let Some(seen) = self.seen.load().get(tool.namespace()).cloned() else { return };
        if let Some((hash, definition)) = seen.tools.get(tool.tool()) {
            self.look_at(tool, seen.rule, seen.absent, hash, definition);
        }
    }

    fn see(&self, namespace: &Namespace, change: impl FnOnce(&mut Seen)) {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = HashMap::clone(&self.seen.load());
        let mut seen = all.get(namespace).map(|seen| Seen::clone(seen)).unwrap_or_default();
        change(&mut seen);
        all.insert(namespace.clone(), Arc::new(seen));
        self.seen.store(Arc::new(all));
    }

    fn look_at(&self, tool: &ToolName, rule: PinRule, absent: &[&str], hash_seen: &Arc<str>, definition: &Arc<Value>) {
        let Some(watch) = &self.watch else { return };
        if !watch.classified.get().is_some_and(|classified| classified(tool)) {
            return;
        }
        let live = watch.live.load();
        let pins = &live.pins;
        let forms = pins.get(tool).map_or(&[][..], |pinned| pinned.forms.as_slice());
        let accepted = || forms.iter().filter(|form| form.state == PinState::Accepted);
        let known = |hash: &Arc<str>, form: &Value| *hash == *hash_seen || fits(hash, form, definition, absent);
        if accepted().any(|form| known(&form.hash, &form.definition)) {
            self.forget(tool);
            return;
        }
        let before = self.ahead.load().get(tool).cloned();
        let held = before.as_ref();
        if forms.iter().any(|form| form.hash == *hash_seen)
            || held.is_some_and(|ahead| ahead.hash == *hash_seen)
            || held.and_then(|ahead| ahead.accepted.as_ref()).is_some_and(|(hash, form)| known(hash, form))
        {
            return;
        }
        // What waits for a human, in the rows or not yet, is not replaced by another first use.
        let first = forms.is_empty() && before.is_none();
        let known: Vec<_> = pins.accepted().collect();
        let findings = watch.scanner.load().scan(tool.namespace(), definition, &known);
        let standing = match (first, rule, verdict(&findings)) {
            (true, PinRule::FirstUse, ScanAction::Allow | ScanAction::Flag) => Standing::Pinned,
            _ => Standing::Quarantined,
        };
        let stored = accepted().next_back().map(|form| (Arc::clone(&form.hash), Arc::clone(&form.definition)));
        let last = stored.or(before.and_then(|ahead| ahead.accepted));
        let changes = last.as_ref().map(|(_, before)| diff(before, definition)).unwrap_or_default();
        let own = || (Arc::clone(hash_seen), Arc::clone(definition));
        let accepted = if standing == Standing::Pinned { Some(own()) } else { last.clone() };
        self.put_ahead(tool, Ahead { hash: Arc::clone(hash_seen), standing, accepted });
        let (state, by) = match standing {
            Standing::Pinned => (PinState::Accepted, "first use"),
            _ => (PinState::Quarantined, "the gateway"),
        };
        watch.sink.note(PinNews {
            tool: tool.clone(),
            hash: hash_seen.to_string(),
            state,
            definition: Value::clone(definition),
            findings,
            by: by.into(),
            changes: changes.into_iter().map(|change| change.path).collect(),
            accepted: last.map(|(hash, _)| hash.to_string()),
        });
    }

    fn put_ahead(&self, tool: &ToolName, ahead: Ahead) {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = HashMap::clone(&self.ahead.load());
        all.insert(tool.clone(), ahead);
        self.ahead.store(Arc::new(all));
    }

    fn forget(&self, tool: &ToolName) {
        if self.ahead.load().contains_key(tool) {
            let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
            let mut all = HashMap::clone(&self.ahead.load());
            all.remove(tool);
            self.ahead.store(Arc::new(all));
        }
    }
}

/// The same, but for members that the spoken revision does not have.
fn fits(accepted: &str, form: &Value, seen: &Value, absent: &[&str]) -> bool {
    !absent.is_empty() && *hash(&completed(seen, form, absent)) == *accepted
}

#[cfg(test)]
mod tests;
