//! A Supabase project behind its REST API: a function there (`config/supabase/exec_sql.sql`) runs one statement that reads.
//!
//! The function is STABLE, so PostgREST runs it in a transaction that cannot write. Tables are asked of it as well: the
//! API's own description is not for every key.

use std::time::Duration;

use async_trait::async_trait;
use gateway_core::policies::Dialect;
use gateway_core::ports::{ColumnInfo, ReadLimits, ReadOnlyDatabase, Rows, StoreError, TableInfo};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::http::HttpUpstreamError;
use crate::json_post::{JsonPost, NotPosted};

const OWN_QUESTIONS: Duration = Duration::from_secs(4);
const OWN_BYTES: usize = 4 * 1024 * 1024;
/// The way there and back, beside what the statement itself takes.
const JOURNEY: Duration = Duration::from_secs(2);

pub struct SupabaseRestConfig<'a> {
    /// Of the project, without a slash at its end.
    pub url: &'a str,
    pub key: &'a str,
    pub function: &'a str,
    pub argument: &'a str,
    pub schemas: Vec<String>,
}

pub struct SupabaseRest {
    post: JsonPost,
    argument: String,
    schemas: Vec<String>,
}

impl SupabaseRest {
    pub fn new(config: SupabaseRestConfig<'_>) -> Result<Self, HttpUpstreamError> {
        let SupabaseRestConfig { url, key, function, argument, schemas } = config;
        let secrets = [("apikey", key.to_owned()), ("authorization", format!("Bearer {key}"))];
        let post = JsonPost::new(&format!("{url}/rest/v1/rpc/{function}"), &secrets)?;
        Ok(Self { post, argument: argument.to_owned(), schemas })
    }

    async fn run(&self, sql: &str, time: Duration, most: usize) -> Result<Vec<Value>, StoreError> {
        let mut body = Map::new();
        body.insert(self.argument.clone(), sql.into());
        let sent = self.post.send(&Value::Object(body), time + JOURNEY, most).await;
        let (status, answer) = sent.map_err(|error| match error {
            NotPosted::Late => stopped(time),
            NotPosted::TooLarge(_) => StoreError::Invalid("the rows are too large; ask for fewer".into()),
            NotPosted::Broken(cause) => StoreError::Unavailable(cause),
        })?;
        if !status.is_success() {
            return Err(said(status, &answer, time));
        }
        match serde_json::from_slice(&answer) {
            Ok(Value::Array(rows)) => Ok(rows),
            Ok(Value::Null) => Ok(Vec::new()),
            _ => Err(StoreError::Unavailable("the function answered with something that is no list of rows".into())),
        }
    }
}

#[async_trait]
impl ReadOnlyDatabase for SupabaseRest {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    async fn ping(&self) -> Result<(), StoreError> {
        self.run("SELECT 1 AS one", OWN_QUESTIONS, OWN_BYTES).await.map(drop)
    }

    async fn tables(&self) -> Result<Vec<TableInfo>, StoreError> {
        let rows = self.run(&catalogue(&self.schemas), OWN_QUESTIONS, OWN_BYTES).await?;
        let mut tables: Vec<TableInfo> = Vec::new();
        for row in rows {
            let Listed { s: schema, t: name, c, k: data_type, n: nullable } =
                serde_json::from_value(row).map_err(|error| StoreError::Unavailable(error.into()))?;
            let schema = (schema != "public").then_some(schema);
            let column = ColumnInfo { name: c, data_type, nullable };
            match tables.last_mut().filter(|table| table.name == name && table.schema == schema) {
                Some(table) => table.columns.push(column),
                None => tables.push(TableInfo { schema, name, columns: vec![column] }),
            }
        }
        Ok(tables)
    }

    async fn explain(&self, sql: &str) -> Result<(), StoreError> {
        self.run(&format!("SELECT * FROM (\n{sql}\n) AS q LIMIT 0"), OWN_QUESTIONS, OWN_BYTES).await.map(drop)
    }

