//! What must hold of the rows: `where COLUMN is VALUE`, `since DATE`, and their kin.

use super::super::lexicon;
use super::super::query::{Match, Op};
use super::super::words::{Kind, Token};
use super::{Condition, Fault, Key, NEGATION, Reader};

/// Longer ones first: `is not` must not be read as `is`.
const COMPARISONS: [(&str, Op); 33] = [
    ("is not equal to", Op::Unequal),
    ("not equal to", Op::Unequal),
    ("is not", Op::Unequal),
    ("are not", Op::Unequal),
    ("!=", Op::Unequal),
    ("<>", Op::Unequal),
    ("at least", Op::AtLeast),
    (">=", Op::AtLeast),
    ("from", Op::AtLeast),
    ("since", Op::AtLeast),
    ("at most", Op::AtMost),
    ("up to", Op::AtMost),
    ("<=", Op::AtMost),
    ("until", Op::AtMost),
    ("more than", Op::More),
    ("greater than", Op::More),
    ("higher than", Op::More),
    ("larger than", Op::More),
    ("over", Op::More),
    ("above", Op::More),
    ("after", Op::More),
    (">", Op::More),
    ("less than", Op::Less),
    ("fewer than", Op::Less),
    ("lower than", Op::Less),
    ("smaller than", Op::Less),
    ("under", Op::Less),
    ("below", Op::Less),
    ("before", Op::Less),
    ("<", Op::Less),
    ("equal to", Op::Equal),
    ("equals", Op::Equal),
    ("=", Op::Equal),
];

const MATCHES: [(&str, Match); 6] = [
    ("contains", Match::Contains),
    ("containing", Match::Contains),
    ("starts with", Match::Starts),
    ("starting with", Match::Starts),
    ("ends with", Match::Ends),
    ("ending with", Match::Ends),
];

/// On the column that says when.
const DATED: [(&str, Op); 7] = [
    ("since", Op::AtLeast),
    ("from", Op::AtLeast),
    ("after", Op::More),
    ("before", Op::Less),
    ("until", Op::AtMost),
    ("up to", Op::AtMost),
    ("on", Op::Equal),
];

/// Words of the grammar: as a value they stand in quotes, so that a slip is not taken for a value.
const RESERVED: [&str; 34] = [
    "and", "or", "not", "is", "are", "by", "per", "where", "with", "whose", "having", "for", "since", "in", "between",
    "before", "after", "until", "from", "over", "under", "above", "below", "at", "more", "less", "than", "sorted",
    "ordered", "grouped", "group", "order", "top", "null",
];

/// Values in one list.
const MOST_VALUES: usize = 100;

