//! Which words of a question are names of tables and columns, and what kind of values a column holds.

use gateway_core::ports::{ColumnInfo, TableInfo};

use super::words::{Kind, Token, parts, stem};

pub(super) struct Lexicon<'a> {
    pub tables: &'a [TableInfo],
}

/// Where a table is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mention {
    pub at: usize,
    pub long: usize,
    pub by_last_word: bool,
}

/// A column, and how many words named it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    pub place: usize,
    pub long: usize,
    /// As `active` names `is_active`: the word is a statement of its own.
    pub adjective: bool,
}

/// What a column holds, as far as the grammar must know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    Number,
    Boolean,
    Instant,
    Day,
    Text,
    /// Compared for equality and nothing else: enumerations, networks, times of day.
    Named,
    Uuid,
    /// Documents, bytes, lists: only there or not there.
    Opaque,
}

impl<'a> Lexicon<'a> {
    /// Every table some words of the question name, in the order of the question, each once.
    pub(super) fn named(&self, tokens: &[Token]) -> Vec<usize> {
        let mut found = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            let here = self.mentions(tokens, at);
            at += here.iter().map(|(_, mention)| mention.long).max().unwrap_or(1);
            for (place, _) in here {
                if !found.contains(&place) {
                    found.push(place);
                }
            }
        }
        found
    }

    /// The table named at a place, if it is one.
    pub(super) fn table_at(&self, tokens: &[Token], at: usize) -> Option<usize> {
        self.mentions(tokens, at).first().map(|(place, _)| *place)
    }

    /// The tables whose name has this as its last word.
    pub(super) fn ending_alike(&self, tokens: &[Token], at: usize) -> Vec<&'a TableInfo> {
        let Some(token) = tokens.get(at) else {
            return Vec::new();
        };
        self.tables.iter().filter(|table| ends_in(&table.name, token)).collect()
    }

    /// The tables whose name has this word anywhere.
    pub(super) fn with_word(&self, token: &Token) -> Vec<&'a TableInfo> {
        let wanted = stem(&token.lower);
        let has = |table: &&TableInfo| parts(&table.name).iter().any(|part| stem(part) == wanted);
        self.tables.iter().filter(has).collect()
    }

    /// The best ways to read a table here: its whole name before its last word, the longer before the shorter.
    fn mentions(&self, tokens: &[Token], at: usize) -> Vec<(usize, Mention)> {
        let all: Vec<(usize, Mention)> = self
            .tables
            .iter()
            .enumerate()
            .filter_map(|(place, table)| mention(table, tokens, at).map(|mention| (place, mention)))
            .collect();
        let best = all.iter().map(|found| self.rank(*found)).max();
        all.into_iter().filter(|found| Some(self.rank(*found)) == best).collect()
    }

    /// Of two schemas with a table of that name the one that is looked in first is meant, as in SQL.
    fn rank(&self, (place, mention): (usize, Mention)) -> (bool, usize, bool) {
        let first = self.tables.get(place).is_some_and(|table| table.schema.is_none());
        (!mention.by_last_word, mention.long, first)
    }
}

/// Whether this table is named here.
pub(super) fn mention(table: &TableInfo, tokens: &[Token], at: usize) -> Option<Mention> {
    let token = tokens.get(at)?;
    if table.name.is_empty() {
        return None;
    }
    let qualified = table.schema.as_ref().is_some_and(|schema| same(token, &format!("{schema}.{}", table.name)))
        || (table.schema.is_none() && same(token, &format!("public.{}", table.name)));
    if qualified {
        return Some(Mention { at, long: 1, by_last_word: false });
    }
    if let Some(long) = spelled(&table.name, tokens, at) {
        return Some(Mention { at, long, by_last_word: false });
    }
    ends_in(&table.name, token).then_some(Mention { at, long: 1, by_last_word: true })
}

fn ends_in(name: &str, token: &Token) -> bool {
    let parts = parts(name);
    let last = parts.last().filter(|_| parts.len() > 1);
    token.kind == Kind::Word && last.is_some_and(|last| stem(last) == stem(&token.lower))
}

fn same(token: &Token, name: &str) -> bool {
    matches!(token.kind, Kind::Word | Kind::Quoted) && token.lower == name.to_lowercase()
}

/// How many words a name takes up here: one if it is written as it is, else its words one after the other.
fn spelled(name: &str, tokens: &[Token], at: usize) -> Option<usize> {
    if same(tokens.get(at)?, name) {
        return Some(1);
    }
    in_words(&parts(name), tokens, at)
}

