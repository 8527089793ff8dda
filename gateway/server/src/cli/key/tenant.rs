//! A tenant's own keys: for a program that needs certain tools and is nobody's agent, and for people who administer.

use gateway_core::keys::{TENANT_KEY, names_somebody};
use gateway_core::ports::TenantKey;
use gateway_core::reach::{ADMIN, KeyScopes};
use serde_json::json;

use super::super::agent::checked;
use super::super::output::plain;
use super::super::{Common, Failure, tenant_named};
use super::{AddKey, fresh_key};

const LONGEST_NAME: usize = 255;
/// What a key for tools is called when nobody calls it anything.
const UNNAMED: &str = "unnamed";

pub async fn add(args: &AddKey) -> Result<(), Failure> {
    let (name, words) = described(args)?;
    let store = args.common.store().await?;
    let tenant = tenant_named(&store, &args.tenant).await?;
    let key = fresh_key(TENANT_KEY)?;
    let id = store.tenants().add_tenant_key(tenant.id, &name, &key.hash(), &words).await?.to_string();
    let document = json!({"key_id": id, "tenant": tenant.name, "name": name, "scopes": words, "api_key": key.reveal()});
    let (shown, scopes) = (plain(&name), plain(&words.join(", ")));
    let fields = [("key_id", id.as_str()), ("name", &shown), ("scopes", &scopes), ("api_key", key.reveal())];
    args.common.output().fields(&document, &fields, "The key is not shown again: keep it now.")?;
    store.close().await;
    Ok(())
}

/// The key's name and the words that are stored of it.
fn described(args: &AddKey) -> Result<(String, Vec<String>), Failure> {
    let name = args.name.as_deref().map(str::trim);
    if name.is_some_and(|name| name.is_empty() || name.len() > LONGEST_NAME || name.chars().any(char::is_control)) {
        return Err(Failure::new(format!("--name: must be 1 to {LONGEST_NAME} letters without control characters")));
    }
    if args.admin {
        let wrong = format!("--name: `{}` is nobody's name", plain(name.unwrap_or_default()));
        let hint =
            "name the person who will hold the key, as the owners of agents are named: an e-mail address, or a name";
        let name = name.filter(|name| names_somebody(name)).ok_or_else(|| Failure::new(wrong).with_hint(hint))?;
        return Ok((name.to_owned(), vec![ADMIN.to_owned()]));
    }
    let roles = checked(args.roles.clone())?;
    let words = KeyScopes::written(&args.scopes, &roles).map_err(|error| Failure::new(format!("--scopes: {error}")))?;
    Ok((name.unwrap_or(UNNAMED).to_owned(), words))
}

pub async fn list(tenant: &str, common: &Common) -> Result<(), Failure> {
    let store = common.store().await?;
    let tenant = tenant_named(&store, tenant).await?;
    let keys = store.tenants().tenant_keys(tenant.id).await?;
    let head = ["NAME", "ID", "SCOPES", "CREATED", "LAST USED", "ACTIVE"];
    let row = |key: &TenantKey| {
        let active = if key.is_active { "yes" } else { "no" };
        vec![
            plain(&key.name),
            key.id.to_string(),
            plain(&key.scopes.join(", ")),
            key.created_at.clone(),
            key.last_used_at.clone().unwrap_or_else(|| "-".into()),
            active.into(),
        ]
    };
    common.output().table(&keys, &head, keys.iter().map(row).collect(), "No keys.")?;
    store.close().await;
    Ok(())
}
