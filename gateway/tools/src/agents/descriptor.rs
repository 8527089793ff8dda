//! The text that an agent's record calls `yaml`, as JSON or as YAML, read strictly: what is of the wrong kind is named by its
//! place. Keys that nobody here knows are left alone and told.

use std::sync::Arc;

use gateway_core::agents::{ExecutionMode, Format, Security};
use gateway_core::ports::BuildError;
use gateway_protocol::json::parse_strict;
use serde_json::{Map, Value};
use serde_saphyr::{DuplicateKeyPolicy, MergeKeyPolicy, NonFiniteFloatPolicy};

const LONGEST: usize = 256 * 1024;
const DEEPEST: usize = 64;
const LONGEST_NAME: usize = 255;

const TOP: [&str; 4] = ["metadata", "communication", "configuration", "context"];
const KNOWN: [&str; 9] = [
    "prompt_prefix",
    "execution_capabilities",
    "mcp",
    "tools",
    "toolParams",
    "toolExecutionMode",
    "stopOnError",
    "security",
    "deliverable",
];

/// What an agent is configured to do.
#[derive(Debug, Clone, PartialEq)]
pub struct Configuration {
    pub supports_build: bool,
    /// As written: whether they are names at all is found when it is run.
    pub tools: Vec<String>,
    /// By tool; each value is an object.
    pub tool_params: Map<String, Value>,
    pub mode: ExecutionMode,
    pub stop_on_error: bool,
    pub security: Arc<Security>,
    pub format: Format,
    pub r#type: String,
    /// Keys that say nothing here.
    pub unknown: Vec<String>,
}

pub fn read(text: &str) -> Result<Configuration, BuildError> {
    let tree = tree(text)?;
    let top = object(&tree, "the descriptor")?;
    let empty = Map::new();
    let written = match present(top, "configuration") {
        Some(written) => object(written, "configuration")?,
        None => &empty,
    };
    let strange = |keys: &Map<String, Value>, known: &[&str], before: &str| -> Vec<String> {
        keys.keys().filter(|key| !known.contains(&key.as_str())).map(|key| format!("{before}{key}")).collect()
    };
    let mut unknown = strange(top, &TOP, "");
    unknown.extend(strange(written, &KNOWN, "configuration."));
    let (format, kind) = deliverable(written)?;
    Ok(Configuration {
        supports_build: supports_build(written)?,
        tools: match present(written, "tools") {
            Some(tools) => strings(tools, "configuration.tools")?,
            None => Vec::new(),
        },
        tool_params: match present(written, "toolParams") {
            Some(params) => params_by_tool(params, "configuration.toolParams")?,
            None => Map::new(),
        },
        mode: match present(written, "toolExecutionMode") {
            Some(mode) => execution_mode(mode, "configuration.toolExecutionMode")?,
            None => ExecutionMode::Sequential,
        },
        stop_on_error: match present(written, "stopOnError") {
            Some(stop) => boolean(stop, "configuration.stopOnError")?,
            None => true,
        },
        security: Arc::new(security(written)?),
        format,
        r#type: kind,
        unknown,
    })
}

/// JSON where it looks like it, YAML otherwise; both refuse duplicate keys and bottomless nesting.
fn tree(text: &str) -> Result<Value, BuildError> {
    let unreadable = |what: String| BuildError::Descriptor(format!("yaml: {what}"));
    if text.len() > LONGEST {
        return Err(unreadable(format!("must have at most {} KiB", LONGEST / 1024)));
    }
    if text.trim_start().starts_with('{')
        && let Ok(tree) = parse_strict(text.as_bytes(), DEEPEST)
    {
        return Ok(tree);
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_depth: 64, max_nodes: 100_000, max_documents: 1 },
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: MergeKeyPolicy::Error,
        strict_booleans: true,
        non_finite_float_policy: NonFiniteFloatPolicy::Reject,
        with_snippet: false,
    };
    match serde_saphyr::from_str_with_options::<Value>(text, options) {
        Ok(Value::Null) => Ok(Value::Object(Map::new())),
        Ok(tree) => Ok(tree),
        Err(error) => {
            let told = error.without_snippet().to_string();
            Err(unreadable(told.lines().next().unwrap_or("cannot be read").to_owned()))
        }
    }
}

