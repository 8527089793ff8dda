//! A tenant's own rules: active rows of `dlp_config`, each a list of regular expressions, dictionaries, and words on what
//! shipped rules do.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use gateway_core::ToolName;
use gateway_core::content::Action;
use gateway_core::digest;
use gateway_core::dlp::DlpSet;
use gateway_core::live::{Broken, TenantRules};
use gateway_core::ports::DlpRow;
use gateway_core::verdict::PolicyMode;
use gateway_dlp::{Boundary, ContextWords, Detectors, Dictionary, Rule, Severity, WrittenDetector};
use serde::Deserialize;
use serde_json::Value;

use super::rules::{ByRule, DlpRules, named};
use super::scope::Way;

const MOST_ITEMS: usize = 200;
const MOST_WORDS: usize = 10_000;
const LONGEST_PATTERNS: usize = 64 * 1024;

/// One tenant's rows, compiled.
pub struct TenantDlp {
    detectors: Option<Detectors>,
    /// Beside each rule of `detectors`.
    own: Vec<OwnRule>,
    /// What shipped rules do, by way.
    words: Vec<(Option<Towards>, ByRule)>,
    digest: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct OwnRule {
    action: Option<Action>,
    tools: Vec<String>,
    direction: Option<Towards>,
}

/// Which way an item is meant for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Towards {
    Request,
    Result,
}

