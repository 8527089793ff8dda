//! `explain`: why a call was decided as it was, or what another one would come to; with `--batch`, many of them.

use std::io::BufRead;

use clap::Args;
use gateway_core::desk::{Hypothesis, PoliciesNow, TraceExplained};
use gateway_core::explain::{Explained, Way};
use gateway_core::{AgentId, Autonomy, Risk, ToolName};
use serde_json::Value;

use super::kill::operator;
use super::output::{Colour, painted, plain, print};
use super::{Common, Failure, batch, tenant_named};
use crate::compose::chain;
use crate::desk;
use crate::policy_files::load_for;

#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// A recorded call, by its trace
    #[arg(required_unless_present_any = ["tool", "batch"], conflicts_with_all = ["tool", "batch"])]
    trace_id: Option<String>,
    /// A call that nobody made: who would make it
    #[arg(long, requires = "tool")]
    agent: Option<AgentId>,
    /// The agent's tenant, by name or id
    #[arg(long, requires = "tool")]
    tenant: Option<String>,
    /// What would be called, as NAMESPACE/TOOL
    #[arg(long, requires_all = ["agent", "tenant"])]
    tool: Option<ToolName>,
    /// Its arguments, as one JSON object
    #[arg(long, value_name = "JSON", requires = "tool")]
    arguments: Option<String>,
    /// As if the agent had this autonomy
    #[arg(long, requires = "tool")]
    autonomy: Option<Autonomy>,
    /// As if the agent had this limit
    #[arg(long, requires = "tool")]
    max_risk: Option<Risk>,
    /// As if the agent had these roles
    #[arg(long = "role", value_name = "ROLE", requires = "tool")]
    roles: Vec<String>,
    /// Reads one call a line as JSON and answers each with one line; asks no store
    #[arg(long)]
    batch: bool,
    #[command(flatten)]
    common: Common,
}

pub async fn run(args: ExplainArgs) -> Result<(), Failure> {
    let config = args.common.place.config()?;
    let loaded = load_for(&config)?;
    if args.batch {
        return many(&batch::Batch::new(chain(loaded)));
    }
    let store = args.common.store().await?;
    let desk = desk::with_rules(&store, &config, loaded).await?;
    let who = operator();
    if let Some(trace) = &args.trace_id {
        let explained = desk.explain_trace(&who, trace).await.map_err(|error| Failure::of(&error))?;
        args.common.output().answer(&explained, || trace_told(&explained))?;
    }
    if let (Some(tool), Some(agent), Some(tenant)) = (args.tool, args.agent, &args.tenant) {
        let tenant = tenant_named(&store, tenant).await?.id;
        let arguments = args.arguments.as_deref().map(object).transpose()?;
        let hypothesis = Hypothesis {
            agent,
            tool,
            arguments,
            at: None,
            declared: None,
            autonomy: args.autonomy,
            max_risk: args.max_risk,
            allowed_types: None,
            roles: (!args.roles.is_empty()).then_some(args.roles),
        };
        let explained = desk.explain_call(&who, tenant, hypothesis).await.map_err(|error| Failure::of(&error))?;
        args.common.output().answer(&explained, || told(&explained))?;
    }
    store.close().await;
    Ok(())
}

fn object(text: &str) -> Result<Value, Failure> {
    let read: Value =
        serde_json::from_str(text).map_err(|error| Failure::new(format!("--arguments: not JSON: {error}")))?;
    match read.is_object() {
        true => Ok(read),
        false => Err(Failure::new("--arguments: must be one JSON object")),
    }
}

/// A line that cannot be read is answered too, and the run goes on.
fn many(batch: &batch::Batch) -> Result<(), Failure> {
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        if !line.trim().is_empty() {
            print(&batch.answer(&line).to_string())?;
        }
    }
    Ok(())
}

fn coloured(decision: &str) -> String {
    match decision {
        "allow" => painted(Colour::Green, decision),
        "deny" => painted(Colour::Red, decision),
        _ => painted(Colour::Yellow, decision),
    }
}

