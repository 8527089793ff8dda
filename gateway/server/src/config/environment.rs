//! `${NAME}` in a string value comes from the environment; `$${` is a plain `${`.
//!
//! Done on the tree, after parsing: what a variable holds can never change the shape of the file.

use serde_json::Value;

use super::problem::{Problems, join};

pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The process's own environment.
pub fn process(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Fills in every string value. A variable that is not set is a problem at the value's path.
pub fn fill(tree: &mut Value, lookup: Lookup<'_>, problems: &mut Problems) {
    fill_at(tree, "", lookup, problems);
}

fn fill_at(tree: &mut Value, path: &str, lookup: Lookup<'_>, problems: &mut Problems) {
    match tree {
        Value::String(text) => match expand(text, lookup, &mut |name, value| problems.hide(name, value)) {
            Ok(filled) => *text = filled,
            Err(what) => problems.unreadable(path, what),
        },
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                fill_at(item, &format!("{path}[{index}]"), lookup, problems);
            }
        }
        Value::Object(map) => {
            for (key, value) in map.iter_mut() {
                fill_at(value, &join(path, key), lookup, problems);
            }
        }
        _ => {}
    }
}

fn expand(text: &str, lookup: Lookup<'_>, used: &mut dyn FnMut(&str, &str)) -> Result<String, String> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        if let Some(before) = before.strip_suffix('$') {
            filled.push_str(before);
            filled.push_str("${");
            rest = after;
            continue;
        }
        let Some((name, after)) = after.split_once('}') else {
            return Err("`${` is never closed by `}`; write `$${` for the two characters themselves".into());
        };
        if !is_name(name) {
            return Err(format!("`${{{name}}}` does not name an environment variable: letters, digits and `_` only"));
        }
        let Some(value) = lookup(name) else {
            return Err(format!("the environment variable `{name}` is not set"));
        };
        used(name, &value);
        filled.push_str(before);
        filled.push_str(&value);
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lookup(name: &str) -> Option<String> {
        match name {
            "WHO" => Some("reeve".into()),
            "TRICK" => Some("${WHO}".into()),
            "EMPTY" => Some(String::new()),
            _ => None,
        }
    }

    #[test]
    fn variables_are_filled_in_once() {
        for (text, expected) in [
            ("plain $ text }", Ok("plain $ text }")),
            ("a ${WHO} b ${WHO}", Ok("a reeve b reeve")),
            ("[${EMPTY}]", Ok("[]")),
            // What a variable holds is not read again.
            ("${TRICK}", Ok("${WHO}")),
            ("$${WHO} ${WHO}", Ok("${WHO} reeve")),
            ("${NOBODY}", Err("the environment variable `NOBODY` is not set")),
            ("${WHO", Err("`${` is never closed by `}`; write `$${` for the two characters themselves")),
            ("${A B}", Err("`${A B}` does not name an environment variable: letters, digits and `_` only")),
        ] {
            assert_eq!(
                expand(text, &lookup, &mut |_, _| ()),
                expected.map(String::from).map_err(String::from),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_missing_is_named_by_its_path() {
        let mut tree = json!({"a": {"b": ["x", "${GONE}"]}, "c": 3, "d": "${LOST}", "${WHO}": "key"});
        let mut problems = Problems::of("f");
        fill(&mut tree, &lookup, &mut problems);
        let paths: Vec<_> = problems.into_found().into_iter().map(|problem| problem.path).collect();
        assert_eq!(paths, ["a.b[1]", "d"]);
        assert_eq!(tree.get("${WHO}"), Some(&json!("key")), "keys are left alone");
    }
}
