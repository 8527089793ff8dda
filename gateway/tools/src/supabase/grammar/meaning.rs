//! Makes a query of what was asked: values must fit their columns, an order must be clear, a time needs a column.

mod literals;

use gateway_core::ports::{ColumnInfo, TableInfo};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::lexicon::{self, Holds};
use super::moments::{Moment, Window};
use super::parse::{Asked, Condition, Key, Order, Rank};
use super::query::{Aggregate, Direction, Item, Literal, Op, OrderBy, Query, TableRef, Test};
use super::{Question, listed};

pub(super) fn query(table: &TableInfo, asked: &Asked, question: Question<'_>) -> Result<Query, String> {
    let meaning = Meaning { table, asked, now: question.now };
    let computes = !asked.aggregates.is_empty();
    if !computes && !asked.group.is_empty() {
        return Err("say what to compute for each group: how many, total, average, lowest or highest".into());
    }
    if table.columns.is_empty() {
        return Err(format!("{} has no columns that may be read", lexicon::full_name(table)));
    }
    let group = asked.group.iter().map(|place| meaning.grouped(*place)).collect::<Result<Vec<String>, String>>()?;
    let wanted = asked.amount.and_then(|amount| amount.count).unwrap_or(question.max_rows);
    // Without groups there is one row, whatever was asked for.
    let limit = if computes && group.is_empty() { 1 } else { wanted.min(question.max_rows) };
    let mut filter = Vec::new();
    for condition in &asked.conditions {
        filter.extend(meaning.tests(condition)?);
    }
    let select = if computes { meaning.computed(&group)? } else { meaning.all_columns() };
    let order = if computes { meaning.computed_order(&group)? } else { meaning.order()? };
    Ok(Query { table: TableRef::of(table), select, filter, group, order, limit })
}

struct Meaning<'a> {
    table: &'a TableInfo,
    asked: &'a Asked,
    now: Timestamp,
}

