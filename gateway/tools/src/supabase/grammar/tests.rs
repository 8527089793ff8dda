#![allow(clippy::unwrap_used)]

use gateway_core::ports::ColumnInfo;

use super::*;

pub(super) const NOW: &str = "2026-11-16T12:00:00Z";

pub(super) fn table(name: &str, columns: &[(&str, &str, bool)]) -> TableInfo {
    let column = |(name, data_type, nullable): &(&str, &str, bool)| ColumnInfo {
        name: (*name).to_owned(),
        data_type: (*data_type).to_owned(),
        nullable: *nullable,
    };
    TableInfo { schema: None, name: name.to_owned(), columns: columns.iter().map(column).collect() }
}

/// The demo's four tables.
pub(super) fn demo() -> Vec<TableInfo> {
    vec![
        table(
            "agent_conversations",
            &[
                ("id", "INTEGER", false),
                ("user_id", "INTEGER", false),
                ("agent_name", "TEXT", false),
                ("topic", "TEXT", false),
                ("status", "TEXT", false),
                ("message_count", "INTEGER", false),
                ("satisfaction", "REAL", true),
                ("created_at", "TIMESTAMP", false),
                ("updated_at", "TIMESTAMP", false),
            ],
        ),
        table(
            "kpi_data",
            &[
                ("id", "INTEGER", false),
                ("metric_id", "INTEGER", false),
                ("value", "REAL", false),
                ("region", "TEXT", false),
                ("recorded_at", "TIMESTAMP", false),
            ],
        ),
        table(
            "kpi_metrics",
            &[
                ("id", "INTEGER", false),
                ("name", "TEXT", false),
                ("department", "TEXT", false),
                ("unit", "TEXT", false),
                ("target", "REAL", false),
                ("created_at", "TIMESTAMP", false),
            ],
        ),
        table(
            "users",
            &[
                ("id", "INTEGER", false),
                ("name", "TEXT", false),
                ("email", "TEXT", false),
                ("role", "TEXT", false),
                ("department", "TEXT", false),
                ("is_active", "BOOLEAN", false),
                ("created_at", "TIMESTAMP", false),
            ],
        ),
    ]
}

pub(super) fn asked_of(
    tables: &[TableInfo],
    text: &str,
    max_rows: u32,
    dialect: Dialect,
) -> Result<Translated, String> {
    let question = Question { text, tables, max_rows, now: NOW.parse().unwrap(), dialect };
    translate(question).map_err(|error| error.to_string())
}

fn sql(text: &str) -> String {
    match asked_of(&demo(), text, 100, Dialect::Postgres) {
        Ok(translated) => translated.sql,
        Err(error) => error,
    }
}

const CONVERSATIONS: &str = "SELECT id, user_id, agent_name, topic, status, message_count, satisfaction, created_at, \
                             updated_at FROM agent_conversations";
const DATA: &str = "SELECT id, metric_id, value, region, recorded_at FROM kpi_data";
const METRICS: &str = "SELECT id, name, department, unit, target, created_at FROM kpi_metrics";
const USERS: &str = "SELECT id, name, email, role, department, is_active, created_at FROM users";

// acceptance 97
#[test]
fn the_phrase_of_the_specification() {
    let only: Vec<TableInfo> = demo().into_iter().take(1).collect();
    let translated = asked_of(&only, "top 10 conversations by date", 10, Dialect::Postgres).unwrap();
    assert_eq!(
        translated,
        Translated {
            sql: format!("{CONVERSATIONS} ORDER BY created_at DESC LIMIT 10"),
            explanation: "the 10 rows of agent_conversations with the newest created_at".into(),
            tables_used: vec!["agent_conversations".into()],
            max_rows: 10,
        }
    );
}