impl Reader<'_> {
    pub(super) fn filtering(&mut self) -> Result<bool, Fault> {
        if !self.cursor.take_one(&["where", "with", "whose", "having", "for"]) {
            return Ok(false);
        }
        Ok(self.window()? || self.dated()? || self.condition()?)
    }

    /// `since 2026-03-01`, `between 2026-03-01 and 2026-03-31`: no column said.
    pub(super) fn dated(&mut self) -> Result<bool, Fault> {
        let start = self.cursor.at;
        if self.cursor.sees("between") && self.is_moment(1) {
            self.cursor.at += 1;
            return self.between(Key::Date, "and");
        }
        if self.cursor.sees("from") && self.is_moment(1) && matches!(self.cursor.word(2), "to" | "until") {
            let last = self.cursor.word(2);
            self.cursor.at += 1;
            return self.between(Key::Date, last);
        }
        let Some(op) = self.cursor.take_of(&DATED) else {
            return Ok(false);
        };
        if !self.is_moment(0) {
            self.cursor.at = start;
            return Ok(false);
        }
        let value = self.value()?;
        Ok(self.holds(Condition::Compare(Key::Date, op, value)))
    }

    fn is_moment(&self, ahead: usize) -> bool {
        self.cursor.token(ahead).is_some_and(|token| token.kind == Kind::Date)
            || matches!(self.cursor.word(ahead), "today" | "yesterday")
    }

    fn between(&mut self, key: Key, joined_by: &str) -> Result<bool, Fault> {
        let low = self.value()?;
        if !self.cursor.take(joined_by) {
            return self.said(format!("`between` needs two values with `{joined_by}` between them"));
        }
        let high = self.value()?;
        Ok(self.holds(Condition::Between(key, low, high)))
    }

    /// One column and what is said of it.
    pub(super) fn condition(&mut self) -> Result<bool, Fault> {
        let negated = self.cursor.take("not");
        let found = self.column()?;
        let key = self.key()?;
        let truth = found.filter(|found| self.boolean(*found));
        if let Some(truth) = truth.filter(|_| negated || !self.compares()) {
            return Ok(self.holds(Condition::Is(truth.place, !negated)));
        }
        if negated {
            return self.said(NEGATION);
        }
        if self.cursor.take_one(&["is not null", "is not empty", "is not missing", "is known"]) {
            return Ok(self.holds(Condition::Null(key, false)));
        }
        if self.cursor.take_one(&["is null", "is empty", "is missing"]) {
            return Ok(self.holds(Condition::Null(key, true)));
        }
        if self.cursor.sees("not") || self.cursor.sees("does not") || self.cursor.sees("is not in") {
            return self.said(NEGATION);
        }
        self.comparison(key)
    }

    fn comparison(&mut self, key: Key) -> Result<bool, Fault> {
        if let Some(op) = self.cursor.take_of(&COMPARISONS) {
            return self.compared(key, op);
        }
        let is = self.cursor.take_one(&["is", "are"]);
        if self.cursor.take("between") {
            return self.between(key, "and");
        }
        if self.cursor.take_one(&["in", "one of"]) {
            let values = self.list()?;
            return Ok(self.holds(Condition::In(key, values)));
        }
        if let Some(how) = self.cursor.take_of(&MATCHES) {
            let value = self.value()?;
            return Ok(self.holds(Condition::Like(key, how, value)));
        }
        match self.cursor.take_of(&COMPARISONS) {
            Some(op) => self.compared(key, op),
            None if is => self.compared(key, Op::Equal),
            None => {
                let name = self.name(key);
                self.said(format!("say how `{name}` compares, as in `{name} is ..`, `{name} over ..`"))
            }
        }
    }

    fn compared(&mut self, key: Key, op: Op) -> Result<bool, Fault> {
        let value = self.value()?;
        Ok(self.holds(Condition::Compare(key, op, value)))
    }

    fn name(&self, key: Key) -> String {
        let place = match key {
            Key::Column(place) => Some(place),
            Key::Date => lexicon::date_column(self.table),
        };
        place.and_then(|place| self.table.columns.get(place)).map_or("date", |column| column.name.as_str()).to_owned()
    }

    /// Whether a comparison follows, so that a column of true and false is not a statement of its own.
    fn compares(&self) -> bool {
        let sees = |phrases: &[&str]| phrases.iter().any(|phrase| self.cursor.sees(phrase));
        sees(&["is", "are", "in", "between"]) || COMPARISONS.iter().any(|(phrase, _)| self.cursor.sees(phrase))
    }

    fn value(&mut self) -> Result<Token, Fault> {
        let Some(token) = self.cursor.token(0) else {
            return self.said("the question ends where a value should stand");
        };
        if token.kind == Kind::Sign || (token.kind == Kind::Word && RESERVED.contains(&token.lower.as_str())) {
            return self.said(format!("`{}` stands where a value should; put it in quotes if it is one", token.text));
        }
        self.cursor.at += 1;
        self.bare_value_end = (token.kind == Kind::Word).then_some(self.cursor.at);
        Ok(token.clone())
    }

    fn list(&mut self) -> Result<Vec<Token>, Fault> {
        if !self.cursor.take("(") {
            return self.said("a list of values stands in brackets, as in `in (a, b)`");
        }
        let mut values = vec![self.value()?];
        while !self.cursor.take(")") {
            if !self.cursor.take(",") {
                return self.said("the values of a list are parted by commas and end with `)`");
            }
            if values.len() == MOST_VALUES {
                return self.said(format!("a list has at most {MOST_VALUES} values"));
            }
            values.push(self.value()?);
        }
        Ok(values)
    }
}
