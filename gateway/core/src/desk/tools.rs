//! Tools as people decide about them: accepting a definition, and saying what a tool may do.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Desk, DeskError, Note, Who};
use crate::definitions::Standing;
use crate::manifest::{Contradiction, GOVERNANCE, Suggested, ToolManifest, suggested};
use crate::names::{TenantId, ToolName};
use crate::ports::{ManifestRow, PinRow, PinState, RegisteredTool};
use crate::trace::EventType;

impl Desk {
    /// Accepts a definition for everybody. Definitions are the upstream's and not a tenant's, so only an operator may.
    pub async fn accept_definition(&self, who: &Who, row: &PinRow, also: bool) -> Result<(), DeskError> {
        if who.tenant().is_some() {
            return Err(DeskError::Forbidden("definitions are accepted by the gateway's operator".into()));
        }
        let before: Vec<_> = self.pins.pins().await?.into_iter().filter(|other| other.tool == row.tool).collect();
        if !before.iter().any(|other| other.hash == row.hash) {
            return Err(DeskError::NotFound(format!("a definition of {} with the hash {}", row.tool, row.hash)));
        }
        self.pins.accept(&row.tool, &row.hash, &row.definition, who.name(), also).await?;
        let accepted: Vec<_> =
            before.iter().filter(|other| other.state == PinState::Accepted).map(|other| &other.hash).collect();
        let note = Note {
            event_type: EventType::Approval,
            ..Note::new(None, format!("the definition of {} was accepted", row.tool))
        };
        let context =
            json!({"tool": row.tool, "before": accepted, "accepted": row.hash, "also": also, "by": who.written()});
        self.write_down(note, &context).await?;
        Ok(())
    }
}

/// What a tenant says of a tool: the five fields, and beside them how its calls are handled.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenManifest {
    pub manifest: ToolManifest,
    #[serde(default)]
    pub handling: Option<Value>,
    #[serde(default)]
    pub metadata: Option<Value>,
}

/// A tenant with more manifests of its own than this has made a mistake.
pub const MOST_MANIFESTS: usize = 2000;

impl Desk {
    /// The tools a tenant has seen: what is said of each, how its definition stands, and what one might say of it.
    pub async fn tools(&self, tenant: TenantId) -> Result<Vec<Value>, DeskError> {
        let (chain, live) = self.in_force();
        let rules = live.rules_of(Some(tenant));
        let pins = self.pins.pins().await?;
        let trusted = (self.trusted)();
        let mut tools = Vec::new();
        let registered = self.registry.registered(tenant).await?;
        let version = |tool: &RegisteredTool| json!({"version": tool.version, "is_recommended": tool.is_recommended, "active": tool.is_active});
        for tool in registered.iter().filter(|tool| !tool.is_accepted_form()) {
            let versions: Vec<_> = registered.iter().filter(|other| other.name == tool.name).map(version).collect();
            let Ok(name) = tool.name.parse::<ToolName>() else { continue };
            let known = rules.tool(&name).or_else(|| chain.policies().tool(&name));
            let own: Vec<_> = pins.iter().filter(|row| row.tool == name).collect();
            let pin = match live.pins.standing(&name) {
                Standing::Quarantined => "quarantined",
                Standing::Pinned => "pinned",
                Standing::Unpinned | Standing::Unverified | Standing::Unlisted => "unpinned",
            };
            let findings: Vec<_> = own.iter().flat_map(|row| &row.findings).collect();
            let mut document = json!({
                "tool": name, "version": tool.version, "is_recommended": tool.is_recommended, "active": tool.is_active,
                "risk_level": tool.risk_level, "state": "classified", "pin": pin, "findings": findings,
                "versions": versions,
            });
            let about = |manifest: &ToolManifest, code: String| json!({"manifest": manifest, "classification": code});
            let (key, said) = match known {
                Some(known) => ("policy", about(&known.manifest, known.classification.code())),
                None => {
                    let is_trusted = trusted.iter().any(|one| one.as_str() == name.namespace());
                    let Suggested { manifest, classification, .. } =
                        suggested(&name, tool.metadata.get("annotations"), None, is_trusted);
                    ("suggestion", about(&manifest, classification.code()))
                }
            };
            if let Some(fields) = document.as_object_mut() {
                if known.is_none() {
                    fields.insert("state".into(), "unclassified".into());
                }
                fields.insert(key.into(), said);
            }
            tools.push(document);
        }
        Ok(tools)
    }

    pub async fn manifests(&self, tenant: TenantId) -> Result<Vec<ManifestRow>, DeskError> {
        Ok(self.policies.manifests(tenant).await?)
    }

    /// A tenant's own manifest: of a tool that nobody classified, or stricter than what the files say of it.
    pub async fn put_manifest(
        &self,
        who: &Who,
        tenant: TenantId,
        written: &WrittenManifest,
    ) -> Result<(), ManifestError> {
        let WrittenManifest { manifest, handling, metadata } = written;
        if let Some(wrong) = manifest.contradictions().into_iter().next() {
            return Err(ManifestError::Wrong(wrong));
        }
        let wrong = |field, what: String| ManifestError::Wrong(Contradiction { field, what });
        if manifest.governs() {
            return Err(wrong("domain", format!("`{GOVERNANCE}` is for the gateway's own tools")));
        }
        let (chain, _) = self.in_force();
        if let Some(known) = chain.policies().tool(&manifest.id) {
            let (own, files) = (manifest, &known.manifest);
            if own.risk_level < files.risk_level {
                let what =
                    format!("{} is below {}, which the gateway's own manifest says", own.risk_level, files.risk_level);
                return Err(wrong("risk_level", what));
            }
            if let Some(mode) = own.allowed_modes.iter().find(|mode| !files.allowed_modes.contains(mode)) {
                return Err(wrong(
                    "allowed_modes",
                    format!("{mode} is not among those the gateway's own manifest allows"),
                ));
            }
        }
        let before = self.policies.manifests(tenant).await.map_err(DeskError::from)?;
        let known = before.iter().any(|row| row.tool == manifest.id);
        if !known && before.len() >= MOST_MANIFESTS {
            let what = format!("a tenant has at most {MOST_MANIFESTS} manifests of its own");
            return Err(DeskError::Invalid(what).into());
        }
        let row = ManifestRow {
            tenant,
            tool: manifest.id.clone(),
            manifest: json!(manifest),
            handling: handling.clone(),
            metadata: metadata.clone(),
            written_by: who.written(),
            written_at: self.clock.now().to_string(),
        };
        // What would be refused when it is loaded is refused when it is written.
        (self.manifest)(&row, chain.policies().tool(&manifest.id)).map_err(ManifestError::Unsound)?;
        self.policies.put_manifest(&row).await.map_err(DeskError::from)?;
        let note = Note::new(Some(tenant), format!("the manifest of {} was written", manifest.id));
        self.write_down(note, &json!({"tool": manifest.id, "manifest": manifest, "handling": handling, "metadata": metadata, "by": who.written()})).await?;
        Ok(())
    }

    pub async fn remove_manifest(&self, who: &Who, tenant: TenantId, tool: &ToolName) -> Result<(), DeskError> {
        self.policies.remove_manifest(tenant, tool).await?;
        let note = Note::new(Some(tenant), format!("the manifest of {tool} was taken away"));
        self.write_down(note, &json!({"tool": tool, "by": who.written()})).await?;
        Ok(())
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    #[error(transparent)]
    Wrong(Contradiction),
    /// `handling.sql.dialect: is missing`: a place and what is wrong there.
    #[error("{0}")]
    Unsound(String),
    #[error(transparent)]
    Desk(#[from] DeskError),
}