impl<'a> Meaning<'a> {
    fn column(&self, place: usize) -> Result<&'a ColumnInfo, String> {
        self.table.columns.get(place).ok_or_else(|| "the column is not there".to_owned())
    }

    fn keyed(&self, key: Key) -> Result<&'a ColumnInfo, String> {
        match key {
            Key::Column(place) => self.column(place),
            Key::Date => self.dated(),
        }
    }

    fn dated(&self) -> Result<&'a ColumnInfo, String> {
        match lexicon::date_column(self.table) {
            Some(place) => self.column(place),
            None => {
                let columns = listed(self.table.columns.iter().map(|column| column.name.clone()));
                let table = lexicon::full_name(self.table);
                Err(format!("{table} has no column with a time; say `by` and one of its columns: {columns}"))
            }
        }
    }

    fn all_columns(&self) -> Vec<Item> {
        self.table.columns.iter().map(|column| Item::Column(column.name.clone())).collect()
    }

    fn grouped(&self, place: usize) -> Result<String, String> {
        let column = self.column(place)?;
        match lexicon::holds(column) {
            Holds::Opaque => Err(format!("rows cannot be grouped by {}, which is {}", column.name, column.data_type)),
            _ => Ok(column.name.clone()),
        }
    }

    fn computed(&self, group: &[String]) -> Result<Vec<Item>, String> {
        let mut items: Vec<Item> = group.iter().cloned().map(Item::Column).collect();
        let mut taken: Vec<String> = group.to_vec();
        for (f, place) in &self.asked.aggregates {
            let of = place.map(|place| self.computable(*f, place)).transpose()?;
            let mut alias = of.as_ref().map_or_else(|| f.name().to_owned(), |name| format!("{}_{name}", f.name()));
            while taken.contains(&alias) {
                alias.push('_');
            }
            taken.push(alias.clone());
            items.push(Item::Aggregate { f: *f, of, alias });
        }
        Ok(items)
    }

    fn computable(&self, f: Aggregate, place: usize) -> Result<String, String> {
        let column = self.column(place)?;
        let holds = lexicon::holds(column);
        let fits = match f {
            Aggregate::Count => true,
            Aggregate::Sum | Aggregate::Avg => holds == Holds::Number,
            Aggregate::Min | Aggregate::Max => {
                matches!(holds, Holds::Number | Holds::Instant | Holds::Day | Holds::Text)
            }
        };
        if fits {
            return Ok(column.name.clone());
        }
        Err(format!("there is no {} of {}, which is {}", f.name(), column.name, type_name(column)))
    }

    fn computed_order(&self, group: &[String]) -> Result<Vec<(OrderBy, Direction)>, String> {
        let order = self.asked.order;
        if group.is_empty() {
            return match order {
                None => Ok(Vec::new()),
                Some(_) => Err("one row has no order; say `per` and a column".into()),
            };
        }
        let least = self.asked.amount.is_some_and(|amount| amount.rank == Rank::First);
        let usual = if least { Direction::Ascending } else { Direction::Descending };
        let by_group = || group.iter().map(|name| plain(name, Direction::Ascending));
        match order {
            Some(Order { key: Some(key), direction }) => {
                let name = &self.keyed(key)?.name;
                if !group.contains(name) {
                    return Err(format!("groups can be sorted by {} and by what is computed", group.join(", ")));
                }
                Ok(vec![plain(name, direction.unwrap_or(Direction::Ascending))])
            }
            other => {
                let direction = other.and_then(|order| order.direction).unwrap_or(usual);
                let first = self.asked.aggregates.first().map(|(f, place)| {
                    let of = place.and_then(|place| self.column(place).ok()).map(|column| column.name.clone());
                    (OrderBy::Aggregate(*f, of), direction)
                });
                Ok(first.into_iter().chain(by_group()).collect())
            }
        }
    }

    fn order(&self) -> Result<Vec<(OrderBy, Direction)>, String> {
        let rank = self.asked.amount.map(|amount| amount.rank).filter(|rank| *rank != Rank::Any);
        let (key, direction) = match (self.asked.order, rank) {
            (None, None) => return Ok(Vec::new()),
            (Some(order), _) => (order.key, order.direction),
            (None, Some(_)) => (Some(Key::Date), None),
        };
        let column = self.keyed(key.unwrap_or(Key::Date))?;
        let holds = lexicon::holds(column);
        if holds == Holds::Opaque {
            return Err(format!("rows cannot be sorted by {}, which is {}", column.name, column.data_type));
        }
        let timed = matches!(holds, Holds::Instant | Holds::Day);
        let usual = match rank {
            Some(Rank::Last) => Direction::Descending,
            Some(_) => Direction::Ascending,
            None if timed => Direction::Descending,
            None => Direction::Ascending,
        };
        // A time is sorted in the plain words of the specification; rows without one are the rare case there.
        let by = OrderBy::Column { name: column.name.clone(), empty_last: column.nullable && !timed };
        Ok(vec![(by, direction.unwrap_or(usual))])
    }

    fn tests(&self, condition: &Condition) -> Result<Vec<Test>, String> {
        match condition {
            Condition::Is(place, value) => {
                let name = self.column(*place)?.name.clone();
                Ok(vec![Test::Compare(name, Op::Equal, Literal::Boolean(*value))])
            }
            Condition::Null(key, missing) => Ok(vec![Test::Null(self.keyed(*key)?.name.clone(), *missing)]),
            Condition::Window(window) => self.within(window),
            Condition::Like(key, how, value) => {
                let column = self.keyed(*key)?;
                if lexicon::holds(column) != Holds::Text {
                    return Err(format!(
                        "{} is {}: only text contains, starts or ends",
                        column.name,
                        type_name(column)
                    ));
                }
                Ok(vec![Test::Like(column.name.clone(), *how, literals::text(value)?)])
            }
            Condition::In(key, values) => {
                let column = self.keyed(*key)?;
                if matches!(lexicon::holds(column), Holds::Instant) {
                    return Err(format!("{} is a time: say between which, not in a list", column.name));
                }
                let values = values.iter().map(|value| literals::literal(column, value, self.now));
                Ok(vec![Test::In(column.name.clone(), values.collect::<Result<Vec<Literal>, String>>()?)])
            }
            Condition::Between(key, low, high) => literals::between(self.keyed(*key)?, low, high, self.now),
            Condition::Compare(key, op, value) => literals::compare(self.keyed(*key)?, *op, value, self.now),
        }
    }

    fn within(&self, window: &Window) -> Result<Vec<Test>, String> {
        let column = self.dated()?;
        let days = lexicon::holds(column) == Holds::Day;
        let literal = |moment: Moment| match moment {
            Moment::Day(day) if days => Ok(Literal::Day(day)),
            Moment::Day(day) => literals::start(day),
            Moment::DaysAgo(then) if days => Ok(Literal::Day(then.to_zoned(TimeZone::UTC).date())),
            Moment::Instant(_) if days => Err(format!("{} holds days: hours cannot be told apart", column.name)),
            Moment::Instant(then) | Moment::DaysAgo(then) => Ok(Literal::Instant(then)),
        };
        let mut tests = Vec::new();
        if let Some(from) = window.from {
            tests.push(Test::Compare(column.name.clone(), Op::AtLeast, literal(from)?));
        }
        if let Some(until) = window.until {
            tests.push(Test::Compare(column.name.clone(), Op::Less, literal(until)?));
        }
        Ok(tests)
    }
}

fn plain(name: &str, direction: Direction) -> (OrderBy, Direction) {
    (OrderBy::Column { name: name.to_owned(), empty_last: false }, direction)
}

fn type_name(column: &ColumnInfo) -> &'static str {
    match lexicon::holds(column) {
        Holds::Number => "a number",
        Holds::Boolean => "true or false",
        Holds::Instant => "a time",
        Holds::Day => "a day",
        Holds::Text => "text",
        Holds::Named | Holds::Uuid => "compared only for equality",
        Holds::Opaque => "not a plain value",
    }
}
