//! The shared engine: many nodes, one database.

mod append;
mod approvals;
mod gate;
mod history;
mod ledger;
mod live;
mod pins;
mod policies;
mod rows;
mod scoped;
mod standing;
mod tenants;
mod tools;
mod versions;

use std::str::FromStr;
use std::time::Duration;

use gateway_core::ports::StoreError;
use jiff::Timestamp;
use sqlx::ConnectOptions;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions};

pub(crate) use approvals::PostgresApprovals;
pub(crate) use gate::PostgresGate;
pub(crate) use history::{PostgresHistory, PostgresProofs};
pub(crate) use ledger::PostgresLedger;
pub(crate) use live::PostgresLive;
pub(crate) use pins::PostgresPins;
pub(crate) use policies::PostgresPolicies;
pub(crate) use standing::PostgresStanding;
pub(crate) use tenants::PostgresTenants;
pub(crate) use tools::PostgresTools;

use crate::failure::unavailable;

const CONNECTIONS: u32 = 10;

/// `shown` is the URL without its password.
pub(crate) async fn open(url: &str, shown: &str) -> Result<PgPool, StoreError> {
    let options = PgConnectOptions::from_str(url)
        .map_err(|error| StoreError::Invalid(format!("`{shown}` is not a Postgres URL: {error}")))?
        .application_name("portreeve")
        .disable_statement_logging();
    let pool = PgPoolOptions::new()
        .max_connections(CONNECTIONS)
        .acquire_timeout(Duration::from_secs(10))
        .after_connect(|connection, _| Box::pin(limit(connection)))
        .connect_with(options)
        .await
        .map_err(|error| StoreError::Invalid(format!("the database `{shown}` cannot be reached: {error}")))?;
    // sqlx takes an advisory lock around them, so nodes that start together wait for each other.
    crate::migrations::postgres().run(&pool).await.map_err(|error| {
        StoreError::Invalid(format!("the database `{shown}` cannot be brought up to date: {error}"))
    })?;
    scoped::arrange(&pool).await?;
    Ok(pool)
}

/// A statement that outlives the caller's patience many times over only holds locks. Set here and not in the URL's
/// options, which poolers in front of Postgres do not know.
async fn limit(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(
        "SET statement_timeout = '30s'; SET lock_timeout = '10s'; SET idle_in_transaction_session_timeout = '30s'",
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Made by whichever node asks first; all get the same.
pub(crate) async fn secret(pool: &PgPool, name: &str, fresh: &[u8]) -> Result<Vec<u8>, StoreError> {
    sqlx::query("INSERT INTO gateway_secrets (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING")
        .bind(name)
        .bind(fresh)
        .execute(pool)
        .await
        .map_err(unavailable)?;
    sqlx::query_scalar("SELECT value FROM gateway_secrets WHERE name = $1")
        .bind(name)
        .fetch_one(pool)
        .await
        .map_err(unavailable)
}

pub(crate) async fn ping(pool: &PgPool) -> Result<(), StoreError> {
    sqlx::query("SELECT 1").execute(pool).await.map_err(unavailable)?;
    Ok(())
}

pub(crate) async fn time(pool: &PgPool) -> Result<Timestamp, StoreError> {
    let question = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    let milliseconds: i64 = sqlx::query_scalar(question).fetch_one(pool).await.map_err(unavailable)?;
    Timestamp::from_millisecond(milliseconds).map_err(|error| StoreError::Unavailable(Box::new(error)))
}
