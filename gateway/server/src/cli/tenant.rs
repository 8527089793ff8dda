//! `tenant add`, `tenant list`.

use clap::{Args, Subcommand};
use gateway_core::keys::{NOBODYS, TENANT_KEY};
use gateway_core::reach::ADMIN;
use serde_json::json;

use super::key::fresh_key;
use super::output::plain;
use super::{Common, Failure};

#[derive(Debug, Subcommand)]
pub enum TenantVerb {
    /// Adds a tenant and prints its administration key, once
    Add(AddTenant),
    /// All tenants
    List(Common),
}

#[derive(Debug, Args)]
pub struct AddTenant {
    name: String,
    #[command(flatten)]
    common: Common,
}

pub async fn run(verb: TenantVerb) -> Result<(), Failure> {
    match verb {
        TenantVerb::Add(args) => add(&args).await,
        TenantVerb::List(common) => list(&common).await,
    }
}

async fn add(args: &AddTenant) -> Result<(), Failure> {
    if args.name.trim().is_empty() || args.name.chars().any(char::is_control) {
        return Err(Failure::new("NAME must not be empty or hold control characters"));
    }
    let store = args.common.store().await?;
    let key = fresh_key(TENANT_KEY)?;
    let tenant = store.tenants().add_tenant(&args.name).await?;
    store.tenants().add_tenant_key(tenant.id, NOBODYS, &key.hash(), &[ADMIN.to_owned()]).await?;
    let id = tenant.id.to_string();
    let document = json!({"id": id, "name": tenant.name, "admin_key": key.reveal()});
    let fields = [("id", id.as_str()), ("name", &tenant.name), ("admin_key", key.reveal())];
    args.common.output().fields(&document, &fields, "The key is not shown again: keep it now.")?;
    store.close().await;
    Ok(())
}

async fn list(common: &Common) -> Result<(), Failure> {
    let store = common.store().await?;
    let tenants = store.tenants().tenants().await?;
    let rows = tenants
        .iter()
        .map(|tenant| vec![plain(&tenant.name), tenant.id.to_string(), tenant.created_at.clone()])
        .collect();
    common.output().table(
        &tenants,
        &["NAME", "ID", "CREATED"],
        rows,
        "There are no tenants yet: portreeve tenant add NAME",
    )?;
    store.close().await;
    Ok(())
}
