//! `gate define|start|status|next|submit|trigger|export|verify|list`: the gate's tools for whoever stands at the machine.
//!
//! Each verb asks the tool of the same name, with the same words, as the tenant's administrator.

mod asking;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use gateway_core::gate::GateTime;
use gateway_core::ports::{Clock as _, RunLine, RunQuery};
use serde_json::{Map, Value, json};

use super::output::{Colour, painted, plain};
use super::{Common, Failure, tenant_named};
use crate::clock::SystemClock;
use asking::{Asked, read};

/// Rows of one answer.
const MOST: i64 = 200;

#[derive(Debug, Subcommand)]
pub enum GateVerb {
    /// Keeps a scenario, or says all that is wrong with it
    Define(FromFile),
    /// Starts a run
    Start(FromFile),
    /// Where a run is
    Status(OneRun),
    /// Asks whether a run's stage opens
    Next(NextArgs),
    /// Adds an artifact to a run's record
    Submit(FromFile),
    /// Hands a tick or an event to a run
    Trigger(FromFile),
    /// Writes a run as files that anybody can check
    Export(ExportArgs),
    /// Checks the files of a run below the gateway's directories
    Verify(VerifyArgs),
    /// The runs of a tenant, newest first
    List(ListArgs),
}

#[derive(Debug, Args)]
pub struct Whose {
    /// The tenant's name or id
    #[arg(long)]
    tenant: String,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Args)]
pub struct FromFile {
    /// The tool's own input as JSON; `-` is standard input
    file: PathBuf,
    #[command(flatten)]
    whose: Whose,
}

#[derive(Debug, Args)]
pub struct OneRun {
    run: String,
    /// The run's scenario
    #[arg(long)]
    scenario: String,
    #[command(flatten)]
    whose: Whose,
}

#[derive(Debug, Args)]
pub struct NextArgs {
    /// The tool's own input as JSON; `-` is standard input
    #[arg(required_unless_present = "run")]
    file: Option<PathBuf>,
    /// The run, if there is no file
    #[arg(long, conflicts_with = "file", requires_all = ["scenario", "trigger_id", "agent", "time"])]
    run: Option<String>,
    #[arg(long)]
    scenario: Option<String>,
    /// Of its own for every question; the same one gets the same answer
    #[arg(long)]
    trigger_id: Option<String>,
    /// Who asks
    #[arg(long)]
    agent: Option<String>,
    /// Milliseconds since 1970, or `logical:N`
    #[arg(long, value_parser = time)]
    time: Option<GateTime>,
    #[command(flatten)]
    whose: Whose,
}

#[derive(Debug, Args)]
pub struct ExportArgs {
    #[command(flatten)]
    run: OneRun,
    /// Where the files go, below one of `gate.runpacks`
    #[arg(long, value_name = "DIR")]
    out: String,
    /// Written into the manifest: milliseconds since 1970, or `logical:N`
    #[arg(long, value_parser = time)]
    at: GateTime,
    /// Check the files and add the report to them
    #[arg(long)]
    verification: bool,
    /// What the manifest is called
    #[arg(long)]
    manifest: Option<String>,
}

#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// Below one of `gate.runpacks`; `runpack verify` takes any directory
    dir: String,
    #[arg(long, default_value = "manifest.json")]
    manifest: String,
    #[command(flatten)]
    whose: Whose,
}

#[derive(Debug, Args)]
pub struct ListArgs {
    /// Only of this scenario
    #[arg(long)]
    scenario: Option<String>,
    #[command(flatten)]
    whose: Whose,
}

pub async fn run(verb: GateVerb) -> Result<(), Failure> {
    match verb {
        GateVerb::Define(args) => {
            // The scenario itself will do.
            let mut document = read(&args.file)?;
            if !document.contains_key("spec") {
                document = Map::from_iter([("spec".to_owned(), Value::Object(document))]);
            }
            ask(&args.whose, "scenario_define", document, defined).await
        }
        GateVerb::Start(args) => ask(&args.whose, "scenario_start", read(&args.file)?, status).await,
        GateVerb::Status(args) => {
            let at = GateTime::UnixMillis(SystemClock.now().as_millisecond());
            let request = json!({ "run_id": args.run, "requested_at": at, "correlation_id": null });
            let document = object(json!({ "scenario_id": args.scenario, "request": request }));
            ask(&args.whose, "scenario_status", document, status).await
        }
        GateVerb::Next(args) => {
            let document = match &args.file {
                Some(file) => read(file)?,
                None => {
                    let (run, trigger, agent, time) = (&args.run, &args.trigger_id, &args.agent, &args.time);
                    let request = json!({ "run_id": run, "trigger_id": trigger, "agent_id": agent, "time": time });
                    object(json!({ "scenario_id": args.scenario, "request": request }))
                }
            };
            ask(&args.whose, "scenario_next", document, decided).await
        }
        GateVerb::Submit(args) => ask(&args.whose, "scenario_submit", read(&args.file)?, submitted).await,
        GateVerb::Trigger(args) => ask(&args.whose, "scenario_trigger", read(&args.file)?, decided).await,
        GateVerb::Export(args) => {
            let OneRun { run, scenario, whose } = args.run;
            let document = object(json!({
                "scenario_id": scenario, "run_id": run, "output_dir": args.out, "generated_at": args.at,
                "include_verification": args.verification, "manifest_name": args.manifest,
            }));
            ask(&whose, "runpack_export", document, exported).await
        }
        GateVerb::Verify(args) => {
            let document = object(json!({ "runpack_dir": args.dir, "manifest_path": args.manifest }));
            let answer = ask_for(&args.whose, "runpack_verify", document).await?;
            args.whose.common.output().answer(&answer, || checked(at(&answer, "/report")))?;
            passed(at(&answer, "/report"))
        }
        GateVerb::List(args) => list(&args).await,
    }
}

