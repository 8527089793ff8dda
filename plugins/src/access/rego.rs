//! Rules in Rego: one module, one engine, prepared when it is loaded.
//!
//! A module says `deny` or `escalate` with reasons, or `allow`. Whatever it fails to say counts against the call: an
//! undefined `allow`, an error, a value of another type, too much time. Modules cannot see each other, the clock, random
//! numbers or the network, so that the same call always gets the same answer.

use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use gateway_core::permission::Pattern;
use gateway_core::ports::AccessRow;
use gateway_core::verdict::{Objection, PolicyMode, Remedy};
use gateway_core::{ToolName, Verdict};
use regorus::utils::limits::ExecutionTimerConfig;
use regorus::{Engine, Value};
use serde::Deserialize;

use super::input::Reads;
use super::plain::Plain;
use super::refused;

/// The longest module.
const MAX_BYTES: usize = 64 * 1024;
/// What one module may take; loading is not a call, and may take more.
const LIMIT: Duration = Duration::from_millis(10);
const LOADING: Duration = Duration::from_millis(250);
/// More threads than this do not judge at once for long.
const MOST_IDLE: usize = 32;
/// The same call must get the same answer tomorrow, and judging asks nobody.
const FORBIDDEN: [&str; 7] =
    ["time.now_ns", "rand.intn", "uuid.rfc4122", "http.send", "opa.runtime", "net.lookup_ip_addr", "input.env"];

/// A `.rego` file of the policies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegoFile {
    pub name: String,
    pub text: String,
}

pub(super) struct Module {
    pub name: String,
    pub mode: PolicyMode,
    /// What of a call it looks at.
    pub reads: Reads,
    /// Empty: every tool.
    tools: Vec<Pattern>,
    /// What it says plainly, for which no engine is asked.
    plain: Plain,
    engine: Engine,
    /// Copies that have judged a call and may judge another: copying costs more than judging.
    idle: Mutex<Vec<Engine>>,
    deny: Option<String>,
    escalate: Option<String>,
    allow: Option<String>,
}

impl Module {
    /// `{"rego": "package …", "tools": ["crm/*"]}`, or the module's text alone.
    pub fn of_row(row: &AccessRow, mode: PolicyMode) -> Result<Self, String> {
        let (text, tools) = match &row.rule_definition {
            serde_json::Value::String(text) => (text.as_str(), Vec::new()),
            serde_json::Value::Object(parts) => {
                if parts.contains_key("cel") {
                    return Err("cel: is not read here; write the rule in Rego, or as an agent policy".into());
                }
                if let Some(key) = parts.keys().find(|key| !["rego", "tools", "mode"].contains(&key.as_str())) {
                    return Err(format!("{key}: is not known; there are rego, tools, mode"));
                }
                let text = parts.get("rego").and_then(serde_json::Value::as_str);
                let tools = parts.get("tools").map_or(Ok(Vec::new()), patterns)?;
                (text.ok_or("rego: must be the text of a module")?, tools)
            }
            _ => return Err("rule_definition: must be an object with `rego`".into()),
        };
        Self::load(&row.name, text, tools, mode, None)
    }

    /// The head of a file may say `# tools: crm/* notes/*` and `# mode: enforce`, on one line or several.
    pub fn of_file(file: &RegoFile, statics: Option<&serde_json::Value>) -> Result<Self, String> {
        let (mut tools, mut mode, mut reading_tools) = (Vec::new(), PolicyMode::Shadow, false);
        let head = file.text.lines().map(str::trim).take_while(|line| line.is_empty() || line.starts_with('#'));
        for line in head {
            let mut words = line.trim_start_matches('#').split([' ', '\t', ',']).filter(|word| !word.is_empty());
            let first = words.next();
            if !matches!(first, Some("tools:" | "mode:")) {
                continue;
            }
            let mut word = first;
            while let Some(now) = word {
                match now {
                    "tools:" => reading_tools = true,
                    "mode:" => {
                        reading_tools = false;
                        let named = words.next().ok_or("mode: names none of shadow, advisory, enforce")?;
                        mode = named.parse().map_err(|error| format!("mode: {error}"))?;
                    }
                    pattern if reading_tools => {
                        tools.push(Pattern::read(pattern).map_err(|why| format!("tools: {why}"))?)
                    }
                    _ => {}
                }
                word = words.next();
            }
            reading_tools = false;
        }
        Self::load(&file.name, &file.text, tools, mode, statics)
    }

