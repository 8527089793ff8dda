//! Databases that tools may read: the same rows, bounds and walls on both engines.

use std::path::Path;
use std::time::{Duration, Instant};

use gateway_core::ports::{ReadLimits, ReadOnlyDatabase, StoreError};
use gateway_store::{AtHome, PostgresReader, PostgresReading, SqliteReader};
use serde_json::{Value, json};

use crate::stage::Stage;

fn reader(stage: &Stage) -> Box<dyn ReadOnlyDatabase> {
    match stage.url.strip_prefix("sqlite://") {
        Some(path) => Box::new(AtHome::new(SqliteReader::new(Path::new(path)))),
        None => {
            let reading = PostgresReading { role: None, schemas: vec!["public".into(), "app".into()] };
            Box::new(AtHome::new(PostgresReader::new(&stage.url, reading).unwrap()))
        }
    }
}

fn limits(max_rows: usize) -> ReadLimits {
    ReadLimits { max_rows, timeout: Duration::from_secs(10), max_bytes: 1024 * 1024 }
}

async fn pots(stage: &Stage) -> Box<dyn ReadOnlyDatabase> {
    stage.execute("CREATE TABLE pots (name TEXT NOT NULL, id BIGINT PRIMARY KEY, price REAL)").await.unwrap();
    stage
        .execute("INSERT INTO pots (name, id, price) VALUES ('tea', 1, 2.5), ('coffee', 2, NULL), ('big', 9007199254740993, 1)")
        .await
        .unwrap();
    stage.execute("INSERT INTO pots (name, id) VALUES ('four', 4), ('five', 5)").await.unwrap();
    reader(stage)
}

fn invalid(outcome: Result<gateway_core::ports::Rows, StoreError>, what: &str) -> String {
    match outcome {
        Err(StoreError::Invalid(said)) => said,
        other => panic!("{what}: {other:?}"),
    }
}

pub async fn rows_come_as_they_are(stage: &Stage) {
    let database = pots(stage).await;
    database.ping().await.unwrap();
    let found = database.query("select price, name, id from pots where id < 3 order by id", limits(10)).await.unwrap();
    assert_eq!(found.columns, ["price", "name", "id"]);
    let expected =
        [json!({ "price": 2.5, "name": "tea", "id": 1 }), json!({ "price": null, "name": "coffee", "id": 2 })];
    assert_eq!(found.rows, expected);
    assert_eq!(found.rows[0].as_object().unwrap().keys().collect::<Vec<_>>(), ["price", "name", "id"]);
    for (sql, columns, rows) in [
        ("select id, name from pots where id < 0", vec!["id", "name"], vec![]),
        ("select id as a, name as a from pots where id = 1", vec!["a", "a"], vec![json!({ "a": "tea" })]),
        ("select id from pots where name = 'big'", vec!["id"], vec![json!({ "id": 9_007_199_254_740_993_i64 })]),
        ("select name from pots where id = 1 -- the first", vec!["name"], vec![json!({ "name": "tea" })]),
        ("with p as (select id from pots where id = 2) select id from p", vec!["id"], vec![json!({ "id": 2 })]),
        ("select 'x;--' as t", vec!["t"], vec![json!({ "t": "x;--" })]),
    ] {
        let found = database.query(sql, limits(10)).await.unwrap();
        assert_eq!((found.columns.iter().map(String::as_str).collect(), found.rows), (columns, rows), "{sql}");
        database.explain(sql).await.unwrap();
    }
    let values = database.query("values (1, 'a'), (2, 'b')", limits(10)).await.unwrap();
    assert_eq!(values.rows.len(), 2);
    assert!(invalid(database.query("select nothing from pots", limits(1)).await, "a column").contains("nothing"));
    assert!(database.explain("select nothing from pots").await.is_err());
    let tables = database.tables().await.unwrap();
    let pots = tables.iter().find(|table| table.name == "pots").unwrap();
    let columns: Vec<_> = pots.columns.iter().map(|column| (column.name.as_str(), column.nullable)).collect();
    assert_eq!(columns, [("name", false), ("id", false), ("price", true)]);
    assert_eq!(pots.schema, None);
}

// acceptance 99: a table of five rows, asked for three.
pub async fn what_is_too_much_is_cut(stage: &Stage) {
    let database = pots(stage).await;
    let all = "select id from pots order by id";
    for (max_rows, rows, truncated) in [(3, 3, true), (5, 5, false), (6, 5, false)] {
        let found = database.query(all, limits(max_rows)).await.unwrap();
        assert_eq!((found.rows.len(), found.truncated), (rows, truncated), "{max_rows}");
    }
    let small = ReadLimits { max_bytes: 20, ..limits(10) };
    let found = database.query(all, small).await.unwrap();
    assert!(found.truncated && (1..5).contains(&found.rows.len()), "{found:?}");
    let endless = match stage.is_postgres() {
        true => "select pg_sleep(60)",
        false => "with recursive n(i) as (select 1 union all select i + 1 from n) select max(i) from n",
    };
    let began = Instant::now();
    let short = ReadLimits { timeout: Duration::from_secs(1), ..limits(10) };
    let said = invalid(database.query(endless, short).await, endless);
    assert_eq!(said, "the query was stopped after 1 seconds");
    assert!(began.elapsed() < Duration::from_secs(30));
    assert_eq!(database.query(all, limits(10)).await.unwrap().rows.len(), 5, "and it goes on");
}

