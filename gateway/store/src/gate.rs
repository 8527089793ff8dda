//! What the gate's rows of both engines have in common: how entries become rows, and rows a run again.

use std::collections::HashMap;

use gateway_core::BoxError;
use gateway_core::gate::engine::Known;
use gateway_core::gate::records::{Decision, Entry, Log, Packet, Submission};
use gateway_core::gate::{Digest, Head, Logs};
use gateway_core::ports::{FoundRun, RunLine, ScenarioLine, StoreError, StoredScenario};
use sqlx::error::ErrorKind;

use crate::failure::unavailable;

/// The most that one question is answered with.
pub(crate) const LONGEST_LIST: i64 = 1000;

/// A step's entries, column by column.
#[derive(Default)]
pub(crate) struct EventColumns {
    pub logs: Vec<&'static str>,
    pub seqs: Vec<i64>,
    pub keys: Vec<Option<String>>,
    pub entries: Vec<String>,
}

impl EventColumns {
    /// `head` is the one after the step: it has counted them, so it knows their places.
    pub fn of(head: &Head, entries: &[Entry]) -> Result<Self, StoreError> {
        let mut places: HashMap<Log, u64> = Log::ALL.map(|log| (log, head.counts.of(log).entries)).into();
        let uncounted = || StoreError::Invalid("the run has not counted its entries".into());
        for entry in entries {
            let place = places.get_mut(&entry.log()).ok_or_else(uncounted)?;
            *place = place.checked_sub(1).ok_or_else(uncounted)?;
        }
        let mut columns = Self::default();
        for entry in entries {
            let place = places.get_mut(&entry.log()).ok_or_else(uncounted)?;
            columns.seqs.push(i64::try_from(*place).map_err(unavailable)?);
            *place += 1;
            columns.logs.push(entry.log().as_str());
            columns.keys.push(entry.key().map(str::to_owned));
            columns.entries.push(entry.text().map_err(|error| StoreError::Invalid(error.to_string()))?);
        }
        Ok(columns)
    }
}

pub(crate) fn head_text(head: &Head) -> Result<String, StoreError> {
    serde_json::to_string(head).map_err(|error| StoreError::Invalid(error.to_string()))
}

/// A run's row, before what belongs to it has been looked up.
pub(crate) struct RunRow {
    pub head: Head,
    pub version: i64,
    pub by: String,
}

impl RunRow {
    pub fn read(head: &str, version: i64, by: String) -> Result<Self, StoreError> {
        Ok(Self { head: serde_json::from_str(head).map_err(unavailable)?, version, by })
    }

    pub fn found(self, known: Option<Known>, last_packets: Vec<Packet>) -> FoundRun {
        FoundRun { head: self.head, version: self.version, by: self.by, known, last_packets }
    }
}

pub(crate) fn decision(text: &str) -> Result<Decision, StoreError> {
    serde_json::from_str(text).map_err(unavailable)
}

pub(crate) fn packets(texts: &[String]) -> Result<Vec<Packet>, StoreError> {
    texts.iter().map(|text| serde_json::from_str(text)).collect::<Result<_, _>>().map_err(unavailable)
}

pub(crate) fn submission(text: &str) -> Result<Submission, StoreError> {
    serde_json::from_str(text).map_err(unavailable)
}

/// Rows in the order of their places.
pub(crate) fn logs(rows: impl IntoIterator<Item = (String, String)>) -> Result<Logs, StoreError> {
    let mut logs = Logs::default();
    for (log, entry) in rows {
        let log = Log::named(&log).ok_or_else(|| unavailable(format!("no log is called `{log}`")))?;
        logs.push(Entry::read(log, &entry).map_err(unavailable)?);
    }
    Ok(logs)
}

pub(crate) fn scenario(hash: &str, text: String) -> Result<StoredScenario, StoreError> {
    let hash = Digest::from_hex(hash).ok_or_else(|| unavailable(format!("`{hash}` is no hash")))?;
    Ok(StoredScenario { hash, text })
}

/// The columns of a list, in this order, all as text.
pub(crate) fn scenario_line(column: impl Fn(usize) -> Result<String, BoxError>) -> Result<ScenarioLine, BoxError> {
    Ok(ScenarioLine {
        id: column(0)?,
        hash: column(1)?,
        source: column(2)?,
        defined_by: column(3)?,
        defined_at: column(4)?,
    })
}

pub(crate) fn run_line(version: i64, column: impl Fn(usize) -> Result<String, BoxError>) -> Result<RunLine, BoxError> {
    Ok(RunLine {
        run_id: column(0)?,
        scenario_id: column(1)?,
        spec_hash: column(2)?,
        status: column(3)?,
        stage_id: column(4)?,
        version,
        started_by: column(5)?,
        started_at: column(6)?,
        changed_at: column(7)?,
    })
}

/// Somebody else has written what was to be new.
pub(crate) fn is_taken(error: &sqlx::Error) -> bool {
    kind(error) == Some(ErrorKind::UniqueViolation)
}

pub(crate) fn not_defined(error: sqlx::Error, id: &str) -> StoreError {
    match kind(&error) {
        Some(ErrorKind::UniqueViolation) => StoreError::Exists(format!("scenario `{id}`")),
        Some(ErrorKind::ForeignKeyViolation) => StoreError::NotFound("the tenant".into()),
        _ => unavailable(error),
    }
}

pub(crate) fn not_begun(error: sqlx::Error, head: &Head) -> StoreError {
    match kind(&error) {
        Some(ErrorKind::UniqueViolation) => StoreError::Exists(format!("run `{}`", head.run_id)),
        Some(ErrorKind::ForeignKeyViolation) => StoreError::NotFound(format!("scenario `{}`", head.scenario_id)),
        _ => unavailable(error),
    }
}

pub(crate) fn too_many(most: i64) -> StoreError {
    StoreError::Invalid(format!("the tenant has {most} scenarios, which is all it may have"))
}

fn kind(error: &sqlx::Error) -> Option<ErrorKind> {
    error.as_database_error().map(|database| database.kind())
}