/// A key without a value counts as absent.
fn present<'a>(fields: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    fields.get(key).filter(|value| !value.is_null())
}

fn expected(at: &str, what: &str) -> BuildError {
    BuildError::Descriptor(format!("{at}: expected {what}"))
}

fn object<'a>(value: &'a Value, at: &str) -> Result<&'a Map<String, Value>, BuildError> {
    value.as_object().ok_or_else(|| expected(at, "an object"))
}

fn boolean(value: &Value, at: &str) -> Result<bool, BuildError> {
    value.as_bool().ok_or_else(|| expected(at, "true or false"))
}

pub(super) fn strings(value: &Value, at: &str) -> Result<Vec<String>, BuildError> {
    let items = value.as_array().ok_or_else(|| expected(at, "a list of strings"))?;
    let text = |(place, item): (usize, &Value)| match item.as_str() {
        // They are stored with the run, and no name of anything has these.
        Some(text) if text.contains(char::is_control) => {
            Err(expected(&format!("{at}[{place}]"), "a string without control characters"))
        }
        Some(text) => Ok(text.to_owned()),
        None => Err(expected(&format!("{at}[{place}]"), "a string")),
    };
    items.iter().enumerate().map(text).collect()
}

pub(super) fn params_by_tool(value: &Value, at: &str) -> Result<Map<String, Value>, BuildError> {
    let params = object(value, at)?;
    for (tool, params) in params {
        object(params, &format!("{at}.{tool}"))?;
    }
    Ok(params.clone())
}

/// What is stored beside a run as a name: known to fit before anything runs.
pub(super) fn one_line(text: &str) -> bool {
    text.chars().count() <= LONGEST_NAME && !text.contains(char::is_control)
}

/// Anything but `parallel` is one after the other.
pub(super) fn execution_mode(value: &Value, at: &str) -> Result<ExecutionMode, BuildError> {
    match value.as_str() {
        Some("parallel") => Ok(ExecutionMode::Parallel),
        Some(_) => Ok(ExecutionMode::Sequential),
        None => Err(expected(at, "sequential or parallel")),
    }
}

fn supports_build(written: &Map<String, Value>) -> Result<bool, BuildError> {
    let at = "configuration.execution_capabilities";
    let Some(capabilities) = present(written, "execution_capabilities") else {
        return Ok(true);
    };
    match present(object(capabilities, at)?, "supports_build") {
        Some(said) => boolean(said, &format!("{at}.supports_build")),
        None => Ok(true),
    }
}

fn security(written: &Map<String, Value>) -> Result<Security, BuildError> {
    let Some(security) = present(written, "security") else {
        return Ok(Security::default());
    };
    let at = "configuration.security";
    let fields = object(security, at)?;
    if let Some(key) = fields.keys().find(|key| !["denied_operations", "allowed_tables"].contains(&key.as_str())) {
        // A limit that is misspelt would be none.
        return Err(BuildError::Descriptor(format!(
            "{at}.{key}: is not known; expected denied_operations or allowed_tables"
        )));
    }
    let list = |key: &str| present(fields, key).map(|value| strings(value, &format!("{at}.{key}"))).transpose();
    Ok(Security {
        denied_operations: list("denied_operations")?.unwrap_or_default(),
        allowed_tables: list("allowed_tables")?,
    })
}

