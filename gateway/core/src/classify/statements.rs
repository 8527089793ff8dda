//! Which of a call's arguments are SQL: those that the manifest names, and those whose own names say so.
//!
//! Each is read once, here. What it makes of the call is counted in `classify.rs`; whether it may go is the judge `sql_guard`'s.

use serde_json::Value;

use crate::agents::Security;
use crate::exchange::Exchange;
use crate::sql::{SqlArgument, SqlAsk, SqlHandling, SqlRead, SqlReader, SqlSeen, Writes};

/// Members that hold SQL where nobody said anything of them: the first always, the others where they look like it.
const NAMES: [&str; 3] = ["sql", "query", "statement"];
/// No call has a reason for more statements than this; what is left then counts as what nobody understands.
const MOST_READ: usize = 64;
/// Looking at prose costs little, but not nothing.
const MOST_LOOKED_AT: usize = 4096;
/// As deep as a message may be.
const DEEPEST: usize = 128;

/// Every argument that is SQL; in a run, held to what its agent may do besides.
pub(super) fn read(reader: &dyn SqlReader, handling: &SqlHandling, usual: Writes, exchange: &Exchange) -> Vec<SqlSeen> {
    let own = exchange.run.as_deref().map(|run| run.security.as_ref());
    let mut search =
        Search { reader, usual, own, declared: Vec::new(), seen: Vec::new(), looked_at: 0, gave_up: false };
    match handling {
        SqlHandling::Off => {}
        SqlHandling::Unsaid => search.undeclared(exchange.arguments()),
        SqlHandling::Argument(sql) => {
            search.declared(sql, exchange.arguments());
            search.undeclared(exchange.arguments());
        }
    }
    search.seen
}

struct Search<'a> {
    reader: &'a dyn SqlReader,
    /// What holds for statements that the operator says nothing of.
    usual: Writes,
    own: Option<&'a Security>,
    /// What the manifest's places led to; it is not looked for again.
    declared: Vec<&'a Value>,
    seen: Vec<SqlSeen>,
    looked_at: usize,
    gave_up: bool,
}

