//! The sessions that modern clients have with a legacy upstream without knowing it.
//!
//! One for each principal and each set of client capabilities: a server is told what its client can be asked, and may act
//! unasked where it cannot. Principals never share one. What nobody used for a while is ended.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use gateway_core::canonical::Canonical;
use gateway_core::ports::{Upstream, UpstreamError};
use gateway_core::{Exchange, digest};
use gateway_protocol::Revision;
use gateway_protocol::era::{Described, down};
use serde_json::Value;

use super::BridgeSettings;
use super::errands::Errands;
use super::live::Live;

const PER_PRINCIPAL: usize = 8;
const MOST: usize = 10_000;
pub(super) const IDLE: Duration = Duration::from_secs(600);
const SWEEP: Duration = Duration::from_secs(60);

pub(super) struct Pool {
    inner: Arc<dyn Upstream>,
    settings: BridgeSettings,
    errands: Errands,
    slots: Arc<Mutex<Slots>>,
    settled: Mutex<Option<Revision>>,
    sweeping: AtomicBool,
    closed: AtomicBool,
}

type Slots = HashMap<String, Arc<Slot>>;

struct Slot {
    owner: String,
    /// Whoever opens it holds the lock, so that the others find it open.
    live: tokio::sync::Mutex<Option<Arc<Live>>>,
}

impl Slot {
    /// Nobody is using it, and nobody has for this long.
    fn unused_for(self: &Arc<Self>, time: Duration) -> bool {
        let unused = |live: &Arc<Live>| Arc::strong_count(live) == 1 && live.idle() >= time;
        let free = |live: Option<&Arc<Live>>| live.is_none_or(|live| live.is_gone() || unused(live));
        Arc::strong_count(self) == 1 && self.live.try_lock().is_ok_and(|live| free(live.as_ref()))
    }
}

pub(super) enum NotOpen {
    /// This principal, or everybody together, has too many.
    Full,
    Failed(UpstreamError),
}

impl Pool {
    pub(super) fn new(inner: Arc<dyn Upstream>, settings: BridgeSettings, errands: Errands) -> Self {
        Self {
            inner,
            settings,
            errands,
            slots: Arc::default(),
            settled: Mutex::default(),
            sweeping: AtomicBool::new(false),
            closed: AtomicBool::new(false),
        }
    }

    /// The session in which this principal's client with these capabilities is served, opened now if it is not.
    pub(super) async fn live(&self, exchange: &Exchange, described: &Described) -> Result<Arc<Live>, NotOpen> {
        let slot = self.slot(exchange.principal.binding(), described).ok_or(NotOpen::Full)?;
        let mut place = slot.live.lock().await;
        if let Some(live) = place.as_ref().filter(|live| !live.is_gone()) {
            live.touch();
            return Ok(Arc::clone(live));
        }
        let opened = Live::open(&self.inner, &self.errands, &self.settings, exchange, described).await;
        let live = opened.map_err(NotOpen::Failed)?;
        *self.settled.lock().unwrap_or_else(PoisonError::into_inner) = Some(live.greeting().revision);
        *place = Some(Arc::clone(&live));
        Ok(live)
    }

    pub(super) fn settled(&self) -> Option<Revision> {
        *self.settled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn slot(&self, owner: String, described: &Described) -> Option<Arc<Slot>> {
        self.sweep();
        let capabilities = Value::Object(down::capabilities(&described.capabilities));
        // In canonical form, so that the order in which a client names them does not matter.
        let named = Canonical::of(&capabilities).map_or_else(|_| capabilities.to_string(), String::from);
        let key = format!("{owner} {}", digest::hex(named.as_bytes()));
        let mut slots = locked(&self.slots);
        if let Some(slot) = slots.get(&key) {
            return Some(Arc::clone(slot));
        }
        let of_owner = || slots.values().filter(|slot| slot.owner == owner).count();
        if slots.len() >= MOST || of_owner() >= PER_PRINCIPAL {
            // What is only kept for later makes room.
            slots.retain(|_, slot| slot.owner != owner || !slot.unused_for(Duration::ZERO));
        }
        let of_owner = slots.values().filter(|slot| slot.owner == owner).count();
        if slots.len() >= MOST || of_owner >= PER_PRINCIPAL {
            return None;
        }
        let slot = Arc::new(Slot { owner, live: tokio::sync::Mutex::default() });
        slots.insert(key, Arc::clone(&slot));
        Some(slot)
    }

    /// Starts the sweeping, which ends with the pool.
    fn sweep(&self) {
        if !self.sweeping.swap(true, Ordering::Relaxed) {
            let slots = Arc::downgrade(&self.slots);
            self.settings.commons.spawn(sweep(slots));
        }
    }

    /// Nobody who listens is to be moved to a new session any more.
    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Ends every session as soon as its calls are over, and whoever listens now.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        let slots = std::mem::take(&mut *locked(&self.slots));
        for slot in slots.into_values() {
            if let Ok(mut place) = slot.live.try_lock()
                && let Some(live) = place.take()
            {
                live.end_news();
            }
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.close();
    }
}

async fn sweep(slots: Weak<Mutex<Slots>>) {
    loop {
        tokio::time::sleep(SWEEP).await;
        let Some(slots) = slots.upgrade() else { return };
        locked(&slots).retain(|_, slot| !slot.unused_for(IDLE));
    }
}

fn locked(slots: &Mutex<Slots>) -> MutexGuard<'_, Slots> {
    slots.lock().unwrap_or_else(PoisonError::into_inner)
}
