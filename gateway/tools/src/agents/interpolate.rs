//! `{{payload.x}}` and `{{metadata.y.z}}` in the strings among a tool's parameters. One pass: what is put in is never read again.

use gateway_core::ports::BuildError;
use serde_json::{Map, Value};

/// Letters of a variable that an error shows.
const SHOWN: usize = 200;

/// What a request brought with it.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    pub payload: &'a Map<String, Value>,
    pub metadata: &'a Map<String, Value>,
}

/// Every parameter that is a string, filled; everything else as it is, also strings further inside.
pub fn params(tool: &str, written: &Map<String, Value>, scope: Scope<'_>) -> Result<Map<String, Value>, BuildError> {
    let mut filled = Map::new();
    for (parameter, value) in written {
        let value = match value {
            Value::String(text) => Value::String(fill(text, scope).map_err(|variable| BuildError::Template {
                variable,
                tool: tool.to_owned(),
                parameter: parameter.clone(),
            })?),
            other => other.clone(),
        };
        filled.insert(parameter.clone(), value);
    }
    Ok(filled)
}

/// Or the variable that leads nowhere, with its braces.
fn fill(text: &str, scope: Scope<'_>) -> Result<String, String> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((inside, behind)) = after.split_once("}}") else { break };
        filled.push_str(before);
        match lookup(inside.trim_matches(' '), scope) {
            Some(Value::String(found)) => filled.push_str(found),
            Some(found) => filled.push_str(&found.to_string()),
            None => {
                let shown: String = inside.trim().chars().filter(|c| !c.is_control()).take(SHOWN).collect();
                return Err(format!("{{{{{shown}}}}}"));
            }
        }
        rest = behind;
    }
    filled.push_str(rest);
    Ok(filled)
}

fn lookup<'a>(path: &str, scope: Scope<'a>) -> Option<&'a Value> {
    let plain = |step: &str| !step.is_empty() && !step.contains(|c: char| c == '{' || c == '}' || c.is_whitespace());
    let mut steps = path.split('.');
    let root = match steps.next()? {
        "payload" => scope.payload,
        "metadata" => scope.metadata,
        _ => return None,
    };
    let first = steps.next().filter(|step| plain(step))?;
    steps.try_fold(root.get(first)?, |at, step| match at {
        _ if !plain(step) => None,
        Value::Object(fields) => fields.get(step),
        Value::Array(items) => items.get(step.parse::<usize>().ok()?),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    // acceptance 92
    #[test]
    fn strings_are_filled_and_nothing_else() {
        let payload = json!({
            "n": 10, "name": "Ada", "deep": { "list": [ { "x": true } ], "none": null }, "sly": "{{payload.name}}",
        });
        let metadata = json!({ "user": { "id": "u-1" } });
        let scope = Scope { payload: payload.as_object().unwrap(), metadata: metadata.as_object().unwrap() };
        for (text, expected) in [
            ("plain", Ok("plain")),
            ("top {{payload.n}} of {{ payload.name }}", Ok("top 10 of Ada")),
            ("{{metadata.user.id}}{{payload.n}}", Ok("u-110")),
            ("{{payload.deep.list.0.x}}", Ok("true")),
            ("{{payload.deep.list}}", Ok("[{\"x\":true}]")),
            ("{{payload.deep.none}}", Ok("null")),
            ("{{payload.sly}}", Ok("{{payload.name}}")),
            ("a { b } {{ open", Ok("a { b } {{ open")),
            ("{{payload.missing}}", Err("{{payload.missing}}")),
            ("{{payload.n.more}}", Err("{{payload.n.more}}")),
            ("{{payload.deep.list.1}}", Err("{{payload.deep.list.1}}")),
            ("{{payload}}", Err("{{payload}}")),
            ("{{environment.HOME}}", Err("{{environment.HOME}}")),
            ("{{}}", Err("{{}}")),
            ("{{payload..n}}", Err("{{payload..n}}")),
            ("{{payload. n}}", Err("{{payload. n}}")),
            ("{{ {{payload.n}} }}", Err("{{{{payload.n}}")),
        ] {
            assert_eq!(fill(text, scope), expected.map(str::to_owned).map_err(str::to_owned), "{text}");
        }
        let written = json!({ "a": "{{payload.n}}", "b": 7, "c": true, "d": { "e": "{{payload.n}}" }, "f": ["{{x}}"] });
        let filled = params("a/b", written.as_object().unwrap(), scope).unwrap();
        let expected = json!({ "a": "10", "b": 7, "c": true, "d": { "e": "{{payload.n}}" }, "f": ["{{x}}"] });
        assert_eq!(Value::Object(filled), expected);
        let wrong = json!({ "q": "x {{payload.x}}" });
        let error = params("a/b", wrong.as_object().unwrap(), scope).unwrap_err();
        assert_eq!(error.to_string(), "Unresolved template variable {{payload.x}}");
        assert_eq!(error.data(), json!({ "tool": "a/b", "parameter": "q" }));
    }
}
