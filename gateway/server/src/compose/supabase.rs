//! The built-in `supabase` server: mounted when it has all that it needs, else known by what it lacks.

use std::collections::BTreeMap;
use std::sync::Arc;

use gateway_core::Namespace;
use gateway_core::ports::{Model, ReadOnlyDatabase};
use gateway_store::{AtHome, PostgresReader, PostgresReading, SqliteReader};
use gateway_tools::supabase::{self, CurrentSql, NAMESPACE, Ports, Settings};
use gateway_upstream::{HttpModel, Member, SupabaseRest, SupabaseRestConfig};

use super::ComposeError;
use crate::clock::SystemClock;
use crate::config::{Backend, Config, Llm, Supabase, SupabaseConfig};

/// Nothing is connected here: a database that is away is told to whoever asks for its rows. To be called on the runtime that
/// outlives every caller.
pub fn mounted(config: &Config, sql: CurrentSql) -> Result<Option<Member>, ComposeError> {
    let Supabase::Complete(complete) = &config.supabase else {
        return Ok(None);
    };
    let namespace: Namespace = NAMESPACE.parse()?;
    if config.upstreams.contains_key(&namespace) {
        tracing::info!("`{NAMESPACE}` is the configured upstream; the built-in server of that name is not used");
    }
    let database = readable(complete)?;
    let model = config.llm.as_ref().map(model).transpose()?;
    let ports = Ports { database, sql, model, clock: Arc::new(SystemClock) };
    let settings = Settings {
        allowed_tables: complete.allowed_tables.clone(),
        max_rows: complete.max_rows,
        timeout: complete.timeout,
    };
    Ok(Some(Member::new(namespace, Arc::new(supabase::server(ports, settings)?))))
}

/// The database that a complete section names.
pub fn readable(complete: &SupabaseConfig) -> Result<Arc<dyn ReadOnlyDatabase>, ComposeError> {
    let wrong = |what: String| ComposeError::Section("built_in.supabase", what);
    Ok(match &complete.backend {
        Backend::Sqlite(file) => Arc::new(AtHome::new(SqliteReader::new(file))),
        Backend::Postgres { url, role, schemas } => {
            let reading = PostgresReading { role: role.clone(), schemas: schemas.clone() };
            let reader = PostgresReader::new(url.reveal(), reading).map_err(|error| wrong(format!("url: {error}")))?;
            Arc::new(AtHome::new(reader))
        }
        Backend::Rest { url, key, function, argument, schemas } => {
            let told = SupabaseRestConfig { url, key: key.reveal(), function, argument, schemas: schemas.clone() };
            Arc::new(SupabaseRest::new(told).map_err(|error| wrong(error.to_string()))?)
        }
    })
}

fn model(llm: &Llm) -> Result<Arc<dyn Model>, ComposeError> {
    let key = llm.key.as_ref().map(|key| key.reveal());
    let model = HttpModel::new(&llm.endpoint, &llm.model, key, llm.timeout);
    Ok(Arc::new(model.map_err(|error| ComposeError::Section("llm", error.to_string()))?))
}

/// What keeps it from being there.
pub fn lacking(config: &Config) -> Result<BTreeMap<Namespace, Vec<String>>, ComposeError> {
    let namespace: Namespace = NAMESPACE.parse()?;
    Ok(match &config.supabase {
        Supabase::Lacks(names) if !config.upstreams.contains_key(&namespace) => {
            BTreeMap::from([(namespace, names.clone())])
        }
        _ => BTreeMap::new(),
    })
}
