#![allow(clippy::unwrap_used)]

use super::tests::{asked_of, demo, table};
use super::*;

fn refusal(tables: &[TableInfo], text: &str) -> String {
    match asked_of(tables, text, 100, Dialect::Postgres) {
        Err(error) => error.strip_prefix("Cannot translate query: ").unwrap().to_owned(),
        Ok(translated) => format!("understood as {}", translated.sql),
    }
}

const TABLES: &str = "the tables are agent_conversations, kpi_data, kpi_metrics, users";

// acceptance 98
#[test]
fn words_that_are_not_known_are_named() {
    for word in ["delete", "drop", "update", "truncate", "insert", "alter", "create", "join", "distinct", "secrets"] {
        let expected = format!("I do not know the word `{word}`; {TABLES}");
        assert_eq!(refusal(&demo(), &format!("{word} all users")), expected);
        assert_eq!(refusal(&demo(), &format!("top 10 users {word}")), expected);
    }
    assert_eq!(refusal(&demo(), "top 10 secrets"), format!("I do not know the word `secrets`; {TABLES}"));
    assert_eq!(refusal(&demo(), "top 10 secrets by date"), format!("I do not know the word `secrets`; {TABLES}"));
    assert_eq!(
        refusal(&demo(), "conversations where topic is invoice dispute"),
        format!("I do not know the word `dispute`; {TABLES}; a value of several words stands in quotes")
    );
    assert_eq!(refusal(&demo(), "agent"), "I do not know the word `agent`; did you mean agent_conversations?");
}

// acceptance 98
#[test]
fn one_table_and_only_one() {
    let both = "one table at a time; the question names agent_conversations and users";
    for (text, expected) in [
        ("conversations or users", both),
        ("conversations and users", both),
        ("conversations users", both),
        ("conversations since 2026-03-01 and users", both),
        ("kpi", "`kpi` could be kpi_data or kpi_metrics"),
        ("top 3 kpis by date", "`kpis` could be kpi_data or kpi_metrics"),
        ("users where region is north", "`region` is a column of kpi_data, not of users"),
        ("users by region", "`region` is a column of kpi_data, not of users"),
        ("names of users", "`names` is a column; say what of it, as in `by name`, `where name is ..`"),
        (
            "users where age over 3",
            "I do not know the column `age`; users has id, name, email, role, department, is_active, created_at",
        ),
    ] {
        assert_eq!(refusal(&demo(), text), expected, "{text}");
    }
    assert_eq!(refusal(&demo(), "top 10"), format!("no table is named; {TABLES}"));
    assert_eq!(refusal(&[], "top 10 users"), "there is no table that may be read");

    // Outside of what may be read a table is a word like any other.
    let only: Vec<TableInfo> = demo().into_iter().take(1).collect();
    assert_eq!(refusal(&only, "top 10 users"), "I do not know the word `users`; the tables are agent_conversations");
}

#[test]
fn a_last_word_that_two_tables_share_names_neither() {
    let column = [("id", "bigint", false)];
    let tables = [table("kpi_data", &[("id", "bigint", false), ("region", "text", false)]), table("raw_data", &column)];
    assert_eq!(refusal(&tables, "data"), "`data` could be kpi_data or raw_data");
    assert_eq!(refusal(&tables, "data by region"), "`data` could be kpi_data or raw_data");
    assert_eq!(asked_of(&tables, "raw data", 5, Dialect::Postgres).unwrap().sql, "SELECT id FROM raw_data LIMIT 5");

    let twice = [table("t", &[("user_id", "bigint", false), ("userId", "bigint", false)])];
    assert_eq!(refusal(&twice, "t by user id"), "`user` could be the column user_id or userId");
}

