//! `scenario_start`: a new run, at its scenario's first stage.

use std::sync::Arc;

use async_trait::async_trait;
use gateway_core::gate::engine::{self, Rules};
use gateway_core::gate::run::RunConfig;
use gateway_core::gate::{GateTime, Id, RunState};
use serde_json::{Map, Value};

use super::keeper::Gatekeeper;
use super::{argument, failed, invalid, schema, typed};
use crate::builtin::{BuiltinTool, Called, ToolFailure, ToolSpec, annotations};

pub(super) struct Start {
    spec: ToolSpec,
    keeper: Arc<Gatekeeper>,
}

impl Start {
    pub(super) fn new(keeper: Arc<Gatekeeper>) -> Self {
        Self { spec: spec(), keeper }
    }
}

#[async_trait]
impl BuiltinTool for Start {
    fn definition(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(
        &self,
        Called { caller, .. }: Called<'_>,
        arguments: &Map<String, Value>,
    ) -> Result<Value, ToolFailure> {
        let scenario_id: Id = typed(arguments, "scenario_id")?;
        let at: GateTime = typed(arguments, "started_at")?;
        let issue: bool = typed(arguments, "issue_entry_packets")?;
        let config =
            RunConfig::read(argument(arguments, "run_config"), "run_config").map_err(|faults| invalid(&faults))?;
        let caller = self.keeper.caller(caller, Some(&config.tenant_id)).await?;
        let scenario = self.keeper.to_start(&caller, &scenario_id).await?;
        let settings = self.keeper.settings();
        let rules = Rules { dispatch: &settings.dispatch, anchors: settings.evidence.anchors() };
        let (head, entries) = engine::start(&scenario, config, at, issue, rules)?;
        self.keeper.runs().begin(caller.tenant, &head, &entries, &caller.by).await.map_err(failed)?;
        Ok(RunState::new(head, entries).output())
    }
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "scenario_start".into(),
        title: "Start a run".into(),
        description: "Starts a run of a defined scenario at its first stage, at the time the caller gives. With \
                      issue_entry_packets the first stage's packets are handed out at once. Refuses an unknown scenario, a \
                      run_id that is taken, and packets that the dispatch policy denies."
            .into(),
        input_schema: schema::input(
            vec![
                ("scenario_id", schema::id(), "The scenario."),
                ("run_config", schema::run_config(), "The run's id, its tenant and whom its packets are for."),
                ("started_at", schema::time(), "When the run starts, as the caller counts time."),
                ("issue_entry_packets", schema::boolean(), "Hand out the first stage's packets."),
            ],
            &["scenario_id", "run_config", "started_at", "issue_entry_packets"],
        ),
        output_schema: Some(schema::output(vec![
            ("tenant_id", schema::tenant()),
            ("run_id", schema::text()),
            ("scenario_id", schema::text()),
            ("spec_hash", schema::digest()),
            ("current_stage_id", schema::text()),
            ("status", schema::status()),
            ("dispatch_targets", schema::list()),
            ("triggers", schema::list()),
            ("gate_evals", schema::list()),
            ("decisions", schema::list()),
            ("packets", schema::list()),
            ("submissions", schema::list()),
            ("tool_calls", schema::list()),
        ])),
        annotations: annotations::adds(),
    }
}
