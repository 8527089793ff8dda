//! A batch on its way into a chain: what both engines prepare in the same way.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

use gateway_core::outcome::AuditRow;
use gateway_core::ports::{Receipt, Record};
use gateway_core::trace::{Head, Placed, TraceDraft, Unhashable};
use gateway_core::{TenantId, ToolName, TraceId};
use uuid::Uuid;

/// How a tool that nobody gave a version is registered.
pub(crate) const SEEN: &str = "seen";

/// `tool_registry.name` holds this many characters; a longer name is recorded in the trace but has no registry row.
pub(crate) const TOOL_NAME_LIMIT: usize = 255;

pub(crate) struct Batch<'a> {
    pub traces: Vec<&'a TraceDraft>,
    pub rows: Vec<&'a AuditRow>,
}

impl<'a> Batch<'a> {
    pub fn of(records: &'a [Record]) -> Self {
        let mut batch = Self { traces: Vec::with_capacity(records.len()), rows: Vec::with_capacity(records.len()) };
        for record in records {
            match record {
                Record::Trace(draft) => batch.traces.push(draft),
                Record::Row(row) => batch.rows.push(row),
            }
        }
        batch
    }

    /// The tools that need a registry row, in an order that is the same on every node.
    pub fn tools(&self) -> BTreeSet<(TenantId, &'a ToolName)> {
        self.rows.iter().filter_map(|row| registered(row)).collect()
    }
}

/// What a row's tool is looked up by, if it can be registered at all.
pub(crate) fn registered(row: &AuditRow) -> Option<(TenantId, &ToolName)> {
    let tool = row.tool.as_ref().filter(|tool| tool.as_str().chars().count() <= TOOL_NAME_LIMIT)?;
    Some((row.tenant?, tool))
}

/// The text form of a chain's tenant; nobody's chain has none.
pub(crate) fn organization_key(tenant: Option<TenantId>) -> String {
    tenant.map(|tenant| tenant.0.to_string()).unwrap_or_default()
}

/// The chains a batch touches, in the order in which their heads are locked.
pub(crate) struct Chains<'a> {
    pub keys: Vec<(String, &'a str)>,
    places: HashMap<(Option<TenantId>, &'a str), usize>,
    pub heads: Vec<Head>,
}

impl<'a> Chains<'a> {
    pub fn of(traces: &[&'a TraceDraft]) -> Self {
        let mut sorted: Vec<(String, &str, Option<TenantId>)> = Vec::new();
        let mut met: HashMap<(Option<TenantId>, &str), usize> = HashMap::new();
        for draft in traces {
            let agent = draft.agent.as_str();
            met.entry((draft.tenant, agent)).or_insert_with(|| {
                sorted.push((organization_key(draft.tenant), agent, draft.tenant));
                0
            });
        }
        sorted.sort();
        let places = sorted.iter().enumerate().map(|(place, (_, agent, tenant))| ((*tenant, *agent), place)).collect();
        let keys: Vec<_> = sorted.into_iter().map(|(key, agent, _)| (key, agent)).collect();
        Self { heads: vec![Head::default(); keys.len()], places, keys }
    }

    pub fn set(&mut self, place: usize, head: Head) {
        if let Some(slot) = self.heads.get_mut(place) {
            *slot = head;
        }
    }

    /// Gives every draft its place, in order. With `stored`, a trace id met before keeps the place it has.
    pub fn link(
        &mut self,
        traces: &[&'a TraceDraft],
        mut stored: Option<HashMap<TraceId, Receipt>>,
    ) -> Result<Linked<'a>, Unhashable> {
        let mut linked = Linked { new: Vec::with_capacity(traces.len()), receipts: Vec::with_capacity(traces.len()) };
        for draft in traces {
            if let Some(receipt) = stored.as_ref().and_then(|stored| stored.get(&draft.trace_id)) {
                linked.receipts.push(receipt.clone());
                continue;
            }
            let place = self.places.get(&(draft.tenant, draft.agent.as_str()));
            let Some(head) = place.and_then(|place| self.heads.get_mut(*place)) else {
                continue;
            };
            let placed = head.place(draft)?;
            let receipt = Receipt {
                trace_id: draft.trace_id.clone(),
                seq: placed.seq,
                previous_hash: placed.previous_hash.clone(),
                event_hash: placed.event_hash.clone(),
            };
            if let Some(stored) = &mut stored {
                stored.insert(draft.trace_id.clone(), receipt.clone());
            }
            linked.new.push((draft, placed));
            linked.receipts.push(receipt);
        }
        Ok(linked)
    }
}

pub(crate) struct Linked<'a> {
    pub new: Vec<(&'a TraceDraft, Placed)>,
    pub receipts: Vec<Receipt>,
}

/// The row id of a trace: the identity inside its trace id, so that the index on it grows at its end.
pub(crate) fn row_id(trace: &TraceId) -> Uuid {
    let inside = trace.as_str().strip_prefix("trc_").and_then(|hex| Uuid::try_parse(hex).ok());
    inside.unwrap_or_else(Uuid::now_v7)
}

pub(crate) type KnownTools<'a> = HashMap<(TenantId, &'a ToolName), Uuid>;

/// Registry ids of tools met before, so that a row costs no question. Forgotten whole when it grows too large.
#[derive(Default)]
pub(crate) struct ToolIds(Mutex<HashMap<(TenantId, ToolName), Uuid>>);

impl ToolIds {
    const MOST: usize = 50_000;

    /// The ids that are known, and the tools that still need one.
    pub fn sort<'a>(&self, batch: &Batch<'a>) -> (KnownTools<'a>, Vec<(TenantId, &'a ToolName)>) {
        let cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut known, mut unknown) = (HashMap::new(), Vec::new());
        for (tenant, tool) in batch.tools() {
            match cache.get(&(tenant, tool.clone())) {
                Some(id) => drop(known.insert((tenant, tool), *id)),
                None => unknown.push((tenant, tool)),
            }
        }
        (known, unknown)
    }

    /// Only after the commit that made them true.
    pub fn learn(&self, found: Vec<((TenantId, &ToolName), Uuid)>) {
        if found.is_empty() {
            return;
        }
        let mut cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if cache.len() + found.len() > Self::MOST {
            cache.clear();
        }
        cache.extend(found.into_iter().map(|((tenant, tool), id)| ((tenant, tool.clone()), id)));
    }

    pub fn forget(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
