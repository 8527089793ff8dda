//! `analyze-results`: rows become figures and one paragraph.
//!
//! The figures are always computed here. Where the operator has named a model it writes the paragraph, from those figures and
//! some of the rows.

use std::sync::Arc;

use async_trait::async_trait;
use gateway_core::ports::Model;
use serde_json::{Map, Value, json};

use super::{Shared, analysis, not_answered, text};
use crate::builtin::{BuiltinTool, Called, ToolFailure, ToolSpec, annotations};

const LONGEST_PROMPT: usize = 2_000;
/// What a model is shown besides the figures.
const SHOWN_ROWS: usize = 50;
const SHOWN_BYTES: usize = 64 * 1024;
const LONGEST_SUMMARY: usize = 20_000;

pub(super) struct AnalyzeResults {
    spec: ToolSpec,
    shared: Arc<Shared>,
}

impl AnalyzeResults {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { spec: spec(), shared }
    }
}

#[async_trait]
impl BuiltinTool for AnalyzeResults {
    fn definition(&self) -> &ToolSpec {
        &self.spec
    }

    async fn run(&self, _: Called<'_>, arguments: &Map<String, Value>) -> Result<Value, ToolFailure> {
        let (data, prompt) = (arguments.get("data").unwrap_or(&Value::Null), text(arguments, "analysis_prompt"));
        if prompt.chars().count() > LONGEST_PROMPT {
            let what = format!("Invalid analysis_prompt: must be at most {LONGEST_PROMPT} characters long");
            return Err(ToolFailure::new(what));
        }
        let asked = (!prompt.trim().is_empty()).then_some(prompt);
        let mut answer = analysis::analyze(data, asked).map_err(|error| ToolFailure::new(error.to_string()))?;
        if let Some(model) = &self.shared.ports.model {
            let summary = by_model(&**model, data, &answer, asked).await?;
            if let Some(answer) = answer.as_object_mut() {
                answer.insert("summary".into(), summary.into());
                answer.insert("by".into(), "model".into());
            }
        }
        Ok(answer)
    }
}

async fn by_model(
    model: &dyn Model,
    data: &Value,
    answer: &Value,
    prompt: Option<&str>,
) -> Result<String, ToolFailure> {
    let system =
        "Sum up the figures for stakeholders in one short paragraph. Use no number that is not in them or in the rows.";
    let wanted = prompt.unwrap_or("Sum up these rows.");
    let figures = answer.get("analysis").unwrap_or(&Value::Null);
    let mut user = format!("{wanted}\n\nFigures:\n{figures}\n\nThe first rows:\n");
    for row in analysis::rows(data).into_iter().flatten().take(SHOWN_ROWS) {
        let line = row.to_string();
        if user.len() + line.len() > SHOWN_BYTES {
            break;
        }
        user.push_str(&line);
        user.push('\n');
    }
    let said = model.complete(system, &user).await.map_err(|error| not_answered(&error))?;
    let summary: String = said.trim().chars().take(LONGEST_SUMMARY).collect();
    if summary.is_empty() {
        return Err(ToolFailure::new("the model endpoint answered with nothing"));
    }
    Ok(summary)
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "analyze-results".into(),
        title: "Analyze results".into(),
        description: "Sums up rows: figures of every column, and one paragraph whose numbers follow from them.".into(),
        input_schema: json!({
            "type": "object",
            "properties": {
                "data": { "type": ["array", "object"], "description": "Rows, or the answer of execute-sql." },
                "analysis_prompt": { "type": "string", "description": "What is wanted; given back beside the summary." },
            },
            "required": ["data"],
        }),
        output_schema: Some(json!({
            "type": "object",
            "properties": {
                "summary": { "type": "string" },
                "analysis": {
                    "type": "object",
                    "properties": {
                        "row_count": { "type": "integer" },
                        "columns": { "type": "array", "items": { "type": "object" } },
                    },
                    "required": ["row_count", "columns"],
                },
                "prompt": { "type": "string" },
                "by": { "type": "string", "description": "`model` where one wrote the summary." },
            },
            "required": ["summary", "analysis"],
        })),
        annotations: annotations::reads(),
    }
}
