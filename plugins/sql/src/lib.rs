//! Reads one SQL text and says what it would do: which class it is of, which tables it reads, and why it is refused.
//!
//! Text in, verdict out. Nothing here knows of tools, tenants or chains, opens anything or runs a statement; what is not
//! understood is refused. What may be called is data (`lists`), and the grammar is each dialect's own (`postgres`, `other`).

mod cache;
mod detect;
mod lists;
mod other;
mod postgres;
mod verdict;

pub use detect::looks_like_sql;
pub use lists::{DialectList, Explain, Lists, Show, WrittenList};
pub use verdict::{Ask, Class, Dialect, Kind, Read, Refusal, Rule};

use cache::Cache;

/// The longest text that is read at all.
pub const LONGEST: usize = 1024 * 1024;

/// Reads statements by the lists it was made with.
pub struct Guard {
    lists: Lists,
    digest: String,
    cache: Cache,
}

impl Guard {
    pub fn new(lists: Lists) -> Self {
        let digest = lists.digest();
        Self { lists, digest, cache: Cache::new() }
    }

    /// Changes whenever a verdict may.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    pub fn read(&self, text: &str, ask: &Ask<'_>) -> Read {
        self.cache.kept(text, ask, || self.read_anew(text, ask))
    }

    /// What `read` says, without looking whether it was said before.
    pub fn read_anew(&self, text: &str, ask: &Ask<'_>) -> Read {
        if text.len() > LONGEST {
            return Read::invalid(Rule::TooLong, format!("the statement is longer than {LONGEST} bytes"));
        }
        if text.contains('\0') {
            return Read::invalid(Rule::Syntax, "the statement holds a NUL character");
        }
        let list = self.lists.of(ask.dialect);
        match ask.dialect {
            Dialect::Postgres => postgres::read(text, ask, list),
            Dialect::Sqlite | Dialect::Mysql | Dialect::Generic => other::read(text, ask, list),
        }
    }
}
