//! Says in one sentence what was understood, from the query alone.

use super::print::moment;
use super::query::{Direction, Item, Literal, Match, Op, OrderBy, Query, Test};

pub(super) fn sentence(query: &Query) -> String {
    let table = query.table.full_name();
    let computed: Vec<String> = query.select.iter().filter_map(computed).collect();
    let mut text = if computed.is_empty() { rows(query, &table) } else { values(query, &computed, &table) };
    if !query.filter.is_empty() {
        let tests: Vec<String> = query.filter.iter().map(test).collect();
        text.push_str(&format!(", where {}", tests.join(" and ")));
    }
    text
}

fn rows(query: &Query, table: &str) -> String {
    let many = if query.limit == 1 { "the one row".to_owned() } else { format!("the {} rows", query.limit) };
    match query.order.first() {
        Some((OrderBy::Column { name, .. }, direction)) => {
            let end = match (name.ends_with("_at") || name.contains("date"), direction) {
                (true, Direction::Descending) => "newest",
                (true, Direction::Ascending) => "oldest",
                (false, Direction::Descending) => "highest",
                (false, Direction::Ascending) => "lowest",
            };
            format!("{many} of {table} with the {end} {name}")
        }
        _ => format!("rows of {table}, at most {}, in no particular order", query.limit),
    }
}

fn values(query: &Query, computed: &[String], table: &str) -> String {
    let what = computed.join(" and ");
    if query.group.is_empty() {
        return format!("{what} of {table}");
    }
    let order = match query.order.first() {
        Some((OrderBy::Column { name, .. }, Direction::Ascending)) => format!("by {name}"),
        Some((OrderBy::Column { name, .. }, Direction::Descending)) => format!("by {name} downwards"),
        Some((OrderBy::Aggregate(..), Direction::Ascending)) => "lowest first".into(),
        _ => "highest first".to_owned(),
    };
    format!("{what} of {table} for each {}, {order}, at most {} groups", query.group.join(" and "), query.limit)
}

fn computed(item: &Item) -> Option<String> {
    match item {
        Item::Column(_) => None,
        Item::Aggregate { of: None, .. } => Some("the number of rows".into()),
        Item::Aggregate { f, of: Some(name), .. } => Some(match f.name() {
            "count" => format!("the number of rows with {name}"),
            "sum" => format!("the sum of {name}"),
            "avg" => format!("the average {name}"),
            "min" => format!("the lowest {name}"),
            _ => format!("the highest {name}"),
        }),
    }
}

fn test(test: &Test) -> String {
    match test {
        Test::Compare(name, op, value) => format!("{name} {} {}", compared(*op, value), literal(value)),
        Test::Between(name, low, high) => format!("{name} is from {} to {}", literal(low), literal(high)),
        Test::In(name, values) => {
            format!("{name} is one of {}", values.iter().map(literal).collect::<Vec<_>>().join(", "))
        }
        Test::Like(name, Match::Contains, value) => format!("{name} contains '{value}'"),
        Test::Like(name, Match::Starts, value) => format!("{name} starts with '{value}'"),
        Test::Like(name, Match::Ends, value) => format!("{name} ends with '{value}'"),
        Test::Null(name, true) => format!("{name} is missing"),
        Test::Null(name, false) => format!("{name} is there"),
    }
}

fn compared(op: Op, value: &Literal) -> &'static str {
    let timed = matches!(value, Literal::Day(_) | Literal::Instant(_));
    match (op, timed) {
        (Op::Equal, _) => "is",
        (Op::Unequal, _) => "is not",
        (Op::Less, true) => "is before",
        (Op::Less, false) => "is under",
        (Op::AtMost, true) => "is not after",
        (Op::AtMost, false) => "is at most",
        (Op::More, true) => "is after",
        (Op::More, false) => "is over",
        (Op::AtLeast, true) => "is not before",
        (Op::AtLeast, false) => "is at least",
    }
}

fn literal(value: &Literal) -> String {
    match value {
        Literal::Number(text) => text.clone(),
        Literal::Text(text) => format!("'{text}'"),
        Literal::Boolean(value) => value.to_string(),
        Literal::Day(day) => day.to_string(),
        Literal::Instant(instant) => moment(*instant),
    }
}
