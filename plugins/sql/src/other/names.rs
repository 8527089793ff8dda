//! Names: which table is meant, whether it may be read, and which functions may be called.

use std::collections::HashSet;

use sqlparser::ast::{Ident, ObjectName, ObjectNamePart, Query};

use super::walk::Walk;
use crate::{Class, Dialect, Rule};

/// The parts of a name, none of which is computed.
pub fn parts(name: &ObjectName) -> Option<Vec<&Ident>> {
    let parts = name.0.iter().map(|part| match part {
        ObjectNamePart::Identifier(ident) => Some(ident),
        ObjectNamePart::Function(_) => None,
    });
    parts.collect()
}

impl Walk<'_> {
    /// Whether two names are one. SQLite knows no case, the others may: there only the same letters are surely the same.
    fn same(&self, first: &str, second: &str) -> bool {
        match self.ask.dialect {
            Dialect::Sqlite => first.eq_ignore_ascii_case(second),
            _ => first == second,
        }
    }

    /// What a `WITH` defines is visible to what follows it, and to itself where it may recur. Where a database lets more be
    /// seen, a table must be listed that is none: never the other way round.
    pub fn with(&mut self, query: &Query, inner: impl FnOnce(&mut Self)) {
        let Some(with) = &query.with else { return inner(self) };
        self.scopes.push(HashSet::new());
        for cte in &with.cte_tables {
            let name = &cte.alias.name.value;
            if cte.from.is_some() || cte.alias.at.is_some() {
                self.unknown("this form of WITH");
            }
            if with.recursive {
                self.define(name);
                self.query(&cte.query);
            } else {
                self.query(&cte.query);
                self.define(name);
            }
        }
        inner(self);
        self.scopes.pop();
    }

    fn define(&mut self, name: &str) {
        let name = self.folded(name);
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name);
        }
    }

    fn is_defined(&self, name: &str) -> bool {
        let name = self.folded(name);
        self.scopes.iter().any(|scope| scope.contains(&name))
    }

    /// Two names that are one are the same letters after this.
    fn folded(&self, name: &str) -> String {
        match self.ask.dialect {
            Dialect::Sqlite => name.to_ascii_lowercase(),
            _ => name.to_owned(),
        }
    }

    /// A table is named where tables stand.
    pub fn table(&mut self, name: &ObjectName) {
        let Some(parts) = parts(name) else { return self.unknown("a computed name") };
        // A text where a table stands is one to SQLite; to others it is a file, or a place on the net.
        if self.ask.dialect != Dialect::Sqlite && parts.iter().any(|part| part.quote_style == Some('\'')) {
            self.unknown("a text in the place of a table");
        }
        let values: Vec<_> = parts.iter().map(|part| part.value.as_str()).collect();
        match values.as_slice() {
            [table] if self.is_defined(table) => {}
            [table] => self.named(None, table),
            [schema, table] => self.named(Some(schema), table),
            _ => {
                self.tables.insert(values.join("."));
                if self.ask.tables.is_some() {
                    self.refuse(Class::Read, Rule::Table, "a table of another catalogue is not one of the listed");
                }
            }
        }
    }

    fn named(&mut self, schema: Option<&str>, table: &str) {
        // SQLite calls a function in FROM that has no parentheses, too, and some of those act.
        let lower = table.to_ascii_lowercase();
        let called = lower.starts_with("pragma_") || ["fsdir", "zipfile"].contains(&lower.as_str());
        if self.ask.dialect != Dialect::Mysql && called && !self.list.has_table_function(&lower) {
            self.not_listed(&lower);
        }
        let whole = schema.map_or_else(|| table.to_owned(), |schema| format!("{schema}.{table}"));
        if let Some(listed) = self.ask.tables {
            // The first of SQLite's databases is where a table is looked for that has no schema.
            let is_main = self.ask.dialect == Dialect::Sqlite && schema.is_some_and(|schema| self.same(schema, "main"));
            let near = if is_main { None } else { schema };
            let dummy = self.ask.dialect == Dialect::Mysql && schema.is_none() && table.eq_ignore_ascii_case("dual");
            // Part by part: `app.notes` in quotes is one name, which has a dot.
            let is_listed = |entry: &String| match (entry.split_once('.'), schema) {
                (Some((of, name)), Some(schema)) => self.same(of, schema) && self.same(name, table),
                (None, _) => near.is_none() && self.same(entry, table),
                (Some(_), None) => false,
            };
            if !dummy && !listed.iter().any(is_listed) {
                let inner = near.filter(|schema| !self.same(schema, "temp") || self.ask.dialect != Dialect::Sqlite);
                let (rule, what) = match self.list.is_catalogue(inner, table) {
                    true => (Rule::Catalogue, "belongs to the database itself and is not listed"),
                    false => (Rule::Table, "is not one of the listed tables"),
                };
                self.refuse(Class::Read, rule, format!("`{whole}` {what}"));
            }
        }
        self.tables.insert(whole);
    }

    /// A function is called where values stand.
    pub fn function(&mut self, name: &ObjectName, arguments: usize) {
        let Some(parts) = parts(name) else { return self.unknown("a computed name") };
        let whole = parts.iter().map(|part| part.value.to_ascii_lowercase()).collect::<Vec<_>>().join(".");
        let shipped = parts.len() == 1 && self.list.has_function(&whole, arguments);
        let own = || self.ask.functions.iter().any(|own| own.eq_ignore_ascii_case(&whole));
        if !shipped && !own() {
            self.not_listed(&whole);
        }
    }

    pub fn not_listed(&mut self, name: &str) {
        let what = format!("function `{name}` is not one of those known to do nothing but compute");
        self.refuse(Class::SideEffect, Rule::Function, what);
    }

    /// A function stands where tables stand.
    pub fn table_function(&mut self, name: &ObjectName) {
        let Some(parts) = parts(name) else { return self.unknown("a computed name") };
        let whole = parts.iter().map(|part| part.value.to_ascii_lowercase()).collect::<Vec<_>>().join(".");
        if parts.len() != 1 || !self.list.has_table_function(&whole) {
            // `docs('cat')` searches the table `docs`; only a list can say that there is such a table, and no function.
            let is_table = self.ask.tables.is_some_and(|listed| listed.iter().any(|entry| self.same(entry, &whole)));
            return match (is_table && self.ask.dialect == Dialect::Sqlite, parts.as_slice()) {
                (true, [table]) => self.named(None, &table.value),
                _ => self.not_listed(&whole),
            };
        }
        if self.ask.tables.is_some() && self.list.is_catalogue(None, &whole) {
            self.refuse(
                Class::Read,
                Rule::Catalogue,
                format!("`{whole}` tells of the database itself and is not listed"),
            );
        }
    }
}
