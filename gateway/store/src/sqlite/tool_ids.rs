//! Registry ids of tools met before, so that a row costs no question.

use std::collections::HashMap;

use gateway_core::{TenantId, ToolName};
use rusqlite::{Connection, OptionalExtension, params};
use uuid::Uuid;

use crate::batch::{SEEN, organization_key};
use crate::failure::Failure;

/// An id is looked at once a batch before it is used: its row may have been deleted meanwhile, or rolled back with the batch
/// that made it. Forgotten whole when there are too many.
#[derive(Default)]
pub(super) struct ToolIds {
    known: HashMap<TenantId, HashMap<ToolName, Known>>,
    count: usize,
    batch: u64,
}

struct Known {
    id: String,
    checked: u64,
}

impl ToolIds {
    const MOST: usize = 50_000;

    pub fn begin(&mut self) {
        self.batch += 1;
        if self.count > Self::MOST {
            self.known.clear();
            self.count = 0;
        }
    }

    pub fn id(&mut self, connection: &Connection, tenant: TenantId, tool: &ToolName) -> Result<&str, Failure> {
        let tools = self.known.entry(tenant).or_default();
        if tools.get(tool).is_none_or(|known| known.checked != self.batch) {
            let id = match tools.remove(tool) {
                Some(known) if is_there(connection, &known.id)? => known.id,
                _ => {
                    self.count += 1;
                    register(connection, tenant, tool)?
                }
            };
            tools.insert(tool.clone(), Known { id, checked: self.batch });
        }
        Ok(tools.get(tool).map_or("", |known| &known.id))
    }
}

fn is_there(connection: &Connection, id: &str) -> Result<bool, Failure> {
    // Another version may be recommended by now.
    let same = "SELECT 1 FROM tool_registry t WHERE t.id = ?1 AND (t.is_recommended OR NOT EXISTS (SELECT 1 \
         FROM tool_registry o WHERE o.tenant_id = t.tenant_id AND o.name = t.name AND o.is_recommended))";
    Ok(connection.prepare_cached(same)?.exists([id])?)
}

/// An operator's row of any version serves; only without one is a bare row made.
fn register(connection: &Connection, tenant: TenantId, tool: &ToolName) -> Result<String, Failure> {
    let (tenant, tool) = (organization_key(Some(tenant)), tool.as_str());
    let mut find = connection.prepare_cached(
        "SELECT id FROM tool_registry WHERE tenant_id = ?1 AND name = ?2
         ORDER BY is_recommended DESC, version = ?3 DESC, created_at LIMIT 1",
    )?;
    if let Some(id) = find.query_row(params![tenant, tool, SEEN], |row| row.get(0)).optional()? {
        return Ok(id);
    }
    let id = Uuid::now_v7().to_string();
    connection
        .prepare_cached(
            "INSERT INTO tool_registry (id, tenant_id, name, version, schema) VALUES (?1, ?2, ?3, ?4, '{}')",
        )?
        .execute(params![id, tenant, tool, SEEN])?;
    Ok(id)
}