/// How much the names above a text say of it.
#[derive(Clone, Copy)]
enum Under<'a> {
    Nothing,
    /// It is SQL if it looks like it.
    Perhaps(&'a str),
    Surely(&'a str),
}

impl<'a> Search<'a> {
    fn declared(&mut self, sql: &SqlArgument, arguments: Option<&'a Value>) {
        let both =
            self.own.map(|own| Security::intersection(sql.allowed_tables.as_deref(), own.allowed_tables.as_deref()));
        let tables = match &both {
            Some(narrowed) => narrowed.as_deref(),
            None => sql.allowed_tables.as_deref(),
        };
        let ask = SqlAsk { dialect: Some(sql.dialect), tables, functions: &sql.functions, several: sql.several };
        let writes = sql.writes.unwrap_or(self.usual);
        for place in sql.argument.each() {
            let mut found = Vec::new();
            arguments.into_iter().for_each(|arguments| at(arguments, place, &mut found));
            for value in found {
                let read = match value.as_str() {
                    _ if self.seen.len() >= MOST_READ => {
                        self.gave_up = true;
                        self.seen.push(SqlSeen { argument: place.to_owned(), writes, read: too_many() });
                        return;
                    }
                    Some(text) => self.held(self.reader.read(text, &ask)),
                    None => nothing_to_read(),
                };
                self.seen.push(SqlSeen { argument: place.to_owned(), writes, read });
                self.declared.push(value);
            }
        }
        if self.seen.is_empty() {
            let argument = sql.argument.to_string();
            self.seen.push(SqlSeen { argument, writes, read: nothing_to_read() });
        }
    }

    fn undeclared(&mut self, arguments: Option<&'a Value>) {
        let members = arguments.and_then(Value::as_object).into_iter().flatten();
        members.for_each(|(name, value)| self.look(value, under(name, Under::Nothing), 1));
    }

    fn look(&mut self, value: &'a Value, under_name: Under<'a>, depth: usize) {
        match value {
            _ if self.gave_up => {}
            _ if depth > DEEPEST => {
                self.give_up(SqlRead::invalid("argument", "it is nested too deeply to be looked at"))
            }
            Value::Array(list) => list.iter().for_each(|one| self.look(one, under_name, depth + 1)),
            Value::Object(members) => {
                members.iter().for_each(|(name, value)| self.look(value, under(name, under_name), depth + 1));
            }
            Value::String(text) => {
                let (name, surely) = match under_name {
                    Under::Nothing => return,
                    Under::Perhaps(name) => (name, false),
                    Under::Surely(name) => (name, true),
                };
                if self.declared.iter().any(|known| std::ptr::eq(*known, value)) {
                    return;
                }
                self.looked_at += 1;
                if self.looked_at > MOST_LOOKED_AT {
                    self.give_up(too_many());
                } else if !surely && !self.reader.looks_like_sql(text) {
                    // Prose.
                } else if self.seen.len() >= MOST_READ {
                    self.give_up(too_many());
                } else {
                    // The names above it are the caller's own words, and stay out of what is told and kept.
                    let argument = if depth == 1 { name.to_owned() } else { format!("*.{name}") };
                    self.saw(argument, text);
                }
            }
            _ => {}
        }
    }

    fn saw(&mut self, argument: String, text: &str) {
        let tables = self.own.and_then(|own| own.allowed_tables.as_deref());
        let read = self.held(self.reader.read(text, &SqlAsk { tables, ..SqlAsk::default() }));
        let read = if self.only_counts() { read.counted() } else { read };
        self.seen.push(SqlSeen { argument, writes: self.usual, read });
    }

    /// Nobody said of a tool that writes what its statements may be, so none is refused; a run's own limits hold all the same.
    fn only_counts(&self) -> bool {
        self.usual == Writes::Classify && self.own.is_none()
    }

    fn held(&self, read: SqlRead) -> SqlRead {
        match self.own {
            Some(own) => read.within(own),
            None => read,
        }
    }

    /// What is not looked at may be anything.
    fn give_up(&mut self, read: SqlRead) {
        self.gave_up = true;
        let read = if self.only_counts() { read.counted() } else { read };
        self.seen.push(SqlSeen { argument: "arguments".into(), writes: self.usual, read });
    }
}

fn too_many() -> SqlRead {
    SqlRead::invalid("argument", "more of it is SQL than is read")
}

fn nothing_to_read() -> SqlRead {
    SqlRead::invalid("argument", "there is no SQL where it should be")
}

/// What a member's name says of what is below it: its own name before those above.
fn under<'a>(name: &'a str, above: Under<'a>) -> Under<'a> {
    match NAMES.iter().position(|known| name.eq_ignore_ascii_case(known)) {
        Some(0) => Under::Surely(name),
        Some(_) => Under::Perhaps(name),
        None => match above {
            Under::Nothing => Under::Nothing,
            Under::Perhaps(above) | Under::Surely(above) => Under::Perhaps(above),
        },
    }
}

/// Everything at a place: the member of that very name, and what its steps lead to. Lists on the way are walked through; what
/// stands where a step should be and is neither list nor object is found itself, and cannot be read.
fn at<'a>(from: &'a Value, place: &str, found: &mut Vec<&'a Value>) {
    found.extend(from.get(place));
    if place.contains('.') {
        let steps: Vec<&str> = place.split('.').collect();
        follow(from, &steps, found);
    }
}

fn follow<'a>(value: &'a Value, steps: &[&str], found: &mut Vec<&'a Value>) {
    let [step, rest @ ..] = steps else {
        found.push(value);
        return;
    };
    match value {
        Value::Null => {}
        Value::Array(list) => list.iter().for_each(|one| follow(one, steps, found)),
        Value::Object(members) => {
            if let Some(value) = members.get(*step) {
                follow(value, rest, found);
            }
        }
        _ => found.push(value),
    }
}
