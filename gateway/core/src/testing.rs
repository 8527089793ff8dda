//! Stand-ins for the ports, for tests in this crate.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::needless_pass_by_value)]

pub mod bench;
mod no_approvals;
mod runs;

pub use no_approvals::NoApprovals;
pub use runs::Runs;

use std::sync::Mutex;

use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use crate::ports::{Clock, Seal};

/// Time that passes when told to.
pub struct FixedClock {
    now: Mutex<Timestamp>,
    ids: Mutex<u128>,
}

impl Default for FixedClock {
    fn default() -> Self {
        Self { now: Mutex::new(Timestamp::from_second(1_790_000_000).unwrap()), ids: Mutex::new(0) }
    }
}

impl FixedClock {
    pub fn pass(&self, time: SignedDuration) {
        *self.now.lock().unwrap() += time;
    }
}

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        *self.now.lock().unwrap()
    }

    fn fresh_id(&self) -> Uuid {
        let mut ids = self.ids.lock().unwrap();
        *ids += 1;
        Uuid::from_u128(*ids)
    }
}

/// Hides nothing, and opens only what it sealed.
pub struct PlainSeal;

impl Seal for PlainSeal {
    fn seal(&self, plain: &[u8]) -> String {
        format!("sealed.{}", hex::encode(plain))
    }

    fn open(&self, sealed: &str) -> Option<Vec<u8>> {
        hex::decode(sealed.strip_prefix("sealed.")?).ok()
    }

    fn derive(&self, label: &str) -> [u8; 32] {
        <sha2::Sha256 as sha2::Digest>::digest(label).into()
    }
}
