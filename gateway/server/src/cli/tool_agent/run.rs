//! `tool-agent run`: the node of this configuration without its listeners, for one run.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use gateway_core::desk::Asker;
use gateway_core::identity::Credential;
use gateway_core::ports::{BuildRequest, Built, Runner};
use gateway_upstream::Commons;
use serde_json::{Map, Value, json};
use tokio::runtime::Handle;
use uuid::Uuid;

use super::progress::Teller;
use super::{Named, json_file};
use crate::cli::kill::operator;
use crate::cli::output::{plain, print};
use crate::cli::{Common, Failure};
use crate::compose::{self, Extras, Node};
use crate::desk;
use crate::edge::drain::Drain;
use crate::tool_agents::HostedRunner;

/// How long a run may take to end once somebody presses Ctrl-C.
const PATIENCE: Duration = Duration::from_secs(4);

#[derive(Debug, Args)]
pub struct RunArgs {
    #[arg(value_name = "ORG/SLUG")]
    agent: Named,
    /// What the run is given, as one JSON object; `-` is standard input
    #[arg(long, value_name = "FILE")]
    payload: Option<PathBuf>,
    /// What `{{metadata.*}}` stands for, as one JSON object
    #[arg(long, value_name = "FILE")]
    metadata: Option<PathBuf>,
    /// The conversation that it belongs to
    #[arg(long, value_name = "ID")]
    conversation: Option<String>,
    /// Makes the next version of this deliverable
    #[arg(long, value_name = "ID")]
    deliverable: Option<Uuid>,
    /// Runs as the agent with this key; without it, as the tool agent's own
    #[arg(long, env = "PORTREEVE_KEY", hide_env_values = true)]
    key: Option<String>,
    #[command(flatten)]
    common: Common,
}

pub async fn run(args: RunArgs) -> Result<(), Failure> {
    let payload: Map<String, Value> = args.payload.as_deref().map(json_file).transpose()?.unwrap_or_default();
    let metadata: Map<String, Value> = args.metadata.as_deref().map(json_file).transpose()?.unwrap_or_default();
    let request = BuildRequest {
        mode: "build".into(),
        conversation_id: args.conversation.clone(),
        payload,
        metadata,
        deliverable_id: args.deliverable,
    };
    let config = args.common.place.config()?;
    let node =
        compose::compose(&config, Extras::default(), Commons::default()).await.map_err(|error| Failure::of(&error))?;
    let node = Arc::new(node);
    let desk = desk::without_rules(&node.store, &config);
    let built = one(&args, &node, &desk, request).await;
    node.stop_upstreams().await;
    node.close().await;
    told(&args, built?)
}

async fn one(
    args: &RunArgs,
    node: &Arc<Node>,
    desk: &gateway_core::desk::Desk,
    request: BuildRequest,
) -> Result<Built, Failure> {
    let Named { organization, slug } = &args.agent;
    let (asker, credential) = who(args.key.as_deref(), node).await?;
    let actor = desk.actor(&asker, organization, slug, &credential).await;
    let (tenant, actor) =
        actor.map_err(|error| Failure::of(&error).with_hint("`portreeve tool-agent list` names them all"))?;
    let teller = Teller::start(&format!("{organization}/{slug} as {}", actor.acts_as));
    let drain = Drain::new();
    let runner = HostedRunner::new(node, &Handle::current(), &drain, PATIENCE);
    let running = runner.build(tenant, slug, actor, request, teller);
    tokio::pin!(running);
    let built = tokio::select! {
        built = &mut running => built,
        // What was done so far is written down like any run that was cut off.
        _ = tokio::signal::ctrl_c() => {
            drain.begin();
            running.await
        }
    };
    built.map_err(|error| Failure::of(&error))
}

async fn who(key: Option<&str>, node: &Node) -> Result<(Asker, Credential), Failure> {
    let Some(key) = key else {
        return Ok((Asker::Desk(operator()), Credential::None));
    };
    let credential = Credential::Key(key.to_owned());
    let known = node.gateway.admit_door(&credential, None).await;
    let principal = known.map_err(|_| Failure::new("--key: nobody active has this key"))?;
    match principal.tenant {
        Some(tenant) if !principal.is_admin() => {
            Ok((Asker::Agent { tenant, agent: principal.agent.clone() }, credential))
        }
        _ => Err(Failure::new("--key: must be an agent's; without it, the tool agent's own agent acts")),
    }
}

fn told(args: &RunArgs, built: Built) -> Result<(), Failure> {
    let Built { task, deliverable, results, ignored } = built;
    if !ignored.is_empty() {
        eprintln!("not to be changed by a payload, and left as it was: {}", plain(&ignored.join(", ")));
    }
    let metadata = &deliverable.metadata;
    let (done, all) = (metadata.successful_tools, metadata.tools_executed);
    let (id, version) = (deliverable.id, deliverable.version);
    eprintln!("{done} of {all} succeeded; deliverable {id} version {version}");
    match args.common.json {
        true => {
            let document = json!({ "task": task, "deliverable": deliverable, "results": results });
            args.common.output().answer(&document, String::new)?;
        }
        false => print(&deliverable.content)?,
    }
    match (task.error, metadata.failed_tools) {
        (Some(error), _) => Err(Failure::new(error)),
        (None, 0) => Ok(()),
        (None, failed) => Err(Failure::new(format!("{failed} of {all} tools failed"))),
    }
}
