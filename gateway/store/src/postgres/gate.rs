//! Scenarios and runs in Postgres.

use async_trait::async_trait;
use gateway_core::gate::engine::Known;
use gateway_core::gate::records::{Entry, Packet, Submission};
use gateway_core::gate::{Digest, Head, Logs};
use gateway_core::ports::{
    FoundRun, GateStore, NewScenario, RunLine, RunQuery, ScenarioLine, ScenarioSource, StoreError, StoredScenario,
};
use gateway_core::{AgentId, TenantId};
use sqlx::postgres::{PgPool, PgRow, Postgres};
use sqlx::{Row, Transaction};

use super::scoped::scoped;
use crate::failure::unavailable;
use crate::gate::{self, EventColumns, LONGEST_LIST, RunRow};
use crate::once::patiently;

macro_rules! time {
    ($column:literal) => {
        concat!("to_char(", $column, " AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')")
    };
}

pub(crate) struct PostgresGate(pub PgPool);

type Scoped = Transaction<'static, Postgres>;

#[async_trait]
impl GateStore for PostgresGate {
    async fn define(&self, tenant: TenantId, new: &NewScenario, most: i64) -> Result<(), StoreError> {
        let mut transaction = scoped(&self.0, tenant).await?;
        let sql = match new.source {
            ScenarioSource::Defined => {
                "INSERT INTO scenarios (tenant_id, scenario_id, spec_hash, spec, source, defined_by) \
                 SELECT $1, $2, $3, $4, $5, $6 WHERE (SELECT count(*) FROM scenarios WHERE tenant_id = $1) < $7"
            }
            ScenarioSource::File => {
                "INSERT INTO scenarios (tenant_id, scenario_id, spec_hash, spec, source, defined_by) \
                 SELECT $1, $2, $3, $4, $5, $6 WHERE $7 >= 0 \
                 ON CONFLICT (tenant_id, scenario_id, spec_hash) DO NOTHING"
            }
        };
        let added = sqlx::query(sql)
            .bind(tenant.0)
            .bind(&new.id)
            .bind(new.hash.hex())
            .bind(&new.text)
            .bind(new.source.as_str())
            .bind(&new.by)
            .bind(most)
            .execute(&mut *transaction)
            .await
            .map_err(|error| gate::not_defined(error, &new.id))?;
        if added.rows_affected() == 0 && new.source == ScenarioSource::Defined {
            return Err(gate::too_many(most));
        }
        transaction.commit().await.map_err(unavailable)
    }

    async fn scenario(
        &self,
        tenant: TenantId,
        id: &str,
        hash: Option<&Digest>,
    ) -> Result<Option<StoredScenario>, StoreError> {
        let mut transaction = scoped(&self.0, tenant).await?;
        let asked = sqlx::query(
            "SELECT spec_hash, spec FROM scenarios WHERE tenant_id = $1 AND scenario_id = $2 \
             AND (spec_hash = $3 OR ($3::text IS NULL AND source = 'defined')) LIMIT 1",
        )
        .bind(tenant.0)
        .bind(id)
        .bind(hash.map(Digest::hex))
        .fetch_optional(&mut *transaction);
        let row = patiently(asked).await?;
        transaction.commit().await.map_err(unavailable)?;
        row.map(|row| gate::scenario(row.try_get(0).map_err(unavailable)?, row.try_get(1).map_err(unavailable)?))
            .transpose()
    }

    async fn scenarios(&self, tenant: TenantId, limit: i64) -> Result<Vec<ScenarioLine>, StoreError> {
        let mut transaction = scoped(&self.0, tenant).await?;
        let asked = sqlx::query(concat!(
            "SELECT scenario_id, spec_hash, source, defined_by, ",
            time!("defined_at"),
            " FROM scenarios WHERE tenant_id = $1 ORDER BY scenario_id, scenarios.defined_at LIMIT $2"
        ))
        .bind(tenant.0)
        .bind(limit.clamp(1, LONGEST_LIST))
        .fetch_all(&mut *transaction);
        let rows = patiently(asked).await?;
        transaction.commit().await.map_err(unavailable)?;
        let line = |row: &PgRow| gate::scenario_line(|at| Ok(row.try_get(at)?));
        rows.iter().map(line).collect::<Result<_, _>>().map_err(unavailable)
    }

