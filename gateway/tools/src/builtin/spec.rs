//! What a tool says of itself, and how much of that each revision knows.

use gateway_protocol::Revision;
use serde_json::{Map, Value, json};

#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    pub name: String,
    pub title: String,
    pub description: String,
    pub input_schema: Value,
    pub output_schema: Option<Value>,
    pub annotations: Value,
}

impl ToolSpec {
    /// The entry in `tools/list`. A field that the revision does not have is left out.
    pub fn listed(&self, revision: Revision) -> Value {
        let described = revision >= Revision::V2025_06_18;
        let annotated = revision >= Revision::V2025_03_26;
        let mut entry = Map::new();
        entry.insert("name".into(), json!(self.name));
        if described {
            entry.insert("title".into(), json!(self.title));
        }
        entry.insert("description".into(), json!(self.description));
        entry.insert("inputSchema".into(), self.input_schema.clone());
        if let Some(schema) = self.output_schema.as_ref().filter(|_| described) {
            entry.insert("outputSchema".into(), schema.clone());
        }
        if annotated {
            entry.insert("annotations".into(), self.annotations.clone());
        }
        Value::Object(entry)
    }
}

/// The usual kinds of tool, so that no hint is left to a client's default.
pub mod annotations {
    use serde_json::{Value, json};

    fn hints(read_only: bool, destructive: bool, idempotent: bool, open_world: bool) -> Value {
        json!({
            "readOnlyHint": read_only,
            "destructiveHint": destructive,
            "idempotentHint": idempotent,
            "openWorldHint": open_world,
        })
    }

    /// Looks and does not touch.
    pub fn reads() -> Value {
        hints(true, false, true, false)
    }

    /// Only adds; asked twice, it adds twice.
    pub fn adds() -> Value {
        hints(false, false, false, false)
    }

    /// Changes something in a way that can be taken back; asked twice, nothing more happens.
    pub fn changes() -> Value {
        hints(false, false, true, false)
    }

    /// Takes something away for good; asked twice, nothing more happens.
    pub fn destroys() -> Value {
        hints(false, true, true, false)
    }

    /// Changes what is stored in ways that nothing here can take back.
    pub fn alters() -> Value {
        hints(false, true, false, false)
    }

    /// Reaches people outside, and cannot be called back.
    pub fn reaches_out() -> Value {
        hints(false, true, false, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_revision_is_told_what_it_knows() {
        let spec = ToolSpec {
            name: "t".into(),
            title: "T".into(),
            description: "d".into(),
            input_schema: json!({ "type": "object" }),
            output_schema: Some(json!({ "type": "object" })),
            annotations: annotations::reads(),
        };
        for (revision, expected) in [
            (Revision::V2024_11_05, vec!["name", "description", "inputSchema"]),
            (Revision::V2025_03_26, vec!["name", "description", "inputSchema", "annotations"]),
            (Revision::V2025_06_18, vec!["name", "title", "description", "inputSchema", "outputSchema", "annotations"]),
            (Revision::V2026_07_28, vec!["name", "title", "description", "inputSchema", "outputSchema", "annotations"]),
        ] {
            let entry = spec.listed(revision);
            let keys: Vec<_> = entry.as_object().into_iter().flat_map(Map::keys).collect();
            assert_eq!(keys, expected, "{revision}");
        }
    }
}
