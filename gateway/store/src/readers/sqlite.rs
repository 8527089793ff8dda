//! One SQLite file, opened so that it can only be read: the demo's business data, or anybody's.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures::TryStreamExt;
use gateway_core::BoxError;
use gateway_core::policies::Dialect;
use gateway_core::ports::{ColumnInfo, ReadLimits, ReadOnlyDatabase, Rows, StoreError, TableInfo};
use serde_json::{Map, Value};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool, SqlitePoolOptions, SqliteRow};
use sqlx::{AssertSqlSafe, Column, ConnectOptions, Executor, Row, SqlSafeStr, Statement, TypeInfo, ValueRef};

use crate::failure::unavailable;

/// For what we ask ourselves.
const LONGEST: Duration = Duration::from_secs(5);
/// Steps of SQLite's machine between two looks at the clock: well under a millisecond.
const STEPS: i32 = 10_000;

/// Read only twice over: the file is opened so, and every connection says it again.
pub struct SqliteReader {
    pool: SqlitePool,
    path: PathBuf,
}

impl SqliteReader {
    /// To be called on a runtime, though nothing is opened yet.
    pub fn new(path: &Path) -> Self {
        let options = SqliteConnectOptions::new()
            .filename(path)
            .read_only(true)
            .pragma("query_only", "ON")
            .busy_timeout(Duration::from_secs(2))
            .disable_statement_logging();
        let pool = SqlitePoolOptions::new().max_connections(4).acquire_timeout(LONGEST).connect_lazy_with(options);
        Self { pool, path: path.to_owned() }
    }

    /// An open connection would go on reading a file that is gone.
    fn is_there(&self) -> Result<(), StoreError> {
        std::fs::metadata(&self.path).map(drop).map_err(unavailable)
    }
}

#[async_trait]
impl ReadOnlyDatabase for SqliteReader {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    async fn ping(&self) -> Result<(), StoreError> {
        self.is_there()?;
        sqlx::query("SELECT 1").fetch_one(&self.pool).await.map_err(unavailable)?;
        Ok(())
    }

    async fn tables(&self) -> Result<Vec<TableInfo>, StoreError> {
        self.is_there()?;
        let rows = sqlx::query(
            "SELECT t.name AS t, c.name AS c, c.type AS k, c.\"notnull\" OR c.pk > 0 AS filled
             FROM sqlite_master t JOIN pragma_table_info(t.name) c
             WHERE t.type IN ('table', 'view') AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY t.name, c.cid",
        )
        .fetch_all(&self.pool)
        .await
        .map_err(unavailable)?;
        let mut tables: Vec<TableInfo> = Vec::new();
        for row in rows {
            let name: String = row.try_get("t").map_err(unavailable)?;
            let filled: bool = row.try_get("filled").map_err(unavailable)?;
            let column = ColumnInfo {
                name: row.try_get("c").map_err(unavailable)?,
                data_type: row.try_get("k").map_err(unavailable)?,
                nullable: !filled,
            };
            match tables.last_mut().filter(|table| table.name == name) {
                Some(table) => table.columns.push(column),
                None => tables.push(TableInfo { schema: None, name, columns: vec![column] }),
            }
        }
        Ok(tables)
    }

    async fn explain(&self, sql: &str) -> Result<(), StoreError> {
        let limits = ReadLimits { max_rows: usize::MAX, timeout: LONGEST, max_bytes: usize::MAX };
        self.query(&format!("EXPLAIN {sql}"), limits).await.map(drop)
    }

    async fn query(&self, sql: &str, limits: ReadLimits) -> Result<Rows, StoreError> {
        self.is_there()?;
        let mut connection = self.pool.acquire().await.map_err(unavailable)?;
        let deadline = Instant::now() + limits.timeout;
        connection
            .lock_handle()
            .await
            .map_err(unavailable)?
            .set_progress_handler(STEPS, move || Instant::now() < deadline);
        let outcome = read(&mut connection, sql, limits).await;
        connection.lock_handle().await.map_err(unavailable)?.remove_progress_handler();
        outcome.map_err(|error| match error.as_database_error() {
            Some(database) if database.code().as_deref() == Some("9") => {
                StoreError::Invalid(format!("the query was stopped after {} seconds", limits.timeout.as_secs()))
            }
            Some(database) => StoreError::Invalid(database.message().to_owned()),
            None => unavailable(error),
        })
    }
}

