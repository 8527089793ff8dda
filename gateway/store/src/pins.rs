//! Definitions on their way into `tool_pins`: noted in passing, written behind the caller's back, told in the chain once.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use gateway_core::canonical::Canonical;
use gateway_core::ports::{Ledger, PinNews, PinRow, PinState, PinStore, Record, StoreError};
use gateway_core::{AgentId, EventType, ToolName, TraceDraft, TraceId};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use uuid::Uuid;

/// More than a few large upstreams have together.
const QUEUE: usize = 8192;
/// A store that is away for longer has lost more than this.
const TRIES: u32 = 120;
const PAUSE: Duration = Duration::from_secs(1);

/// The rows of one engine.
#[async_trait]
pub(crate) trait PinRows: Send + Sync + 'static {
    async fn all(&self) -> Result<Vec<PinRow>, StoreError>;
    /// `None` if this definition is there already. An accepted one that comes second is held back instead.
    async fn insert(&self, news: &PinNews) -> Result<Option<PinState>, StoreError>;
    async fn accept(
        &self,
        tool: &ToolName,
        hash: &str,
        definition: &Value,
        by: &str,
        also: bool,
    ) -> Result<(), StoreError>;
}

pub(crate) struct Pins {
    rows: Arc<dyn PinRows>,
    queue: mpsc::Sender<PinNews>,
}

impl Pins {
    /// Must be called on the runtime that owns the pool.
    pub fn start(rows: Arc<dyn PinRows>, ledger: Arc<dyn Ledger>) -> Self {
        let (queue, mut noted) = mpsc::channel::<PinNews>(QUEUE);
        let writer = Arc::clone(&rows);
        tokio::spawn(async move {
            while let Some(news) = noted.recv().await {
                write(writer.as_ref(), ledger.as_ref(), &news).await;
            }
        });
        Self { rows, queue }
    }
}

async fn write(rows: &dyn PinRows, ledger: &dyn Ledger, news: &PinNews) {
    for attempt in 1..=TRIES {
        let error = match written(rows, ledger, news).await {
            Ok(()) => return,
            Err(error) => error,
        };
        if attempt == 1 || attempt == TRIES {
            tracing::error!(tool.name = %news.tool, "the definition of {} cannot be stored: {error}", news.tool);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn written(rows: &dyn PinRows, ledger: &dyn Ledger, news: &PinNews) -> Result<(), gateway_core::BoxError> {
    let stored = rows.insert(news).await?;
    if stored != Some(PinState::Quarantined) {
        return Ok(());
    }
    let PinNews { tool, hash, accepted, changes, findings, .. } = news;
    let why = if accepted.is_some() { "changed" } else { "was not accepted" };
    tracing::warn!(tool.name = %tool, hash, "{tool} {why} and is quarantined: `portreeve manifest diff {tool}`");
    let mut rules: Vec<_> = findings.iter().map(|finding| finding.rule.as_str()).collect();
    rules.dedup();
    let context = json!({"tool": tool, "accepted": accepted, "seen": hash, "changes": changes, "findings": rules});
    let draft = TraceDraft {
        tenant: None,
        agent: AgentId::operators(),
        // Derived, so that writing it again doubles nothing.
        trace_id: TraceId::from_uuid(derived(tool, hash)),
        event_type: EventType::Escalation,
        classification: None,
        description: Some(format!("{tool} {why} and is quarantined")),
        reasoning: None,
        authorization: Canonical::null(),
        context: Canonical::of(&context)?,
        timestamp: jiff::Timestamp::now(),
    };
    ledger.append_batch(&[Record::Trace(draft)]).await?;
    Ok(())
}

/// The same for the same definition of the same tool, on the same day: what is accepted and changed again is told again.
fn derived(tool: &ToolName, hash: &str) -> Uuid {
    let day = jiff::Timestamp::now().as_second() / 86_400;
    let digest = gateway_core::digest::hex(format!("{tool} {hash} {day}").as_bytes());
    let bits = digest.get(..32).and_then(|half| u128::from_str_radix(half, 16).ok());
    uuid::Builder::from_custom_bytes(bits.unwrap_or_default().to_be_bytes()).into_uuid()
}

#[async_trait]
impl PinStore for Pins {
    async fn pins(&self) -> Result<Vec<PinRow>, StoreError> {
        self.rows.all().await
    }

    fn note(&self, news: PinNews) {
        if let Err(error) = self.queue.try_send(news) {
            tracing::error!("a definition that was seen could not be noted: {error}");
        }
    }

    async fn accept(
        &self,
        tool: &ToolName,
        hash: &str,
        definition: &Value,
        by: &str,
        also: bool,
    ) -> Result<(), StoreError> {
        self.rows.accept(tool, hash, definition, by, also).await
    }
}
