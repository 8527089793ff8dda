//! Which tables are meant: names against the common table expressions in sight, then against the list.

use std::collections::HashSet;

use crate::{Ask, DialectList, Refusal, Rule};

use super::names::shown;

/// The names that `WITH` has given, innermost last.
#[derive(Debug, Default)]
pub struct Scope<'a> {
    frames: Vec<HashSet<&'a str>>,
}

impl<'a> Scope<'a> {
    pub fn enter(&mut self, names: HashSet<&'a str>) {
        self.frames.push(names);
    }

    /// A plain `WITH` sees what stands before it, so a name is known only after its query was read.
    pub fn define(&mut self, name: &'a str) {
        if let Some(frame) = self.frames.last_mut() {
            frame.insert(name);
        }
    }

    pub fn leave(&mut self) {
        self.frames.pop();
    }

    pub fn has(&self, name: &str) -> bool {
        self.frames.iter().any(|frame| frame.contains(name))
    }
}

/// Whether a table may be read. Without a list all may, and the grants of the role decide.
pub fn refused(schema: Option<&str>, table: &str, ask: &Ask<'_>, list: &DialectList) -> Option<Refusal> {
    let listed = ask.tables?;
    if listed.iter().any(|entry| means(entry, schema, table)) {
        return None;
    }
    let name = shown(&written(schema, table));
    if list.is_catalogue(schema, table) {
        return Some(Refusal {
            rule: Rule::Catalogue,
            reason: format!("`{name}` is a catalogue of the database and not one of the tables that may be read"),
        });
    }
    Some(Refusal { rule: Rule::Table, reason: format!("table `{name}` is not one of those that may be read") })
}

/// `notes` in a list is the table of that name, or `public.notes`; `app.notes` is only that. Case counts: the parser has
/// folded what was not quoted.
fn means(entry: &str, schema: Option<&str>, table: &str) -> bool {
    match (entry.split_once('.'), schema) {
        (Some((in_schema, name)), Some(schema)) => in_schema == schema && name == table,
        (Some(("public", name)), None) => name == table,
        (Some(_), None) => false,
        (None, Some(schema)) => schema == "public" && entry == table,
        (None, None) => entry == table,
    }
}

pub fn written(schema: Option<&str>, table: &str) -> String {
    match schema {
        Some(schema) => format!("{schema}.{table}"),
        None => table.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::means;

    #[test]
    fn an_entry_means_one_table() {
        for (entry, schema, table, expected) in [
            ("notes", None, "notes", true),
            ("notes", Some("public"), "notes", true),
            ("notes", Some("app"), "notes", false),
            ("app.notes", Some("app"), "notes", true),
            ("app.notes", None, "notes", false),
            ("public.notes", None, "notes", true),
            ("notes", None, "Notes", false),
            ("Notes", None, "Notes", true),
        ] {
            assert_eq!(means(entry, schema, table), expected, "{entry} {schema:?} {table}");
        }
    }
}
