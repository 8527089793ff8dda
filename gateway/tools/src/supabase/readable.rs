//! Which tables a call may read: what the operator allows, and of that what the tool agent allows whose run it is.

use gateway_core::agents::{ALWAYS_DENIED, Security};
use gateway_core::policies::Dialect;
use gateway_core::ports::TableInfo;
use gateway_core::sql::{SqlAsk, SqlClass, SqlRead, SqlReader};

use super::Shared;
use crate::builtin::{Called, ToolFailure};

/// Names that an error lists before it counts the rest.
const LISTED: usize = 20;

pub(super) struct Readable<'a> {
    dialect: Dialect,
    /// `None`: any.
    allowed: Option<Vec<String>>,
    security: Option<&'a Security>,
}

impl<'a> Readable<'a> {
    pub(super) fn of(shared: &Shared, call: Called<'a>) -> Self {
        let security = call.run.map(|run| run.security.as_ref());
        let own = security.and_then(|own| own.allowed_tables.as_deref());
        Self {
            dialect: shared.ports.database.dialect(),
            allowed: Security::intersection(shared.settings.allowed_tables.as_deref(), own),
            security,
        }
    }

    pub(super) fn allows(&self, table: &TableInfo) -> bool {
        let Some(allowed) = &self.allowed else { return true };
        allowed.iter().any(|entry| self.means(entry, table))
    }

    /// Of these tables the ones that a caller named, or all that may be read where none was.
    pub(super) fn chosen(&self, tables: Vec<TableInfo>, named: &[&str]) -> Result<Vec<TableInfo>, ToolFailure> {
        let readable = tables.into_iter().filter(|table| self.allows(table));
        if named.is_empty() {
            return Ok(readable.collect());
        }
        let readable: Vec<TableInfo> = readable.collect();
        let mut chosen: Vec<TableInfo> = Vec::new();
        for &name in named {
            // As it stands, else as the engine would fold a name without quotes.
            let folded = name.to_ascii_lowercase();
            let found = |wanted: &str| readable.iter().find(|table| self.means(wanted, table));
            match found(name).or_else(|| found(&folded)) {
                Some(table) if chosen.contains(table) => {}
                Some(table) => chosen.push(table.clone()),
                None => return Err(self.missing(name, &readable)),
            }
        }
        Ok(chosen)
    }

    /// A table outside the list is refused whether or not it exists: what is not allowed is not told of either.
    fn missing(&self, name: &str, readable: &[TableInfo]) -> ToolFailure {
        match &self.allowed {
            Some(allowed) if !allowed.iter().any(|entry| entry.eq_ignore_ascii_case(name)) => self.outside(name),
            _ => ToolFailure::new(format!("there is no table `{name}`; the tables are {}", listed(readable))),
        }
    }

    fn outside(&self, table: &str) -> ToolFailure {
        let allowed = self.allowed.as_deref().unwrap_or_default();
        let shown = if allowed.is_empty() { "none".to_owned() } else { shortened(allowed.iter().cloned()) };
        ToolFailure::new(format!("Security violation: Table '{table}' is not allowed. Allowed tables: {shown}"))
    }

    /// What a statement is, if it may be run: one statement that reads, of tables that may be read, in this dialect.
    pub(super) fn checked(&self, reader: &dyn SqlReader, dialect: Dialect, sql: &str) -> Result<SqlRead, ToolFailure> {
        let ask = SqlAsk { dialect: Some(dialect), tables: self.allowed.as_deref(), ..SqlAsk::default() };
        let read = reader.read(sql, &ask);
        let read = match self.security {
            Some(own) => read.within(own),
            None => read.within(&Security::default()),
        };
        if let Some(refusal) = &read.refused {
            let outside = read.tables.iter().find(|table| !self.lists(table));
            return Err(match (refusal.rule, outside) {
                ("table", Some(table)) => self.outside(table),
                _ => ToolFailure::new(refusal.reason.clone()),
            });
        }
        // Whatever a reader may think of next: what is no read is not run here.
        if read.class != SqlClass::Read || !read.operations.is_empty() {
            let denied = self.security.map_or_else(|| ALWAYS_DENIED.map(str::to_owned).to_vec(), denied);
            let word = read.operations.first().map_or("this statement", String::as_str);
            return Err(ToolFailure::new(gateway_core::sql::denied(word, &denied)));
        }
        Ok(read)
    }

    fn lists(&self, written: &str) -> bool {
        let (schema, name) = match written.split_once('.') {
            Some((schema, name)) => (Some(schema.to_owned()), name.to_owned()),
            None => (None, written.to_owned()),
        };
        self.allows(&TableInfo { schema, name, columns: Vec::new() })
    }

    /// `notes` is the table of that name where the engine looks first; `app.notes` is only that one.
    fn means(&self, entry: &str, table: &TableInfo) -> bool {
        let (first, folds) = match self.dialect {
            Dialect::Sqlite => ("main", true),
            _ => ("public", false),
        };
        let same = |one: &str, other: &str| if folds { one.eq_ignore_ascii_case(other) } else { one == other };
        let (schema, name) = entry.split_once('.').unwrap_or((first, entry));
        same(schema, table.schema.as_deref().unwrap_or(first)) && same(name, &table.name)
    }
}

fn denied(own: &Security) -> Vec<String> {
    own.denied_with(&ALWAYS_DENIED)
}

fn listed(tables: &[TableInfo]) -> String {
    let full = |table: &TableInfo| match &table.schema {
        Some(schema) => format!("{schema}.{}", table.name),
        None => table.name.clone(),
    };
    if tables.is_empty() { "none".into() } else { shortened(tables.iter().map(full)) }
}

fn shortened(names: impl ExactSizeIterator<Item = String>) -> String {
    let more = names.len().saturating_sub(LISTED);
    let shown: Vec<String> = names.take(LISTED).collect();
    if more == 0 { shown.join(", ") } else { format!("{} and {more} more", shown.join(", ")) }
}
