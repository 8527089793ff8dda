//! `scenario_trigger`: a clock or somebody outside moves a run. The time is theirs; none is read here.

use std::sync::Arc;

use async_trait::async_trait;
use gateway_core::gate::Id;
use gateway_core::gate::engine::Call;
use gateway_core::gate::records::TriggerEvent;
use gateway_core::gate::requests::Asked;
use serde_json::{Map, Value};

use super::keeper::Gatekeeper;
use super::{argument, invalid, schema, typed, written};
use crate::builtin::{BuiltinTool, Called, ToolFailure, ToolSpec, annotations};

pub(super) struct Trigger {
    spec: ToolSpec,
    keeper: Arc<Gatekeeper>,
}

impl Trigger {
    pub(super) fn new(keeper: Arc<Gatekeeper>) -> Self {
        Self { spec: spec(), keeper }
    }
}

#[async_trait]
impl BuiltinTool for Trigger {
    fn definition(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(
        &self,
        Called { caller, .. }: Called<'_>,
        arguments: &Map<String, Value>,
    ) -> Result<Value, ToolFailure> {
        let scenario_id: Id = typed(arguments, "scenario_id")?;
        let Asked { request: event, tenant_id } =
            TriggerEvent::read(argument(arguments, "trigger"), "trigger").map_err(|faults| invalid(&faults))?;
        let caller = self.keeper.caller(caller, tenant_id.as_ref()).await?;
        let (at, correlation_id) = (event.time, event.correlation_id.clone());
        let call = Call { method: "scenario.trigger", request: &event, at, correlation_id };
        let answer = self.keeper.advance(&caller, &scenario_id, &event, &call).await?;
        written(&answer)
    }
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "scenario_trigger".into(),
        title: "Trigger a run".into(),
        description: "Hands a tick or an event from outside to a run and decides as scenario_next does. Only a tick can find \
                      that a stage is out of time. The same trigger_id gets the same answer, whichever of the two tools \
                      brought it first."
            .into(),
        input_schema: schema::input(
            vec![
                ("scenario_id", schema::id(), "The run's scenario."),
                ("trigger", schema::trigger(), "What happened, to which run, when, and who says so."),
            ],
            &["scenario_id", "trigger"],
        ),
        output_schema: Some(schema::decided()),
        annotations: annotations::adds(),
    }
}
