//! `key add`, `key list`, `key revoke`, and how a key comes to be.
//!
//! Keys are made on the operator's machine alone: an administrator who could make another over the API would be their own second
//! pair of eyes.

mod tenant;

use clap::{Args, Subcommand};
use gateway_core::AgentId;
use gateway_core::keys::{AGENT_KEY, ApiKey};
use gateway_core::ports::{StoredKey, TenantKey};
use rand::TryRngCore;
use rand::rngs::OsRng;
use serde_json::json;
use uuid::Uuid;

use super::output::plain;
use super::{Common, Failure, tenant_named};

#[derive(Debug, Subcommand)]
pub enum KeyVerb {
    /// Gives an agent another key, or a tenant one of its own, and prints it, once
    Add(AddKey),
    /// An agent's keys, or a tenant's own, without the secret part
    List(ListKeys),
    /// Ends a key at once
    Revoke(RevokeKey),
}

#[derive(Debug, Args)]
pub struct AddKey {
    /// Whose key it is; without it, the tenant's own: see --scopes and --admin
    #[arg(required_unless_present_any = ["scopes", "admin"], conflicts_with_all = ["scopes", "admin", "name", "roles"])]
    agent_id: Option<AgentId>,
    /// The tenant's name or id
    #[arg(long)]
    tenant: String,
    /// The tools that a key of the tenant lists and calls, and no others: NAMESPACE/TOOL, with `*` at the beginning or end
    #[arg(long, value_delimiter = ',', value_name = "notes/*,crm/get_*")]
    scopes: Vec<String>,
    /// An administrator's key for one person, who must be named
    #[arg(long, requires = "name", conflicts_with_all = ["scopes", "roles"])]
    admin: bool,
    /// Who holds it: what decides and is written down as who decided
    #[arg(long)]
    name: Option<String>,
    /// What access policies know it by; may be given several times
    #[arg(long = "role", value_name = "ROLE")]
    roles: Vec<String>,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Args)]
pub struct ListKeys {
    /// Whose keys; without it, the tenant's own
    agent_id: Option<AgentId>,
    /// The tenant's name or id
    #[arg(long)]
    tenant: String,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Args)]
pub struct RevokeKey {
    /// The key's id or the start of it, or its prefix where no other key has the same
    prefix_or_id: String,
    #[command(flatten)]
    common: Common,
}

/// 256 bits from the operating system.
pub fn fresh_key(kind: &str) -> Result<ApiKey, Failure> {
    let mut random = [0; 32];
    OsRng
        .try_fill_bytes(&mut random)
        .map_err(|error| Failure::new(format!("the system gives no random numbers: {error}")))?;
    Ok(ApiKey::from_random(kind, random))
}

pub async fn run(verb: KeyVerb) -> Result<(), Failure> {
    match verb {
        KeyVerb::Add(args) => match &args.agent_id {
            Some(agent) => add(&args, agent).await,
            None => tenant::add(&args).await,
        },
        KeyVerb::List(args) => match &args.agent_id {
            Some(agent) => list(&args, agent).await,
            None => tenant::list(&args.tenant, &args.common).await,
        },
        KeyVerb::Revoke(args) => revoke(&args).await,
    }
}

async fn add(args: &AddKey, agent: &AgentId) -> Result<(), Failure> {
    let store = args.common.store().await?;
    let tenant = tenant_named(&store, &args.tenant).await?;
    let key = fresh_key(AGENT_KEY)?;
    let prefix = key.prefix();
    let id = store.tenants().add_key(tenant.id, agent, &key.hash(), &prefix).await?.to_string();
    let document = json!({"agent_id": agent, "key_id": id, "prefix": prefix, "api_key": key.reveal()});
    let fields = [("agent_id", agent.as_str()), ("key_id", &id), ("prefix", &prefix), ("api_key", key.reveal())];
    args.common.output().fields(&document, &fields, "The key is not shown again: keep it now.")?;
    store.close().await;
    Ok(())
}

