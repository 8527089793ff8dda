//! `agent add`, `agent list`, its roles, and the three states an agent can be put into.

use clap::{Args, Subcommand};
use gateway_core::desk::Note;
use gateway_core::keys::AGENT_KEY;
use gateway_core::ports::{AgentRecord, AgentStatus, NewAgent};
use gateway_core::{AgentId, Autonomy, DecisionType, Risk};
use serde_json::json;

use super::key::fresh_key;
use super::kill::operator;
use super::output::{Colour, painted, plain};
use super::{Common, Failure, promote, tenant_named};
use crate::desk;

#[derive(Debug, Subcommand)]
pub enum AgentVerb {
    /// Adds an agent and prints its first key, once
    Add(AddAgent),
    /// The agents of a tenant
    List(ListAgents),
    /// Refuses the agent's calls until it is activated again
    Suspend(OneAgent),
    /// Lets a suspended agent call again
    Activate(OneAgent),
    /// Ends the agent
    Revoke(OneAgent),
    /// Gives the agent these roles instead of those it has
    Role(SetRoles),
    /// What the agent has done since its autonomy last changed, by risk
    History(promote::HistoryArgs),
    /// One step up, once it is earned, approved and proved
    Promote(promote::PromoteArgs),
}

#[derive(Debug, Args)]
pub struct AddAgent {
    agent_id: AgentId,
    /// The tenant's name or id
    #[arg(long)]
    tenant: String,
    /// How free the agent is: A1, A2, A3, A4 or A5
    #[arg(long)]
    autonomy: Autonomy,
    /// What people call it; without it, its id
    #[arg(long)]
    name: Option<String>,
    /// The kinds of decision it may take, of D1, D2, D3 and D4; without it, whatever the matrix allows
    #[arg(long, value_delimiter = ',', value_name = "D1,D2")]
    allowed_types: Vec<DecisionType>,
    /// The highest risk it may take without approval: R1, R2, R3 or R4
    #[arg(long, default_value_t = Risk::R2)]
    max_risk: Risk,
    #[arg(long)]
    description: Option<String>,
    #[arg(long)]
    owner_name: Option<String>,
    #[arg(long)]
    owner_email: Option<String>,
    /// What access policies know it by; may be given several times
    #[arg(long = "role", value_name = "ROLE")]
    roles: Vec<String>,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Args)]
pub struct ListAgents {
    /// The tenant's name or id
    #[arg(long)]
    tenant: String,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Args)]
pub struct OneAgent {
    agent_id: AgentId,
    /// The tenant's name or id
    #[arg(long)]
    tenant: String,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Args)]
pub struct SetRoles {
    agent_id: AgentId,
    /// What access policies know it by
    #[arg(required_unless_present = "none")]
    roles: Vec<String>,
    /// Take all roles away
    #[arg(long, conflicts_with = "roles")]
    none: bool,
    /// The tenant's name or id
    #[arg(long)]
    tenant: String,
    #[command(flatten)]
    common: Common,
}

pub async fn run(verb: AgentVerb) -> Result<(), Failure> {
    match verb {
        AgentVerb::Add(args) => add(args).await,
        AgentVerb::List(args) => list(&args).await,
        AgentVerb::Suspend(args) => set_status(&args, AgentStatus::Suspended).await,
        AgentVerb::Activate(args) => set_status(&args, AgentStatus::Active).await,
        AgentVerb::Revoke(args) => set_status(&args, AgentStatus::Revoked).await,
        AgentVerb::Role(args) => set_roles(&args).await,
        AgentVerb::History(args) => promote::history(&args).await,
        AgentVerb::Promote(args) => promote::promote(&args).await,
    }
}

async fn add(args: AddAgent) -> Result<(), Failure> {
    let store = args.common.store().await?;
    let tenant = tenant_named(&store, &args.tenant).await?;
    let key = fresh_key(AGENT_KEY)?;
    let agent = NewAgent {
        name: args.name.unwrap_or_else(|| args.agent_id.to_string()),
        agent_id: args.agent_id,
        description: args.description,
        autonomy: args.autonomy,
        allowed_types: args.allowed_types,
        max_risk: args.max_risk,
        owner_name: args.owner_name,
        owner_email: args.owner_email,
        roles: checked(args.roles)?,
        registered_by: None,
    };
    let record = store.tenants().add_agent(tenant.id, &agent, &key.hash(), &key.prefix()).await?;
    let (id, status, autonomy) =
        (record.agent.agent_id.to_string(), word(record.status), record.agent.autonomy.as_str());
    let document = json!({"agent_id": id, "api_key": key.reveal(), "status": status, "autonomy_level": autonomy});
    let fields =
        [("agent_id", id.as_str()), ("api_key", key.reveal()), ("status", status), ("autonomy_level", autonomy)];
    args.common.output().fields(&document, &fields, "The key is not shown again: keep it now.")?;
    store.close().await;
    Ok(())
}

