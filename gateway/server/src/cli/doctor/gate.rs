//! What scenarios stand on: directories for packs, and everybody who is asked for evidence.

use std::path::Path;
use std::sync::Arc;

use gateway_core::Principal;
use gateway_core::chain::EVIDENCE_QUERY;
use gateway_core::ports::Upstream;
use gateway_upstream::list_tools;

use super::PATIENCE;
use super::sheet::Sheet;
use crate::cli::failure::with_causes;
use crate::compose::tried;
use crate::config::{Config, EvidenceSource, GateProvider};

pub async fn look(config: &Config, sheet: &mut Sheet) {
    for root in &config.gate.runpacks {
        let shown = root.display();
        match writable(root) {
            Ok(true) => sheet.good("gate packs", format!("{shown} can be written")),
            Ok(false) => sheet.good("gate packs", format!("{shown} is made with the first pack")),
            Err(why) => {
                sheet.bad("gate packs", format!("{shown}: {why}"), "let the gateway write it (`gate.runpacks`)")
            }
        }
    }
    for provider in &config.gate.providers {
        let what = format!("gate evidence {}", provider.name);
        match tried(provider, config) {
            Err(error) => sheet.bad(what, error.to_string(), "correct `gate.providers`"),
            Ok(None) => sheet.good(what, described(provider)),
            Ok(Some(server)) => {
                match asked(provider, server.as_ref()).await {
                    Ok(()) => sheet.good(what, format!("answers `{EVIDENCE_QUERY}`")),
                    Err(why) => sheet.bad(what, why, "see that the server runs and has this tool (`gate.providers`)"),
                }
                server.stop().await;
            }
        }
    }
}

/// Whether it is there; an error where nothing could be written below it.
fn writable(root: &Path) -> Result<bool, String> {
    match std::fs::metadata(root) {
        Ok(found) if !found.is_dir() => Err("is no directory".into()),
        Ok(found) if found.permissions().readonly() => Err("cannot be written".into()),
        Ok(_) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error.to_string()),
    }
}

fn described(provider: &GateProvider) -> String {
    let signed = if provider.keys.is_some() { ", signed" } else { "" };
    let what = match &provider.source {
        EvidenceSource::Time { .. } => "the trigger's time".to_owned(),
        EvidenceSource::Environment { allowlist, .. } => format!("{} variables", allowlist.len()),
        EvidenceSource::Files { root, .. } => format!("files below {}", root.display()),
        EvidenceSource::Web { allowed_hosts, .. } => format!("{} hosts", allowed_hosts.len()),
        EvidenceSource::Adp => "approvals, chains and the matrix".to_owned(),
        EvidenceSource::Server { .. } => "a server".to_owned(),
    };
    format!("{what}{signed}")
}

async fn asked(provider: &GateProvider, server: &dyn Upstream) -> Result<(), String> {
    let EvidenceSource::Server { namespace, .. } = &provider.source else {
        return Ok(());
    };
    let nobody = Arc::new(Principal::anonymous());
    match tokio::time::timeout(PATIENCE, list_tools(server, namespace, &nobody)).await {
        Err(_) => Err(format!("did not answer within {} seconds", PATIENCE.as_secs())),
        Ok(Err(error)) => Err(with_causes(&error)),
        Ok(Ok(tools)) if tools.iter().any(|tool| tool.name.tool() == EVIDENCE_QUERY) => Ok(()),
        Ok(Ok(_)) => Err(format!("has no tool `{EVIDENCE_QUERY}`")),
    }
}
