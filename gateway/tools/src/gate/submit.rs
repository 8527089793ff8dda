//! `scenario_submit`: an artifact for a run's record. It moves nothing.

use std::sync::Arc;

use async_trait::async_trait;
use gateway_core::gate::Id;
use gateway_core::gate::requests::{Asked, SubmitRequest};
use serde_json::{Map, Value};

use super::keeper::Gatekeeper;
use super::{argument, invalid, schema, typed, written};
use crate::builtin::{BuiltinTool, Called, ToolFailure, ToolSpec, annotations};

pub(super) struct Submit {
    spec: ToolSpec,
    keeper: Arc<Gatekeeper>,
}

impl Submit {
    pub(super) fn new(keeper: Arc<Gatekeeper>) -> Self {
        Self { spec: spec(), keeper }
    }
}

#[async_trait]
impl BuiltinTool for Submit {
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
            SubmitRequest::read(argument(arguments, "request"), "request").map_err(|faults| invalid(&faults))?;
        let caller = self.keeper.caller(caller, tenant_id.as_ref()).await?;
        let recorded = self.keeper.submit(&caller, &scenario_id, &request).await?;
        written(&recorded)
    }
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "scenario_submit".into(),
        title: "Submit an artifact".into(),
        description:
            "Adds an artifact to a run's record with the hash of its content; up to 2 MiB, on finished runs too. The \
                      run does not move. The same submission_id with the same content gets the same record, with other \
                      content it is refused."
                .into(),
        input_schema: schema::input(
            vec![
                ("scenario_id", schema::id(), "The run's scenario."),
                ("request", schema::submit_request(), "The run, the content and what it is called."),
            ],
            &["scenario_id", "request"],
        ),
        output_schema: Some(schema::output(vec![("record", schema::object())])),
        annotations: annotations::changes(),
    }
}
