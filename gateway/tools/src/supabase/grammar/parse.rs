//! Reads the words of a question about one table, clause by clause, until every word is used up.
//!
//! Whether the values fit their columns is for `meaning`; whether another table was meant is for the caller.

mod asked;
mod conditions;

use gateway_core::ports::TableInfo;
use jiff::Timestamp;

use super::cursor::Cursor;
use super::lexicon::{self, Found, Holds};
use super::moments;
use super::query::{Aggregate, Direction};
use super::words::{Kind, Token};

pub(super) use asked::{Amount, Asked, Condition, Fault, Key, Order, Rank, What};

const AGGREGATES: [(&str, Aggregate); 17] = [
    ("how many", Aggregate::Count),
    ("number of", Aggregate::Count),
    ("count", Aggregate::Count),
    ("sum", Aggregate::Sum),
    ("total", Aggregate::Sum),
    ("average", Aggregate::Avg),
    ("avg", Aggregate::Avg),
    ("mean", Aggregate::Avg),
    ("minimum", Aggregate::Min),
    ("min", Aggregate::Min),
    ("lowest", Aggregate::Min),
    ("smallest", Aggregate::Min),
    ("maximum", Aggregate::Max),
    ("max", Aggregate::Max),
    ("highest", Aggregate::Max),
    ("largest", Aggregate::Max),
    ("greatest", Aggregate::Max),
];

const RANKS: [(&str, Rank); 7] = [
    ("top", Rank::Last),
    ("last", Rank::Last),
    ("latest", Rank::Last),
    ("newest", Rank::Last),
    ("most recent", Rank::Last),
    ("first", Rank::First),
    ("oldest", Rank::First),
];

const DIRECTIONS: [(&str, Direction); 8] = [
    ("ascending", Direction::Ascending),
    ("asc", Direction::Ascending),
    ("lowest first", Direction::Ascending),
    ("oldest first", Direction::Ascending),
    ("descending", Direction::Descending),
    ("desc", Direction::Descending),
    ("highest first", Direction::Descending),
    ("newest first", Direction::Descending),
];

/// Polite and empty words.
const FILLER: [&str; 27] = [
    "select",
    "show",
    "list",
    "give",
    "get",
    "find",
    "me",
    "us",
    "the",
    "a",
    "an",
    "please",
    "all",
    "of",
    "rows",
    "records",
    "entries",
    "what are",
    "what is",
    "which are",
    "which",
    "who are",
    "that are",
    "are there",
    "is there",
    "do we have",
    "are",
];

/// Spans that only a function could cut a time into.
const PERIODS: [&str; 8] = ["hour", "day", "week", "month", "quarter", "year", "date", "time"];

pub(super) fn asked(table: &TableInfo, tokens: &[Token], now: Timestamp) -> Result<Asked, Fault> {
    let cursor = Cursor { tokens, at: 0 };
    let mut reader =
        Reader { table, now, cursor, asked: Asked::default(), before: Before::Other, bare_value_end: None };
    while !reader.cursor.is_done() {
        reader.clause()?;
    }
    Ok(reader.asked)
}

/// What an `and` would continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    Condition,
    Aggregate,
    Other,
}

struct Reader<'t> {
    table: &'t TableInfo,
    now: Timestamp,
    cursor: Cursor<'t>,
    asked: Asked,
    before: Before,
    bare_value_end: Option<usize>,
}

