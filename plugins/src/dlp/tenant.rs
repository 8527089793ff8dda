//! A tenant's own rules: active rows of `dlp_config`, each a list of regular expressions, dictionaries, and words on what
//! shipped rules do.

mod written;

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use gateway_core::ToolName;
use gateway_core::content::Action;
use gateway_core::digest;
use gateway_core::dlp::DlpSet;
use gateway_core::live::{Broken, TenantRules};
use gateway_core::ports::DlpRow;
use gateway_dlp::{Detectors, Rule, Severity, WrittenDetector};

use super::rules::{ByRule, DlpRules, named};
use super::scope::Way;
use written::{Meant, OwnRule, Read, read_row, slug};

/// One tenant's rows, compiled.
pub struct TenantDlp {
    detectors: Option<Detectors>,
    /// Beside each rule of `detectors`.
    own: Vec<OwnRule>,
    /// What shipped rules do, by which calls it is meant for.
    words: Vec<(Meant, ByRule)>,
    digest: String,
}

/// What a tenant's rows come to beside these rules of the operator's. A row that cannot be followed is broken: what it was
/// meant to hide would pass otherwise.
pub fn compile_rows(rows: &[DlpRow], operator: &Arc<dyn DlpSet>) -> (Option<Arc<dyn DlpSet>>, Vec<Broken>) {
    let (made, broken) = compile(rows, &DlpRules::of(operator));
    (made.map(|made| Arc::new(made) as Arc<dyn DlpSet>), broken)
}

pub(super) fn compile(rows: &[DlpRow], operator: &DlpRules) -> (Option<TenantDlp>, Vec<Broken>) {
    let mut broken = Vec::new();
    let mut made = TenantDlp { detectors: None, own: Vec::new(), words: Vec::new(), digest: String::new() };
    let mut written: Vec<WrittenDetector> = Vec::new();
    let mut names = HashMap::new();
    let mut read = Vec::new();
    for row in rows.iter().filter(|row| row.is_active) {
        match read_row(row, operator) {
            Ok(items) => {
                read.push((&row.name, &row.patterns, &row.severity));
                for (place, item) in items.into_iter().enumerate() {
                    match item {
                        Read::Detector(mut detector, own) => {
                            detector.id = unused(&written, &slug(&row.name));
                            names.insert(detector.id.clone(), (row.name.clone(), place));
                            written.push(*detector);
                            made.own.push(own);
                        }
                        Read::Word(meant, rule, action) => {
                            match made.words.iter_mut().find(|(known, _)| *known == meant) {
                                Some((_, said)) => {
                                    said.entry(rule)
                                        .and_modify(|known| *known = (*known).max(action))
                                        .or_insert(action);
                                }
                                None => made.words.push((meant, ByRule::from([(rule, action)]))),
                            }
                        }
                    }
                }
            }
            Err(why) => broken.push(Broken::dlp(&row.name, why)),
        }
    }
    if read.is_empty() {
        return (None, broken);
    }
    made.digest = digest::named(&serde_json::to_vec(&read).unwrap_or_default());
    if !written.is_empty() {
        match Detectors::compile(written) {
            Ok(detectors) => made.detectors = Some(detectors),
            Err(problems) => {
                for problem in problems {
                    let why = format!("{}: {}", problem.field, problem.problem);
                    broken.push(match names.get(&problem.id) {
                        Some((name, place)) => Broken::dlp(name, format!("patterns[{place}]: {why}")),
                        None => Broken::dlp(&problem.id, why),
                    });
                }
                return (None, broken);
            }
        }
    }
    (Some(made), broken)
}

/// A row may have many patterns, and two rows one name.
fn unused(written: &[WrittenDetector], slug: &str) -> String {
    let mut id = slug.to_owned();
    let mut number = 1;
    while written.iter().any(|known| known.id == id) {
        number += 1;
        id = format!("{slug}_{number}");
    }
    id
}

impl TenantDlp {
    /// What is behind a tenant's rules, where some are.
    pub(super) fn of(rules: &TenantRules) -> Option<&Self> {
        rules.dlp.as_ref()?.as_any().downcast_ref()
    }

    pub(super) fn detectors(&self) -> Option<&Detectors> {
        self.detectors.as_ref()
    }

    /// Whether some rule is for some tools only.
    pub(super) fn names_tools(&self) -> bool {
        self.own.iter().any(|own| own.meant.names_tools()) || self.words.iter().any(|(meant, _)| meant.names_tools())
    }

    /// The tenant's word on a shipped rule in calls of this tool. Where the operator has one on this very rule, the stricter
    /// counts; of the tenant's own, too.
    pub(super) fn wants(&self, operator: &DlpRules, rule: &Rule, tool: Option<&ToolName>, way: Way) -> Option<Action> {
        let said = |(meant, said): &(Meant, ByRule)| {
            let word =
                || named(said, rule).or_else(|| said.get(rule.severity.as_str()).or_else(|| said.get("*")).copied());
            meant.fits(tool, way).then(word).flatten()
        };
        let wanted = self.words.iter().filter_map(said).max()?;
        let kept = rule.severity == Severity::Critical && !operator.settings.tenants_may_loosen;
        let least = if kept && wanted == Action::Observe { operator.action(rule, way) } else { wanted };
        Some(named(operator.said(way), rule).map_or(least, |operators| operators.max(least)))
    }

    /// What the tenant said of its own rule at this place; one meant for other calls only counts.
    pub(super) fn own_action(&self, place: usize, tool: Option<&ToolName>, way: Way) -> Option<Action> {
        let OwnRule { action, meant } = self.own.get(place)?;
        if meant.fits(tool, way) { *action } else { Some(Action::Observe) }
    }
}

impl DlpSet for TenantDlp {
    fn digest(&self) -> &str {
        &self.digest
    }

    /// Rows stand beside the operator's rules, not beside each other's.
    fn check(&self, rows: &[DlpRow]) -> Vec<Broken> {
        rows.iter().map(|row| Broken::dlp(&row.name, "these are a tenant's own rules")).collect()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
