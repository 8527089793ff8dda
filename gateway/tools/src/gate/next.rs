//! `scenario_next`: an agent asks whether its run's stage opens.

use std::sync::Arc;

use async_trait::async_trait;
use gateway_core::gate::Id;
use gateway_core::gate::engine::Call;
use gateway_core::gate::requests::{Asked, NextRequest};
use serde_json::{Map, Value};

use super::keeper::Gatekeeper;
use super::{argument, invalid, schema, typed, written};
use crate::builtin::{BuiltinTool, Called, ToolFailure, ToolSpec, annotations};

pub(super) struct Next {
    spec: ToolSpec,
    keeper: Arc<Gatekeeper>,
}

impl Next {
    pub(super) fn new(keeper: Arc<Gatekeeper>) -> Self {
        Self { spec: spec(), keeper }
    }
}

#[async_trait]
impl BuiltinTool for Next {
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
            NextRequest::read(argument(arguments, "request"), "request").map_err(|faults| invalid(&faults))?;
        let caller = self.keeper.caller(caller, tenant_id.as_ref()).await?;
        let (at, correlation_id) = (request.time, request.correlation_id.clone());
        let call = Call { method: "scenario.next", request: &request, at, correlation_id };
        let answer = self.keeper.advance(&caller, &scenario_id, &request.event(), &call).await?;
        written(&answer)
    }
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "scenario_next".into(),
        title: "Ask for the next step".into(),
        description: "Asks the evidence providers what the run's current stage wants to know and decides: on to another \
                      stage with its packets, complete, or hold with the gates that are not met. The same trigger_id gets \
                      the same answer; a run that is over does not move."
            .into(),
        input_schema: schema::input(
            vec![
                ("scenario_id", schema::id(), "The run's scenario."),
                ("request", schema::next_request(), "The run, who asks, when, and a trigger_id of its own."),
            ],
            &["scenario_id", "request"],
        ),
        output_schema: Some(schema::decided()),
        annotations: annotations::adds(),
    }
}
