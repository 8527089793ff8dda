//! The demo's tool agent: the record that is shipped, kept for the tenant at the first start.

use gateway_core::agents::NewToolAgent;
use gateway_core::desk::Who;
use gateway_core::ports::StoreError;
use gateway_store::Store;

use super::residents::Residents;
use crate::cli::Failure;
use crate::config::Config;
use crate::desk;

const SHIPPED: &str = include_str!("../../../../config/initial-agent-building/working/demo_supabase_agent.json");

/// What the tour runs it with.
pub(super) const PAYLOAD: &str = include_str!("../../../../config/initial-agent-building/working/demo_payload.json");
pub(super) const TASKS: &str = "/api/agents/demo/supabase-agent/tasks";

/// Leaves the one that is there: whoever changed it meant it.
pub(super) async fn settle(config: &Config, residents: &Residents) -> Result<(), Failure> {
    let record: NewToolAgent = serde_json::from_str(SHIPPED).map_err(|error| Failure::of(&error))?;
    let store = Store::open(config.store.reveal()).await?;
    let settled = match store.tool_agents().get(residents.tenant, record.slug.as_str()).await {
        Ok(_) => Ok(()),
        Err(StoreError::NotFound(_)) => {
            let desk = desk::without_rules(&store, config);
            let added = desk.put_tool_agent(&Who::Operator("demo".into()), &record, None).await;
            added.map(|_| ()).map_err(|error| Failure::of(&error))
        }
        Err(error) => Err(error.into()),
    };
    store.close().await;
    settled
}
