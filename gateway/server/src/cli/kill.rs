//! `kill` and `restore`: the switch that stops an agent, a tool, an upstream or a tenant on every node, and undoes it.
//!
//! It needs the store and nothing else: broken policies or a gateway that does not start must not keep anybody from it.

use clap::Args;
use gateway_core::desk::{Target, Who};
use gateway_core::live::{Suspension, SuspensionKind};
use gateway_store::Store;
use serde_json::json;

use super::output::{Colour, painted, plain};
use super::{Common, Failure, tenant_named};
use crate::desk;

#[derive(Debug, Args)]
pub struct KillArgs {
    /// What is stopped: agent, tool, upstream or tenant
    #[arg(required_unless_present = "list")]
    kind: Option<SuspensionKind>,
    /// An agent's id, NAMESPACE/TOOL, a namespace, or a tenant's name or id
    #[arg(required_unless_present = "list")]
    subject: Option<String>,
    /// Only for this tenant, by name or id; without it, for all
    #[arg(long)]
    tenant: Option<String>,
    /// Why; callers are told and the chain keeps it
    #[arg(long)]
    reason: Option<String>,
    /// Stop nothing: show what is stopped
    #[arg(long, conflicts_with_all = ["kind", "subject", "reason"])]
    list: bool,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Args)]
pub struct RestoreArgs {
    /// What goes on: agent, tool, upstream or tenant
    kind: SuspensionKind,
    /// As it was given to `kill`
    subject: String,
    /// As it was given to `kill`
    #[arg(long)]
    tenant: Option<String>,
    #[command(flatten)]
    common: Common,
}

pub async fn kill(args: KillArgs) -> Result<(), Failure> {
    let config = args.common.place.config()?;
    let store = args.common.store().await?;
    let (Some(kind), Some(subject)) = (args.kind, args.subject) else {
        let listed = list(&args.common, &store, args.tenant.as_deref()).await;
        store.close().await;
        return listed;
    };
    let target = target(&store, kind, subject, args.tenant.as_deref()).await?;
    let suspended = desk::without_rules(&store, &config).suspend(&operator(), target, args.reason).await;
    let suspended = suspended.map_err(|error| Failure::of(&error))?;
    let told = format!(
        "{} {} is suspended; every node refuses it within a second",
        suspended.kind,
        plain(&shown(&store, &suspended).await)
    );
    args.common.output().answer(&suspended, || told)?;
    store.close().await;
    Ok(())
}

pub async fn restore(args: RestoreArgs) -> Result<(), Failure> {
    let config = args.common.place.config()?;
    let store = args.common.store().await?;
    let target = target(&store, args.kind, args.subject, args.tenant.as_deref()).await?;
    let lifted = desk::without_rules(&store, &config).restore_target(&operator(), target).await;
    let lifted =
        lifted.map_err(|error| Failure::of(&error).with_hint("`portreeve kill --list` shows what is stopped"))?;
    let told = format!("{} {} goes on", lifted.kind, plain(&shown(&store, &lifted).await));
    args.common.output().answer(&json!({ "restored": lifted }), || told)?;
    store.close().await;
    Ok(())
}

async fn list(common: &Common, store: &Store, tenant: Option<&str>) -> Result<(), Failure> {
    let tenant = match tenant {
        Some(name) => Some(tenant_named(store, name).await?.id),
        None => None,
    };
    let suspensions = store.standing().suspensions(tenant).await?;
    let mut rows = Vec::with_capacity(suspensions.len());
    for one in &suspensions {
        let tenant = match one.tenant {
            Some(id) => name_of(store, &id.to_string()).await,
            None => "all".into(),
        };
        rows.push(vec![
            painted(Colour::Red, one.kind.as_str()),
            plain(&shown(store, one).await),
            plain(&tenant),
            one.since.clone(),
            plain(&one.by),
            plain(one.reason.as_deref().unwrap_or("-")),
        ]);
    }
    let head = ["KIND", "SUBJECT", "TENANT", "SINCE", "BY", "REASON"];
    common.output().table(&suspensions, &head, rows, "Nothing is stopped.")
}

async fn target(store: &Store, kind: SuspensionKind, subject: String, tenant: Option<&str>) -> Result<Target, Failure> {
    let tenant = match tenant {
        Some(_) if kind == SuspensionKind::Tenant => {
            return Err(Failure::new("--tenant: a tenant is stopped whole; name it as SUBJECT alone"));
        }
        Some(name) => Some(tenant_named(store, name).await?.id),
        None => None,
    };
    Ok(Target { kind, subject, tenant })
}

/// A tenant by its name: people do not know its id.
async fn shown(store: &Store, one: &Suspension) -> String {
    match one.kind {
        SuspensionKind::Tenant => name_of(store, &one.subject).await,
        _ => one.subject.clone(),
    }
}

async fn name_of(store: &Store, id: &str) -> String {
    store.tenants().tenant(id).await.map_or_else(|_| id.to_owned(), |tenant| tenant.name)
}

/// Who sits at this machine.
pub fn operator() -> Who {
    let name = ["SUDO_USER", "USER", "LOGNAME"].into_iter().find_map(|name| std::env::var(name).ok());
    let name = name.filter(|name| !name.is_empty() && name.chars().all(|letter| !letter.is_control()));
    Who::Operator(name.unwrap_or_else(|| "unknown".into()))
}
