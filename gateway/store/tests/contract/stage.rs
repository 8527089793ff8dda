//! A database of one's own, and a back door into it that the gateway does not have.

use gateway_store::Store;
use sqlx::postgres::{PgPool, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool};
use sqlx::{AssertSqlSafe, Row};
use tempfile::TempDir;

pub struct Stage {
    pub store: Store,
    pub url: String,
    pub folder: TempDir,
    door: Door,
}

pub enum Door {
    Sqlite(SqlitePool),
    Postgres { pool: PgPool, server: String, name: String },
}

impl Stage {
    pub async fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("made/on/demand/gateway.db");
        let url = format!("sqlite://{}", path.display());
        let store = Store::open(&url).await.unwrap();
        let pool = SqlitePool::connect_with(SqliteConnectOptions::new().filename(path)).await.unwrap();
        Self { store, url, folder, door: Door::Sqlite(pool) }
    }

    pub async fn postgres() -> Self {
        let Ok(server) = std::env::var("PORTREEVE_TEST_POSTGRES") else {
            panic!("set PORTREEVE_TEST_POSTGRES or use tests/run");
        };
        let name = format!("contract_{}", uuid::Uuid::now_v7().simple());
        let admin = PgPoolOptions::new().max_connections(1).connect(&server).await.expect("PORTREEVE_TEST_POSTGRES");
        sqlx::query(AssertSqlSafe(format!("CREATE DATABASE {name}"))).execute(&admin).await.unwrap();
        admin.close().await;
        let (front, query) = server
            .split_once('?')
            .map_or((server.as_str(), String::new()), |(front, query)| (front, format!("?{query}")));
        let host = front.rsplit_once('/').filter(|(host, _)| !host.ends_with('/')).map_or(front, |(host, _)| host);
        let url = format!("{host}/{name}{query}");
        let store = Store::open(&url).await.unwrap();
        let pool = PgPoolOptions::new().max_connections(2).connect(&url).await.unwrap();
        Self { store, url, folder: tempfile::tempdir().unwrap(), door: Door::Postgres { pool, server, name } }
    }

    pub fn is_postgres(&self) -> bool {
        matches!(self.door, Door::Postgres { .. })
    }

    /// Another process on the same database.
    pub async fn another_node(&self) -> Store {
        Store::open(&self.url).await.unwrap()
    }

    pub async fn execute(&self, sql: impl Into<String>) -> Result<u64, sqlx::Error> {
        let sql = AssertSqlSafe(sql.into());
        match &self.door {
            Door::Sqlite(pool) => sqlx::query(sql).execute(pool).await.map(|done| done.rows_affected()),
            Door::Postgres { pool, .. } => sqlx::query(sql).execute(pool).await.map(|done| done.rows_affected()),
        }
    }

    /// The first column of every row, as text.
    pub async fn texts(&self, sql: impl Into<String>) -> Vec<Option<String>> {
        let sql = AssertSqlSafe(sql.into());
        match &self.door {
            Door::Sqlite(pool) => {
                let rows = sqlx::query(sql).fetch_all(pool).await.unwrap();
                rows.iter().map(|row| row.get(0)).collect()
            }
            Door::Postgres { pool, .. } => {
                let rows = sqlx::query(sql).fetch_all(pool).await.unwrap();
                rows.iter().map(|row| row.get(0)).collect()
            }
        }
    }

    /// Statements on one connection of its own, Postgres only: what the last of them gave as text, or how it was refused.
    pub async fn alone(&self, url: &str, statements: &[String]) -> Result<Vec<Option<String>>, sqlx::Error> {
        let (last, first) = statements.split_last().expect("a statement");
        let pool = PgPoolOptions::new().max_connections(1).connect(url).await?;
        for statement in first {
            sqlx::raw_sql(AssertSqlSafe(statement.clone())).execute(&pool).await?;
        }
        let rows = sqlx::query(AssertSqlSafe(last.clone())).fetch_all(&pool).await;
        pool.close().await;
        Ok(rows?.iter().map(|row| row.try_get(0).ok()).collect())
    }

    pub async fn text(&self, sql: impl Into<String>) -> Option<String> {
        self.texts(sql).await.into_iter().next().flatten()
    }

    pub async fn count(&self, from: &str) -> i64 {
        self.text(format!("SELECT CAST(count(*) AS TEXT) FROM {from}")).await.unwrap().parse().unwrap()
    }

    pub async fn tables(&self) -> Vec<String> {
        let sql = match &self.door {
            Door::Sqlite(_) => {
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name"
            }
            Door::Postgres { .. } => {
                "SELECT table_name::text FROM information_schema.tables WHERE table_schema = 'public' ORDER BY table_name"
            }
        };
        self.texts(sql).await.into_iter().flatten().collect()
    }

    pub async fn columns(&self, table: &str) -> Vec<String> {
        let sql = match &self.door {
            Door::Sqlite(_) => format!("SELECT name FROM pragma_table_info('{table}') ORDER BY cid"),
            Door::Postgres { .. } => format!(
                "SELECT column_name::text FROM information_schema.columns
                 WHERE table_schema = 'public' AND table_name = '{table}' ORDER BY ordinal_position"
            ),
        };
        self.texts(sql).await.into_iter().flatten().collect()
    }

    /// In how many rows of the whole database a text occurs.
    pub async fn rows_with(&self, text: &str) -> i64 {
        let mut found = 0;
        for table in self.tables().await {
            let columns = self.columns(&table).await;
            let all: Vec<_> =
                columns.iter().map(|column| format!("COALESCE(CAST(\"{column}\" AS TEXT), '')")).collect();
            found += self.count(&format!("\"{table}\" WHERE {} LIKE '%{text}%'", all.join(" || '|' || "))).await;
        }
        found
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let Door::Postgres { server, name, .. } = &self.door else {
            return;
        };
        let (server, name) = (server.clone(), name.clone());
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                if let Ok(admin) = PgPoolOptions::new().max_connections(1).connect(&server).await {
                    let _ =
                        sqlx::query(AssertSqlSafe(format!("DROP DATABASE {name} WITH (FORCE)"))).execute(&admin).await;
                }
            });
        });
        let _ = dropping.join();
    }
}
