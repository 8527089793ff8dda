//! Writes a query as SQL, the same for every engine but for how true and false are written.

use gateway_core::policies::Dialect;
use jiff::Timestamp;

use super::query::{Aggregate, Direction, Item, Literal, Match, Op, OrderBy, Query, TableRef, Test};
use super::reserved::RESERVED;

pub(super) fn sql(query: &Query, dialect: Dialect) -> Result<String, String> {
    let select = query.select.iter().map(item).collect::<Result<Vec<_>, _>>()?.join(", ");
    let mut text = format!("SELECT {select} FROM {}", table(&query.table)?);
    if !query.filter.is_empty() {
        let tests = query.filter.iter().map(|one| test(one, dialect)).collect::<Result<Vec<_>, _>>()?;
        text.push_str(&format!(" WHERE {}", tests.join(" AND ")));
    }
    if !query.group.is_empty() {
        let group = query.group.iter().map(|name| identifier(name)).collect::<Result<Vec<_>, _>>()?;
        text.push_str(&format!(" GROUP BY {}", group.join(", ")));
    }
    if !query.order.is_empty() {
        let order = query.order.iter().map(|(by, direction)| sorted(by, *direction)).collect::<Result<Vec<_>, _>>()?;
        text.push_str(&format!(" ORDER BY {}", order.join(", ")));
    }
    text.push_str(&format!(" LIMIT {}", query.limit));
    Ok(text)
}

fn table(table: &TableRef) -> Result<String, String> {
    match &table.schema {
        Some(schema) => Ok(format!("{}.{}", identifier(schema)?, identifier(&table.name)?)),
        None => identifier(&table.name),
    }
}

fn item(item: &Item) -> Result<String, String> {
    match item {
        Item::Column(name) => identifier(name),
        Item::Aggregate { f, of, alias } => Ok(format!("{} AS {}", call(*f, of.as_deref())?, identifier(alias)?)),
    }
}

/// Only rows are counted with a star; no other place can have one.
fn call(f: Aggregate, of: Option<&str>) -> Result<String, String> {
    match of {
        Some(name) => Ok(format!("{}({})", f.name(), identifier(name)?)),
        None => Ok("count(*)".into()),
    }
}

fn sorted(by: &OrderBy, direction: Direction) -> Result<String, String> {
    let (text, empty_last) = match by {
        OrderBy::Column { name, empty_last } => (identifier(name)?, *empty_last),
        OrderBy::Aggregate(f, of) => (call(*f, of.as_deref())?, false),
    };
    let direction = if direction == Direction::Descending { " DESC" } else { "" };
    let empty = if empty_last { " NULLS LAST" } else { "" };
    Ok(format!("{text}{direction}{empty}"))
}

fn test(test: &Test, dialect: Dialect) -> Result<String, String> {
    Ok(match test {
        Test::Compare(name, op, value) => format!("{} {} {}", identifier(name)?, sign(*op), literal(value, dialect)?),
        Test::Between(name, low, high) => {
            format!("{} BETWEEN {} AND {}", identifier(name)?, literal(low, dialect)?, literal(high, dialect)?)
        }
        Test::In(name, values) => {
            let values = values.iter().map(|value| literal(value, dialect)).collect::<Result<Vec<_>, _>>()?;
            format!("{} IN ({})", identifier(name)?, values.join(", "))
        }
        Test::Like(name, how, value) => like(name, *how, value)?,
        Test::Null(name, true) => format!("{} IS NULL", identifier(name)?),
        Test::Null(name, false) => format!("{} IS NOT NULL", identifier(name)?),
    })
}

fn sign(op: Op) -> &'static str {
    match op {
        Op::Equal => "=",
        Op::Unequal => "<>",
        Op::Less => "<",
        Op::AtMost => "<=",
        Op::More => ">",
        Op::AtLeast => ">=",
    }
}