    async fn query(&self, sql: &str, limits: ReadLimits) -> Result<Rows, StoreError> {
        let one_more = limits.max_rows.saturating_add(1);
        let wrapped = format!("SELECT * FROM (\n{sql}\n) AS q LIMIT {one_more}");
        let mut rows = self.run(&wrapped, limits.timeout, limits.max_bytes.saturating_mul(2)).await?;
        // No row says nothing of the columns, so that a row of nulls is asked for; the statement itself is not run.
        let nulls = format!("SELECT q.* FROM (SELECT 1) AS one LEFT JOIN (\n{sql}\n) AS q ON false");
        let shaped = match rows.first() {
            Some(row) => row.clone(),
            None => self.run(&nulls, limits.timeout, OWN_BYTES).await?.into_iter().next().unwrap_or_default(),
        };
        let columns = shaped.as_object().map(|row| row.keys().cloned().collect()).unwrap_or_default();
        let all = rows.len();
        rows.truncate(limits.max_rows);
        let mut bytes = 0_usize;
        let fitting = rows.iter().take_while(|row| {
            bytes = bytes.saturating_add(row.to_string().len());
            bytes <= limits.max_bytes
        });
        let fitting = fitting.count();
        rows.truncate(fitting);
        Ok(Rows { columns, truncated: rows.len() < all, rows })
    }
}

#[derive(Deserialize)]
struct Listed {
    s: String,
    t: String,
    c: String,
    k: String,
    n: bool,
}

fn catalogue(schemas: &[String]) -> String {
    let quoted: Vec<String> = schemas.iter().map(|schema| format!("'{}'", schema.replace('\'', "''"))).collect();
    format!(
        "SELECT n.nspname AS s, c.relname AS t, a.attname AS c, format_type(a.atttypid, a.atttypmod) AS k, NOT a.attnotnull AS n
         FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
         WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname IN ({}) AND a.attnum > 0 AND NOT a.attisdropped
           AND NOT c.relispartition AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
         ORDER BY n.nspname, c.relname, a.attnum",
        quoted.join(", ")
    )
}

fn stopped(time: Duration) -> StoreError {
    StoreError::Invalid(format!("the query was stopped after {} seconds", time.as_secs()))
}

/// What the database says of a statement is for whoever wrote it; what the API says of keys and functions is the operator's.
fn said(status: StatusCode, body: &[u8], time: Duration) -> StoreError {
    let told: Value = serde_json::from_slice(body).unwrap_or_else(|_| json!({}));
    let text = |key: &str| told.get(key).and_then(Value::as_str).unwrap_or_default();
    let (code, message) = (text("code"), text("message"));
    let state = code.len() == 5 && !message.is_empty();
    let own = ["08", "28", "3D", "53", "57P", "58", "XX"].iter().any(|class| code.starts_with(class));
    match code {
        "57014" => stopped(time),
        _ if state && !own => StoreError::Invalid(message.to_owned()),
        _ => StoreError::Unavailable(format!("HTTP status {}: {code} {message}", status.as_u16()).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_a_statement_is_told_and_the_rest_is_not() {
        let time = Duration::from_secs(3);
        for (status, body, expected) in [
            (400, r#"{"code":"42703","message":"column \"x\" does not exist"}"#, "column \"x\" does not exist"),
            (403, r#"{"code":"42501","message":"permission denied for table t"}"#, "permission denied for table t"),
            (500, r#"{"code":"57014","message":"canceling statement"}"#, "the query was stopped after 3 seconds"),
            (401, r#"{"code":"PGRST301","message":"JWT expired"}"#, "the store is unavailable"),
            (404, r#"{"code":"PGRST202","message":"no such function"}"#, "the store is unavailable"),
            (500, r#"{"code":"53300","message":"too many clients"}"#, "the store is unavailable"),
            (502, "<html>", "the store is unavailable"),
        ] {
            let status = StatusCode::from_u16(status).unwrap_or_default();
            assert_eq!(said(status, body.as_bytes(), time).to_string(), expected, "{body}");
        }
    }

    #[test]
    fn schemas_are_written_as_texts() {
        assert!(catalogue(&["public".into(), "o'b".into()]).contains("n.nspname IN ('public', 'o''b')"));
    }
}
