//! `doctor`: everything a gateway stands on, looked at once, and what to do about what is wrong.
//!
//! Unlike `check` it opens the store and asks every upstream. It changes nothing but the store's schema, which is brought up to
//! date as at any start.

mod gate;
mod sheet;

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use futures::future::join_all;
use gateway_core::Principal;
use gateway_core::ports::{AgentStatus, StoreError, TenantStore};
use gateway_store::Store;
use gateway_upstream::{Member, list_tools};

use super::failure::with_causes;
use super::{Common, Failure};
use crate::compose::{self, Configured, shown};
use crate::config::{Config, Supabase};
use crate::policy_files::load_for;
use sheet::Sheet;

/// However patient the configuration is: somebody is looking at the screen.
const PATIENCE: Duration = Duration::from_secs(20);
/// Nodes on one store compare their clocks with each other's writing; a little is no harm.
const CLOCKS_MAY_DIFFER: Duration = Duration::from_secs(5);

#[derive(Debug, Args)]
pub struct DoctorArgs {
    #[command(flatten)]
    common: Common,
}

pub async fn run(args: &DoctorArgs) -> Result<(), Failure> {
    let mut sheet = Sheet::default();
    // A configuration that cannot be read leaves nothing to look at.
    let config = args.common.place.config()?;
    configuration(&config, &mut sheet);
    policies(&config, &mut sheet);
    certificates(&config, &mut sheet);
    store(&config, &mut sheet).await;
    upstreams(&config, &mut sheet).await;
    gate::look(&config, &mut sheet).await;
    built_in(&config, &mut sheet).await;
    sheet.tell(&args.common.output())?;
    match sheet.failed() {
        0 => Ok(()),
        1 => Err(Failure::new("one thing needs attention")),
        count => Err(Failure::new(format!("{count} things need attention"))),
    }
}

fn configuration(config: &Config, sheet: &mut Sheet) {
    let missing = config.missing_files();
    let file = config.file.as_ref().map_or("the built-in default".into(), |file| file.display().to_string());
    if missing.is_empty() {
        sheet.good("configuration", format!("{file}: {} upstreams", config.upstreams.len()));
    }
    for problem in missing {
        sheet.bad("configuration", problem.to_string(), "correct the path, or put the file there");
    }
}

fn policies(config: &Config, sheet: &mut Sheet) {
    match load_for(config) {
        Ok(loaded) => {
            let (tools, digest) = (loaded.policies.tools.len(), &loaded.policies.digest);
            sheet.good("policies", format!("{tools} classified tools, {digest}"));
        }
        Err(problems) => {
            for problem in problems {
                sheet.bad("policies", problem.to_string(), "correct the file; `portreeve check` says when it is right");
            }
        }
    }
}

fn certificates(config: &Config, sheet: &mut Sheet) {
    let Some(tls) = &config.listen.tls else {
        if config.listen.mcp.ip().is_loopback() {
            sheet.good("certificates", "none needed: only this machine is listened to");
        } else {
            let what = format!("{} is reachable from other machines and keys travel in clear", config.listen.mcp);
            sheet.doubtful("certificates", what, "set `listen.tls`, or listen on a loopback address");
        }
        return;
    };
    match crate::tls::settings(tls) {
        Ok(_) => sheet.good("certificates", format!("{} can be used", tls.cert.display())),
        Err(error) => sheet.bad("certificates", error.to_string(), "give PEM files that belong together"),
    }
}

async fn store(config: &Config, sheet: &mut Sheet) {
    let store = match Store::open(config.store.reveal()).await {
        Ok(store) => store,
        Err(error) => {
            return sheet.bad("store", with_causes(&error), "start the database, or correct `store.url`");
        }
    };
    match store.ping().await {
        Ok(()) => sheet.good("store", "answers, and its schema is up to date"),
        Err(error) => sheet.bad("store", with_causes(&error), "look at the database's own log"),
    }
    match store.time().await {
        Ok(theirs) => clock(theirs, sheet),
        Err(error) => sheet.bad("clock", with_causes(&error), "look at the database's own log"),
    }
    match active_keys(store.tenants().as_ref()).await {
        Ok((0, _)) => sheet.doubtful("keys", "there is no tenant yet", "`portreeve tenant add NAME`"),
        Ok((_, 0)) => sheet.doubtful(
            "keys",
            "no active agent has a key, so nobody can call",
            "`portreeve agent add AGENT_ID --tenant NAME --autonomy A1`",
        ),
        Ok((tenants, agents)) => sheet.good("keys", format!("{agents} agents with a key, {tenants} tenants")),
        Err(error) => sheet.bad("keys", with_causes(&error), "look at the database's own log"),
    }
    store.close().await;
}