impl Reader<'_> {
    fn clause(&mut self) -> Result<(), Fault> {
        let known = self.joined()? || {
            let before = std::mem::replace(&mut self.before, Before::Other);
            let clause = self.table_named()
                || self.window()?
                || self.dated()?
                || self.grouping()?
                || self.ordering()?
                || self.filtering()?
                || self.amount()?
                || self.aggregate()?
                || self.adjective()?;
            if !clause {
                self.before = before;
            }
            clause || self.cursor.take_one(&FILLER)
        };
        if known { Ok(()) } else { Err(self.fault(What::Unknown)) }
    }

    fn fault(&self, what: What) -> Fault {
        let at = self.cursor.at;
        Fault { at, what, after_bare_value: self.bare_value_end == Some(at) }
    }

    fn said<T>(&self, reason: impl Into<String>) -> Result<T, Fault> {
        Err(self.fault(What::Said(reason.into())))
    }

    /// `and` goes on with what stood before it; `or` is nothing this grammar can say.
    fn joined(&mut self) -> Result<bool, Fault> {
        if self.cursor.sees("or") {
            return Err(self.fault(What::Or));
        }
        if !self.cursor.sees("and") && !self.cursor.sees(",") {
            return Ok(false);
        }
        let comma = self.cursor.sees(",");
        let at = self.cursor.at;
        self.cursor.at += 1;
        let going_on = match self.before {
            Before::Condition if !comma => self.window()? || self.dated()? || self.filtering()? || self.condition()?,
            Before::Aggregate => self.aggregate()?,
            _ => false,
        };
        if !going_on {
            // A table behind `and` is a second table: said of its name rather than of the `and`.
            self.cursor.at =
                if lexicon::mention(self.table, self.cursor.tokens, at + 1).is_some() { at } else { at + 1 };
            return Err(self.fault(What::Unknown));
        }
        Ok(true)
    }

    fn table_named(&mut self) -> bool {
        if self.asked.mention.is_some() {
            return false;
        }
        let ahead = usize::from(matches!(self.cursor.word(0), "in" | "from" | "of"));
        let here = |at: usize| lexicon::mention(self.table, self.cursor.tokens, at);
        let Some(mention) = here(self.cursor.at).or_else(|| here(self.cursor.at + ahead)) else {
            return false;
        };
        self.cursor.at = mention.at + mention.long;
        self.asked.mention = Some(mention);
        true
    }

    fn window(&mut self) -> Result<bool, Fault> {
        match moments::window(&mut self.cursor, self.now) {
            Err(reason) => self.said(reason),
            Ok(None) => Ok(false),
            Ok(Some(window)) => Ok(self.holds(Condition::Window(window))),
        }
    }

    fn holds(&mut self, condition: Condition) -> bool {
        self.asked.conditions.push(condition);
        self.before = Before::Condition;
        true
    }

    fn grouping(&mut self) -> Result<bool, Fault> {
        let computed = !self.asked.aggregates.is_empty();
        let groups = self.cursor.take_one(&["per", "for each", "grouped by", "group by", "for every"])
            || (computed && self.cursor.take("by"));
        if !groups {
            return Ok(false);
        }
        if !self.asked.group.is_empty() {
            return self.said("the groups are said twice");
        }
        loop {
            let Some(found) = self.column()? else {
                let period = self.cursor.word(0);
                if PERIODS.contains(&period) {
                    return self.said(format!(
                        "`per {period}` would need a function, and the grammar has none: group by a column"
                    ));
                }
                return Err(self.fault(What::NoColumn));
            };
            self.cursor.at += found.long;
            if self.asked.group.contains(&found.place) {
                return self.said("a column is grouped by twice");
            }
            self.asked.group.push(found.place);
            let joined = matches!(self.cursor.word(0), "," | "and");
            let next = lexicon::column_at(self.table, self.cursor.tokens, self.cursor.at + 1);
            if !joined || !matches!(next, Ok(Some(_))) {
                return Ok(true);
            }
            self.cursor.at += 1;
        }
    }

    fn ordering(&mut self) -> Result<bool, Fault> {
        let at = self.cursor.at;
        let by = self.cursor.take_one(&["sorted by", "ordered by", "order by", "sort by", "by"]);
        let (key, direction) = if by {
            let key = self.key()?;
            (Some(key), self.cursor.take_of(&DIRECTIONS))
        } else {
            match self.cursor.word(0) {
                "newest" | "oldest" | "latest" if self.cursor.word(1) == "first" => {
                    let newest = self.cursor.word(0) != "oldest";
                    self.cursor.at += 2;
                    let direction = if newest { Direction::Descending } else { Direction::Ascending };
                    (Some(Key::Date), Some(direction))
                }
                _ => match self.cursor.take_of(&DIRECTIONS) {
                    Some(direction) => (None, Some(direction)),
                    None => return Ok(false),
                },
            }
        };
        if self.asked.order.is_some() {
            self.cursor.at = at;
            return self.said("the order is said twice");
        }
        self.asked.order = Some(Order { key, direction });
        Ok(true)
    }

    fn aggregate(&mut self) -> Result<bool, Fault> {
        let word = self.cursor.word(0);
        let Some(f) = self.cursor.take_of(&AGGREGATES) else {
            return Ok(false);
        };
        self.cursor.take_one(&["of"]);
        self.cursor.take_one(&["the", "all"]);
        let table_next = self.asked.mention.is_none()
            && lexicon::mention(self.table, self.cursor.tokens, self.cursor.at)
                .is_some_and(|mention| !mention.by_last_word);
        let column = if table_next && f == Aggregate::Count { None } else { self.column()? };
        let column = column.filter(|found| !found.adjective);
        match (f, column) {
            (Aggregate::Count, None) => self.asked.aggregates.push((f, None)),
            (f, Some(found)) => {
                self.cursor.at += found.long;
                self.asked.aggregates.push((f, Some(found.place)));
            }
            _ if lexicon::mention(self.table, self.cursor.tokens, self.cursor.at).is_some() => {
                return self.said(format!("`{word}` needs a column; for the number of rows say `how many`"));
            }
            _ => return Err(self.fault(What::NoColumn)),
        }
        self.before = Before::Aggregate;
        Ok(true)
    }

    fn amount(&mut self) -> Result<bool, Fault> {
        let at = self.cursor.at;
        let ranked = self.cursor.take_of(&RANKS);
        let number = self.cursor.token(0).filter(|token| token.kind == Kind::Number || self.cursor.number(0).is_some());
        if ranked.is_none() && number.is_none() {
            return Ok(false);
        }
        let count = match (number, self.cursor.number(0)) {
            (None, _) => None,
            (Some(_), Some(count)) if count > 0 => Some(count),
            (Some(token), _) => return self.said(format!("`{}` is no number of rows", token.text)),
        };
        if self.asked.amount.is_some() {
            self.cursor.at = at;
            return self.said("the number of rows is said twice");
        }
        self.cursor.at += usize::from(count.is_some());
        self.asked.amount = Some(Amount { rank: ranked.unwrap_or(Rank::Any), count });
        Ok(true)
    }

    /// `active users`, `not active`.
    fn adjective(&mut self) -> Result<bool, Fault> {
        let negated = self.cursor.sees("not");
        let ahead = usize::from(negated);
        let here = lexicon::column_at(self.table, self.cursor.tokens, self.cursor.at + ahead);
        let Some(found) = here.ok().flatten().filter(|found| self.boolean(*found)) else {
            return if negated { self.said(NEGATION) } else { Ok(false) };
        };
        self.cursor.at += ahead + found.long;
        Ok(self.holds(Condition::Is(found.place, !negated)))
    }

    fn boolean(&self, found: Found) -> bool {
        self.table.columns.get(found.place).is_some_and(|column| lexicon::holds(column) == Holds::Boolean)
    }

    fn column(&self) -> Result<Option<Found>, Fault> {
        match lexicon::column_at(self.table, self.cursor.tokens, self.cursor.at) {
            Ok(found) => Ok(found),
            Err(reason) => self.said(reason),
        }
    }

    /// A column, or `date` for the one that says when.
    fn key(&mut self) -> Result<Key, Fault> {
        if let Some(found) = self.column()? {
            self.cursor.at += found.long;
            return Ok(Key::Column(found.place));
        }
        if self.cursor.take_one(&["date", "time", "day"]) {
            return Ok(Key::Date);
        }
        Err(self.fault(What::NoColumn))
    }
}

pub(super) const NEGATION: &str = "`not` is in the grammar only as `is not` and before a column of true and false";
