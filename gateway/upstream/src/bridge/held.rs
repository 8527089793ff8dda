//! Calls that rest until their caller has answered a question, each under a name that only its owner can use, once.
//!
//! A resting call is not read: what its server says meanwhile waits in the connection. It costs memory and a timer, so there
//! are only so many, and none for ever.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gateway_protocol::Request;
use tokio::task::AbortHandle;
use tracing::info;
use uuid::Uuid;

use super::BridgeSettings;
use super::running::Running;
use crate::commons::Commons;

/// Core seals such a state together with this process's address.
const PREFIX: &str = "portreeve-held:";
/// Nothing rests: the call is simply made again.
pub(super) const AGAIN: &str = "portreeve-again";
const MOST: usize = 1_000;

pub(super) struct HeldCalls {
    table: Mutex<Table>,
    hold: Duration,
    longest: Duration,
    per_principal: usize,
    commons: Commons,
}

#[derive(Default)]
struct Table {
    calls: HashMap<Uuid, Held>,
    closed: bool,
}

struct Held {
    running: Running,
    timer: AbortHandle,
}

impl HeldCalls {
    pub(super) fn new(settings: &BridgeSettings) -> Self {
        let BridgeSettings { hold, longest, held_per_principal, .. } = *settings;
        let commons = settings.commons.clone();
        Self { table: Mutex::default(), hold, longest, per_principal: held_per_principal, commons }
    }

    /// The state under which the call is found again. `None` if there is no room: then it is taken back.
    pub(super) fn park(self: &Arc<Self>, running: Running) -> Option<String> {
        let id = Uuid::new_v4();
        let mut table = self.table();
        let of_owner = table.calls.values().filter(|held| held.running.owner() == running.owner()).count();
        if table.closed || table.calls.len() >= MOST || of_owner >= self.per_principal {
            drop(table);
            drop(running);
            return None;
        }
        let time = self.hold.min(self.longest.saturating_sub(running.age()));
        let calls = Arc::downgrade(self);
        let timer = self.commons.spawn(async move {
            tokio::time::sleep(time).await;
            if let Some(calls) = calls.upgrade() {
                calls.expire(id);
            }
        });
        table.calls.insert(id, Held { running, timer: timer.abort_handle() });
        Some(format!("{PREFIX}{id}"))
    }

    /// The call that rests under this state, if it is this principal's and `request` is that call once more.
    pub(super) fn take(&self, state: &str, owner: &str, request: &Request) -> Option<Running> {
        let id = state.strip_prefix(PREFIX)?.parse().ok()?;
        let mut table = self.table();
        table.calls.get(&id).filter(|held| held.running.is_continued_by(owner, request))?;
        let Held { running, timer } = table.calls.remove(&id)?;
        timer.abort();
        Some(running)
    }

    /// Takes back whatever rests; nothing will rest from now on.
    pub(super) fn end(&self) {
        let calls = {
            let mut table = self.table();
            table.closed = true;
            std::mem::take(&mut table.calls)
        };
        for held in calls.into_values() {
            held.timer.abort();
        }
    }

    fn expire(&self, id: Uuid) {
        let held = self.table().calls.remove(&id);
        if let Some(held) = held {
            info!(method = held.running.method(), "nobody answered in time, so a waiting call was taken back");
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
