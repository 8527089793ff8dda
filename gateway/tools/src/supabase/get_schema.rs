//! `get-schema`: the tables that may be read, and their columns.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value, json};

use super::readable::Readable;
use super::{Shared, failure, named, text};
use crate::builtin::{BuiltinTool, Called, ToolFailure, ToolSpec, annotations};

pub(super) struct GetSchema {
    spec: ToolSpec,
    shared: Arc<Shared>,
}

impl GetSchema {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { spec: spec(), shared }
    }
}

#[async_trait]
impl BuiltinTool for GetSchema {
    fn definition(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, call: Called<'_>, arguments: &Map<String, Value>) -> Result<Value, ToolFailure> {
        let tables = self.shared.ports.database.tables().await.map_err(failure)?;
        let mut tables = Readable::of(&self.shared, call).chosen(tables, &named(arguments))?;
        let domain = text(arguments, "domain").trim().to_lowercase();
        tables.retain(|table| table.name.to_lowercase().contains(&domain));
        tables.sort_by(|one, other| (&one.schema, &one.name).cmp(&(&other.schema, &other.name)));
        Ok(json!({ "table_count": tables.len(), "tables": tables }))
    }
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "get-schema".into(),
        title: "Get schema".into(),
        description: "Lists the tables that may be read, with their columns and types.".into(),
        input_schema: json!({
            "type": "object",
            "properties": {
                "tables": { "type": "array", "items": { "type": "string", "minLength": 1 }, "description": "Only these tables." },
                "domain": { "type": "string", "description": "Only tables whose name contains this." },
            },
        }),
        output_schema: Some(json!({
            "type": "object",
            "properties": {
                "tables": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "name": { "type": "string" },
                            "schema": { "type": "string", "description": "Where it is not the usual one." },
                            "columns": {
                                "type": "array",
                                "items": {
                                    "type": "object",
                                    "properties": {
                                        "name": { "type": "string" },
                                        "data_type": { "type": "string" },
                                        "nullable": { "type": "boolean" },
                                    },
                                    "required": ["name", "data_type", "nullable"],
                                },
                            },
                        },
                        "required": ["name", "columns"],
                    },
                },
                "table_count": { "type": "integer" },
            },
            "required": ["tables", "table_count"],
        })),
        annotations: annotations::reads(),
    }
}