/// The database that the built-in `supabase` server reads, where there is one.
async fn built_in(config: &Config, sheet: &mut Sheet) {
    let Supabase::Complete(complete) = &config.supabase else { return };
    let remedy = "start the database, or correct `built_in.supabase` or SUPABASE_URL";
    match compose::readable(complete) {
        Ok(database) => match database.ping().await {
            Ok(()) => sheet.good("supabase", "its database answers"),
            Err(error) => sheet.bad("supabase", with_causes(&error), remedy),
        },
        Err(error) => sheet.bad("supabase", error.to_string(), remedy),
    }
}

fn clock(theirs: jiff::Timestamp, sheet: &mut Sheet) {
    let apart = jiff::Timestamp::now().duration_since(theirs).unsigned_abs();
    if apart <= CLOCKS_MAY_DIFFER {
        return sheet.good("clock", "agrees with the store's");
    }
    let what = format!("is {} seconds away from the store's", apart.as_secs());
    sheet.bad("clock", what, "let both machines take the time from the same server");
}

/// How many tenants there are, and how many active agents with a key that is not revoked.
async fn active_keys(tenants: &dyn TenantStore) -> Result<(usize, usize), StoreError> {
    let all = tenants.tenants().await?;
    let mut able = 0;
    for tenant in &all {
        for agent in tenants.agents(tenant.id).await? {
            if agent.status != AgentStatus::Active {
                continue;
            }
            let keys = tenants.keys(tenant.id, &agent.agent.agent_id).await?;
            able += usize::from(keys.iter().any(|key| key.revoked_at.is_none()));
        }
    }
    Ok((all.len(), able))
}

async fn upstreams(config: &Config, sheet: &mut Sheet) {
    // Whoever only looks accepts no definition.
    let configured = match Configured::default().changed_to(config, &Arc::default()) {
        Ok(configured) => configured,
        Err(error) => return sheet.bad("upstreams", error.to_string(), "correct the configuration"),
    };
    let (addresses, members) = (configured.addresses(), configured.members());
    let found = join_all(members.iter().map(ask)).await;
    for (member, found) in members.iter().zip(found) {
        let namespace = &member.namespace;
        let spoken = member.upstream.spoken();
        let entry = shown(namespace, addresses.get(namespace).cloned(), &spoken);
        let what = format!("upstream {namespace}");
        match found {
            Ok(tools) => {
                let speaks = if entry.revisions.is_empty() {
                    "an unknown revision".into()
                } else {
                    entry.revisions.join(" and ")
                };
                sheet.good(what, format!("{}, speaks {speaks}, {tools} tools", entry.transport));
            }
            Err(why) => {
                let place = entry.address.as_deref().unwrap_or_default();
                sheet.bad(what, why, format!("see that `{place}` runs and is the right one (`upstreams.{namespace}`)"));
            }
        }
        sheet.upstream(entry);
    }
    join_all(members.iter().map(|member| member.upstream.stop())).await;
}

/// How many tools it has, asked the way callers would be answered.
async fn ask(member: &Member) -> Result<usize, String> {
    let nobody = Arc::new(Principal::anonymous());
    let asking = list_tools(member.upstream.as_ref(), &member.namespace, &nobody);
    match tokio::time::timeout(PATIENCE, asking).await {
        Ok(Ok(tools)) => Ok(tools.len()),
        Ok(Err(error)) => Err(with_causes(&error)),
        Err(_) => Err(format!("did not answer within {} seconds", PATIENCE.as_secs())),
    }
}
