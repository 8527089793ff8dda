//! The Decision Gate: its providers, its shelves, and the settings in force.

mod server;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use gateway_core::Policies;
use gateway_core::approvals::Terms;
use gateway_core::evidence::EvidenceDesk;
use gateway_core::matrix::Matrix;
use gateway_core::ports::{Approvals, AuditBuffer, GateStore, Ledger, TenantStore, Upstream};
use gateway_store::{DirectoryShelves, Store};
use gateway_tools::gate::{GateSettings, Ports};
use gateway_tools::{BuiltinServer, gate};
use gateway_upstream::Commons;
use gateway_upstream::evidence::{
    AdpPorts, EnvironmentSettings, FileSettings, Kind, ProviderSettings, Settings, Switches, WebSettings, providers,
};

use super::ComposeError;
use crate::clock::SystemClock;
use crate::config::{Config, EvidenceSource, GateProvider};

/// What runs are kept in, and what evidence out of the gateway's own records is made from.
#[derive(Clone)]
pub struct Records {
    runs: Arc<dyn GateStore>,
    tenants: Arc<dyn TenantStore>,
    approvals: Arc<dyn Approvals>,
    ledger: Arc<dyn Ledger>,
    audit: Arc<dyn AuditBuffer>,
    matrix: Arc<ArcSwap<Matrix>>,
    /// Where servers that are asked for evidence do what is not for one caller alone.
    commons: Commons,
}

impl Records {
    pub fn new(store: &Store, audit: Arc<dyn AuditBuffer>, matrix: Arc<ArcSwap<Matrix>>, commons: Commons) -> Self {
        Self {
            runs: store.gate(),
            tenants: store.tenants(),
            approvals: store.approvals(),
            ledger: store.ledger(),
            audit,
            matrix,
            commons,
        }
    }
}

/// The settings in force. Runs under way see changed ones at their next trigger.
pub struct GateRoom {
    current: Arc<ArcSwap<GateSettings>>,
    records: Records,
}

impl GateRoom {
    pub fn new(config: &Config, policies: &Policies, records: Records) -> Result<Self, ComposeError> {
        let current = Arc::new(ArcSwap::from_pointee(settings(config, policies, &records)?));
        Ok(Self { current, records })
    }

    pub fn reload(&self, config: &Config, policies: &Policies) -> Result<(), ComposeError> {
        self.current.store(Arc::new(settings(config, policies, &self.records)?));
        Ok(())
    }

    pub fn server(&self) -> Result<BuiltinServer, ComposeError> {
        let current = Arc::clone(&self.current);
        let (runs, tenants) = (Arc::clone(&self.records.runs), Arc::clone(&self.records.tenants));
        Ok(gate::server(Ports { runs, tenants, settings: Arc::new(move || current.load_full()) })?)
    }
}

fn settings(config: &Config, policies: &Policies, records: &Records) -> Result<GateSettings, ComposeError> {
    let own = &config.gate;
    let terms = super::settings(config).approvals;
    let made = own.providers.iter().map(|provider| provider_settings(provider, config, records, &terms));
    let switches = Switches { lexicographic: own.lexicographic, deep: own.deep_equals };
    let providers = providers(Settings { providers: made.collect::<Result<_, _>>()?, switches })
        .map_err(|error| ComposeError::Gate(error.to_string()))?;
    Ok(GateSettings {
        evidence: EvidenceDesk::new(providers, own.anchors.clone(), own.disclosure),
        dispatch: own.dispatch.clone(),
        shelves: Arc::new(DirectoryShelves::new(own.runpacks.clone())),
        files: policies.scenarios.clone(),
    })
}

fn provider_settings(
    provider: &GateProvider,
    config: &Config,
    records: &Records,
    terms: &Terms,
) -> Result<ProviderSettings, ComposeError> {
    let kind = match kind(provider, config, &records.commons)? {
        Some(kind) => kind,
        None => Kind::Adp(adp(records, terms.clone())),
    };
    let keys = provider.keys.as_ref().map(|files| read_keys(&provider.name, files)).transpose()?;
    Ok(ProviderSettings { name: provider.name.clone(), kind, keys, allow_raw: provider.allow_raw })
}

/// Everything about a provider but the gateway's own records.
fn kind(provider: &GateProvider, config: &Config, commons: &Commons) -> Result<Option<Kind>, ComposeError> {
    Ok(Some(match provider.source.clone() {
        EvidenceSource::Time { allow_logical } => Kind::Time { allow_logical },
        EvidenceSource::Environment { allowlist, denylist, overrides } => {
            Kind::Environment(EnvironmentSettings { allowlist, denylist, overrides })
        }
        EvidenceSource::Files { root, root_id, max_bytes, allow_yaml } => {
            Kind::Files(FileSettings { root, root_id, max_bytes, allow_yaml })
        }
        EvidenceSource::Web { allowed_hosts, allow_http, timeout, max_response_bytes } => {
            Kind::Web(WebSettings { allowed_hosts, allow_http, timeout, max_response_bytes })
        }
        EvidenceSource::Adp => return Ok(None),
        EvidenceSource::Server { namespace, upstream, capabilities, newer } => {
            Kind::Server(server::server(&namespace, &upstream, &capabilities, newer, config, commons)?)
        }
    }))
}

/// A provider for whoever only looks: whether it can be set up, and the server behind it where there is one.
pub fn tried(provider: &GateProvider, config: &Config) -> Result<Option<Arc<dyn Upstream>>, ComposeError> {
    let Some(kind) = kind(provider, config, &Commons::default())? else {
        return Ok(None);
    };
    let server = match &kind {
        Kind::Server(settings) => Some(Arc::clone(&settings.upstream)),
        _ => None,
    };
    let keys = provider.keys.as_ref().map(|files| read_keys(&provider.name, files)).transpose()?;
    let alone = ProviderSettings { name: provider.name.clone(), kind, keys, allow_raw: provider.allow_raw };
    providers(Settings { providers: vec![alone], switches: Switches::default() })
        .map_err(|error| ComposeError::Gate(error.to_string()))?;
    Ok(server)
}

fn adp(records: &Records, terms: Terms) -> AdpPorts {
    let Records { tenants, approvals, ledger, audit, matrix, .. } = records.clone();
    AdpPorts {
        approvals,
        tenants,
        ledger,
        audit,
        clock: Arc::new(SystemClock),
        matrix: Arc::new(move || matrix.load_full()),
        terms: Arc::new(move || terms.clone()),
    }
}

fn read_keys(provider: &str, files: &BTreeMap<String, PathBuf>) -> Result<BTreeMap<String, Vec<u8>>, ComposeError> {
    let read = |(id, file): (&String, &PathBuf)| match std::fs::read(file) {
        Ok(bytes) => Ok((id.clone(), bytes)),
        Err(error) => Err(unread(provider, id, file, &error)),
    };
    files.iter().map(read).collect()
}

fn unread(provider: &str, id: &str, file: &Path, error: &std::io::Error) -> ComposeError {
    ComposeError::Gate(format!("provider `{provider}`: key `{id}`: `{}` cannot be read: {error}", file.display()))
}
