//! Something to govern: three small upstreams with made-up data, for `portreeve demo` and for tests.
//!
//! Everything but the database lives in memory and is gone with the process. Every person, number and address is invented.

mod crm;
mod database;
mod mail;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use gateway_core::names::NameError;
use gateway_core::ports::ReadOnlyDatabase;
use serde_json::{Map, Value};

use crate::builtin::{BuiltinServer, BuiltinTool, Called, ToolFailure, ToolSpec};

pub use crm::server as crm;
pub use database::server as database;
pub use mail::server as mail;

pub fn servers(readable: Arc<dyn ReadOnlyDatabase>) -> Result<Vec<BuiltinServer>, NameError> {
    Ok(vec![database(readable)?, crm()?, mail()?])
}

/// A tool over state in memory: it never waits.
struct InMemory<F> {
    spec: ToolSpec,
    act: F,
}

#[async_trait]
impl<F> BuiltinTool for InMemory<F>
where
    F: Fn(&Map<String, Value>) -> Result<Value, ToolFailure> + Send + Sync,
{
    fn definition(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, _: Called<'_>, arguments: &Map<String, Value>) -> Result<Value, ToolFailure> {
        (self.act)(arguments)
    }
}

/// Binds a tool to the state it shares with its server's others.
fn over<S: Send + 'static>(
    state: &Arc<Mutex<S>>,
    spec: ToolSpec,
    act: fn(&mut S, &Map<String, Value>) -> Result<Value, ToolFailure>,
) -> Box<dyn BuiltinTool> {
    let state = Arc::clone(state);
    Box::new(InMemory { spec, act: move |arguments: &Map<String, Value>| act(&mut locked(&state), arguments) })
}

/// A tool that panicked left plain data behind, so the others may go on with it.
fn locked<S>(state: &Mutex<S>) -> MutexGuard<'_, S> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whoever fills the memory of a demo is told to stop.
fn room_for_one_more<T>(kept: &[T], what: &str) -> Result<(), ToolFailure> {
    const MOST: usize = 1_000;
    if kept.len() < MOST {
        return Ok(());
    }
    Err(ToolFailure::new(format!("the demo keeps at most {MOST} {what}: start it again")))
}

/// Text the schema already asked for.
fn text<'a>(arguments: &'a Map<String, Value>, name: &str) -> &'a str {
    arguments.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn number(arguments: &Map<String, Value>, name: &str) -> u64 {
    arguments.get(name).and_then(Value::as_u64).unwrap_or_default()
}

#[cfg(test)]
mod testing {
    #![allow(clippy::unwrap_used)]
    use gateway_core::Principal;
    use serde_json::Value;

    use crate::builtin::{BuiltinServer, Called, run_checked};

    /// Runs a demo tool as nobody in particular.
    pub(super) async fn call(server: &BuiltinServer, tool: &str, arguments: Value) -> Result<Value, String> {
        let tool = server.tool_named(tool).unwrap();
        run_checked(tool, Called::by(&Principal::anonymous()), arguments.as_object().unwrap())
            .await
            .map_err(|failure| failure.to_string())
    }
}
