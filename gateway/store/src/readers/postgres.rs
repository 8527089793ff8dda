//! A Postgres database, read inside a transaction that cannot write, as a role that may only select where there is one.
//!
//! A statement is put inside a query of ours, which counts its rows and gives each as JSON: every type has a text so, and
//! column order stays. Statements are never prepared by name, so that poolers which share connections are fine.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use async_trait::async_trait;
use futures::TryStreamExt;
use gateway_core::policies::Dialect;
use gateway_core::ports::{ColumnInfo, ReadLimits, ReadOnlyDatabase, Rows, StoreError, TableInfo};
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions, Postgres};
use sqlx::{AssertSqlSafe, ConnectOptions, Row, Transaction};
use tokio::sync::OnceCell;

use crate::failure::unavailable;

const CONNECTIONS: u32 = 4;
const CONNECT_WITHIN: Duration = Duration::from_secs(4);
/// For what we ask ourselves: catalogues, plans, whether somebody is there.
const OWN_QUESTIONS: Duration = Duration::from_secs(2);
/// What the server may take to notice that a statement's time is over.
const GRACE: Duration = Duration::from_secs(1);

/// What is said of a database beside its URL.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PostgresReading {
    /// Reads as this role; `None`: the least that this login can become.
    pub role: Option<String>,
    /// Whose tables are shown; the first is where a name without a schema is looked for.
    pub schemas: Vec<String>,
}

pub struct PostgresReader {
    pool: PgPool,
    reading: PostgresReading,
    /// The words that make a transaction act as the role, found once.
    role: OnceCell<String>,
}

impl PostgresReader {
    /// To be called on a runtime, though nothing is connected yet.
    pub fn new(url: &str, reading: PostgresReading) -> Result<Self, StoreError> {
        // The text itself is not repeated: it holds a password.
        let options = PgConnectOptions::from_str(url)
            .map_err(|_| {
                StoreError::Invalid("is not a Postgres URL: expected `postgres://user:password@host/db`".into())
            })?
            .application_name("portreeve-supabase")
            .statement_cache_capacity(0)
            .disable_statement_logging();
        if let Some(role) = reading.role.as_deref().filter(|role| !is_plain(role)) {
            return Err(StoreError::Invalid(format!("`{role}` is not a role's plain name")));
        }
        let pool = PgPoolOptions::new()
            .max_connections(CONNECTIONS)
            .acquire_timeout(CONNECT_WITHIN)
            .idle_timeout(Duration::from_secs(300))
            .connect_lazy_with(options);
        Ok(Self { pool, reading, role: OnceCell::new() })
    }

    async fn begun(&self, time: Duration) -> Result<Transaction<'static, Postgres>, StoreError> {
        let role = self.role.get_or_try_init(|| self.found_role()).await?;
        // A simple query takes no parameters: a number and a name that we have looked at.
        let begin = format!(
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = {}; \
             SET LOCAL lock_timeout = '2s'; {role}",
            time.as_millis().clamp(1, 3_600_000)
        );
        self.pool.begin_with(AssertSqlSafe(begin)).await.map_err(unavailable)
    }

    /// A transaction that cannot write does not keep a mighty login from reading files: a role that may only select does.
    async fn found_role(&self) -> Result<String, StoreError> {
        if let Some(role) = &self.reading.role {
            return Ok(format!("SET LOCAL ROLE \"{role}\""));
        }
        let found: Option<String> = sqlx::query_scalar(
            "SELECT rolname::text FROM pg_roles WHERE rolname IN ('portreeve_reader', 'pg_read_all_data')
             AND pg_has_role(current_user, oid,
                 CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER' END)
             ORDER BY rolname = 'portreeve_reader' DESC LIMIT 1",
        )
        .persistent(false)
        .fetch_optional(&self.pool)
        .await
        .map_err(unavailable)?;
        let Some(role) = found else {
            tracing::warn!(
                "the database is read with the rights of the login itself: ask for `CREATE ROLE portreeve_reader NOLOGIN; \
                 GRANT USAGE ON SCHEMA public TO portreeve_reader; GRANT SELECT ON ALL TABLES IN SCHEMA public TO \
                 portreeve_reader; GRANT portreeve_reader TO` this login"
            );
            return Ok(String::new());
        };
        Ok(format!("SET LOCAL ROLE {role}"))
    }

    async fn read(&self, sql: &str, limits: ReadLimits) -> Result<Rows, StoreError> {
        let mut reading = self.begun(limits.timeout).await?;
        let told = |error| said(error, limits.timeout);
        // One row of nulls: the names of the columns, though the statement itself is not run. As JSON, because a column of a
        // type that is not known yet would be asked about in the middle.
        let names = format!(
            "SELECT row_to_json(r)::text FROM (SELECT q.* FROM (SELECT 1) AS one LEFT JOIN (\n{sql}\n) AS q ON false) AS r"
        );
        let names: String =
            sqlx::query_scalar(AssertSqlSafe(names)).persistent(false).fetch_one(&mut *reading).await.map_err(told)?;
        let Names(columns) = serde_json::from_str(&names).map_err(unavailable)?;
        let most = limits.max_rows.saturating_add(1);
        let wrapped = format!("SELECT row_to_json(q)::text FROM (\n{sql}\n) AS q LIMIT {most}");
        let mut found = Rows { columns, rows: Vec::new(), truncated: false };
        let mut bytes = 0_usize;
        let mut rows = sqlx::query_scalar::<_, String>(AssertSqlSafe(wrapped)).persistent(false).fetch(&mut *reading);
        while let Some(row) = rows.try_next().await.map_err(told)? {
            bytes = bytes.saturating_add(row.len());
            if found.rows.len() == limits.max_rows || bytes > limits.max_bytes {
                found.truncated = true;
                break;
            }
            found.rows.push(serde_json::from_str::<Value>(&row).map_err(unavailable)?);
        }
        drop(rows);
        reading.rollback().await.map_err(unavailable)?;
        Ok(found)
    }

    async fn listed(&self) -> Result<Vec<TableInfo>, StoreError> {
        let mut reading = self.begun(OWN_QUESTIONS).await?;
        let rows = sqlx::query(
            "SELECT n.nspname::text AS s, c.relname::text AS t, a.attname::text AS c,
                    format_type(a.atttypid, a.atttypmod) AS k, NOT a.attnotnull AS n
             FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
             WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname = ANY($1) AND a.attnum > 0 AND NOT a.attisdropped
               AND NOT c.relispartition AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
             ORDER BY array_position($1, n.nspname::text), c.relname, a.attnum",
        )
        .bind(&self.reading.schemas)
        .persistent(false)
        .fetch_all(&mut *reading)
        .await
        .map_err(|error| said(error, OWN_QUESTIONS))?;
        reading.rollback().await.map_err(unavailable)?;
        let mut tables: Vec<TableInfo> = Vec::new();
        for row in rows {
            let (schema, name): (String, String) =
                (row.try_get("s").map_err(unavailable)?, row.try_get("t").map_err(unavailable)?);
            let schema = (schema != "public").then_some(schema);
            let column = ColumnInfo {
                name: row.try_get("c").map_err(unavailable)?,
                data_type: row.try_get("k").map_err(unavailable)?,
                nullable: row.try_get("n").map_err(unavailable)?,
            };
            match tables.last_mut().filter(|table| table.name == name && table.schema == schema) {
                Some(table) => table.columns.push(column),
                None => tables.push(TableInfo { schema, name, columns: vec![column] }),
            }
        }
        Ok(tables)
    }
}