#[test]
fn values_must_fit_their_columns() {
    let sorts = "over, under, before and after are for numbers and times";
    for (text, expected) in [
        ("users where name over 5", format!("name is text: {sorts}")),
        ("users where is_active over 5", format!("is_active is true or false: {sorts}")),
        ("conversations where message count is many", "message_count is a number, and `many` is none".into()),
        ("conversations where message count is '5'", "message_count is a number, and `5` is none".into()),
        (
            "conversations where message count contains 5",
            "message_count is a number: only text contains, starts or ends".into(),
        ),
        (
            "users where created_at after march",
            "created_at is a time, and `march` is none; write it as 2026-03-01 or 2026-03-01T08:30:00Z".into(),
        ),
        ("users where is_active is maybe", "is_active is true or false, and `maybe` is neither".into()),
        ("users where name between a and b", "name is text: between is for numbers and times".into()),
        (
            "users where created_at is not 2026-03-01",
            "created_at is a time: `is not` a whole day is not in the grammar".into(),
        ),
        ("users where name is 'a\\b'", "the value `a\\b` has a backslash, which engines read differently".into()),
        ("sum region of kpi data", "there is no sum of region, which is text".into()),
        ("average of status of conversations", "there is no avg of status, which is text".into()),
        ("highest is_active of users", "there is no max of is_active, which is true or false".into()),
    ] {
        assert_eq!(refusal(&demo(), text), expected, "{text}");
    }
    let odd = [table("odd", &[("id", "uuid", false), ("body", "jsonb", true), ("day", "date", true)])];
    for (text, expected) in [
        ("odd where id is 7", "id is a uuid, and `7` is none"),
        ("odd where body is x", "body is jsonb: only `is null` can be asked of it"),
        ("odd by body", "rows cannot be sorted by body, which is jsonb"),
        ("how many odd per body", "rows cannot be grouped by body, which is jsonb"),
        ("odd in the last 3 hours", "day holds days: hours cannot be told apart"),
    ] {
        assert_eq!(refusal(&odd, text), expected, "{text}");
    }
}

#[test]
fn forms_that_are_not_in_the_grammar() {
    for (text, expected) in [
        ("users where role is manager or analyst", "`or` is not in the grammar: ask two questions, or say `in (a, b)`"),
        ("users where name does not contain x", parse::NEGATION),
        ("users where not name is x", parse::NEGATION),
        ("users where role is not in (a, b)", parse::NEGATION),
        ("users not sleepy", parse::NEGATION),
        (
            "how many conversations per month",
            "`per month` would need a function, and the grammar has none: group by a column",
        ),
        (
            "how many conversations by date",
            "`per date` would need a function, and the grammar has none: group by a column",
        ),
        ("conversations in march", "`march` of which year? say it as in `in march 2026`"),
        ("conversations in the last 0 days", "a stretch of time is 1 to 5000 units long"),
        ("users per department", "say what to compute for each group: how many, total, average, lowest or highest"),
        ("total conversations", "`total` needs a column; for the number of rows say `how many`"),
        ("how many users by role sorted by name", "groups can be sorted by role and by what is computed"),
        ("how many users sorted by name", "one row has no order; say `per` and a column"),
        ("top users by", "the question ends where a column should stand"),
        ("top 0 users", "`0` is no number of rows"),
        ("top 1.5 users", "`1.5` is no number of rows"),
        ("top -3 users", "`-3` is no number of rows"),
        ("top 5 10 users", "the number of rows is said twice"),
        ("users by name by role", "the order is said twice"),
        ("users where name", "say how `name` compares, as in `name is ..`, `name over ..`"),
        ("users where name is", "the question ends where a value should stand"),
        ("users where name is and", "`and` stands where a value should; put it in quotes if it is one"),
        ("users where role in manager", "a list of values stands in brackets, as in `in (a, b)`"),
        ("users where role in (manager", "the values of a list are parted by commas and end with `)`"),
        ("conversations where message_count between 5", "`between` needs two values with `and` between them"),
        ("users; drop table users", "`;` is not understood: one question at a time"),
        ("select * from users", "`*` is not understood: columns are always named one by one"),
        ("users /* all */", "the character `/` is not understood"),
        ("   ", "the question is empty; try `top 10 users by date`"),
    ] {
        assert_eq!(refusal(&demo(), text), expected, "{text}");
    }
    let timeless = [table("plain", &[("id", "bigint", false)])];
    let expected = "plain has no column with a time; say `by` and one of its columns: id";
    for text in ["top 5 plain", "plain today", "plain since 2026-03-01", "plain newest first"] {
        assert_eq!(refusal(&timeless, text), expected, "{text}");
    }
    let long = "users ".repeat(400);
    assert_eq!(refusal(&demo(), &long), "the question is longer than 2000 characters");
    assert_eq!(
        asked_of(&demo(), "users", 0, Dialect::Postgres),
        Err("Cannot translate query: max_rows must be at least 1".into())
    );
}

