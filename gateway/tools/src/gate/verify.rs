//! `runpack_verify`: whether the files of a run are what they were, by their manifest and by each other.

use std::sync::Arc;

use async_trait::async_trait;
use gateway_core::gate::shelf::PackPath;
use serde_json::{Map, Value, json};

use super::export::taken;
use super::keeper::Gatekeeper;
use super::{schema, typed, unshelved};
use crate::builtin::{BuiltinTool, Called, ToolFailure, ToolSpec, annotations};

pub(super) struct Verify {
    spec: ToolSpec,
    keeper: Arc<Gatekeeper>,
}

impl Verify {
    pub(super) fn new(keeper: Arc<Gatekeeper>) -> Self {
        Self { spec: spec(), keeper }
    }
}

#[async_trait]
impl BuiltinTool for Verify {
    fn definition(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(
        &self,
        Called { caller, .. }: Called<'_>,
        arguments: &Map<String, Value>,
    ) -> Result<Value, ToolFailure> {
        let directory: String = typed(arguments, "runpack_dir")?;
        let manifest: String = typed(arguments, "manifest_path")?;
        let manifest = manifest
            .parse::<PackPath>()
            .map_err(|error| ToolFailure::new(format!("invalid: manifest_path: {error}")))?;
        let caller = self.keeper.caller(caller, None).await?;
        let settings = self.keeper.settings();
        let shelves = &*settings.shelves;
        let told = |error| unshelved("runpack_dir", &error);
        let place = shelves.find(&directory).await.map_err(told)?;
        // The manifest may lie deeper, in a directory that is somebody else's.
        taken(&self.keeper, &caller, "runpack_dir", &format!("{place}/{manifest}")).await?;
        let report = shelves.verify(&place, manifest.as_str()).await.map_err(told)?;
        Ok(json!({ "status": report.status, "report": report }))
    }
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "runpack_verify".into(),
        title: "Verify a pack".into(),
        description: "Checks the files of an exported run against their manifest and against each other: hashes, the hash over \
                      all of them, that nothing is missing or added, and that the logs belong together. Tells everything \
                      that is wrong. Changes nothing."
            .into(),
        input_schema: schema::input(
            vec![
                ("runpack_dir", schema::text(), "Where the pack lies: absolute, or below the first configured directory."),
                ("manifest_path", schema::text(), "The manifest, from there."),
            ],
            &["runpack_dir", "manifest_path"],
        ),
        output_schema: Some(schema::output(vec![
            ("status", schema::verified()),
            ("report", schema::object()),
        ])),
        annotations: annotations::reads(),
    }
}
