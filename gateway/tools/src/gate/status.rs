//! `scenario_status`: where a run is. Evaluates nothing, writes nothing, and shows no evidence.

use std::sync::Arc;

use async_trait::async_trait;
use gateway_core::gate::Id;
use gateway_core::gate::requests::{Asked, StatusRequest};
use serde_json::{Map, Value};

use super::keeper::Gatekeeper;
use super::{argument, invalid, schema, typed, written};
use crate::builtin::{BuiltinTool, Called, ToolFailure, ToolSpec, annotations};

pub(super) struct Status {
    spec: ToolSpec,
    keeper: Arc<Gatekeeper>,
}

impl Status {
    pub(super) fn new(keeper: Arc<Gatekeeper>) -> Self {
        Self { spec: spec(), keeper }
    }
}

#[async_trait]
impl BuiltinTool for Status {
    fn definition(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(
        &self,
        Called { caller, .. }: Called<'_>,
        arguments: &Map<String, Value>,
    ) -> Result<Value, ToolFailure> {
        let scenario_id: Id = typed(arguments, "scenario_id")?;
        let Asked { request, tenant_id } =
            StatusRequest::read(argument(arguments, "request"), "request").map_err(|faults| invalid(&faults))?;
        let caller = self.keeper.caller(caller, tenant_id.as_ref()).await?;
        let found = self.keeper.found(&caller, &scenario_id, &request.run_id, None).await?;
        written(&found.head.snapshot())
    }
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "scenario_status".into(),
        title: "Look at a run".into(),
        description:
            "Tells a run's stage, status, last decision and issued packets, and after a hold which gates are not \
                      met. Evaluates nothing, changes nothing, shows no evidence."
                .into(),
        input_schema: schema::input(
            vec![
                ("scenario_id", schema::id(), "The run's scenario."),
                ("request", schema::status_request(), "The run, and when it is asked."),
            ],
            &["scenario_id", "request"],
        ),
        output_schema: Some(schema::output(vec![
            ("run_id", schema::text()),
            ("scenario_id", schema::text()),
            ("current_stage_id", schema::text()),
            ("status", schema::status()),
            ("last_decision", schema::nullable()),
            ("issued_packet_ids", schema::list()),
            ("safe_summary", schema::nullable()),
        ])),
        annotations: annotations::reads(),
    }
}