// acceptance 97
#[test]
fn rows_amounts_and_orders() {
    for (text, from, rest) in [
        ("users", USERS, "LIMIT 100"),
        ("Show me all users.", USERS, "LIMIT 100"),
        ("please list the users", USERS, "LIMIT 100"),
        ("which users are there?", USERS, "LIMIT 100"),
        ("select the latest users", USERS, "ORDER BY created_at DESC LIMIT 100"),
        ("10 users", USERS, "LIMIT 10"),
        ("twenty users", USERS, "LIMIT 20"),
        ("last 5 users", USERS, "ORDER BY created_at DESC LIMIT 5"),
        ("top 500 users", USERS, "ORDER BY created_at DESC LIMIT 100"),
        ("top 10 conversations by date", CONVERSATIONS, "ORDER BY created_at DESC LIMIT 10"),
        ("TOP 10 Conversations BY Date", CONVERSATIONS, "ORDER BY created_at DESC LIMIT 10"),
        ("latest conversations", CONVERSATIONS, "ORDER BY created_at DESC LIMIT 100"),
        ("most recent 3 conversations", CONVERSATIONS, "ORDER BY created_at DESC LIMIT 3"),
        ("newest three conversations", CONVERSATIONS, "ORDER BY created_at DESC LIMIT 3"),
        ("oldest 2 users", USERS, "ORDER BY created_at LIMIT 2"),
        ("first 3 users by name", USERS, "ORDER BY name LIMIT 3"),
        ("last 3 users by name", USERS, "ORDER BY name DESC LIMIT 3"),
        ("users by name", USERS, "ORDER BY name LIMIT 100"),
        ("users sorted by name desc", USERS, "ORDER BY name DESC LIMIT 100"),
        ("users ordered by name descending", USERS, "ORDER BY name DESC LIMIT 100"),
        ("conversations newest first", CONVERSATIONS, "ORDER BY created_at DESC LIMIT 100"),
        ("conversations oldest first", CONVERSATIONS, "ORDER BY created_at LIMIT 100"),
        ("conversations by date", CONVERSATIONS, "ORDER BY created_at DESC LIMIT 100"),
        ("conversations by updated_at", CONVERSATIONS, "ORDER BY updated_at DESC LIMIT 100"),
        ("conversations by updated at ascending", CONVERSATIONS, "ORDER BY updated_at LIMIT 100"),
        ("top 5 conversations by satisfaction", CONVERSATIONS, "ORDER BY satisfaction DESC NULLS LAST LIMIT 5"),
        ("top 5 conversations by message count", CONVERSATIONS, "ORDER BY message_count DESC LIMIT 5"),
        ("kpi data by date", DATA, "ORDER BY recorded_at DESC LIMIT 100"),
        ("top 5 kpi metrics by target", METRICS, "ORDER BY target DESC LIMIT 5"),
        ("top 5 metrics by target", METRICS, "ORDER BY target DESC LIMIT 5"),
        ("agent conversations", CONVERSATIONS, "LIMIT 100"),
        ("agent conversation", CONVERSATIONS, "LIMIT 100"),
        ("agent_conversations", CONVERSATIONS, "LIMIT 100"),
        ("public.agent_conversations", CONVERSATIONS, "LIMIT 100"),
        ("rows from users", USERS, "LIMIT 100"),
    ] {
        assert_eq!(sql(text), format!("{from} {rest}"), "{text}");
    }
}