async fn list(args: &ListKeys, agent: &AgentId) -> Result<(), Failure> {
    let store = args.common.store().await?;
    let tenant = tenant_named(&store, &args.tenant).await?;
    let keys = store.tenants().keys(tenant.id, agent).await?;
    let head = ["PREFIX", "ID", "CREATED", "LAST USED", "REVOKED"];
    let or_dash = |time: &Option<String>| time.clone().unwrap_or_else(|| "-".into());
    let row = |key: &StoredKey| {
        vec![
            key.prefix.clone(),
            key.id.to_string(),
            key.created_at.clone(),
            or_dash(&key.last_used_at),
            or_dash(&key.revoked_at),
        ]
    };
    args.common.output().table(&keys, &head, keys.iter().map(row).collect(), "No keys.")?;
    store.close().await;
    Ok(())
}

async fn revoke(args: &RevokeKey) -> Result<(), Failure> {
    let store = args.common.store().await?;
    let tenants = store.tenants();
    let agents = tenants.keys_starting(&args.prefix_or_id).await?.into_iter().map(Candidate::from);
    let own = tenants.tenant_keys_starting(&args.prefix_or_id).await?.into_iter().map(Candidate::from);
    let candidates: Vec<_> = agents.chain(own).collect();
    let key = the_one_meant(&args.prefix_or_id, &candidates)?;
    tenants.revoke_key(key.id).await?;
    let document = match &key.name {
        None => json!({"key_id": key.id, "prefix": key.prefix, "revoked": true}),
        Some(name) => json!({"key_id": key.id, "name": name, "revoked": true}),
    };
    args.common.output().answer(&document, || format!("{} ({}) is revoked", key.id, key.known_by()))?;
    store.close().await;
    Ok(())
}

/// A key that a text may mean: an agent's has a prefix, a tenant's a name.
struct Candidate {
    id: Uuid,
    prefix: Option<String>,
    name: Option<String>,
    created_at: String,
}

impl Candidate {
    fn known_by(&self) -> String {
        match (&self.prefix, &self.name) {
            (Some(prefix), _) => format!("{prefix}…"),
            (None, name) => plain(name.as_deref().unwrap_or("-")),
        }
    }
}

impl From<StoredKey> for Candidate {
    fn from(key: StoredKey) -> Self {
        Self { id: key.id, prefix: Some(key.prefix), name: None, created_at: key.created_at }
    }
}

impl From<TenantKey> for Candidate {
    fn from(key: TenantKey) -> Self {
        Self { id: key.id, prefix: None, name: Some(key.name), created_at: key.created_at }
    }
}

fn the_one_meant<'a>(text: &str, candidates: &'a [Candidate]) -> Result<&'a Candidate, Failure> {
    // A whole id means that key, even where it also begins another's prefix.
    if let Some(exact) = candidates.iter().find(|key| key.id.to_string() == text) {
        return Ok(exact);
    }
    match candidates {
        [] => Err(Failure::new(format!("no active key starts with `{text}`")).with_hint(
            "`portreeve key list AGENT_ID --tenant T` shows an agent's keys, without AGENT_ID the tenant's own",
        )),
        [only] => Ok(only),
        several => {
            let listed: Vec<_> = several
                .iter()
                .map(|key| format!("  {}  {}  created {}", key.id, key.known_by(), key.created_at))
                .collect();
            let line = format!("`{text}` could be any of {} keys; nothing was revoked", several.len());
            Err(Failure::new(line).with_hint(format!("give the id of the one you mean:\n{}", listed.join("\n"))))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn key(id: u128) -> Candidate {
        Candidate { id: Uuid::from_u128(id), prefix: Some("adp_sk_a".into()), name: None, created_at: "t".into() }
    }

    #[test]
    fn only_one_key_can_be_meant() {
        let both = [key(1), key(2)];
        let failure = the_one_meant("adp_sk_a", &both).err().unwrap();
        let told = format!("{failure:?}");
        assert!(both.iter().all(|key| told.contains(&key.id.to_string())), "{told}");
        assert_eq!(the_one_meant(&key(2).id.to_string(), &both).unwrap().id, key(2).id);
        assert_eq!(the_one_meant("adp_sk_a", &[key(3)]).unwrap().id, key(3).id);
        assert!(the_one_meant("adp_sk_b", &[]).is_err());
    }

    #[test]
    fn keys_are_fresh() {
        let (one, other) = (fresh_key(AGENT_KEY).unwrap(), fresh_key(AGENT_KEY).unwrap());
        assert_ne!(one.reveal(), other.reveal());
        assert!(one.reveal().starts_with("adp_sk_"));
    }
}
