//! The gate's tools over the configured store, without a gateway around them.

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use gateway_core::outcome::AuditRow;
use gateway_core::ports::{AuditBuffer, Ledger, LedgerError, Receipt, Record};
use gateway_core::{AgentId, Principal, PrincipalKind, TraceDraft};
use gateway_store::Store;
use gateway_tools::{BuiltinServer, gate};
use gateway_upstream::Commons;
use serde_json::{Map, Value};

use crate::cli::{Common, Failure, tenant_named};
use crate::compose::{GateRoom, Records};
use crate::policy_files::load_for;

/// No input of a tool is larger.
const LARGEST: u64 = 8 << 20;

pub struct Asked {
    store: Store,
    server: BuiltinServer,
    caller: Principal,
}

impl Asked {
    pub async fn open(common: &Common, tenant: &str) -> Result<Self, Failure> {
        let config = common.place.config()?;
        let policies = load_for(&config)?.policies;
        let store = common.store().await?;
        let tenant = tenant_named(&store, tenant).await?;
        let matrix = Arc::new(ArcSwap::from_pointee(policies.matrix.clone()));
        let records = Records::new(&store, Arc::new(AtOnce(store.ledger())), matrix, Commons::default());
        let room = GateRoom::new(&config, &policies, records).map_err(|error| Failure::of(&error))?;
        let server = room.server().map_err(|error| Failure::of(&error))?;
        let agent = "operator".parse::<AgentId>().map_err(|error| Failure::of(&error))?;
        let kind = PrincipalKind::Admin;
        let caller = Principal { kind, tenant: Some(tenant.id), agent, ..Principal::anonymous() };
        Ok(Self { store, server, caller })
    }

    pub async fn ask(&self, tool: &str, arguments: &Map<String, Value>) -> Result<Value, Failure> {
        let answer = gate::call(&self.server, tool, &self.caller, arguments).await;
        answer.map_err(|failure| Failure::new(failure.to_string()))
    }

    pub async fn close(self) {
        self.store.close().await;
    }
}

/// A document of a tool's input.
pub fn read(file: &Path) -> Result<Map<String, Value>, Failure> {
    let shown = file.display();
    let told = |error: &dyn std::fmt::Display| Failure::new(format!("{shown}: {error}"));
    let mut text = String::new();
    let length = if file == Path::new("-") {
        std::io::stdin().lock().take(LARGEST + 1).read_to_string(&mut text)
    } else {
        std::fs::File::open(file).and_then(|file| file.take(LARGEST + 1).read_to_string(&mut text))
    };
    if length.map_err(|error| told(&error))? as u64 > LARGEST {
        return Err(told(&"is too large for any tool"));
    }
    serde_json::from_str(&text).map_err(|error| told(&error))
}

/// There is no queue on the command line: what is written is written before the answer.
struct AtOnce(Arc<dyn Ledger>);

#[async_trait]
impl AuditBuffer for AtOnce {
    fn reserve(&self) -> Result<(), LedgerError> {
        Ok(())
    }

    fn release(&self, _: usize) {}

    async fn append(&self, draft: TraceDraft, _: bool) -> Result<Option<Receipt>, LedgerError> {
        Ok(self.0.append_batch(&[Record::Trace(draft)]).await?.pop())
    }

    fn settle(&self, _: AuditRow) {}
}