    async fn begin(&self, tenant: TenantId, head: &Head, entries: &[Entry], by: &AgentId) -> Result<(), StoreError> {
        let mut transaction = scoped(&self.0, tenant).await?;
        sqlx::query(
            "INSERT INTO runs (tenant_id, run_id, scenario_id, spec_hash, version, status, stage_id, head, started_by) \
             VALUES ($1, $2, $3, $4, 1, $5, $6, $7, $8)",
        )
        .bind(tenant.0)
        .bind(head.run_id.as_str())
        .bind(head.scenario_id.as_str())
        .bind(head.spec_hash.hex())
        .bind(head.status.as_str())
        .bind(head.current_stage_id.as_str())
        .bind(gate::head_text(head)?)
        .bind(by.as_str())
        .execute(&mut *transaction)
        .await
        .map_err(|error| gate::not_begun(error, head))?;
        let columns = EventColumns::of(head, entries)?;
        write(&mut transaction, tenant, head.run_id.as_str(), 1, columns)
            .await
            .map_err(|error| gate::not_begun(error, head))?;
        transaction.commit().await.map_err(unavailable)
    }

    async fn run(&self, tenant: TenantId, run: &str, trigger: Option<&str>) -> Result<Option<FoundRun>, StoreError> {
        let mut transaction = scoped(&self.0, tenant).await?;
        let Some(row) = row_of(&mut transaction, tenant, run).await? else {
            return Ok(None);
        };
        let known = match trigger {
            None => None,
            Some(trigger) => {
                let entries = keyed(&mut transaction, tenant, run, ("decision", trigger), row.version).await?;
                match entries.first() {
                    None => None,
                    Some(entry) => {
                        let decision = gate::decision(entry)?;
                        let id = decision.decision_id.as_str().to_owned();
                        let packets = packets_of(&mut transaction, tenant, run, &id, row.version).await?;
                        Some(Known { decision, packets })
                    }
                }
            }
        };
        let last = row.head.last_decision.as_ref().map(|last| last.decision_id.as_str().to_owned());
        let last_packets = match last {
            None => Vec::new(),
            Some(last) => packets_of(&mut transaction, tenant, run, &last, row.version).await?,
        };
        transaction.commit().await.map_err(unavailable)?;
        Ok(Some(row.found(known, last_packets)))
    }

    async fn submission(&self, tenant: TenantId, run: &str, id: &str) -> Result<Option<Submission>, StoreError> {
        let mut transaction = scoped(&self.0, tenant).await?;
        let entries = keyed(&mut transaction, tenant, run, ("submission", id), i64::MAX).await?;
        transaction.commit().await.map_err(unavailable)?;
        entries.first().map(|entry| gate::submission(entry)).transpose()
    }

    async fn append(
        &self,
        tenant: TenantId,
        run: &str,
        version: i64,
        head: &Head,
        entries: &[Entry],
    ) -> Result<bool, StoreError> {
        let columns = EventColumns::of(head, entries)?;
        let mut transaction = scoped(&self.0, tenant).await?;
        let moved = sqlx::query(
            "UPDATE runs SET version = version + 1, status = $4, stage_id = $5, head = $6, changed_at = now() \
             WHERE tenant_id = $1 AND run_id = $2 AND version = $3",
        )
        .bind(tenant.0)
        .bind(run)
        .bind(version)
        .bind(head.status.as_str())
        .bind(head.current_stage_id.as_str())
        .bind(gate::head_text(head)?)
        .execute(&mut *transaction);
        // Dropped without a commit, the transaction takes everything back.
        if patiently(moved).await?.rows_affected() != 1 {
            return Ok(false);
        }
        match write(&mut transaction, tenant, run, version + 1, columns).await {
            Ok(()) => {}
            Err(error) if gate::is_taken(&error) => return Ok(false),
            Err(error) => return Err(unavailable(error)),
        }
        transaction.commit().await.map_err(unavailable)?;
        Ok(true)
    }

    async fn logs(&self, tenant: TenantId, run: &str) -> Result<Option<(Head, Logs)>, StoreError> {
        let mut transaction = scoped(&self.0, tenant).await?;
        let Some(row) = row_of(&mut transaction, tenant, run).await? else {
            return Ok(None);
        };
        let asked = sqlx::query_as(
            "SELECT log, entry FROM run_events WHERE tenant_id = $1 AND run_id = $2 AND version <= $3 ORDER BY log, seq",
        )
        .bind(tenant.0)
        .bind(run)
        .bind(row.version)
        .fetch_all(&mut *transaction);
        let rows: Vec<(String, String)> = patiently(asked).await?;
        transaction.commit().await.map_err(unavailable)?;
        Ok(Some((row.head, gate::logs(rows)?)))
    }