// acceptance 100: the database's own wall, whatever a guard would have said.
pub async fn nothing_is_written(stage: &Stage) {
    let database = pots(stage).await;
    for sql in [
        "delete from pots",
        "update pots set name = 'x'",
        "insert into pots (name, id) values ('x', 9)",
        "drop table pots",
        "create table x (y integer)",
        "select 1) as q; delete from pots; select * from (select 1",
        "select 1; delete from pots",
    ] {
        assert!(database.query(sql, limits(10)).await.is_err(), "{sql}");
    }
    if stage.is_postgres() {
        let function = "CREATE FUNCTION spill() RETURNS bigint LANGUAGE sql AS $$ DELETE FROM pots RETURNING id $$";
        stage.execute(function).await.unwrap();
        stage.execute("GRANT ALL ON pots TO PUBLIC").await.unwrap();
        let said = invalid(database.query("select spill()", limits(10)).await, "a function that writes");
        assert!(said.contains("read-only transaction"), "{said}");
        for sql in [
            "with gone as (delete from pots returning id) select id from gone",
            "select * into other from pots",
            "select id from pots for update",
            "select nextval('counted')",
        ] {
            assert!(database.query(sql, limits(10)).await.is_err(), "{sql}");
        }
        // Not a write at all: what keeps a mighty login from it is the role that everything is read as.
        let said = invalid(database.query("select pg_read_file('PG_VERSION')", limits(1)).await, "a file");
        assert!(said.contains("permission denied"), "{said}");
    }
    assert_eq!(stage.texts("SELECT CAST(count(*) AS TEXT) FROM pots").await, [Some("5".into())]);
}

pub async fn every_type_can_be_shown(stage: &Stage) {
    if !stage.is_postgres() {
        return;
    }
    stage.execute("CREATE SCHEMA app").await.unwrap();
    stage.execute("CREATE TYPE app.mood AS ENUM ('calm')").await.unwrap();
    stage
        .execute(
            "CREATE TABLE app.kinds (n numeric, f float8, b boolean, t timestamptz, d date, j jsonb, a integer[],
             m app.mood, u uuid, y bytea)",
        )
        .await
        .unwrap();
    stage
        .execute(
            "INSERT INTO app.kinds VALUES (12.50, 0.1, true, '2026-11-16T12:00:00Z', '2026-11-16', '{\"a\": [1]}', '{1,2}', 'calm',
             '00000000-0000-0000-0000-000000000007', '\\x0aff')",
        )
        .await
        .unwrap();
    let database = reader(stage);
    let found = database.query("select n, f, b, d, j, a, m, u, y from app.kinds", limits(1)).await.unwrap();
    let expected = json!({
        "n": 12.5, "f": 0.1, "b": true, "d": "2026-11-16", "j": { "a": [1] }, "a": [1, 2], "m": "calm",
        "u": "00000000-0000-0000-0000-000000000007", "y": "\\x0aff",
    });
    assert_eq!(found.rows, [expected]);
    let time = database.query("select t from app.kinds", limits(1)).await.unwrap();
    assert!(time.rows[0]["t"].as_str().is_some_and(|text| text.starts_with("2026-11-16T")), "{time:?}");
    let tables = database.tables().await.unwrap();
    let kinds = tables.iter().find(|table| table.name == "kinds").unwrap();
    assert_eq!((kinds.schema.as_deref(), kinds.columns[0].data_type.as_str()), (Some("app"), "numeric"));
}

// acceptance 85: whoever is not there says so, and nothing else of itself.
pub async fn a_database_that_is_away_says_so(stage: &Stage) {
    let gone: Box<dyn ReadOnlyDatabase> = match stage.is_postgres() {
        true => Box::new(PostgresReader::new("postgres://u:s3cret@127.0.0.1:9/d", PostgresReading::default()).unwrap()),
        false => Box::new(SqliteReader::new(&stage.folder.path().join("nowhere.db"))),
    };
    for outcome in [gone.ping().await, gone.tables().await.map(drop), gone.query("select 1", limits(1)).await.map(drop)]
    {
        assert!(matches!(outcome, Err(StoreError::Unavailable(_))), "{outcome:?}");
    }
    if let Some(path) = stage.url.strip_prefix("sqlite://") {
        let copy = stage.folder.path().join("copy.db");
        stage.execute("CREATE TABLE pots (id INTEGER)").await.unwrap();
        std::fs::copy(path, &copy).unwrap();
        let reader = SqliteReader::new(&copy);
        assert_eq!(reader.query("select 1 as one", limits(1)).await.unwrap().rows, [json!({ "one": 1 })] as [Value; 1]);
        std::fs::remove_file(copy).unwrap();
        assert!(matches!(reader.ping().await, Err(StoreError::Unavailable(_))));
    } else {
        let wrong =
            PostgresReader::new("postgres://h/d", PostgresReading { role: Some("a\"b".into()), schemas: vec![] });
        assert!(matches!(wrong.err(), Some(StoreError::Invalid(_))));
    }
}
