//! `evidence_query`: what a provider would say, without a step. A run need not exist yet; somebody else's does not.

use std::sync::Arc;

use async_trait::async_trait;
use gateway_core::evidence::Asking;
use gateway_core::gate::evidence::EvidenceContext;
use gateway_core::gate::spec::EvidenceQuery;
use serde_json::{Map, Value, json};

use super::keeper::Gatekeeper;
use super::{argument, failed, invalid, schema, unknown};
use crate::builtin::{BuiltinTool, Called, ToolFailure, ToolSpec, annotations};

pub(super) struct Query {
    spec: ToolSpec,
    keeper: Arc<Gatekeeper>,
}

impl Query {
    pub(super) fn new(keeper: Arc<Gatekeeper>) -> Self {
        Self { spec: spec(), keeper }
    }
}

#[async_trait]
impl BuiltinTool for Query {
    fn definition(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(
        &self,
        Called { caller, .. }: Called<'_>,
        arguments: &Map<String, Value>,
    ) -> Result<Value, ToolFailure> {
        let query =
            EvidenceQuery::read_alone(argument(arguments, "query"), "query").map_err(|faults| invalid(&faults))?;
        let context =
            EvidenceContext::read(argument(arguments, "context"), "context").map_err(|faults| invalid(&faults))?;
        let caller = self.keeper.caller(caller, Some(&context.tenant_id)).await?;
        let run = self.keeper.runs().run(caller.tenant, context.run_id.as_str(), None).await.map_err(failed)?;
        if run.is_some_and(|run| run.head.scenario_id != context.scenario_id) {
            return Err(unknown(&context.scenario_id, &context.run_id));
        }
        // No run: a look asks no human and leaves nothing behind.
        let asking = Asking { tenant: caller.tenant, by: &caller.by, context: &context, run: None };
        let result = self.keeper.settings().evidence.shown(&query, asking).await?;
        Ok(json!({ "result": result }))
    }
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "evidence_query".into(),
        title: "Ask for evidence".into(),
        description: "Asks one evidence provider as a run at this stage and time would, and changes nothing. The value itself \
                      is shown only where the gateway's disclosure policy allows it; its hash and its anchor always are."
            .into(),
        input_schema: schema::input(
            vec![
                ("query", schema::query(), "Whom to ask, and what."),
                ("context", schema::context(), "For which run, stage and time."),
            ],
            &["query", "context"],
        ),
        output_schema: Some(schema::output(vec![("result", schema::object())])),
        annotations: annotations::reads(),
    }
}