/// The sign that takes the special ones their meaning is no backslash: engines differ about those.
fn like(name: &str, how: Match, value: &str) -> Result<String, String> {
    let mut pattern = String::new();
    for character in value.chars() {
        if matches!(character, '%' | '_' | '!') {
            pattern.push('!');
        }
        pattern.push(character);
    }
    let escape = if pattern == value { "" } else { " ESCAPE '!'" };
    let pattern = match how {
        Match::Contains => format!("%{pattern}%"),
        Match::Starts => format!("{pattern}%"),
        Match::Ends => format!("%{pattern}"),
    };
    Ok(format!("{} LIKE {}{escape}", identifier(name)?, quoted(&pattern)?))
}

fn literal(value: &Literal, dialect: Dialect) -> Result<String, String> {
    match value {
        Literal::Number(text) => Ok(text.clone()),
        Literal::Text(text) => quoted(text),
        Literal::Boolean(value) if dialect == Dialect::Sqlite => Ok(u8::from(*value).to_string()),
        Literal::Boolean(value) => Ok(value.to_string()),
        Literal::Day(day) => Ok(format!("'{day}'")),
        Literal::Instant(instant) => Ok(format!("'{}'", moment(*instant))),
    }
}

/// To the second, so that it sorts right against texts that hold times.
pub(super) fn moment(instant: Timestamp) -> String {
    instant.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn quoted(text: &str) -> Result<String, String> {
    if text.contains('\\') || text.chars().any(char::is_control) {
        return Err("a value has a character that cannot be written safely".into());
    }
    Ok(format!("'{}'", text.replace('\'', "''")))
}

/// Quoted only where it must be: plain lower case names are the same in every engine.
fn identifier(name: &str) -> Result<String, String> {
    if name.is_empty() || name.chars().any(char::is_control) {
        return Err(format!("the name `{}` cannot be written in SQL", name.escape_default()));
    }
    let mut characters = name.chars();
    let plain = characters.next().is_some_and(|first| first.is_ascii_lowercase() || first == '_')
        && characters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if plain && RESERVED.binary_search(&name).is_err() {
        return Ok(name.to_owned());
    }
    Ok(format!("\"{}\"", name.replace('"', "\"\"")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn names_are_quoted_only_where_they_must_be() {
        assert!(RESERVED.is_sorted(), "looked up by halving");
        for (name, expected) in [
            ("agent_conversations", "agent_conversations"),
            ("value", "value"),
            ("role", "role"),
            ("date", "date"),
            ("_x9", "_x9"),
            ("order", "\"order\""),
            ("group", "\"group\""),
            ("user", "\"user\""),
            ("limit", "\"limit\""),
            ("Name", "\"Name\""),
            ("two words", "\"two words\""),
            ("9lives", "\"9lives\""),
            ("a\"b", "\"a\"\"b\""),
            ("größe", "\"größe\""),
            ("x\"; drop table y; --", "\"x\"\"; drop table y; --\""),
        ] {
            assert_eq!(identifier(name).unwrap(), expected, "{name}");
        }
        for name in ["", "a\u{0}b", "line\nbreak"] {
            assert!(identifier(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn texts_cannot_leave_their_quotes() {
        for (text, expected) in [
            ("north", Ok("'north'")),
            ("it's", Ok("'it''s'")),
            ("'; drop table users; --", Ok("'''; drop table users; --'")),
            ("DROP", Ok("'DROP'")),
            ("a\\' or 1=1", Err("a value has a character that cannot be written safely")),
            ("a\u{0}", Err("a value has a character that cannot be written safely")),
        ] {
            assert_eq!(quoted(text), expected.map(String::from).map_err(String::from), "{text}");
        }
    }

    #[test]
    fn signs_of_a_pattern_mean_themselves() {
        for (how, value, expected) in [
            (Match::Contains, "ice", "topic LIKE '%ice%'"),
            (Match::Starts, "50%", "topic LIKE '50!%%' ESCAPE '!'"),
            (Match::Ends, "_x!", "topic LIKE '%!_x!!' ESCAPE '!'"),
        ] {
            assert_eq!(like("topic", how, value).unwrap(), expected);
        }
    }
}