#[test]
fn conditions() {
    for (text, from, rest) in [
        ("top 3 kpi data by value where region is north", DATA, "region = 'north' ORDER BY value DESC LIMIT 3"),
        ("users where role is manager", USERS, "role = 'manager' LIMIT 100"),
        ("users with role = 'manager'", USERS, "role = 'manager' LIMIT 100"),
        (
            "users whose role equals analyst and department is not Sales",
            USERS,
            "role = 'analyst' AND department <> 'Sales' LIMIT 100",
        ),
        ("users with email containing 'example.com'", USERS, "email LIKE '%example.com%' LIMIT 100"),
        ("users whose email ends with '.example'", USERS, "email LIKE '%.example' LIMIT 100"),
        ("users where name starts with '50%'", USERS, "name LIKE '50!%%' ESCAPE '!' LIMIT 100"),
        ("users where email is a@b.example", USERS, "email = 'a@b.example' LIMIT 100"),
        ("users where name is 'DROP'", USERS, "name = 'DROP' LIMIT 100"),
        ("users where name is 'x''; drop table users; --'", USERS, "name = 'x''; drop table users; --' LIMIT 100"),
        ("conversations where topic is 'invoice dispute'", CONVERSATIONS, "topic = 'invoice dispute' LIMIT 100"),
        ("conversations where agent name is billing-helper", CONVERSATIONS, "agent_name = 'billing-helper' LIMIT 100"),
        ("conversations where satisfaction is missing", CONVERSATIONS, "satisfaction IS NULL LIMIT 100"),
        ("conversations where satisfaction is not null", CONVERSATIONS, "satisfaction IS NOT NULL LIMIT 100"),
        ("conversations with message count over 20", CONVERSATIONS, "message_count > 20 LIMIT 100"),
        ("conversations with message count over twenty", CONVERSATIONS, "message_count > 20 LIMIT 100"),
        ("conversations with message_count more than 20", CONVERSATIONS, "message_count > 20 LIMIT 100"),
        ("conversations with message count at least 20", CONVERSATIONS, "message_count >= 20 LIMIT 100"),
        ("conversations with message count is at most 20", CONVERSATIONS, "message_count <= 20 LIMIT 100"),
        ("conversations having message_count<20", CONVERSATIONS, "message_count < 20 LIMIT 100"),
        ("conversations where message_count<>20", CONVERSATIONS, "message_count <> 20 LIMIT 100"),
        (
            "conversations where message count between 5 and 10",
            CONVERSATIONS,
            "message_count BETWEEN 5 AND 10 LIMIT 100",
        ),
        ("conversations where user_id in (1,2,3)", CONVERSATIONS, "user_id IN (1, 2, 3) LIMIT 100"),
        (
            "conversations where status in (open, 'escalated')",
            CONVERSATIONS,
            "status IN ('open', 'escalated') LIMIT 100",
        ),
        ("kpi data where value under -2.5", DATA, "value < -2.5 LIMIT 100"),
        ("active users", USERS, "is_active = true LIMIT 100"),
        ("users not active", USERS, "is_active = false LIMIT 100"),
        ("users where is_active", USERS, "is_active = true LIMIT 100"),
        ("users where not active", USERS, "is_active = false LIMIT 100"),
        ("users where active is false", USERS, "is_active = false LIMIT 100"),
        ("users where is_active is not true", USERS, "is_active <> true LIMIT 100"),
        (
            "top 5 conversations by message count where status is resolved and satisfaction is at least 4 since 2026-01-01",
            CONVERSATIONS,
            "status = 'resolved' AND satisfaction >= 4 AND created_at >= '2026-01-01T00:00:00Z' \
             ORDER BY message_count DESC LIMIT 5",
        ),
    ] {
        assert_eq!(sql(text), format!("{from} WHERE {rest}"), "{text}");
    }
}