/// The same throws every time.
struct Dice(u64);

impl Dice {
    fn of<'w>(&mut self, words: &[&'w str]) -> &'w str {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let place = usize::try_from(self.0 >> 33).unwrap() % words.len();
        words.get(place).copied().unwrap()
    }
}

/// What stands outside of quotes.
fn bare(sql: &str) -> String {
    let mut text = String::new();
    let mut open: Option<char> = None;
    for character in sql.chars() {
        match open {
            Some(quote) if quote == character => open = None,
            Some(_) => {}
            None if matches!(character, '\'' | '"') => open = Some(character),
            None => text.push(character),
        }
    }
    assert_eq!(open, None, "{sql}");
    text
}

// acceptance 98
#[test]
fn whatever_is_said_it_is_one_bounded_read_or_an_error() {
    let columns = [
        ("id", "bigint", false),
        ("order", "integer", true),
        ("Say \"hi\"", "text", true),
        ("is_open", "boolean", false),
        ("started_at", "timestamp with time zone", false),
    ];
    let tables = [table("select", &columns), table("User Logs", &columns), table("a;b", &columns)];
    let words = [
        "top",
        "last",
        "3",
        "5000",
        "select",
        "user logs",
        "\"a;b\"",
        "by",
        "date",
        "order",
        "'Say \"hi\"'",
        "where",
        "with",
        "is",
        "not",
        "over",
        "between",
        "and",
        "or",
        "in",
        "(",
        ")",
        ",",
        "'x''y'",
        "';--'",
        "is_open",
        "open",
        "since",
        "2026-03-01",
        "last week",
        "per",
        "how many",
        "average",
        "id",
        "newest first",
        "the",
        "of",
        "null",
        "contains",
    ];
    let mut dice = Dice(7);
    let mut understood = 0;
    for _ in 0..20_000 {
        let long = 1 + usize::from(dice.of(&words).len() % 9 > 3) * 4 + dice.of(&words).len() % 5;
        let text = (0..long).map(|_| dice.of(&words)).collect::<Vec<_>>().join(" ");
        let dialect = if long.is_multiple_of(2) { Dialect::Postgres } else { Dialect::Sqlite };
        let Ok(translated) = asked_of(&tables, &text, 50, dialect) else {
            continue;
        };
        understood += 1;
        let outside = bare(&translated.sql);
        assert!(outside.starts_with("SELECT "), "{text}: {outside}");
        assert_eq!(outside.matches("SELECT").count(), 1, "{text}: {outside}");
        assert_eq!(outside.matches(" FROM ").count(), 1, "{text}: {outside}");
        assert!(!outside.replace("count(*)", "").contains(['*', ';', '\\']), "{text}: {outside}");
        assert!(!outside.contains("--"), "{text}: {outside}");
        let limit: u32 = outside.rsplit(" LIMIT ").next().unwrap().parse().unwrap();
        assert!((1..=50).contains(&limit), "{text}: {outside}");
        assert_eq!(translated.tables_used.len(), 1);
    }
    assert!(understood > 20, "only {understood} of the questions made sense");
}
