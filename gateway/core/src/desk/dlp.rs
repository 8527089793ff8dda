//! What a tenant looks for in content: written, looked at, taken away.
//!
//! A row that cannot be followed refuses every call of its tenant, so what cannot be read is refused here, beside the rows
//! that are there, by the code that nodes load them with. Every change is in the tenant's operators' chain, without a word of
//! what is looked for: that may be a secret itself.

use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use super::{Desk, DeskError, Note, Who, own};
use crate::digest;
use crate::live::Broken;
use crate::names::TenantId;
use crate::ports::{DlpRow, NewDlpConfig};

/// More rows than this nobody looks through; each may hold many patterns.
pub const MOST_DLP_CONFIGS: usize = 100;
const LONGEST_NAME: usize = 255;

/// One row as people see it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DlpLine {
    pub id: Uuid,
    pub name: String,
    pub severity: String,
    pub active: bool,
    pub patterns: Value,
    /// Why it cannot be followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broken: Option<String>,
}

#[derive(Serialize)]
struct Told<'a> {
    act: &'static str,
    by: &'a str,
    dlp: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    patterns_hash: Option<String>,
    severity: &'a str,
}

impl Desk {
    /// The tenant's own, those that are switched off too.
    pub async fn dlp_of(&self, who: &Who, tenant: TenantId) -> Result<Vec<DlpLine>, DeskError> {
        own(who, tenant)?;
        let rows = self.policies.dlp_configs(tenant).await?;
        let broken = self.broken(&rows);
        Ok(rows.into_iter().map(|row| line(row, &broken)).collect())
    }

    /// In force on every node within a second.
    pub async fn add_dlp(&self, who: &Who, tenant: TenantId, new: &NewDlpConfig) -> Result<DlpLine, DeskError> {
        own(who, tenant)?;
        check_texts(new)?;
        let mut rows = self.policies.dlp_configs(tenant).await?;
        if rows.iter().any(|row| row.name == new.name) {
            return Err(DeskError::Conflict(format!("a dlp config `{}` already exists", new.name)));
        }
        if rows.len() >= MOST_DLP_CONFIGS {
            let what = format!("there are {MOST_DLP_CONFIGS} dlp configs already; remove some first");
            return Err(DeskError::Conflict(what));
        }
        let before = self.broken(&rows);
        rows.push(DlpRow {
            id: Uuid::nil(),
            tenant: Some(tenant),
            name: new.name.clone(),
            patterns: new.patterns.clone(),
            severity: new.severity.clone(),
            is_active: true,
        });
        if let Some(wrong) = self.broken(&rows).into_iter().find(|broken| !before.contains(broken)) {
            return Err(DeskError::Invalid(wrong.why));
        }
        let id = self.policies.add_dlp_config(tenant, new).await?;
        let added = self.dlp_named(who, tenant, &id.to_string()).await?;
        self.tell_dlp(who, tenant, &added, "added").await?;
        Ok(added)
    }

    /// `config` is its name or its id.
    pub async fn remove_dlp(&self, who: &Who, tenant: TenantId, config: &str) -> Result<DlpLine, DeskError> {
        let found = self.dlp_named(who, tenant, config).await?;
        self.policies.remove_dlp_config(tenant, found.id).await?;
        self.tell_dlp(who, tenant, &found, "removed").await?;
        Ok(DlpLine { active: false, ..found })
    }

    async fn dlp_named(&self, who: &Who, tenant: TenantId, config: &str) -> Result<DlpLine, DeskError> {
        let lines = self.dlp_of(who, tenant).await?;
        let mut found = lines.into_iter().filter(|line| line.name == config || line.id.to_string() == config);
        let Some(first) = found.next() else { return Err(DeskError::NotFound(format!("dlp config `{config}`"))) };
        match found.next() {
            // Rows made by hand may share a name.
            Some(_) => {
                Err(DeskError::Conflict(format!("there are several dlp configs `{config}`: name one by its id")))
            }
            None => Ok(first),
        }
    }

    fn broken(&self, rows: &[DlpRow]) -> Vec<Broken> {
        self.in_force().0.policies().dlp.check(rows)
    }

    async fn tell_dlp(&self, who: &Who, tenant: TenantId, line: &DlpLine, act: &'static str) -> Result<(), DeskError> {
        let patterns_hash = serde_json_canonicalizer::to_vec(&line.patterns).ok().map(|plain| digest::named(&plain));
        let told = Told { act, by: &who.written(), dlp: &line.name, patterns_hash, severity: &line.severity };
        self.write_down(Note::new(Some(tenant), format!("dlp config {} {act}", line.name)), &told).await?;
        Ok(())
    }
}

/// What no database keeps as it is, and what no list can show.
fn check_texts(new: &NewDlpConfig) -> Result<(), DeskError> {
    let invalid = |what: &str| Err(DeskError::Invalid(what.into()));
    if new.name.trim().is_empty() || new.name.chars().count() > LONGEST_NAME {
        return invalid("name: must have 1 to 255 letters");
    }
    if new.name.contains(char::is_control) {
        return invalid("name: must not hold line breaks or other control characters");
    }
    if holds_nul(&new.patterns) {
        return invalid("patterns: must not hold a NUL character");
    }
    Ok(())
}

fn holds_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(holds_nul),
        Value::Object(members) => members.iter().any(|(key, value)| key.contains('\0') || holds_nul(value)),
        _ => false,
    }
}

fn line(row: DlpRow, broken: &[Broken]) -> DlpLine {
    let told = Broken::dlp(&row.name, "").policy;
    let why = broken.iter().find(|broken| broken.policy == told).map(|broken| broken.why.clone());
    DlpLine {
        id: row.id,
        broken: why.filter(|_| row.is_active),
        name: row.name,
        severity: row.severity.unwrap_or_else(|| "medium".into()),
        active: row.is_active,
        patterns: row.patterns,
    }
}
