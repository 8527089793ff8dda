//! Every text in a definition, with its place.

use serde_json::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The tool's own name.
    Name,
    /// A member's name, which for a schema is a parameter's.
    Key,
    Prose,
}

pub struct Place<'a> {
    /// A JSON pointer.
    pub path: String,
    pub text: &'a str,
    pub kind: Kind,
}

impl Place<'_> {
    /// The address of a schema's language and the like are no prose.
    pub fn is_formal(&self) -> bool {
        ["/$schema", "/$id", "/$ref"].iter().any(|formal| self.path.ends_with(formal))
    }

    /// The parameter that this text is part of the description of.
    pub fn parameter(&self) -> Option<&str> {
        let (_, below) = self.path.strip_prefix("/inputSchema")?.rsplit_once("/properties/")?;
        below.split_once('/').map(|(name, _)| name)
    }
}

/// All texts and keys, names first. Parsed JSON is never deep enough to be a danger here.
pub fn places(tool: &Value) -> Vec<Place<'_>> {
    let mut found = Vec::new();
    walk(String::new(), tool, &mut found);
    found
}

fn walk<'a>(path: String, value: &'a Value, found: &mut Vec<Place<'a>>) {
    match value {
        Value::String(text) => {
            let kind = if path == "/name" { Kind::Name } else { Kind::Prose };
            found.push(Place { path, text, kind });
        }
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                walk(format!("{path}/{place}"), item, found);
            }
        }
        Value::Object(members) => {
            for (key, value) in members {
                let below = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
                found.push(Place { path: below.clone(), text: key, kind: Kind::Key });
                walk(below, value, found);
            }
        }
        _ => {}
    }
}