fn in_words(parts: &[String], tokens: &[Token], at: usize) -> Option<usize> {
    let fits = |(place, part): (usize, &String)| {
        tokens.get(at + place).is_some_and(|token| token.kind == Kind::Word && stem(&token.lower) == stem(part))
    };
    (!parts.is_empty() && parts.iter().enumerate().all(fits)).then_some(parts.len())
}

/// The column named here: the longest reading counts, and of two equally long ones the one written exactly so.
pub(super) fn column_at(table: &TableInfo, tokens: &[Token], at: usize) -> Result<Option<Found>, String> {
    let Some(token) = tokens.get(at) else {
        return Ok(None);
    };
    let mut best: Option<(Found, bool)> = None;
    let mut rival: Option<usize> = None;
    for (place, column) in table.columns.iter().enumerate() {
        let named = spelled(&column.name, tokens, at).map(|long| Found { place, long, adjective: false });
        let Some(found) = named.or_else(|| adjective(column, tokens, at, place)) else {
            continue;
        };
        let exact = token.text == column.name;
        let weight = |found: &Found, exact: bool| (found.long, !found.adjective, exact);
        match &best {
            Some((other, how)) if weight(other, *how) > weight(&found, exact) => {}
            Some((other, how)) if weight(other, *how) == weight(&found, exact) => rival = Some(place),
            _ => (best, rival) = (Some((found, exact)), None),
        }
    }
    let name = |place: usize| table.columns.get(place).map(|column| column.name.as_str()).unwrap_or_default();
    match (best, rival) {
        (Some((found, _)), Some(rival)) => {
            Err(format!("`{}` could be the column {} or {}", token.text, name(found.place), name(rival)))
        }
        (found, _) => Ok(found.map(|(found, _)| found)),
    }
}

/// `active` for `is_active`, `discount` for `has_discount`.
fn adjective(column: &ColumnInfo, tokens: &[Token], at: usize, place: usize) -> Option<Found> {
    if holds(column) != Holds::Boolean {
        return None;
    }
    let parts = parts(&column.name);
    let (first, rest) = parts.split_first()?;
    if !matches!(first.as_str(), "is" | "has" | "was") {
        return None;
    }
    in_words(rest, tokens, at).map(|long| Found { place, long, adjective: true })
}

/// `public.users` is `users` wherever the schema is the first to be looked in.
pub(super) fn full_name(table: &TableInfo) -> String {
    match &table.schema {
        Some(schema) => format!("{schema}.{}", table.name),
        None => table.name.clone(),
    }
}

/// Columns that say when a row came to be, in the order in which they are taken.
const DATED: [&str; 3] = ["created_at", "updated_at", "started_at"];

/// The column that `by date` means.
pub(super) fn date_column(table: &TableInfo) -> Option<usize> {
    let first = |wanted: Holds| table.columns.iter().position(|column| holds(column) == wanted);
    let dated = |column: &ColumnInfo| matches!(holds(column), Holds::Instant | Holds::Day);
    DATED
        .iter()
        .find_map(|name| table.columns.iter().position(|column| column.name.to_lowercase() == *name && dated(column)))
        .or_else(|| first(Holds::Instant))
        .or_else(|| first(Holds::Day))
}

pub(super) fn holds(column: &ColumnInfo) -> Holds {
    let lower = column.data_type.trim().to_lowercase();
    let plain = lower.split('(').next().unwrap_or_default().trim();
    if lower.ends_with("[]") {
        return Holds::Opaque;
    }
    // SQLite knows no times: these names say what a text there holds.
    let dated = DATED.contains(&column.name.to_lowercase().as_str());
    match plain {
        "int" | "integer" | "bigint" | "smallint" | "tinyint" | "mediumint" | "int2" | "int4" | "int8" | "serial"
        | "bigserial" | "smallserial" | "numeric" | "decimal" | "real" | "float" | "float4" | "float8" | "double"
        | "double precision" => Holds::Number,
        "bool" | "boolean" => Holds::Boolean,
        "date" => Holds::Day,
        "uuid" => Holds::Uuid,
        "json" | "jsonb" | "bytea" | "blob" | "xml" | "tsvector" | "point" | "polygon" | "box" | "line" | "path"
        | "array" => Holds::Opaque,
        "" | "text" | "varchar" | "character varying" | "char" | "character" | "bpchar" | "nvarchar" | "nchar"
        | "clob" | "string" | "citext" | "name" => {
            if dated {
                Holds::Instant
            } else {
                Holds::Text
            }
        }
        other if other.starts_with("timestamp") || other == "datetime" => Holds::Instant,
        _ => Holds::Named,
    }
}
