//! `scenario_define`: a scenario is checked whole, hashed and kept; or all that is wrong with it is told.

use std::sync::Arc;

use async_trait::async_trait;
use gateway_core::gate::{Refusal, Spec};
use serde_json::{Map, Value, json};

use super::keeper::Gatekeeper;
use super::{argument, schema};
use crate::builtin::{BuiltinTool, Called, ToolFailure, ToolSpec, annotations};

pub(super) struct Define {
    spec: ToolSpec,
    keeper: Arc<Gatekeeper>,
}

impl Define {
    pub(super) fn new(keeper: Arc<Gatekeeper>) -> Self {
        Self { spec: spec(), keeper }
    }
}

#[async_trait]
impl BuiltinTool for Define {
    fn definition(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(
        &self,
        Called { caller, .. }: Called<'_>,
        arguments: &Map<String, Value>,
    ) -> Result<Value, ToolFailure> {
        let spec = Spec::read(argument(arguments, "spec")).map_err(Refusal::Spec)?;
        // `default_tenant_id` is part of what is hashed, and names nobody: a tenant is always the caller's.
        let caller = self.keeper.caller(caller, None).await?;
        let scenario = self.keeper.define(&caller, spec).await?;
        Ok(json!({ "scenario_id": scenario.spec().scenario_id, "spec_hash": scenario.hash() }))
    }
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "scenario_define".into(),
        title: "Define a scenario".into(),
        description: "Checks a ScenarioSpec and keeps it under its scenario_id. Answers with the hash of its canonical \
                      JSON, which every run and pack of it repeats. Refuses a spec with any fault, naming all of them, and \
                      an id that is taken."
            .into(),
        input_schema: schema::input(
            vec![("spec", schema::spec(), "The scenario: predicates, stages, gates and what they require.")],
            &["spec"],
        ),
        output_schema: Some(schema::output(vec![("scenario_id", schema::text()), ("spec_hash", schema::digest())])),
        annotations: annotations::adds(),
    }
}
