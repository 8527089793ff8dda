//! `runpack_export`: a run as files below one of the configured directories.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use gateway_core::gate::runpack::{ArtifactKind, MANIFEST, pack};
use gateway_core::gate::shelf::PackPath;
use gateway_core::gate::{GateTime, Id, TenantText};
use serde_json::{Map, Value, json};

use super::keeper::{Caller, Gatekeeper};
use super::{failed, schema, typed, unknown, unshelved};
use crate::builtin::{BuiltinTool, Called, ToolFailure, ToolSpec, annotations};

/// Each directory on the way is asked about.
const DEEPEST: usize = 64;

pub(super) struct Export {
    spec: ToolSpec,
    keeper: Arc<Gatekeeper>,
}

impl Export {
    pub(super) fn new(keeper: Arc<Gatekeeper>) -> Self {
        Self { spec: spec(), keeper }
    }
}

#[async_trait]
impl BuiltinTool for Export {
    fn definition(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(
        &self,
        Called { caller, .. }: Called<'_>,
        arguments: &Map<String, Value>,
    ) -> Result<Value, ToolFailure> {
        let scenario_id: Id = typed(arguments, "scenario_id")?;
        let run_id: Id = typed(arguments, "run_id")?;
        let at: GateTime = typed(arguments, "generated_at")?;
        let verification: bool = typed(arguments, "include_verification")?;
        let directory: String = typed(arguments, "output_dir")?;
        let manifest = manifest_name(typed(arguments, "manifest_name")?)?;
        let tenant_id: Option<TenantText> = typed(arguments, "tenant_id")?;
        let caller = self.keeper.caller(caller, tenant_id.as_ref()).await?;

        let found = self.keeper.runs().logs(caller.tenant, run_id.as_str()).await.map_err(failed)?;
        let (head, logs) =
            found.filter(|(head, _)| head.scenario_id == scenario_id).ok_or_else(|| unknown(&scenario_id, &run_id))?;
        let scenario = self.keeper.scenario_of(&caller, &head).await?;
        let settings = self.keeper.settings();
        let pack = pack(scenario.spec(), &head, &logs, at, verification, settings.evidence.anchors())?;

        let shelves = &*settings.shelves;
        let told = |error| unshelved("output_dir", &error);
        let place = shelves.place(&directory).await.map_err(told)?;
        taken(&self.keeper, &caller, "output_dir", &place).await?;
        if !self.keeper.runs().shelve(caller.tenant, &place).await.map_err(failed)? {
            return Err(foreign("output_dir"));
        }
        shelves.write(&place, &manifest, &pack).await.map_err(told)?;
        Ok(json!({ "manifest": pack.manifest, "report": pack.report }))
    }
}

/// Neither a directory of another tenant's nor anything below one: what is written or read there is not the caller's.
pub(super) async fn taken(keeper: &Gatekeeper, caller: &Caller, field: &str, place: &str) -> Result<(), ToolFailure> {
    let above: Vec<String> = Path::new(place).ancestors().map(|path| path.display().to_string()).collect();
    if above.len() > DEEPEST {
        return Err(foreign(field));
    }
    for directory in &above {
        let owner = keeper.runs().shelved_by(directory).await.map_err(failed)?;
        if owner.is_some_and(|owner| owner != caller.tenant) {
            return Err(foreign(field));
        }
    }
    Ok(())
}

/// In the words of a directory that is not there.
fn foreign(field: &str) -> ToolFailure {
    ToolFailure::new(format!("not_found: {field} names no directory"))
}

fn manifest_name(given: Option<String>) -> Result<String, ToolFailure> {
    let name = given.unwrap_or_else(|| MANIFEST.into());
    let own = |kind: &ArtifactKind| name.strip_suffix(".json") == Some(kind.as_str());
    let artifact = ArtifactKind::SEVEN.iter().chain(&[ArtifactKind::VerifierReport]).any(own);
    if name.parse::<PackPath>().is_err() || name.contains('/') || name.starts_with('.') || artifact {
        let words = "must be one plain file name, and not that of another file of the pack";
        return Err(ToolFailure::new(format!("invalid: manifest_name: {words}")));
    }
    Ok(name)
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "runpack_export".into(),
        title: "Export a run".into(),
        description:
            "Writes a run as files: its scenario, its six logs and a manifest with the hash of each and of all. The \
                      same run and generated_at give the same bytes. output_dir must lie below a directory that the \
                      gateway is configured to write to."
                .into(),
        input_schema: schema::input(
            vec![
                ("scenario_id", schema::id(), "The run's scenario."),
                ("run_id", schema::id(), "The run."),
                (
                    "output_dir",
                    schema::text(),
                    "Where the files go: absolute, or below the first configured directory.",
                ),
                ("manifest_name", schema::maybe_text(), "What the manifest is called; `manifest.json` when left out."),
                ("generated_at", schema::time(), "Written into the manifest."),
                ("include_verification", schema::boolean(), "Check the files and add the report to them."),
                ("tenant_id", schema::tenant(), "Only ever the caller's own."),
                ("namespace_id", schema::anything(), "Accepted, and ignored: a tenant has one."),
            ],
            &["scenario_id", "run_id", "output_dir", "generated_at", "include_verification"],
        ),
        output_schema: Some(schema::output(vec![("manifest", schema::object()), ("report", schema::nullable())])),
        annotations: annotations::changes(),
    }
}