impl Towards {
    fn is(self, way: Way) -> bool {
        (self == Self::Request) == matches!(way, Way::Request | Way::Egress)
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenItem {
    Plain(String),
    Regex(WrittenRegex),
    Dictionary(WrittenWords),
    Word(WrittenWord),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRegex {
    regex: String,
    #[serde(default)]
    action: Option<Action>,
    #[serde(default)]
    context: Vec<String>,
    #[serde(default)]
    tools: Vec<String>,
    #[serde(default)]
    direction: Option<Towards>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenWords {
    dictionary: Vec<String>,
    #[serde(default)]
    case_sensitive: bool,
    #[serde(default)]
    action: Option<Action>,
    #[serde(default)]
    tools: Vec<String>,
    #[serde(default)]
    direction: Option<Towards>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenWord {
    rule: String,
    action: Action,
    #[serde(default)]
    direction: Option<Towards>,
}

/// What a tenant's rows come to beside these rules of the operator's. A row that cannot be followed is broken: what it was
/// meant to hide would pass otherwise.
pub fn compile_rows(rows: &[DlpRow], operator: &Arc<dyn DlpSet>) -> (Option<Arc<dyn DlpSet>>, Vec<Broken>) {
    let operator = DlpRules::of(operator);
    let mut broken = Vec::new();
    let mut made = TenantDlp { detectors: None, own: Vec::new(), words: Vec::new(), digest: String::new() };
    let mut written: Vec<WrittenDetector> = Vec::new();
    let mut names = HashMap::new();
    let mut read = Vec::new();
    for row in rows.iter().filter(|row| row.is_active) {
        match read_row(row, &operator) {
            Ok(items) => {
                read.push((&row.name, &row.patterns, &row.severity));
                for item in items {
                    match item {
                        Read::Detector(mut detector, own) => {
                            detector.id = unused(&written, &slug(&row.name));
                            names.insert(detector.id.clone(), row.name.clone());
                            written.push(*detector);
                            made.own.push(own);
                        }
                        Read::Word(direction, rule, action) => {
                            match made.words.iter_mut().find(|(to, _)| *to == direction) {
                                Some((_, said)) => drop(said.insert(rule, action)),
                                None => made.words.push((direction, ByRule::from([(rule, action)]))),
                            }
                        }
                    }
                }
            }
            Err(why) => broken.push(told_broken(&row.name, why)),
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
                    let name = names.get(&problem.id).unwrap_or(&problem.id);
                    broken.push(told_broken(name, format!("{}: {}", problem.field, problem.problem)));
                }
                return (None, broken);
            }
        }
    }
    (Some(Arc::new(made)), broken)
}

fn told_broken(name: &str, why: String) -> Broken {
    Broken { policy: format!("dlp config `{name}`"), why, mode: PolicyMode::Enforce }
}

enum Read {
    Detector(Box<WrittenDetector>, OwnRule),
    Word(Option<Towards>, String, Action),
}

fn read_row(row: &DlpRow, operator: &DlpRules) -> Result<Vec<Read>, String> {
    let severity = severity(row.severity.as_deref())?;
    let Value::Array(items) = &row.patterns else { return Err("patterns: must be a list".into()) };
    if items.len() > MOST_ITEMS {
        return Err(format!("patterns: has {} items; at most {MOST_ITEMS} are read", items.len()));
    }
    if row.patterns.to_string().len() > LONGEST_PATTERNS {
        return Err(format!("patterns: is longer than {LONGEST_PATTERNS} bytes"));
    }
    let mut read = Vec::new();
    for (place, item) in items.iter().enumerate() {
        let at = |what: String| format!("patterns[{place}]: {what}");
        read.push(read_item(item, &row.name, severity, operator).map_err(at)?);
    }
    Ok(read)
}

fn severity(written: Option<&str>) -> Result<Severity, String> {
    match written.unwrap_or("medium") {
        "critical" => Ok(Severity::Critical),
        "high" => Ok(Severity::High),
        "medium" => Ok(Severity::Medium),
        "low" => Ok(Severity::Low),
        other => Err(format!("severity: `{other}` is not one of critical, high, medium, low")),
    }
}

fn read_item(item: &Value, name: &str, severity: Severity, operator: &DlpRules) -> Result<Read, String> {
    let written = WrittenItem::deserialize(item).map_err(|_| {
        "must be a regular expression, or an object with `regex`, `dictionary` or `rule` and what belongs to it"
            .to_owned()
    })?;
    let (title, label) = (name.to_owned(), slug(name).to_uppercase());
    let plain =
        WrittenDetector { title, tier: 1, severity, label, boundary: Boundary::None, ..WrittenDetector::default() };
    let (detector, own) = match written {
        WrittenItem::Plain(regex) => {
            let own = OwnRule { action: None, tools: Vec::new(), direction: None };
            (WrittenDetector { pattern: Some(sound(regex)?), ..plain }, own)
        }
        WrittenItem::Regex(WrittenRegex { regex, action, context, tools, direction }) => {
            let words = ContextWords { words: context, within: 48, after: 48, required: true, also_key: true };
            let context = (!words.words.is_empty()).then_some(words);
            (WrittenDetector { pattern: Some(sound(regex)?), context, ..plain }, OwnRule { action, tools, direction })
        }
        WrittenItem::Dictionary(WrittenWords { dictionary, case_sensitive, action, tools, direction }) => {
            if dictionary.is_empty() || dictionary.len() > MOST_WORDS {
                return Err(format!("dictionary: must have 1 to {MOST_WORDS} words"));
            }
            if dictionary.iter().any(|word| word.trim().is_empty()) {
                return Err("dictionary: no word may be empty".into());
            }
            let words = Dictionary { words: dictionary, case_sensitive };
            let boundary = Boundary::Word;
            (WrittenDetector { dictionary: Some(words), boundary, ..plain }, OwnRule { action, tools, direction })
        }
        WrittenItem::Word(WrittenWord { rule, action, direction }) => {
            if !operator.knows(&rule) {
                return Err(format!("rule: nothing is called `{rule}`"));
            }
            if action == Action::Observe && !operator.settings.tenants_may_loosen && is_critical(&rule, operator) {
                return Err(format!("rule: `{rule}` is critical, and may not be let pass"));
            }
            return Ok(Read::Word(direction, rule, action));
        }
    };
    Ok(Read::Detector(Box::new(detector), own))
}

/// An expression that fits everywhere would hide everything, letter by letter.
fn sound(regex: String) -> Result<String, String> {
    match regex::Regex::new(&regex) {
        Ok(compiled) if compiled.is_match("") => {
            Err("regex: matches nothing at all, so it would match everywhere".into())
        }
        Ok(_) => Ok(regex),
        Err(error) => Err(format!("regex: {}", error.to_string().lines().last().unwrap_or_default().trim())),
    }
}

fn is_critical(key: &str, operator: &DlpRules) -> bool {
    let all = key == "*" || key == "critical";
    all || operator
        .detectors
        .rules()
        .iter()
        .filter(|rule| *rule.id == *key || rule.tags.iter().any(|tag| tag == key))
        .any(|rule| rule.severity == Severity::Critical)
}

/// The name as traces and masks have it: small letters and digits of it.
fn slug(name: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '_' };
    let slug: String = name.chars().take(40).map(plain).collect();
    match slug.trim_matches('_') {
        "" => "redacted".into(),
        slug => slug.into(),
    }
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
        self.own.iter().any(|own| !own.tools.is_empty())
    }

    /// The tenant's word on a shipped rule. Where the operator has one on this very rule, the stricter counts.
    pub(super) fn wants(&self, operator: &DlpRules, rule: &Rule, way: Way) -> Option<Action> {
        let said = |(towards, said): &(Option<Towards>, ByRule)| {
            let fits = towards.is_none_or(|towards| towards.is(way));
            let word =
                || named(said, rule).or_else(|| said.get(rule.severity.as_str()).or_else(|| said.get("*")).copied());
            fits.then(word).flatten()
        };
        let wanted = self.words.iter().filter_map(said).max()?;
        let kept = rule.severity == Severity::Critical && !operator.settings.tenants_may_loosen;
        let least = if kept && wanted == Action::Observe { operator.action(rule, way) } else { wanted };
        Some(named(operator.said(way), rule).map_or(least, |operators| operators.max(least)))
    }

    /// What the tenant said of its own rule at this place; one meant for other tools only counts.
    pub(super) fn own_action(&self, place: usize, tool: Option<&ToolName>, way: Way) -> Option<Action> {
        let OwnRule { action, tools, direction } = self.own.get(place)?;
        let elsewhere = direction.is_some_and(|towards| !towards.is(way));
        let fits = |pattern: &String| {
            let Some(tool) = tool else { return false };
            pattern.strip_suffix("/*").map_or(pattern == tool.as_str(), |namespace| namespace == tool.namespace())
        };
        let others = !tools.is_empty() && !tools.iter().any(fits);
        if elsewhere || others { Some(Action::Observe) } else { *action }
    }
}

impl DlpSet for TenantDlp {
    fn digest(&self) -> &str {
        &self.digest
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
