//! Makes one SELECT of a question in plain words, over the tables that may be read.
//!
//! words -> parse (every word must be used up) -> meaning (types checked) -> query -> print. Nothing here asks a database
//! or the time; what cannot be said in this grammar is refused with the word that was in the way.

mod cursor;
mod explain;
mod lexicon;
mod meaning;
mod moments;
mod parse;
mod print;
mod query;
mod reserved;
mod words;

#[cfg(test)]
mod refusal_tests;
#[cfg(test)]
mod tests;

use gateway_core::policies::Dialect;
use gateway_core::ports::TableInfo;
use jiff::Timestamp;

use lexicon::Lexicon;
use parse::{Asked, Fault, What};
use words::Token;

pub use query::{Aggregate, Direction, Item, Literal, Match, Op, OrderBy, Query, TableRef, Test};

/// Longer than any sentence, short enough to be read at once.
const LONGEST: usize = 2_000;
/// Names that an error lists before it counts the rest.
const LISTED: usize = 20;

/// A question and what it may be about.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    pub text: &'a str,
    /// Those that may be read, and nothing besides.
    pub tables: &'a [TableInfo],
    pub max_rows: u32,
    pub now: Timestamp,
    pub dialect: Dialect,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Translated {
    pub sql: String,
    /// What was understood, made from the query alone.
    pub explanation: String,
    pub tables_used: Vec<String>,
    pub max_rows: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Cannot translate query: {0}")]
pub struct Untranslatable(pub String);

pub fn translate(question: Question<'_>) -> Result<Translated, Untranslatable> {
    let query = understood(question).map_err(Untranslatable)?;
    Ok(Translated {
        sql: print::sql(&query, question.dialect).map_err(Untranslatable)?,
        explanation: explain::sentence(&query),
        tables_used: vec![query.table.full_name()],
        max_rows: query.limit,
    })
}

fn understood(question: Question<'_>) -> Result<Query, String> {
    if question.max_rows == 0 {
        return Err("max_rows must be at least 1".into());
    }
    if question.text.chars().count() > LONGEST {
        return Err(format!("the question is longer than {LONGEST} characters"));
    }
    let tokens = words::tokens(question.text)?;
    if tokens.is_empty() {
        return Err("the question is empty; try `top 10 users by date`".into());
    }
    if question.tables.is_empty() {
        return Err("there is no table that may be read".into());
    }
    let lexicon = Lexicon { tables: question.tables };
    let (table, asked) = reading(&lexicon, &tokens, question.now)?;
    meaning::query(table, &asked, question)
}

/// The one table about which every word makes sense.
fn reading<'a>(lexicon: &Lexicon<'a>, tokens: &[Token], now: Timestamp) -> Result<(&'a TableInfo, Asked), String> {
    let named = lexicon.named(tokens);
    let candidates: Vec<usize> = match (named.as_slice(), lexicon.tables) {
        ([], [_]) => vec![0],
        ([], _) => return Err(no_table(lexicon, tokens, now)),
        (named, _) => named.to_vec(),
    };
    let mut readings: Vec<(&'a TableInfo, Asked)> = Vec::new();
    let mut first_fault: Option<(&'a TableInfo, Fault)> = None;
    for table in candidates.iter().filter_map(|place| lexicon.tables.get(*place)) {
        match parse::asked(table, tokens, now) {
            Ok(asked) => readings.push((table, asked)),
            Err(fault) if first_fault.is_none() => first_fault = Some((table, fault)),
            Err(_) => {}
        }
    }
    if readings.len() > 1 {
        let tables: Vec<&TableInfo> = readings.iter().map(|(table, _)| *table).collect();
        return Err(could_be(&readings.first().map(|(_, asked)| asked.called(tokens)).unwrap_or_default(), &tables));
    }
    if let Some((table, asked)) = readings.pop() {
        // A last word stands for a table only where no other table ends in it.
        let alike = asked.mention.map(|mention| lexicon.ending_alike(tokens, mention.at)).unwrap_or_default();
        let shared = asked.mention.is_some_and(|mention| mention.by_last_word) && alike.len() > 1;
        return if shared { Err(could_be(&asked.called(tokens), &alike)) } else { Ok((table, asked)) };
    }
    Err(match first_fault {
        Some((table, fault)) => told(lexicon, table, tokens, &fault, candidates.len() > 1),
        None => "no table is named".into(),
    })
}

fn no_table(lexicon: &Lexicon<'_>, tokens: &[Token], now: Timestamp) -> String {
    let nothing = TableInfo { schema: None, name: String::new(), columns: Vec::new() };
    match parse::asked(&nothing, tokens, now) {
        Err(Fault { at, what: What::Unknown, .. }) => unknown(lexicon, tokens, at),
        _ => format!("no table is named; the tables are {}", table_list(lexicon.tables)),
    }
}

fn told(lexicon: &Lexicon<'_>, table: &TableInfo, tokens: &[Token], fault: &Fault, several: bool) -> String {
    let at = fault.at;
    let other_table = || lexicon.table_at(tokens, at).is_some_and(|place| lexicon.tables.get(place) != Some(table));
    match &fault.what {
        What::Said(reason) => reason.clone(),
        What::Or if several => one_at_a_time(lexicon, tokens),
        What::Or => "`or` is not in the grammar: ask two questions, or say `in (a, b)`".into(),
        What::NoColumn | What::Unknown if several && other_table() => one_at_a_time(lexicon, tokens),
        What::NoColumn => no_column(lexicon, table, tokens, at),
        What::Unknown if fault.after_bare_value => {
            format!("{}; a value of several words stands in quotes", unknown(lexicon, tokens, at))
        }
        What::Unknown => column_word(lexicon, table, tokens, at).unwrap_or_else(|| unknown(lexicon, tokens, at)),
    }
}

/// Where a column had to stand.
fn no_column(lexicon: &Lexicon<'_>, table: &TableInfo, tokens: &[Token], at: usize) -> String {
    let Some(token) = tokens.get(at) else {
        return "the question ends where a column should stand".into();
    };
    if let Some(reason) = column_word(lexicon, table, tokens, at) {
        return reason;
    }
    let columns = listed(table.columns.iter().map(|column| column.name.clone()));
    format!("I do not know the column `{}`; {} has {columns}", token.text, lexicon::full_name(table))
}

fn one_at_a_time(lexicon: &Lexicon<'_>, tokens: &[Token]) -> String {
    let named: Vec<String> =
        lexicon.named(tokens).iter().filter_map(|place| lexicon.tables.get(*place)).map(lexicon::full_name).collect();
    format!("one table at a time; the question names {}", named.join(" and "))
}

/// A word that is a column, where none was expected.
fn column_word(lexicon: &Lexicon<'_>, table: &TableInfo, tokens: &[Token], at: usize) -> Option<String> {
    let word = &tokens.get(at)?.text;
    if let Ok(Some(found)) = lexicon::column_at(table, tokens, at) {
        let name = table.columns.get(found.place).map(|column| column.name.as_str())?;
        return Some(format!("`{word}` is a column; say what of it, as in `by {name}`, `where {name} is ..`"));
    }
    let owner = lexicon.tables.iter().find(|other| matches!(lexicon::column_at(other, tokens, at), Ok(Some(_))))?;
    Some(format!("`{word}` is a column of {}, not of {}", lexicon::full_name(owner), lexicon::full_name(table)))
}

fn unknown(lexicon: &Lexicon<'_>, tokens: &[Token], at: usize) -> String {
    let Some(token) = tokens.get(at) else {
        return "the question ends too early".into();
    };
    let word = &token.text;
    let near = lexicon.with_word(token);
    match near.as_slice() {
        [] => format!("I do not know the word `{word}`; the tables are {}", table_list(lexicon.tables)),
        [only] => format!("I do not know the word `{word}`; did you mean {}?", lexicon::full_name(only)),
        several => could_be(word, several),
    }
}

fn could_be(word: &str, tables: &[&TableInfo]) -> String {
    let names: Vec<String> = tables.iter().take(LISTED).map(|table| lexicon::full_name(table)).collect();
    format!("`{word}` could be {}", names.join(" or "))
}

fn table_list(tables: &[TableInfo]) -> String {
    listed(tables.iter().map(lexicon::full_name))
}

/// Names for an error, bounded: a database may have thousands.
fn listed(names: impl ExactSizeIterator<Item = String>) -> String {
    let more = names.len().saturating_sub(LISTED);
    let shown: Vec<String> = names.take(LISTED).collect();
    if more == 0 { shown.join(", ") } else { format!("{} and {more} more", shown.join(", ")) }
}