    fn load(
        name: &str,
        text: &str,
        tools: Vec<Pattern>,
        mode: PolicyMode,
        statics: Option<&serde_json::Value>,
    ) -> Result<Self, String> {
        if text.len() > MAX_BYTES {
            return Err(format!("the module is longer than {MAX_BYTES} bytes"));
        }
        if let Some(word) = FORBIDDEN.iter().find(|word| uses(text, word)) {
            return Err(format!("`{word}` is not there for policies: the same call must always get the same answer"));
        }
        let mut engine = Engine::new();
        set_limit(&mut engine, LOADING);
        let package = engine.add_policy(format!("{name}.rego"), text.to_owned()).map_err(|error| unreadable(&error))?;
        if let Some(statics) = statics {
            let data = Value::deserialize(&serde_json::json!({"static": statics}));
            let data = data.map_err(|error| format!("data.json: {error}"))?;
            engine.add_data(data).map_err(|error| format!("data.json: {error}"))?;
        }
        let mut declared = |rule: &str| rehearsed(&mut engine, format!("{package}.{rule}"));
        let (deny, escalate, allow) = (declared("deny")?, declared("escalate")?, declared("allow")?);
        if deny.is_none() && escalate.is_none() && allow.is_none() {
            let hint = "write `deny contains \"reason\" if …`; keys below a rule are not read";
            return Err(format!("the module says neither `deny` nor `escalate` nor `allow`: {hint}"));
        }
        set_limit(&mut engine, LIMIT);
        let (name, reads, idle) = (name.to_owned(), Reads::of(text), Mutex::default());
        let plain = Plain::read(text, &["deny", "escalate", "allow"]);
        Ok(Self { name, mode, reads, tools, plain, engine, idle, deny, escalate, allow })
    }

    pub fn applies(&self, tool: &ToolName) -> bool {
        self.tools.is_empty() || self.tools.iter().any(|pattern| pattern.matches(tool))
    }

    pub fn judge(&self, input: &Value, say: &mut dyn FnMut(Verdict)) {
        let mut used = None;
        let mut failed = false;
        let mut ask = |name: &str, rule: &Option<String>| {
            let rule = rule.as_ref()?;
            if let Some(answer) = self.plain.answer(name, input) {
                return Some(Ok(answer));
            }
            let engine = used.get_or_insert_with(|| self.engine_for(input));
            let answer = engine.eval_rule(rule.clone());
            failed |= answer.is_err();
            Some(answer)
        };
        for (name, rule, denies) in [("deny", &self.deny, true), ("escalate", &self.escalate, false)] {
            let Some(answer) = ask(name, rule) else { continue };
            match answer.map_err(|error| failure(&error)).and_then(reasons) {
                Err(why) => say(refused(&self.name, &why)),
                Ok(reasons) => reasons.iter().for_each(|reason| say(self.objection(reason, denies))),
            }
        }
        match ask("allow", &self.allow).map(|answer| answer.map_err(|error| failure(&error))) {
            None | Some(Ok(Value::Bool(true))) => {}
            Some(Ok(Value::Bool(false) | Value::Undefined)) => say(self.objection("does not allow this", true)),
            Some(Ok(_)) => say(refused(&self.name, "the policy failed: `allow` is neither true nor false")),
            Some(Err(why)) => say(refused(&self.name, &why)),
        }
        // One that was stopped half way is not asked again.
        if let Some(engine) = used.filter(|_| !failed) {
            self.keep(engine);
        }
    }

    fn engine_for(&self, input: &Value) -> Engine {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut engine = idle.unwrap_or_else(|| self.engine.clone());
        engine.set_input(input.clone());
        engine
    }

    /// None keeps what it was shown.
    fn keep(&self, mut engine: Engine) {
        engine.set_input(Value::new_object());
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MOST_IDLE {
            idle.push(engine);
        }
    }