    async fn runs(&self, query: &RunQuery) -> Result<Vec<RunLine>, StoreError> {
        let mut transaction = scoped(&self.0, query.tenant).await?;
        let asked = sqlx::query(concat!(
            "SELECT run_id, scenario_id, spec_hash, status, stage_id, started_by, ",
            time!("started_at"),
            ", ",
            time!("changed_at"),
            ", version FROM runs WHERE tenant_id = $1 AND ($2::text IS NULL OR scenario_id = $2) \
             AND ($3::text IS NULL OR status = $3) ORDER BY runs.changed_at DESC, run_id LIMIT $4"
        ))
        .bind(query.tenant.0)
        .bind(&query.scenario)
        .bind(query.status.map(|status| status.as_str()))
        .bind(query.limit.clamp(1, LONGEST_LIST))
        .fetch_all(&mut *transaction);
        let rows = patiently(asked).await?;
        transaction.commit().await.map_err(unavailable)?;
        let line = |row: &PgRow| gate::run_line(row.try_get(8)?, |at| Ok(row.try_get(at)?));
        rows.iter().map(line).collect::<Result<_, _>>().map_err(unavailable)
    }

    async fn shelve(&self, tenant: TenantId, directory: &str) -> Result<bool, StoreError> {
        let taken =
            sqlx::query("INSERT INTO runpack_dirs (directory, tenant_id) VALUES ($1, $2) ON CONFLICT DO NOTHING")
                .bind(directory)
                .bind(tenant.0)
                .execute(&self.0);
        patiently(taken).await?;
        Ok(self.shelved_by(directory).await? == Some(tenant))
    }

    async fn shelved_by(&self, directory: &str) -> Result<Option<TenantId>, StoreError> {
        let asked = sqlx::query_scalar("SELECT tenant_id FROM runpack_dirs WHERE directory = $1")
            .bind(directory)
            .fetch_optional(&self.0);
        Ok(patiently(asked).await?.map(TenantId))
    }
}

async fn row_of(transaction: &mut Scoped, tenant: TenantId, run: &str) -> Result<Option<RunRow>, StoreError> {
    let asked = sqlx::query_as("SELECT head, version, started_by FROM runs WHERE tenant_id = $1 AND run_id = $2")
        .bind(tenant.0)
        .bind(run)
        .fetch_optional(&mut **transaction);
    let row: Option<(String, i64, String)> = patiently(asked).await?;
    row.map(|(head, version, by)| RunRow::read(&head, version, by)).transpose()
}

/// Entries of one log under one key, no newer than `version`: what belongs to the head that was read.
async fn keyed(
    transaction: &mut Scoped,
    tenant: TenantId,
    run: &str,
    (log, key): (&str, &str),
    version: i64,
) -> Result<Vec<String>, StoreError> {
    let asked = sqlx::query_scalar(
        "SELECT entry FROM run_events WHERE tenant_id = $1 AND run_id = $2 AND log = $3 AND key = $4 AND version <= $5 \
         ORDER BY seq",
    )
    .bind(tenant.0)
    .bind(run)
    .bind(log)
    .bind(key)
    .bind(version)
    .fetch_all(&mut **transaction);
    patiently(asked).await
}

async fn packets_of(
    transaction: &mut Scoped,
    tenant: TenantId,
    run: &str,
    decision: &str,
    version: i64,
) -> Result<Vec<Packet>, StoreError> {
    gate::packets(&keyed(transaction, tenant, run, ("packet", decision), version).await?)
}

async fn write(
    transaction: &mut Scoped,
    tenant: TenantId,
    run: &str,
    version: i64,
    columns: EventColumns,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO run_events (tenant_id, run_id, log, seq, key, version, entry) \
         SELECT $1, $2, l, s, k, $3, e FROM unnest($4::text[], $5::bigint[], $6::text[], $7::text[]) AS t(l, s, k, e)",
    )
    .bind(tenant.0)
    .bind(run)
    .bind(version)
    .bind(columns.logs)
    .bind(columns.seqs)
    .bind(columns.keys)
    .bind(columns.entries)
    .execute(&mut **transaction)
    .await
    .map(drop)
}
