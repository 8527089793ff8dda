//! Verdicts that were given before: agents ask the same thing again and again.
//!
//! A guard's lists never change (new lists are a new guard), so a verdict is good for as long as its guard.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use sha2::{Digest, Sha256};

use crate::{Ask, Read};

/// Longer texts are rare and would be asked once.
const LONGEST: usize = 4096;
const SHARDS: usize = 16;
const PER_SHARD: usize = 64;

type Key = [u8; 32];

/// Cut into parts with a lock each, so that threads seldom meet.
pub struct Cache {
    shards: [Mutex<HashMap<Key, Read>>; SHARDS],
}

impl Cache {
    pub fn new() -> Self {
        Self { shards: std::array::from_fn(|_| Mutex::new(HashMap::new())) }
    }

    pub fn kept(&self, text: &str, ask: &Ask<'_>, read: impl FnOnce() -> Read) -> Read {
        if text.len() > LONGEST {
            return read();
        }
        let key = key(text, ask);
        let Some(shard) = self.shards.get(usize::from(key[0]) % SHARDS) else { return read() };
        if let Some(known) = shard.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return known.clone();
        }
        let found = read();
        let mut kept = shard.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= PER_SHARD {
            kept.clear();
        }
        kept.insert(key, found.clone());
        found
    }
}

/// Everything that a verdict depends on, each part with its length, so that no two questions look alike.
fn key(text: &str, ask: &Ask<'_>) -> Key {
    let Ask { dialect, tables, functions, several } = ask;
    let mut all = Sha256::new();
    let mut add = |part: &str| {
        all.update((part.len() as u64).to_le_bytes());
        all.update(part);
    };
    add(dialect.as_str());
    add(if *several { "several" } else { "one" });
    match tables {
        Some(tables) => {
            add(&tables.len().to_string());
            tables.iter().for_each(|table| add(table));
        }
        None => add("any"),
    }
    functions.iter().for_each(|function| add(function));
    add(text);
    all.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dialect, Rule};

    #[test]
    fn a_verdict_is_kept_for_the_very_same_question() {
        let cache = Cache::new();
        let ask = Ask::of(Dialect::Sqlite);
        let asked = std::cell::Cell::new(0);
        let put = |text: &str, ask: &Ask<'_>| {
            cache.kept(text, ask, || {
                asked.set(asked.get() + 1);
                Read::invalid(Rule::Syntax, text)
            })
        };
        let first = put("select 1", &ask);
        assert_eq!(put("select 1", &ask), first);
        let tables = ["a".to_owned(), "b".to_owned()];
        let (both, one) = (Ask { tables: Some(&tables), ..ask }, Ask { tables: Some(&tables[..1]), ..ask });
        for other in [both, one, Ask { tables: Some(&[]), ..ask }, Ask { functions: &tables, ..ask }] {
            put("select 1", &other);
        }
        put("select 1", &Ask { several: true, ..ask });
        put("select 1", &Ask::of(Dialect::Mysql));
        put("select 2", &ask);
        let long = " ".repeat(LONGEST + 1);
        put(&long, &ask);
        put(&long, &ask);
        assert_eq!(asked.get(), 10);
        for number in 0..5000 {
            put(&number.to_string(), &ask);
        }
        let kept: usize =
            cache.shards.iter().map(|shard| shard.lock().unwrap_or_else(PoisonError::into_inner).len()).sum();
        assert!(kept <= SHARDS * PER_SHARD);
    }
}
