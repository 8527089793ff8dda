//! `key add`, `key list`, `key revoke`, and how a key comes to be.

use clap::{Args, Subcommand};
use gateway_core::AgentId;
use gateway_core::keys::{AGENT_KEY, ApiKey};
use gateway_core::ports::StoredKey;
use rand::TryRngCore;
use rand::rngs::OsRng;
use serde_json::json;

use super::{Common, Failure, tenant_named};

#[derive(Debug, Subcommand)]
pub enum KeyVerb {
    /// Gives an agent another key and prints it, once
    Add(AgentKeys),
    /// An agent's keys, without the secret part
    List(AgentKeys),
    /// Ends a key at once
    Revoke(RevokeKey),
}

#[derive(Debug, Args)]
pub struct AgentKeys {
    agent_id: AgentId,
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
        KeyVerb::Add(args) => add(&args).await,
        KeyVerb::List(args) => list(&args).await,
        KeyVerb::Revoke(args) => revoke(&args).await,
    }
}

async fn add(args: &AgentKeys) -> Result<(), Failure> {
    let store = args.common.store().await?;
    let tenant = tenant_named(&store, &args.tenant).await?;
    let key = fresh_key(AGENT_KEY)?;
    let prefix = key.prefix();
    let id = store.tenants().add_key(tenant.id, &args.agent_id, &key.hash(), &prefix).await?.to_string();
    let document = json!({"agent_id": args.agent_id, "key_id": id, "prefix": prefix, "api_key": key.reveal()});
    let fields =
        [("agent_id", args.agent_id.as_str()), ("key_id", &id), ("prefix", &prefix), ("api_key", key.reveal())];
    args.common.output().fields(&document, &fields, "The key is not shown again: keep it now.")?;
    store.close().await;
    Ok(())
}

async fn list(args: &AgentKeys) -> Result<(), Failure> {
    let store = args.common.store().await?;
    let tenant = tenant_named(&store, &args.tenant).await?;
    let keys = store.tenants().keys(tenant.id, &args.agent_id).await?;
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
    let candidates = store.tenants().keys_starting(&args.prefix_or_id).await?;
    let key = the_one_meant(&args.prefix_or_id, &candidates)?;
    store.tenants().revoke_key(key.id).await?;
    let document = json!({"key_id": key.id, "prefix": key.prefix, "revoked": true});
    args.common.output().answer(&document, || format!("{} ({}…) is revoked", key.id, key.prefix))?;
    store.close().await;
    Ok(())
}

fn the_one_meant<'a>(text: &str, candidates: &'a [StoredKey]) -> Result<&'a StoredKey, Failure> {
    // A whole id means that key, even where it also begins another's prefix.
    if let Some(exact) = candidates.iter().find(|key| key.id.to_string() == text) {
        return Ok(exact);
    }
    match candidates {
        [] => Err(Failure::new(format!("no active key starts with `{text}`"))
            .with_hint("`portreeve key list AGENT_ID --tenant T` shows an agent's keys")),
        [only] => Ok(only),
        several => {
            let listed: Vec<_> = several
                .iter()
                .map(|key| format!("  {}  {}…  created {}", key.id, key.prefix, key.created_at))
                .collect();
            let line = format!("`{text}` could be any of {} keys; nothing was revoked", several.len());
            Err(Failure::new(line).with_hint(format!("give the id of the one you mean:\n{}", listed.join("\n"))))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use uuid::Uuid;

    use super::*;

    fn key(id: u128) -> StoredKey {
        StoredKey {
            id: Uuid::from_u128(id),
            prefix: "adp_sk_a".into(),
            created_at: "t".into(),
            last_used_at: None,
            revoked_at: None,
        }
    }

    #[test]
    fn only_one_key_can_be_meant() {
        let both = [key(1), key(2)];
        let failure = the_one_meant("adp_sk_a", &both).unwrap_err();
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