    fn objection(&self, reason: &str, denies: bool) -> Verdict {
        let objection = Objection::new(self.name.clone(), format!("{}: {reason}", self.name));
        match denies {
            true => Verdict::Deny(objection.cured_by(Remedy::Policy(self.name.clone()))),
            false => Verdict::Escalate(objection.cured_by(Remedy::Approve)),
        }
    }
}

/// The rule's path where the module has it. One run over a call that has nothing in it prepares the engine, and finds what
/// fails for everybody.
fn rehearsed(engine: &mut Engine, rule: String) -> Result<Option<String>, String> {
    engine.set_input(Value::new_object());
    match engine.eval_rule(rule.clone()) {
        Ok(_) => Ok(Some(rule)),
        Err(error) if error.to_string().contains("not a valid rule path") => Ok(None),
        Err(error) => Err(unreadable(&error)),
    }
}

/// A set, list or object of texts, one text, or `true`.
fn reasons(value: Value) -> Result<Vec<String>, String> {
    let wrong = || "the policy failed: a reason is not a text".to_owned();
    let text = |value: &Value| value.as_string().map(|text| text.to_string()).map_err(|_| wrong());
    match value {
        Value::Undefined | Value::Bool(false) => Ok(Vec::new()),
        Value::Bool(true) => Ok(vec!["does not permit this".into()]),
        Value::String(reason) => Ok(vec![reason.to_string()]),
        Value::Set(set) => set.iter().map(text).collect(),
        Value::Array(list) => list.iter().map(text).collect(),
        Value::Object(parts) => {
            // `{"reason": true}` and `{"key": "reason"}` are both common.
            let held = parts.iter().filter(|(_, value)| **value != Value::Bool(false));
            held.map(|(key, value)| text(value).or_else(|_| text(key))).collect()
        }
        Value::Null | Value::Number(_) => Err(wrong()),
    }
}

fn patterns(written: &serde_json::Value) -> Result<Vec<Pattern>, String> {
    let list =
        written.as_array().filter(|list| !list.is_empty()).ok_or("tools: must be a list of at least one tool")?;
    let one = |value: &serde_json::Value| match value.as_str() {
        Some(text) => Pattern::read(text).map_err(|error| format!("tools: {error}")),
        None => Err("tools: must be a list of texts".to_owned()),
    };
    list.iter().map(one).collect()
}

fn set_limit(engine: &mut Engine, limit: Duration) {
    let check_interval = NonZeroU32::new(256).unwrap_or(NonZeroU32::MIN);
    engine.set_execution_timer_config(ExecutionTimerConfig { limit, check_interval });
}

/// Outside comments, and not as the end of another name.
fn uses(text: &str, word: &str) -> bool {
    text.lines().any(|line| {
        let code = line.split_once('#').map_or(line, |(code, _)| code);
        code.match_indices(word).any(|(at, _)| {
            let before = code.get(..at).and_then(|front| front.chars().next_back());
            before.is_none_or(|letter| !letter.is_alphanumeric() && letter != '_' && letter != '.')
        })
    })
}

/// Why a module does not load, for whoever wrote it: where, and what.
fn unreadable(error: &impl std::fmt::Display) -> String {
    let text = error.to_string();
    let line = |start: &str| text.lines().find_map(|line| line.trim().strip_prefix(start)).map(str::trim);
    let what = line("error:").or_else(|| text.lines().map(str::trim).find(|line| !line.is_empty())).unwrap_or("fails");
    let what: String = what.chars().filter(|letter| !letter.is_control()).take(300).collect();
    match line("-->") {
        Some(place) => format!("{what} ({place})"),
        None => what,
    }
}

/// Why a module failed on a call. Only where: its words may quote the arguments, which are no trace's to keep.
fn failure(error: &impl std::fmt::Display) -> String {
    let text = error.to_string();
    if text.contains("time limit") {
        return format!("the policy failed: it took longer than {} ms", LIMIT.as_millis());
    }
    match text.lines().find_map(|line| line.trim().strip_prefix("-->")) {
        Some(place) => format!("the policy failed at {}", place.trim()),
        None => "the policy failed".into(),
    }
}