fn deliverable(written: &Map<String, Value>) -> Result<(Format, String), BuildError> {
    let at = "configuration.deliverable";
    let mut form = (Format::Json, "tool-result".to_owned());
    let Some(deliverable) = present(written, "deliverable") else {
        return Ok(form);
    };
    let fields = object(deliverable, at)?;
    if let Some(format) = present(fields, "format") {
        let format = format.as_str().and_then(|format| format.parse().ok());
        form.0 = format.ok_or_else(|| expected(&format!("{at}.format"), "json, markdown or text"))?;
    }
    if let Some(kind) = present(fields, "type") {
        let line = kind.as_str().filter(|kind| one_line(kind));
        form.1 = line.ok_or_else(|| expected(&format!("{at}.type"), "one line of at most 255 letters"))?.to_owned();
    }
    Ok(form)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use serde_json::json;

    use super::*;

    // acceptance 82: the shipped descriptor is the same read as JSON and as YAML.
    #[test]
    fn the_shipped_descriptor_is_json_and_yaml() {
        let record = include_str!("../../../../config/initial-agent-building/working/demo_supabase_agent.json");
        let record: Value = serde_json::from_str(record).unwrap();
        let text = record["yaml"].as_str().unwrap();
        let read = read(text).unwrap();
        assert_eq!(read.tools.len(), 4);
        assert_eq!((read.mode, read.stop_on_error, read.supports_build), (ExecutionMode::Sequential, true, true));
        assert_eq!((read.format, read.r#type.as_str()), (Format::Json, "tool-result"));
        assert_eq!(read.security.allowed_tables.as_ref().unwrap().len(), 4);
        assert_eq!(read.tool_params["supabase/execute-sql"], json!({ "max_rows": 1000 }));
        assert!(read.unknown.is_empty(), "{:?}", read.unknown);
        // A comment in front makes it YAML and nothing else.
        assert_eq!(super::read(&format!("# the same\n{text}")).unwrap(), read);
    }

    #[test]
    fn plain_yaml_is_read_and_what_is_absent_has_its_default() {
        let text = "configuration:\n  tools: [crm/read]\n  stopOnError: false\n  toolExecutionMode: parallel\n  extra: 1\nmore: 2\n";
        let found = read(text).unwrap();
        assert_eq!(
            (found.tools, found.mode, found.stop_on_error),
            (vec!["crm/read".to_owned()], ExecutionMode::Parallel, false)
        );
        assert_eq!(found.unknown, ["more", "configuration.extra"]);
        let nothing = read("").unwrap();
        assert!(nothing.tools.is_empty() && nothing.stop_on_error && nothing.security.allowed_tables.is_none());
    }

    #[test]
    fn what_is_of_the_wrong_kind_is_named_by_its_place() {
        for (text, said) in [
            ("[]", "the descriptor: expected an object"),
            ("{\"configuration\": 7}", "configuration: expected an object"),
            ("{\"configuration\": {\"tools\": \"a/b\"}}", "configuration.tools: expected a list of strings"),
            ("{\"configuration\": {\"tools\": [\"a/b\", 7]}}", "configuration.tools[1]: expected a string"),
            ("{\"configuration\": {\"toolParams\": {\"a/b\": 1}}}", "configuration.toolParams.a/b: expected an object"),
            ("configuration:\n  stopOnError: \"yes\"\n", "configuration.stopOnError: expected true or false"),
            (
                "{\"configuration\": {\"deliverable\": {\"format\": \"pdf\"}}}",
                "configuration.deliverable.format: expected json, markdown or text",
            ),
            (
                "{\"configuration\": {\"security\": {\"allowed_table\": []}}}",
                "configuration.security.allowed_table: is not known; expected denied_operations or allowed_tables",
            ),
        ] {
            assert_eq!(read(text).unwrap_err().to_string(), said, "{text}");
        }
        for text in ["{\"configuration\": {}, \"configuration\": {}}", "a: [1]\na: 2\n"] {
            assert!(read(text).unwrap_err().to_string().starts_with("yaml: "), "{text}");
        }
        assert!(read(&" ".repeat(LONGEST + 1)).is_err());
    }
}