async fn list(args: &ListAgents) -> Result<(), Failure> {
    let store = args.common.store().await?;
    let tenant = tenant_named(&store, &args.tenant).await?;
    let agents = store.tenants().agents(tenant.id).await?;
    let head = ["AGENT", "NAME", "AUTONOMY", "ALLOWED", "MAX RISK", "ROLES", "STATUS"];
    let empty = format!(
        "{} has no agents yet: portreeve agent add AGENT_ID --tenant {} --autonomy A1",
        tenant.name, tenant.name
    );
    args.common.output().table(&agents, &head, agents.iter().map(row).collect(), &empty)?;
    store.close().await;
    Ok(())
}

fn row(record: &AgentRecord) -> Vec<String> {
    let agent = &record.agent;
    let allowed: Vec<_> = agent.allowed_types.iter().map(|kind| kind.as_str()).collect();
    let colour = if record.status == AgentStatus::Active { Colour::Green } else { Colour::Yellow };
    vec![
        plain(agent.agent_id.as_str()),
        plain(&agent.name),
        agent.autonomy.to_string(),
        if allowed.is_empty() { "any".into() } else { allowed.join(",") },
        agent.max_risk.to_string(),
        if agent.roles.is_empty() { "-".into() } else { plain(&agent.roles.join(",")) },
        painted(colour, word(record.status)),
    ]
}

async fn set_status(args: &OneAgent, status: AgentStatus) -> Result<(), Failure> {
    let store = args.common.store().await?;
    let tenant = tenant_named(&store, &args.tenant).await?;
    store.tenants().set_agent_status(tenant.id, &args.agent_id, status).await?;
    let document = json!({"agent_id": args.agent_id, "status": word(status)});
    args.common.output().answer(&document, || format!("{} is {}", args.agent_id, word(status)))?;
    store.close().await;
    Ok(())
}

async fn set_roles(args: &SetRoles) -> Result<(), Failure> {
    let store = args.common.store().await?;
    let tenant = tenant_named(&store, &args.tenant).await?;
    let roles = checked(args.roles.clone())?;
    store.tenants().set_agent_roles(tenant.id, &args.agent_id, &roles).await?;
    let config = args.common.place.config()?;
    let before = Note::new(Some(tenant.id), format!("agent {} given roles", args.agent_id));
    let who = operator().written();
    let told = json!({ "act": "roles", "agent": args.agent_id, "by": who, "roles": roles });
    let written = desk::without_rules(&store, &config).write_down(before, &told).await;
    written.map_err(|error| Failure::of(&error))?;
    let document = json!({"agent_id": args.agent_id, "roles": roles});
    let told = || match roles.is_empty() {
        true => format!("{} has no roles", args.agent_id),
        false => format!("{} is {}", args.agent_id, roles.join(", ")),
    };
    args.common.output().answer(&document, told)?;
    store.close().await;
    Ok(())
}

/// A role is a word, as rules write it.
pub(super) fn checked(roles: Vec<String>) -> Result<Vec<String>, Failure> {
    let fits = |letter: char| letter.is_alphanumeric() || "_-.:@/".contains(letter);
    let wrong = |role: &&String| role.is_empty() || role.len() > 128 || !role.chars().all(fits);
    match roles.iter().find(wrong) {
        Some(role) => {
            Err(Failure::new(format!("role `{}`: must be 1 to 128 letters, digits or any of _-.:@/", plain(role))))
        }
        None => Ok(roles),
    }
}

fn word(status: AgentStatus) -> &'static str {
    match status {
        AgentStatus::Active => "active",
        AgentStatus::Suspended => "suspended",
        AgentStatus::Revoked => "revoked",
    }
}