#[test]
fn times() {
    for (text, expected) in [
        ("today", "created_at >= '2026-11-16T00:00:00Z' AND created_at < '2026-11-17T00:00:00Z'"),
        ("yesterday", "created_at >= '2026-11-15T00:00:00Z' AND created_at < '2026-11-16T00:00:00Z'"),
        ("this week", "created_at >= '2026-11-16T00:00:00Z' AND created_at < '2026-11-23T00:00:00Z'"),
        ("this month", "created_at >= '2026-11-01T00:00:00Z' AND created_at < '2026-12-01T00:00:00Z'"),
        ("this year", "created_at >= '2026-01-01T00:00:00Z' AND created_at < '2027-01-01T00:00:00Z'"),
        ("last week", "created_at >= '2026-11-09T00:00:00Z' AND created_at < '2026-11-16T00:00:00Z'"),
        ("last month", "created_at >= '2026-10-01T00:00:00Z' AND created_at < '2026-11-01T00:00:00Z'"),
        ("last 7 days", "created_at >= '2026-11-09T12:00:00Z'"),
        ("in the last week", "created_at >= '2026-11-09T12:00:00Z'"),
        ("in last 30 days", "created_at >= '2026-10-17T12:00:00Z'"),
        ("in the last 2 hours", "created_at >= '2026-11-16T10:00:00Z'"),
        ("over the past 3 months", "created_at >= '2026-08-16T12:00:00Z'"),
        ("in 2026", "created_at >= '2026-01-01T00:00:00Z' AND created_at < '2027-01-01T00:00:00Z'"),
        ("in March 2026", "created_at >= '2026-03-01T00:00:00Z' AND created_at < '2026-04-01T00:00:00Z'"),
        ("during dec 2025", "created_at >= '2025-12-01T00:00:00Z' AND created_at < '2026-01-01T00:00:00Z'"),
        ("since yesterday", "created_at >= '2026-11-15T00:00:00Z'"),
        ("since last month", "created_at >= '2026-10-01T00:00:00Z'"),
        ("since 2026-03-01", "created_at >= '2026-03-01T00:00:00Z'"),
        ("before 2026-03-01", "created_at < '2026-03-01T00:00:00Z'"),
        ("after 2026-03-01", "created_at >= '2026-03-02T00:00:00Z'"),
        ("until 2026-03-01", "created_at < '2026-03-02T00:00:00Z'"),
        ("on 2026-03-01", "created_at >= '2026-03-01T00:00:00Z' AND created_at < '2026-03-02T00:00:00Z'"),
        (
            "between 2026-03-01 and 2026-03-31",
            "created_at >= '2026-03-01T00:00:00Z' AND created_at < '2026-04-01T00:00:00Z'",
        ),
        (
            "from 2026-03-01 to 2026-03-31",
            "created_at >= '2026-03-01T00:00:00Z' AND created_at < '2026-04-01T00:00:00Z'",
        ),
        ("where created_at after 2026-03-01T08:30:00Z", "created_at > '2026-03-01T08:30:00Z'"),
        ("where date before 2026-03-01", "created_at < '2026-03-01T00:00:00Z'"),
        (
            "where updated_at is 2026-03-01",
            "updated_at >= '2026-03-01T00:00:00Z' AND updated_at < '2026-03-02T00:00:00Z'",
        ),
        (
            "with message count over 20 in the last 30 days",
            "message_count > 20 AND created_at >= '2026-10-17T12:00:00Z'",
        ),
        (
            "with message count over 20 and since 2026-03-01",
            "message_count > 20 AND created_at >= '2026-03-01T00:00:00Z'",
        ),
    ] {
        assert_eq!(
            sql(&format!("conversations {text}")),
            format!("{CONVERSATIONS} WHERE {expected} LIMIT 100"),
            "{text}"
        );
    }
}

#[test]
fn what_is_computed() {
    for (text, expected) in [
        ("count users", "SELECT count(*) AS count FROM users LIMIT 1"),
        ("how many users are there?", "SELECT count(*) AS count FROM users LIMIT 1"),
        ("count of rows in users", "SELECT count(*) AS count FROM users LIMIT 1"),
        ("how many active users", "SELECT count(*) AS count FROM users WHERE is_active = true LIMIT 1"),
        (
            "count of satisfaction of conversations",
            "SELECT count(satisfaction) AS count_satisfaction FROM agent_conversations LIMIT 1",
        ),
        (
            "how many conversations per status",
            "SELECT status, count(*) AS count FROM agent_conversations GROUP BY status ORDER BY count(*) DESC, status \
             LIMIT 100",
        ),
        (
            "how many conversations per status ascending",
            "SELECT status, count(*) AS count FROM agent_conversations GROUP BY status ORDER BY count(*), status LIMIT 100",
        ),
        (
            "how many conversations per status ordered by status",
            "SELECT status, count(*) AS count FROM agent_conversations GROUP BY status ORDER BY status LIMIT 100",
        ),
        (
            "number of users by role and department",
            "SELECT role, department, count(*) AS count FROM users GROUP BY role, department \
             ORDER BY count(*) DESC, role, department LIMIT 100",
        ),
        (
            "average satisfaction of conversations per agent name since 2026-03-01",
            "SELECT agent_name, avg(satisfaction) AS avg_satisfaction FROM agent_conversations \
             WHERE created_at >= '2026-03-01T00:00:00Z' GROUP BY agent_name ORDER BY avg(satisfaction) DESC, agent_name \
             LIMIT 100",
        ),
        (
            "what is the average message count of conversations",
            "SELECT avg(message_count) AS avg_message_count FROM agent_conversations LIMIT 1",
        ),
        (
            "total value of kpi data by region",
            "SELECT region, sum(value) AS sum_value FROM kpi_data GROUP BY region ORDER BY sum(value) DESC, region \
             LIMIT 100",
        ),
        (
            "top 3 average value of kpi data for each region",
            "SELECT region, avg(value) AS avg_value FROM kpi_data GROUP BY region ORDER BY avg(value) DESC, region LIMIT 3",
        ),
        (
            "first 3 average value of kpi data per region",
            "SELECT region, avg(value) AS avg_value FROM kpi_data GROUP BY region ORDER BY avg(value), region LIMIT 3",
        ),
        ("highest target of kpi metrics", "SELECT max(target) AS max_target FROM kpi_metrics LIMIT 1"),
        (
            "lowest value and highest value of kpi data",
            "SELECT min(value) AS min_value, max(value) AS max_value FROM kpi_data LIMIT 1",
        ),
        ("max created_at of users", "SELECT max(created_at) AS max_created_at FROM users LIMIT 1"),
    ] {
        assert_eq!(sql(text), expected, "{text}");
    }
}

