//! Tool definitions on their way into the registry: remembered in memory, written behind the caller's back.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use async_trait::async_trait;
use gateway_core::ports::{StoreError, ToolDefinition};
use gateway_core::{RiskLevel, TenantId};
use moka::sync::Cache;
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use crate::batch::TOOL_NAME_LIMIT;

/// A definition as the registry keeps it.
pub(crate) struct SeenTool {
    pub tenant: TenantId,
    pub name: String,
    pub schema: Value,
    pub metadata: Value,
    pub risk_level: &'static str,
}

/// Writes tools of one tenant, sorted by name, in one transaction.
#[async_trait]
pub(crate) trait SeenSink: Send + Sync + 'static {
    async fn write(&self, tools: &[SeenTool]) -> Result<(), StoreError>;
}

pub(crate) struct SeenTools {
    /// What was last written of a tool, as a fingerprint.
    known: Cache<(TenantId, String), u64>,
    queue: mpsc::Sender<Vec<SeenTool>>,
}

impl SeenTools {
    /// Must be called on the runtime that owns the pool.
    pub fn start(sink: Arc<dyn SeenSink>) -> Self {
        let known = Cache::new(20_000);
        let (queue, mut listed) = mpsc::channel::<Vec<SeenTool>>(256);
        let remembered: Cache<(TenantId, String), u64> = known.clone();
        tokio::spawn(async move {
            while let Some(tools) = listed.recv().await {
                if let Err(error) = sink.write(&tools).await {
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "{} tools could not be registered: {error}",
                        tools.len()
                    );
                    // Not written, so the next listing must try again.
                    tools.iter().for_each(|tool| remembered.invalidate(&(tool.tenant, tool.name.clone())));
                }
            }
        });
        Self { known, queue }
    }

    pub fn seen(&self, tenant: TenantId, tools: Vec<(ToolDefinition, Option<RiskLevel>)>) {
        let mut news = Vec::new();
        for (tool, risk) in tools {
            let name = tool.name.as_str();
            if name.chars().count() > TOOL_NAME_LIMIT {
                continue;
            }
            let (key, print) = ((tenant, name.to_owned()), fingerprint(&tool.definition, risk));
            if self.known.get(&key) == Some(print) {
                continue;
            }
            self.known.insert(key, print);
            news.push(read(tenant, name, tool.definition, risk));
        }
        if news.is_empty() {
            return;
        }
        news.sort_by(|one, other| one.name.cmp(&other.name));
        if let Err(mpsc::error::TrySendError::Full(tools) | mpsc::error::TrySendError::Closed(tools)) =
            self.queue.try_send(news)
        {
            tools.iter().for_each(|tool| self.known.invalidate(&(tool.tenant, tool.name.clone())));
        }
    }
}

fn fingerprint(definition: &Value, risk: Option<RiskLevel>) -> u64 {
    let mut hasher = DefaultHasher::new();
    definition.to_string().hash(&mut hasher);
    risk.hash(&mut hasher);
    hasher.finish()
}

/// The input schema goes into its own column; everything else the tool says of itself is metadata.
fn read(tenant: TenantId, name: &str, definition: Value, risk: Option<RiskLevel>) -> SeenTool {
    let mut rest = match definition {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    rest.shift_remove("name");
    let schema = rest.shift_remove("inputSchema").unwrap_or_else(|| Value::Object(Map::new()));
    SeenTool {
        tenant,
        name: name.into(),
        schema,
        metadata: Value::Object(rest),
        risk_level: risk.map_or("unclassified", RiskLevel::as_str),
    }
}