async fn read(connection: &mut sqlx::SqliteConnection, sql: &str, limits: ReadLimits) -> Result<Rows, sqlx::Error> {
    // The connection cannot write; whose text this is and what it may ask has been judged before it came here.
    let statement = connection.prepare(AssertSqlSafe(sql).into_sql_str()).await?;
    let columns: Vec<String> = statement.columns().iter().map(|column| column.name().to_owned()).collect();
    let mut found = Rows { columns, rows: Vec::new(), truncated: false };
    let mut stream = statement.query().fetch(connection);
    let mut bytes = 0_usize;
    while let Some(row) = stream.try_next().await? {
        if found.rows.len() == limits.max_rows {
            found.truncated = true;
            break;
        }
        let row = object(&row).map_err(sqlx::Error::Decode)?;
        if limits.max_bytes < usize::MAX {
            bytes = bytes.saturating_add(row.to_string().len());
        }
        if bytes > limits.max_bytes {
            found.truncated = true;
            break;
        }
        found.rows.push(row);
    }
    drop(stream);
    Ok(found)
}

fn object(row: &SqliteRow) -> Result<Value, BoxError> {
    let mut object = Map::new();
    for column in row.columns() {
        let place = column.ordinal();
        let raw = row.try_get_raw(place)?;
        let value = match (raw.is_null(), raw.type_info().name()) {
            (true, _) => Value::Null,
            (_, "INTEGER" | "INT4" | "BIGINT") => row.try_get_unchecked::<i64, _>(place)?.into(),
            (_, "REAL") => row.try_get_unchecked::<f64, _>(place)?.into(),
            (_, "BLOB") => hex::encode(row.try_get_unchecked::<Vec<u8>, _>(place)?).into(),
            _ => row.try_get_unchecked::<String, _>(place)?.into(),
        };
        object.insert(column.name().to_owned(), value);
    }
    Ok(Value::Object(object))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::readers::create_demo_database;
    use serde_json::json;

    fn rows(max_rows: usize) -> ReadLimits {
        ReadLimits { max_rows, timeout: LONGEST, max_bytes: usize::MAX }
    }

    async fn demo() -> (tempfile::TempDir, SqliteReader) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/demo.db");
        create_demo_database(&path).await.unwrap();
        let database = SqliteReader::new(&path);
        (folder, database)
    }

    #[tokio::test]
    async fn four_tables_with_something_to_ask() {
        let (_folder, database) = demo().await;
        let tables = database.tables().await.unwrap();
        let names: Vec<_> = tables.iter().map(|table| table.name.as_str()).collect();
        assert_eq!(names, ["agent_conversations", "kpi_data", "kpi_metrics", "users"]);
        for name in names {
            let counted = database.query(&format!("select count(*) as n from {name}"), rows(10)).await.unwrap();
            let n = counted.rows.first().and_then(|row| row.get("n")).and_then(Value::as_i64).unwrap();
            assert!((50..=200).contains(&n), "{name}: {n}");
        }
        let strangers = "select count(*) as n from users where email not like '%@example.com'";
        assert_eq!(database.query(strangers, rows(1)).await.unwrap().rows, [json!({"n": 0})]);
    }

    #[tokio::test]
    async fn the_same_database_every_time() {
        let ask = "select * from agent_conversations order by id";
        let ((_one, first), (_two, second)) = (demo().await, demo().await);
        assert_eq!(first.query(ask, rows(500)).await.unwrap(), second.query(ask, rows(500)).await.unwrap());
    }

    // acceptance 99: rows are capped, and the cap is told.
    #[tokio::test]
    async fn more_rows_than_asked_for_are_cut() {
        let (_folder, database) = demo().await;
        let found = database.query("select id, name from users order by id", rows(3)).await.unwrap();
        assert_eq!((found.columns, found.rows.len(), found.truncated), (vec!["id".into(), "name".into()], 3, true));
        let none = database.query("select id from users where id < 0", rows(3)).await.unwrap();
        assert_eq!((none.columns, none.rows.len(), none.truncated), (vec!["id".into()], 0, false));
        let small = ReadLimits { max_bytes: 30, ..rows(10) };
        let cut = database.query("select id from users order by id", small).await.unwrap();
        assert!(cut.truncated && (1..10).contains(&cut.rows.len()), "{}", cut.rows.len());
    }

    #[tokio::test]
    async fn what_could_run_is_told_without_running_it() {
        let (_folder, database) = demo().await;
        database.ping().await.unwrap();
        database.explain("select id from users order by id limit 3").await.unwrap();
        assert!(database.explain("select nothing from users").await.is_err());
    }

    #[tokio::test]
    async fn nothing_can_be_written_and_nothing_runs_for_ever() {
        let (_folder, database) = demo().await;
        for sql in [
            "delete from users",
            "create table x (y)",
            "update users set name = 'x'",
            "pragma query_only = off; delete from users",
        ] {
            assert!(database.query(sql, rows(1)).await.is_err(), "{sql}");
        }
        let began = Instant::now();
        let endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select max(i) from n";
        let error = database.query(endless, rows(1)).await.unwrap_err();
        assert_eq!(error.to_string(), "the query was stopped after 5 seconds");
        assert!(began.elapsed() < LONGEST * 2);
        assert!(database.query("select 1 as one", rows(1)).await.is_ok());
    }
}
