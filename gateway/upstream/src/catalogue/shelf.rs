//! The lists that are kept, for as long as they are good.
//!
//! What an upstream announces as changed is dropped together. A list that was on its way meanwhile is not kept: it may be
//! from before the change.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gateway_core::ports::Clock;
use gateway_protocol::headers::{Mirrored, mirrored};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::reader::{Area, Page, Reader};

const MAX_PAGES: usize = 1_000;
const MAX_BYTES: usize = 64 * 1024 * 1024;
/// Whatever an upstream says.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// Definitions are needed for calls, which come long after a list that nobody may keep.
const DEFINITIONS_LIVE: Duration = Duration::from_secs(60);
const MAX_READERS: usize = 1_000;

pub(super) struct Shelf {
    clock: Arc<dyn Clock>,
    books: Mutex<Books>,
}

#[derive(Default)]
struct Books {
    pages: HashMap<Page, Kept>,
    bytes: usize,
    definitions: HashMap<Reader, Definitions>,
    habits: HashMap<Area, Habit>,
    changes: HashMap<Area, u64>,
}

struct Kept {
    result: Arc<Value>,
    until: Timestamp,
    bytes: usize,
}

struct Definitions {
    tools: HashMap<String, Tool>,
    /// Nothing else is listed.
    whole: bool,
    until: Timestamp,
}

struct Tool {
    definition: Arc<Value>,
    /// Needed for every call, so it is read from the definition once.
    mirrored: Arc<[Mirrored]>,
}

/// What became of the last list of an area.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Habit {
    NotKept,
    #[default]
    KeptForOne,
    KeptForAll,
}

/// Which edition of its area a list belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Edition(u64);

/// What is known of a tool.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Defined {
    As(Arc<Value>),
    /// The whole list is known, and it is not in it.
    Nowhere,
    Unknown,
}

impl Shelf {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, books: Mutex::default() }
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        // Every change under the lock leaves the books whole.
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn edition(&self, area: Area) -> Edition {
        Edition(self.books().changes.get(&area).copied().unwrap_or_default())
    }

    /// A kept page, and how long it is still good.
    pub(super) fn find(&self, page: &Page) -> Option<(Arc<Value>, Duration)> {
        let now = self.clock.now();
        let books = self.books();
        let kept = books.pages.get(page)?;
        let left = Duration::try_from(kept.until.duration_since(now)).ok()?;
        (!left.is_zero()).then(|| (Arc::clone(&kept.result), left))
    }

    /// True if it was kept. A later page is good for as long as the page its list begins with, and not without it.
    pub(super) fn keep(&self, page: &Page, edition: Edition, result: &Value, lifetime: Duration) -> bool {
        let now = self.clock.now();
        let Some(area) = page.area() else { return false };
        if lifetime.is_zero() || self.edition(area) != edition {
            return false;
        }
        let until = match page.beginning() {
            None => now + signed(lifetime.min(LONGEST)),
            Some(beginning) => match self.find(&beginning) {
                Some((_, left)) => now + signed(left),
                None => return false,
            },
        };
        let bytes = result.to_string().len();
        let mut books = self.books();
        books.remove(page);
        if books.pages.len() >= MAX_PAGES || books.bytes + bytes > MAX_BYTES {
            books.retain(|_, kept| kept.until > now);
        }
        if books.pages.len() >= MAX_PAGES || books.bytes + bytes > MAX_BYTES {
            return false;
        }
        books.bytes += bytes;
        books.pages.insert(page.clone(), Kept { result: Arc::new(result.clone()), until, bytes });
        true
    }

    pub(super) fn changed(&self, area: Area) {
        let mut books = self.books();
        *books.changes.entry(area).or_default() += 1;
        books.retain(|page, _| page.area() != Some(area));
        if area == Area::Tools {
            books.definitions.clear();
        }
    }

    /// Notes what tools look like to a reader; `whole` if these are all of them.
    pub(super) fn define(&self, reader: &Reader, edition: Edition, tools: &[Value], whole: bool) {
        if self.edition(Area::Tools) != edition {
            return;
        }
        let named = tools.iter().filter_map(|tool| {
            let name = tool.get("name")?.as_str()?.to_owned();
            Some((name, Tool { definition: Arc::new(tool.clone()), mirrored: mirrored(tool).into() }))
        });
        // Before the lock is taken: a list may be long.
        let named: Vec<_> = named.collect();
        let now = self.clock.now();
        let mut books = self.books();
        if books.definitions.len() >= MAX_READERS {
            books.definitions.retain(|_, known| known.until > now);
        }
        if books.definitions.len() >= MAX_READERS && !books.definitions.contains_key(reader) {
            return;
        }
        let fresh = || Definitions { tools: HashMap::new(), whole: false, until: now };
        let known = books.definitions.entry(reader.clone()).or_insert_with(fresh);
        if whole || known.until <= now {
            *known = fresh();
            known.until = now + signed(DEFINITIONS_LIVE);
        }
        known.whole |= whole;
        known.tools.extend(named);
    }

    /// What the tool wants repeated in headers, if it is known.
    pub(super) fn mirrors(&self, reader: &Reader, tool: &str) -> Option<Arc<[Mirrored]>> {
        let now = self.clock.now();
        let books = self.books();
        let known = books.definitions.get(reader).filter(|known| known.until > now)?;
        known.tools.get(tool).map(|tool| Arc::clone(&tool.mirrored))
    }

    pub(super) fn habit(&self, area: Area) -> Habit {
        self.books().habits.get(&area).copied().unwrap_or_default()
    }

    pub(super) fn usually(&self, area: Area, habit: Habit) {
        self.books().habits.insert(area, habit);
    }

    pub(super) fn defined(&self, reader: &Reader, tool: &str) -> Defined {
        let now = self.clock.now();
        let books = self.books();
        let Some(known) = books.definitions.get(reader).filter(|known| known.until > now) else {
            return Defined::Unknown;
        };
        match known.tools.get(tool) {
            Some(tool) => Defined::As(Arc::clone(&tool.definition)),
            None if known.whole => Defined::Nowhere,
            None => Defined::Unknown,
        }
    }
}

impl Books {
    fn remove(&mut self, page: &Page) {
        if let Some(kept) = self.pages.remove(page) {
            self.bytes -= kept.bytes;
        }
    }

    fn retain(&mut self, wanted: impl Fn(&Page, &Kept) -> bool) {
        self.pages.retain(|page, kept| wanted(page, kept));
        self.bytes = self.pages.values().map(|kept| kept.bytes).sum();
    }
}

/// None of our lifetimes is longer than a day.
fn signed(time: Duration) -> SignedDuration {
    SignedDuration::try_from(time).unwrap_or(SignedDuration::ZERO)
}