async fn ask_for(whose: &Whose, tool: &str, arguments: Map<String, Value>) -> Result<Value, Failure> {
    let asked = Asked::open(&whose.common, &whose.tenant).await?;
    let answer = asked.ask(tool, &arguments).await;
    asked.close().await;
    answer
}

async fn ask(
    whose: &Whose,
    tool: &str,
    arguments: Map<String, Value>,
    told: fn(&Value) -> String,
) -> Result<(), Failure> {
    let answer = ask_for(whose, tool, arguments).await?;
    whose.common.output().answer(&answer, || told(&answer))
}

async fn list(args: &ListArgs) -> Result<(), Failure> {
    let store = args.whose.common.store().await?;
    let tenant = tenant_named(&store, &args.whose.tenant).await?;
    let query = RunQuery { tenant: tenant.id, scenario: args.scenario.clone(), status: None, limit: MOST };
    let runs = store.gate().runs(&query).await?;
    let document: Vec<Value> = runs.iter().map(written).collect();
    let row = |run: &RunLine| {
        [&run.run_id, &run.scenario_id, &run.status, &run.stage_id, &run.changed_at].map(|text| plain(text)).to_vec()
    };
    let head = ["RUN", "SCENARIO", "STATUS", "STAGE", "CHANGED"];
    let rows = runs.iter().map(row).collect();
    args.whose.common.output().table(&document, &head, rows, "No run was started yet.")?;
    store.close().await;
    Ok(())
}

fn written(run: &RunLine) -> Value {
    json!({
        "run_id": run.run_id, "scenario_id": run.scenario_id, "spec_hash": run.spec_hash, "status": run.status,
        "stage_id": run.stage_id, "started_by": run.started_by, "started_at": run.started_at,
        "changed_at": run.changed_at,
    })
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

fn time(text: &str) -> Result<GateTime, String> {
    let wrong = || format!("`{text}` is no time: expected milliseconds since 1970, or `logical:N`");
    match text.strip_prefix("logical:") {
        Some(count) => count.parse().map(GateTime::Logical).map_err(|_| wrong()),
        None => text.parse().map(GateTime::UnixMillis).map_err(|_| wrong()),
    }
}

/// What stands at a pointer; null where nothing does.
fn at<'v>(value: &'v Value, pointer: &str) -> &'v Value {
    value.pointer(pointer).unwrap_or(&Value::Null)
}

fn text(value: &Value) -> String {
    plain(value.as_str().unwrap_or("?"))
}

fn texts(value: &Value) -> String {
    let texts: Vec<String> = value.as_array().into_iter().flatten().map(text).collect();
    texts.join(", ")
}

fn defined(answer: &Value) -> String {
    format!("{} is defined: sha256 {}", text(at(answer, "/scenario_id")), text(at(answer, "/spec_hash/value")))
}

fn status(answer: &Value) -> String {
    let line = format!(
        "{} of {} is {} at {}",
        text(at(answer, "/run_id")),
        text(at(answer, "/scenario_id")),
        text(at(answer, "/status")),
        text(at(answer, "/current_stage_id"))
    );
    match answer.get("safe_summary").filter(|summary| summary.is_object()) {
        Some(summary) => format!("{line}; not met: {}", texts(at(summary, "/unmet_gates"))),
        None => line,
    }
}

fn decided(answer: &Value) -> String {
    let outcome = at(answer, "/decision/outcome");
    let what = match at(outcome, "/kind").as_str() {
        Some("hold") => format!("hold; not met: {}", texts(at(outcome, "/summary/unmet_gates"))),
        Some("advance") => {
            format!("on from {} to {}", text(at(outcome, "/from_stage")), text(at(outcome, "/to_stage")))
        }
        Some("fail") => format!("failed: {}", text(at(outcome, "/reason"))),
        _ => text(at(outcome, "/kind")),
    };
    format!("{}: {what}; the run is {}", text(at(answer, "/decision/decision_id")), text(at(answer, "/status")))
}

fn submitted(answer: &Value) -> String {
    let record = at(answer, "/record");
    format!("{} is recorded: sha256 {}", text(at(record, "/submission_id")), text(at(record, "/content_hash/value")))
}

fn exported(answer: &Value) -> String {
    let root = text(at(answer, "/manifest/integrity/root_hash/value"));
    format!("{} is exported: root sha256 {root}", text(at(answer, "/manifest/run_id")))
}

/// What a report says, for people.
pub fn checked(report: &Value) -> String {
    let files = at(report, "/checked_files").as_u64().unwrap_or_default();
    if at(report, "/status") == "pass" {
        return format!("{}: {files} files are what they were", painted(Colour::Green, "pass"));
    }
    let errors = at(report, "/errors").as_array().into_iter().flatten().map(|error| format!("\n  {}", text(error)));
    format!("{}: {files} files checked{}", painted(Colour::Red, "fail"), errors.collect::<String>())
}

/// A pack that does not pass is the answer no.
pub fn passed(report: &Value) -> Result<(), Failure> {
    if at(report, "/status") == "pass" { Ok(()) } else { Err(Failure::new("the pack does not pass")) }
}