#[test]
fn true_and_false_are_written_as_the_engine_has_them() {
    let sqlite = asked_of(&demo(), "active users", 5, Dialect::Sqlite).unwrap();
    assert_eq!(sqlite.sql, format!("{USERS} WHERE is_active = 1 LIMIT 5"));
}

#[test]
fn the_only_table_need_not_be_named_and_schemas_are_told_apart() {
    let only: Vec<TableInfo> = demo().into_iter().take(1).collect();
    let unnamed = asked_of(&only, "top 10 by date", 100, Dialect::Postgres).unwrap();
    assert_eq!(unnamed.sql, format!("{CONVERSATIONS} ORDER BY created_at DESC LIMIT 10"));

    let mut other = table("users", &[("id", "uuid", false)]);
    other.schema = Some("auth".into());
    let both = [table("users", &[("id", "bigint", false)]), other];
    for (text, expected) in [
        ("users where id is 7", "SELECT id FROM users WHERE id = 7 LIMIT 100"),
        (
            "auth.users where id is 0199A3B0-0000-7000-8000-000000000001",
            "SELECT id FROM auth.users WHERE id = '0199a3b0-0000-7000-8000-000000000001' LIMIT 100",
        ),
    ] {
        assert_eq!(asked_of(&both, text, 100, Dialect::Postgres).unwrap().sql, expected, "{text}");
    }
}

#[test]
fn strange_names_are_quoted_and_days_stay_days() {
    let columns = [("id", "bigint", false), ("Unit Price", "numeric(10,2)", false), ("order", "date", false)];
    let strange = [table("Order Items", &columns)];
    for (text, expected) in [
        (
            "top 3 order items by unit price",
            "SELECT id, \"Unit Price\", \"order\" FROM \"Order Items\" ORDER BY \"Unit Price\" DESC LIMIT 3",
        ),
        (
            "average unit price of order items after 2026-03-01",
            "SELECT avg(\"Unit Price\") AS \"avg_Unit Price\" FROM \"Order Items\" WHERE \"order\" > '2026-03-01' LIMIT 1",
        ),
        (
            "order items in the last 30 days",
            "SELECT id, \"Unit Price\", \"order\" FROM \"Order Items\" WHERE \"order\" >= '2026-10-17' LIMIT 100",
        ),
    ] {
        assert_eq!(asked_of(&strange, text, 100, Dialect::Postgres).unwrap().sql, expected, "{text}");
    }
}

#[test]
fn explanations_say_what_was_understood() {
    for (text, expected) in [
        ("oldest 2 users", "the 2 rows of users with the oldest created_at"),
        ("users where role is manager", "rows of users, at most 100, in no particular order, where role is 'manager'"),
        ("how many users", "the number of rows of users"),
        (
            "average value of kpi data per region where value over 3",
            "the average value of kpi_data for each region, highest first, at most 100 groups, where value is over 3",
        ),
    ] {
        assert_eq!(asked_of(&demo(), text, 100, Dialect::Postgres).unwrap().explanation, expected, "{text}");
    }
}