fn told(explained: &Explained) -> String {
    let (agent, tool) = (plain(explained.agent.as_str()), plain(explained.tool.as_str()));
    let counts = &explained.effective;
    let mut lines = vec![
        format!("{}  {agent} calls {tool}", coloured(explained.decision.as_str())),
        format!("counts as {} {}", counts.risk_level, counts.classification),
    ];
    lines.extend(counts.raised.iter().map(|raised| format!("  raised by {}: {}", raised.rule, plain(&raised.message))));
    for judge in &explained.judges {
        let time = judge.micros.map_or(String::new(), |micros| format!("{micros:.1} us"));
        let rule = judge.rule.as_ref().map_or(String::new(), |rule| format!("/{rule}"));
        let worth = if judge.observed { " (not obeyed)" } else { "" };
        let reason = judge.reason.as_ref().map_or(String::new(), |reason| format!(": {}", plain(reason)));
        lines.push(format!("  {time:>9}  {:<8} {}{}{worth}{reason}", judge.verdict, judge.plugin, plain(&rule)));
    }
    lines.extend(explained.awaits.iter().map(|gate| format!("and only while {}", plain(gate))));
    lines.extend(explained.would_pass.iter().map(way));
    lines.join("\n")
}

fn way(way: &Way) -> String {
    format!("it would be `{}` if {}", way.then.as_str(), plain(&way.changes.join(" and ")))
}

fn trace_told(explained: &TraceExplained) -> String {
    let event = &explained.trace.event;
    let context = &event.context;
    let text = |key: &str| context.get(key).and_then(Value::as_str).unwrap_or("-");
    let description = event.description.as_deref().unwrap_or_default();
    let mut lines = vec![
        format!("{}  {}", coloured(text("decision")), plain(description)),
        format!("trace {} of {} at {}", event.trace_id, plain(&event.agent_id), event.timestamp),
        format!("as {}, counted as {}", plain(text("as")), event.classification_code.as_deref().unwrap_or("-")),
    ];
    for verdict in context.get("verdicts").and_then(Value::as_array).into_iter().flatten() {
        let part = |pointer: &str| plain(verdict.pointer(pointer).and_then(Value::as_str).unwrap_or_default());
        let worth = if verdict.get("observed").is_some() { " (not obeyed)" } else { "" };
        let reason = part("/reason/message");
        let rule = part("/reason/rule");
        let colon = if reason.is_empty() { "" } else { ": " };
        lines.push(format!("  {:<8} {} {rule}{worth}{colon}{reason}", part("/verdict"), part("/plugin")));
    }
    if let Some(input) = &explained.input {
        lines.push(format!("asked with {}", plain(&input.to_string())));
    }
    if let Some(approval) = &explained.approval {
        let by = approval.decided_by.as_deref().unwrap_or("nobody yet");
        lines.push(format!("approval {} {} by {}", approval.asked.id, approval.status, plain(by)));
    }
    if let Some(run) = &explained.run {
        lines.push(format!("step {} of {} of a run of {}, task {}", run.step, run.of, plain(&run.agent), run.task));
        lines.extend(run.steps.iter().map(|step| {
            let became = if step.success { "ok" } else { "failed" };
            format!("  {became:<8} {} {}", plain(&step.tool), step.trace_id)
        }));
    }
    lines.extend(explained.continues.iter().map(|before| format!("goes on from {before}")));
    if let Some(again) = &explained.again {
        lines.push(match explained.policies {
            PoliciesNow::InForce => "the same rules are in force; judged again:".into(),
            _ => "the rules have changed since; under today's:".into(),
        });
        lines.push(told(again));
    }
    if let Some(why) = explained.not_again {
        lines.push(format!("not judged again: {why}"));
    }
    lines.extend(explained.would_pass.iter().map(way));
    lines.join("\n")
}
