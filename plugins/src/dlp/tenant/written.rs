//! `dlp_config` rows as they are written, item by item, and what is wrong with them.

use gateway_core::content::Action;
use gateway_core::ports::DlpRow;
use gateway_core::{Namespace, ToolName};
use gateway_dlp::{Boundary, ContextWords, Dictionary, Severity, WrittenDetector};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::dlp::rules::DlpRules;
use crate::dlp::scope::Way;

const MOST_ITEMS: usize = 200;
const MOST_WORDS: usize = 10_000;
const LONGEST_PATTERNS: usize = 64 * 1024;

/// A detector's fate beside the detector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OwnRule {
    pub action: Option<Action>,
    pub meant: Meant,
}

/// Which calls an item is meant for: all, where it does not say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Meant {
    tools: Vec<String>,
    direction: Option<Towards>,
}

impl Meant {
    fn written(tools: Vec<String>, direction: Option<Towards>) -> Result<Self, String> {
        for pattern in &tools {
            let fine = match pattern.strip_suffix("/*") {
                Some(namespace) => namespace.parse::<Namespace>().is_ok(),
                None => pattern.parse::<ToolName>().is_ok(),
            };
            if !fine {
                return Err(format!("tools: `{pattern}` names no tool: write `namespace/tool` or `namespace/*`"));
            }
        }
        Ok(Self { tools, direction })
    }

    pub fn names_tools(&self) -> bool {
        !self.tools.is_empty()
    }

    pub fn fits(&self, tool: Option<&ToolName>, way: Way) -> bool {
        let named = |tool: &ToolName, pattern: &String| {
            pattern.strip_suffix("/*").map_or(pattern == tool.as_str(), |namespace| namespace == tool.namespace())
        };
        let this_way = self.direction.is_none_or(|towards| towards.is(way));
        let this_tool =
            self.tools.is_empty() || tool.is_some_and(|tool| self.tools.iter().any(|pattern| named(tool, pattern)));
        this_way && this_tool
    }
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
    tools: Vec<String>,
    #[serde(default)]
    direction: Option<Towards>,
}

/// One item, understood.
pub(super) enum Read {
    Detector(Box<WrittenDetector>, OwnRule),
    Word(Meant, String, Action),
}

pub(super) fn read_row(row: &DlpRow, operator: &DlpRules) -> Result<Vec<Read>, String> {
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
    let (title, label) = (name.to_owned(), slug(name).to_uppercase());
    let plain =
        WrittenDetector { title, tier: 1, severity, label, boundary: Boundary::None, ..WrittenDetector::default() };
    let (detector, own) = match item {
        Value::String(regex) => {
            let own = OwnRule { action: None, meant: Meant::default() };
            (WrittenDetector { pattern: Some(sound(regex.clone())?), ..plain }, own)
        }
        Value::Object(said) if said.contains_key("regex") => {
            let WrittenRegex { regex, action, context, tools, direction } = written(item)?;
            let words = ContextWords { words: context, within: 48, after: 48, required: true, also_key: true };
            let context = (!words.words.is_empty()).then_some(words);
            let own = OwnRule { action, meant: Meant::written(tools, direction)? };
            (WrittenDetector { pattern: Some(sound(regex)?), context, ..plain }, own)
        }
        Value::Object(said) if said.contains_key("dictionary") => {
            let WrittenWords { dictionary, case_sensitive, action, tools, direction } = written(item)?;
            if dictionary.is_empty() || dictionary.len() > MOST_WORDS {
                return Err(format!("dictionary: must have 1 to {MOST_WORDS} words"));
            }
            if dictionary.iter().any(|word| word.trim().is_empty()) {
                return Err("dictionary: no word may be empty".into());
            }
            let words = Dictionary { words: dictionary, case_sensitive };
            let own = OwnRule { action, meant: Meant::written(tools, direction)? };
            (WrittenDetector { dictionary: Some(words), boundary: Boundary::Word, ..plain }, own)
        }
        Value::Object(said) if said.contains_key("rule") => {
            let WrittenWord { rule, action, tools, direction } = written(item)?;
            if !operator.knows(&rule) {
                return Err(format!("rule: nothing is called `{rule}`"));
            }
            if action == Action::Observe && !operator.settings.tenants_may_loosen && is_critical(&rule, operator) {
                return Err(format!("rule: `{rule}` is critical, and may not be let pass"));
            }
            return Ok(Read::Word(Meant::written(tools, direction)?, rule, action));
        }
        _ => {
            return Err("must be a regular expression, or an object with `regex`, `dictionary` or `rule` and what \
                        belongs to it"
                .into());
        }
    };
    Ok(Read::Detector(Box::new(detector), own))
}

fn written<T: DeserializeOwned>(item: &Value) -> Result<T, String> {
    T::deserialize(item).map_err(|error| error.to_string())
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
pub(super) fn slug(name: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '_' };
    let slug: String = name.chars().take(40).map(plain).collect();
    match slug.trim_matches('_') {
        "" => "redacted".into(),
        slug => slug.into(),
    }
}
