//! What the walk has found so far: how bad it is, and the first thing that is wrong with it.

use crate::verdict::denied_operation;
use crate::{Class, Kind, Refusal, Rule};

use super::tables;
use super::walk::Walk;

/// The origin's own words are kept for these.
const FIVE: [&str; 5] = ["DROP", "TRUNCATE", "ALTER", "DELETE", "UPDATE"];

impl Walk<'_> {
    pub(super) fn refuse(&mut self, rule: Rule, reason: impl Into<String>) {
        self.refuse_with(Refusal { rule, reason: reason.into() });
    }

    fn refuse_with(&mut self, refusal: Refusal) {
        self.other.get_or_insert(refusal);
    }

    /// A function or operator that may do anything.
    pub(super) fn unvouched(&mut self, refusal: Refusal) {
        self.is(Class::SideEffect, Kind::Unknown);
        self.refuse_with(refusal);
    }

    pub(super) fn write(&mut self, kind: Kind, word: &str) {
        if self.planned {
            return;
        }
        self.operations.insert(word.to_owned());
        // A statement that does more than write stays what it is.
        if self.class == Class::Read {
            self.class = Class::Write;
        }
        self.kind = self.kind.max(kind);
        let told = self.write.as_ref().is_some_and(|told| told.reason.starts_with("Security violation"));
        let reason = if FIVE.contains(&word) { denied_operation(word) } else { only_reads(word) };
        if self.write.is_none() || (!told && FIVE.contains(&word)) {
            self.write = Some(Refusal { rule: Rule::Statement, reason });
        }
    }

    /// Neither a read nor a plain write: refused wherever it stands.
    pub(super) fn side_effect(&mut self, kind: Kind, word: &str) {
        self.operations.insert(word.to_owned());
        self.is(Class::SideEffect, kind);
        let five = FIVE.into_iter().find(|five| word.starts_with(five));
        self.refuse(Rule::Statement, five.map_or_else(|| only_reads(word), denied_operation));
    }

    pub(super) fn unknown(&mut self, what: &str) {
        self.is(Class::SideEffect, Kind::Unknown);
        self.refuse(Rule::Statement, format!("{what} is not understood, and so not allowed"));
    }

    pub(super) fn is(&mut self, class: Class, kind: Kind) {
        self.class = self.class.max(class);
        self.kind = self.kind.max(kind);
    }

    /// Statements whose tables are not looked for cannot be held against a list.
    pub(super) fn unlistable(&mut self, word: &str) {
        if self.ask.tables.is_some() {
            self.refuse(Rule::Table, format!("`{word}` cannot be held to a list of tables"));
        }
    }

    pub(super) fn table(&mut self, schema: Option<&str>, table: &str) {
        self.tables.insert(tables::written(schema, table));
        if let Some(refusal) = tables::refused(schema, table, self.ask, self.list) {
            self.refuse_with(refusal);
        }
    }
}

fn only_reads(word: &str) -> String {
    format!("Operation '{word}' is not allowed in read-only mode: send one SELECT, VALUES, TABLE, SHOW or EXPLAIN")
}
