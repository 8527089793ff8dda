//! A database with two tables, a reader of a few words, and a model that says what it is told to, for tests.

#![allow(clippy::unwrap_used)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use gateway_core::agents::{RunStep, Security};
use gateway_core::policies::Dialect;
use gateway_core::ports::{
    Clock, ColumnInfo, Model, ModelError, ReadLimits, ReadOnlyDatabase, Rows, StoreError, TableInfo,
};
use gateway_core::sql::{SqlAsk, SqlClass, SqlKind, SqlRead, SqlReader, SqlRefusal};
use gateway_core::{Principal, TraceId};
use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{Ports, Settings, server};
use crate::builtin::{BuiltinServer, Called, run_checked};

/// What reached the database, and how much it was to give.
#[derive(Default)]
pub(super) struct Fake {
    pub(super) asked: Mutex<Vec<(String, ReadLimits)>>,
}

fn table(schema: Option<&str>, name: &str, columns: &[(&str, &str)]) -> TableInfo {
    let column = |&(name, data_type): &(&str, &str)| ColumnInfo {
        name: name.to_owned(),
        data_type: data_type.to_owned(),
        nullable: false,
    };
    TableInfo {
        schema: schema.map(str::to_owned),
        name: name.to_owned(),
        columns: columns.iter().map(column).collect(),
    }
}

#[async_trait]
impl ReadOnlyDatabase for Fake {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    async fn ping(&self) -> Result<(), StoreError> {
        Ok(())
    }

    async fn tables(&self) -> Result<Vec<TableInfo>, StoreError> {
        Ok(vec![
            table(None, "users", &[("id", "integer"), ("email", "text")]),
            table(None, "agent_conversations", &[("id", "integer"), ("topic", "text"), ("created_at", "timestamptz")]),
            table(Some("app"), "notes", &[("id", "integer")]),
        ])
    }

    async fn explain(&self, sql: &str) -> Result<(), StoreError> {
        if sql.contains("nothing") {
            return Err(StoreError::Invalid("column \"nothing\" does not exist".into()));
        }
        Ok(())
    }

    async fn query(&self, sql: &str, limits: ReadLimits) -> Result<Rows, StoreError> {
        self.asked.lock().unwrap().push((sql.to_owned(), limits));
        if sql.contains("away") {
            return Err(StoreError::Unavailable("password=secret".into()));
        }
        let truncated = limits.max_rows == 1;
        Ok(Rows { columns: vec!["id".into()], rows: vec![json!({ "id": 1 })], truncated })
    }
}

/// Reads `select .. from TABLE` and `delete from TABLE`.
struct Words;

impl SqlReader for Words {
    fn read(&self, text: &str, ask: &SqlAsk<'_>) -> SqlRead {
        let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
        let named = words.iter().position(|word| word == "from").and_then(|at| words.get(at + 1)).cloned();
        let tables: Vec<String> = named.into_iter().collect();
        let outside = tables.iter().find(|table| ask.tables.is_some_and(|listed| !listed.contains(table)));
        let outside = outside.map(|table| SqlRefusal { rule: "table", reason: format!("table `{table}`") });
        match words.first().map(String::as_str) {
            Some("select") => {
                let (class, kind, operations) = (SqlClass::Read, SqlKind::Reads, Vec::new());
                SqlRead { class, kind, refused: outside.clone(), beyond_writing: outside, tables, operations }
            }
            Some("delete") => {
                let refused = Some(SqlRefusal { rule: "statement", reason: "no writes".into() });
                let (class, kind, operations) = (SqlClass::Write, SqlKind::Destroys, vec!["DELETE".into()]);
                SqlRead { class, kind, refused, beyond_writing: outside, tables, operations }
            }
            _ => SqlRead::invalid("syntax", "that is no SQL"),
        }
    }

    fn looks_like_sql(&self, _: &str) -> bool {
        false
    }

    fn digest(&self) -> &str {
        "words"
    }
}

/// Says this, or nothing at all; keeps what it was asked.
pub(super) struct Says(pub(super) Option<&'static str>, pub(super) Mutex<Vec<(String, String)>>);

#[async_trait]
impl Model for Says {
    async fn complete(&self, system: &str, user: &str) -> Result<String, ModelError> {
        self.1.lock().unwrap().push((system.to_owned(), user.to_owned()));
        self.0.map(str::to_owned).ok_or_else(|| ModelError::Unavailable("key=secret".into()))
    }
}

struct StandsStill;

impl Clock for StandsStill {
    fn now(&self) -> Timestamp {
        "2026-11-16T12:00:00Z".parse().unwrap()
    }

    fn fresh_id(&self) -> Uuid {
        Uuid::nil()
    }
}

pub(super) fn over(database: &Arc<Fake>, allowed: Option<&[&str]>, model: Option<Arc<Says>>) -> BuiltinServer {
    let ports = Ports {
        database: Arc::clone(database) as _,
        sql: Arc::new(|| Arc::new(Words)),
        model: model.map(|model| model as Arc<dyn Model>),
        clock: Arc::new(StandsStill),
    };
    let allowed_tables = allowed.map(|names| names.iter().map(|&name| name.to_owned()).collect());
    server(ports, Settings { allowed_tables, max_rows: 500, timeout: Duration::from_secs(20) }).unwrap()
}

pub(super) async fn call(server: &BuiltinServer, tool: &str, arguments: Value) -> Result<Value, String> {
    call_within(server, None, tool, arguments).await
}

/// As a step of a run whose agent has these limits.
pub(super) async fn call_within(
    server: &BuiltinServer,
    security: Option<Security>,
    tool: &str,
    arguments: Value,
) -> Result<Value, String> {
    let run = security.map(|security| RunStep {
        organization: "demo".into(),
        slug: "reader".parse().unwrap(),
        task: Uuid::nil(),
        step: 1,
        of: 1,
        trace_id: TraceId::from_stored("trc_1"),
        security: Arc::new(security),
    });
    let caller = Principal::anonymous();
    let call = Called { caller: &caller, run: run.as_ref() };
    let tool = server.tool_named(tool).unwrap();
    run_checked(tool, call, arguments.as_object().unwrap()).await.map_err(|failure| failure.to_string())
}
