//! Opens the database a URL names and hands out the ports it serves.

use std::path::Path;
use std::sync::Arc;

use gateway_core::ports::{
    Approvals, GateStore, History, Ledger, LiveStore, Once, PinStore, PolicyStore, Proofs, Standing, StoreError,
    TenantStore, ToolAgents, ToolRegistry,
};
use jiff::Timestamp;
use rand::RngCore;
use sqlx::postgres::PgPool;

use crate::once::{PostgresOnce, SqliteOnce};
use crate::pins::Pins;
use crate::postgres::{
    self, PostgresApprovals, PostgresGate, PostgresHistory, PostgresLedger, PostgresLive, PostgresPins,
    PostgresPolicies, PostgresProofs, PostgresStanding, PostgresTenants, PostgresToolAgents, PostgresTools,
};
use crate::sqlite::{
    SqliteApprovals, SqliteGate, SqliteHistory, SqliteLedger, SqliteLive, SqlitePins, SqlitePolicies, SqlitePools,
    SqliteProofs, SqliteStanding, SqliteTenants, SqliteToolAgents, SqliteTools,
};

/// One open database. Open it on the runtime that outlives everything that uses it.
pub struct Store {
    engine: Engine,
    tenants: Arc<dyn TenantStore>,
    registry: Arc<dyn ToolRegistry>,
    ledger: Arc<dyn Ledger>,
    once: Arc<dyn Once>,
    policies: Arc<dyn PolicyStore>,
    live: Arc<dyn LiveStore>,
    pins: Arc<dyn PinStore>,
    approvals: Arc<dyn Approvals>,
    standing: Arc<dyn Standing>,
    proofs: Arc<dyn Proofs>,
    history: Arc<dyn History>,
    gate: Arc<dyn GateStore>,
    tool_agents: Arc<dyn ToolAgents>,
}

enum Engine {
    Sqlite(SqlitePools),
    Postgres(PgPool),
}