#[async_trait]
impl ReadOnlyDatabase for PostgresReader {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    async fn ping(&self) -> Result<(), StoreError> {
        let asked = sqlx::raw_sql("SELECT 1").execute(&self.pool);
        tokio::time::timeout(OWN_QUESTIONS, asked).await.map_err(unavailable)?.map_err(unavailable)?;
        Ok(())
    }

    async fn tables(&self) -> Result<Vec<TableInfo>, StoreError> {
        within(OWN_QUESTIONS, self.listed()).await
    }

    async fn explain(&self, sql: &str) -> Result<(), StoreError> {
        let planned = async {
            let mut reading = self.begun(OWN_QUESTIONS).await?;
            let plan = format!("EXPLAIN (FORMAT JSON)\n{sql}");
            let planned = sqlx::query(AssertSqlSafe(plan)).persistent(false).fetch_all(&mut *reading).await;
            planned.map_err(|error| said(error, OWN_QUESTIONS))?;
            reading.rollback().await.map_err(unavailable)
        };
        within(OWN_QUESTIONS, planned).await
    }

    async fn query(&self, sql: &str, limits: ReadLimits) -> Result<Rows, StoreError> {
        // The server's own limit does not hold for what is only being fetched.
        within(limits.timeout, self.read(sql, limits)).await
    }
}

/// The names in a JSON object, in their order, also where one stands twice.
struct Names(Vec<String>);

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(object: D) -> Result<Self, D::Error> {
        object.deserialize_map(NamesVisitor)
    }
}

struct NamesVisitor;

impl<'de> Visitor<'de> for NamesVisitor {
    type Value = Names;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a row as an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Names, A::Error> {
        let mut names = Vec::new();
        while let Some((name, IgnoredAny)) = map.next_entry::<String, IgnoredAny>()? {
            names.push(name);
        }
        Ok(Names(names))
    }
}

/// What takes longer is dropped, and its connection with it.
async fn within<T>(time: Duration, work: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    let all = CONNECT_WITHIN + time + GRACE;
    tokio::time::timeout(all, work).await.unwrap_or_else(|_| Err(stopped(time)))
}

fn stopped(time: Duration) -> StoreError {
    StoreError::Invalid(format!("the query was stopped after {} seconds", time.as_secs()))
}

/// What the server says of a statement is for whoever wrote it; what it says of itself is not.
fn said(error: sqlx::Error, time: Duration) -> StoreError {
    let Some(database) = error.as_database_error() else {
        return unavailable(error);
    };
    let code = database.code().unwrap_or_default().into_owned();
    let own = ["08", "28", "3D", "53", "57P", "58", "XX"].iter().any(|class| code.starts_with(class));
    match code.as_str() {
        "57014" => stopped(time),
        _ if own => unavailable(error),
        _ => StoreError::Invalid(database.message().to_owned()),
    }
}

fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    !name.is_empty() && name.len() <= 63 && name.chars().all(plain) && !name.starts_with(|c: char| c.is_ascii_digit())
}