impl Store {
    /// `sqlite://PATH` (made if missing, with its folders) or `postgres://…`; brings the schema up to date.
    pub async fn open(url: &str) -> Result<Self, StoreError> {
        if let Some(path) = url.strip_prefix("sqlite://").or_else(|| url.strip_prefix("sqlite:")) {
            let path = path.split_once('?').map_or(path, |(path, _)| path);
            if path.is_empty() {
                return Err(StoreError::Invalid(format!("`{url}` names no file: expected `sqlite://PATH`")));
            }
            let pools = SqlitePools::open(Path::new(path)).await?;
            return Ok(Self {
                tenants: Arc::new(SqliteTenants(pools.clone())),
                registry: Arc::new(SqliteTools::new(&pools)),
                ledger: Arc::new(SqliteLedger::new(pools.clone())),
                once: Arc::new(SqliteOnce::new(pools.clone())),
                policies: Arc::new(SqlitePolicies(pools.clone())),
                live: Arc::new(SqliteLive(pools.clone())),
                pins: Arc::new(Pins::start(
                    Arc::new(SqlitePins(pools.clone())),
                    Arc::new(SqliteLedger::new(pools.clone())),
                )),
                approvals: Arc::new(SqliteApprovals(pools.clone())),
                standing: Arc::new(SqliteStanding(pools.clone())),
                proofs: Arc::new(SqliteProofs(pools.clone())),
                history: Arc::new(SqliteHistory(pools.clone())),
                gate: Arc::new(SqliteGate(pools.clone())),
                tool_agents: Arc::new(SqliteToolAgents(pools.clone())),
                engine: Engine::Sqlite(pools),
            });
        }
        let shown = without_password(url);
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(StoreError::Invalid(format!(
                "`{shown}` names no store: expected `sqlite://PATH` or `postgres://USER@HOST/DATABASE`"
            )));
        }
        let pool = postgres::open(url, &shown).await?;
        Ok(Self {
            tenants: Arc::new(PostgresTenants(pool.clone())),
            registry: Arc::new(PostgresTools::new(&pool)),
            ledger: Arc::new(PostgresLedger::new(pool.clone())),
            once: Arc::new(PostgresOnce::new(pool.clone())),
            policies: Arc::new(PostgresPolicies(pool.clone())),
            live: Arc::new(PostgresLive::new(pool.clone())),
            pins: Arc::new(Pins::start(
                Arc::new(PostgresPins(pool.clone())),
                Arc::new(PostgresLedger::new(pool.clone())),
            )),
            approvals: Arc::new(PostgresApprovals(pool.clone())),
            standing: Arc::new(PostgresStanding(pool.clone())),
            proofs: Arc::new(PostgresProofs(pool.clone())),
            history: Arc::new(PostgresHistory(pool.clone())),
            gate: Arc::new(PostgresGate(pool.clone())),
            tool_agents: Arc::new(PostgresToolAgents(pool.clone())),
            engine: Engine::Postgres(pool),
        })
    }

    /// Shared by all nodes on this database.
    pub fn once(&self) -> Arc<dyn Once> {
        Arc::clone(&self.once)
    }

    pub fn tenants(&self) -> Arc<dyn TenantStore> {
        Arc::clone(&self.tenants)
    }

    pub fn registry(&self) -> Arc<dyn ToolRegistry> {
        Arc::clone(&self.registry)
    }

    pub fn ledger(&self) -> Arc<dyn Ledger> {
        Arc::clone(&self.ledger)
    }

    pub fn policies(&self) -> Arc<dyn PolicyStore> {
        Arc::clone(&self.policies)
    }

    pub fn live(&self) -> Arc<dyn LiveStore> {
        Arc::clone(&self.live)
    }

    pub fn pins(&self) -> Arc<dyn PinStore> {
        Arc::clone(&self.pins)
    }

    pub fn approvals(&self) -> Arc<dyn Approvals> {
        Arc::clone(&self.approvals)
    }

    pub fn standing(&self) -> Arc<dyn Standing> {
        Arc::clone(&self.standing)
    }

    pub fn proofs(&self) -> Arc<dyn Proofs> {
        Arc::clone(&self.proofs)
    }

    pub fn history(&self) -> Arc<dyn History> {
        Arc::clone(&self.history)
    }

    pub fn gate(&self) -> Arc<dyn GateStore> {
        Arc::clone(&self.gate)
    }

    pub fn tool_agents(&self) -> Arc<dyn ToolAgents> {
        Arc::clone(&self.tool_agents)
    }

    /// A key that every node on this database shares, made when first asked for.
    pub async fn secret(&self, name: &str) -> Result<[u8; 32], StoreError> {
        let mut fresh = [0; 32];
        rand::rng().fill_bytes(&mut fresh);
        let stored = match &self.engine {
            Engine::Sqlite(pools) => pools.secret(name, &fresh).await?,
            Engine::Postgres(pool) => postgres::secret(pool, name, &fresh).await?,
        };
        stored.try_into().map_err(|_| StoreError::Invalid(format!("the stored secret `{name}` does not have 32 bytes")))
    }

    /// Whether the database answers now.
    pub async fn ping(&self) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(pools) => pools.ping().await,
            Engine::Postgres(pool) => postgres::ping(pool).await,
        }
    }

    /// What time the database says it is. SQLite's is this machine's.
    pub async fn time(&self) -> Result<Timestamp, StoreError> {
        match &self.engine {
            Engine::Sqlite(_) => Ok(Timestamp::now()),
            Engine::Postgres(pool) => postgres::time(pool).await,
        }
    }

    /// After the writer has been shut down: nothing can be stored any more.
    pub async fn close(&self) {
        match &self.engine {
            Engine::Sqlite(pools) => pools.close().await,
            Engine::Postgres(pool) => pool.close().await,
        }
    }
}

/// For people: what a URL says, without what it hides. A password may stand before the host or in the query.
fn without_password(url: &str) -> String {
    let url = url.split_once('?').map_or(url, |(front, _)| front);
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.into();
    };
    let Some((login, host)) = rest.rsplit_once('@') else {
        return url.into();
    };
    let user = login.split_once(':').map_or(login, |(user, _)| user);
    format!("{scheme}://{user}@{host}")
}

#[cfg(test)]
mod tests {
    use super::without_password;

    #[test]
    fn no_password_is_shown() {
        for (url, shown) in [
            ("postgres://me:secret@db:5432/gate", "postgres://me@db:5432/gate"),
            ("postgres://me:se@cr:et@db/gate?password=x", "postgres://me@db/gate"),
            ("postgres://db/gate", "postgres://db/gate"),
            ("postgres://me@db/gate", "postgres://me@db/gate"),
            ("mysql:root", "mysql:root"),
        ] {
            assert_eq!(without_password(url), shown, "{url}");
        }
    }
}
