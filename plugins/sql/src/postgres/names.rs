//! Names as the parser gives them, and as PostgreSQL reads them out of a string.

use super::tree::{Node, NodeEnum};

/// `name`, or `schema.name`; longer ones name a database and are nobody's business here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name<'a> {
    pub schema: Option<&'a str>,
    pub name: &'a str,
}

impl<'a> Name<'a> {
    pub fn of(parts: &'a [Node<'a>]) -> Option<Self> {
        match parts {
            [name] => Some(Self { schema: None, name: text(name)? }),
            [schema, name] => Some(Self { schema: Some(text(schema)?), name: text(name)? }),
            _ => None,
        }
    }

    /// Of the database itself, or looked up on the path, where the database's own come first unless somebody says otherwise.
    pub fn is_own(&self) -> bool {
        matches!(self.schema, None | Some("pg_catalog"))
    }

    pub fn written(&self) -> String {
        match self.schema {
            Some(schema) => format!("{schema}.{}", self.name),
            None => self.name.to_owned(),
        }
    }
}

pub fn text<'a>(node: &'a Node<'a>) -> Option<&'a str> {
    match node.node.as_ref()? {
        NodeEnum::String(string) => Some(string.sval),
        _ => None,
    }
}

/// What the server takes for blanks; others are letters of a name to it.
const BLANKS: [char; 6] = [' ', '\t', '\n', '\r', '\x0b', '\x0c'];

/// Reads `a.b`, `A`, `"A"."b c"` as the server does when a string becomes a table: folded unless quoted, at most two parts.
/// A number is no name but a table's id, which nobody can look up here.
pub fn in_string(text: &str) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    let mut rest = text.trim_matches(BLANKS);
    loop {
        let (part, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted_part(quoted)?,
            None => {
                let end =
                    rest.find(|letter| ['.', '"'].contains(&letter) || BLANKS.contains(&letter)).unwrap_or(rest.len());
                let (part, after) = rest.split_at_checked(end)?;
                (part.to_ascii_lowercase(), after)
            }
        };
        if part.is_empty() || part.starts_with(|first: char| first.is_ascii_digit() || first == '-') {
            return None;
        }
        parts.push(part);
        let after = after.trim_start_matches(BLANKS);
        match after.strip_prefix('.') {
            Some(next) => rest = next.trim_start_matches(BLANKS),
            None if after.is_empty() => break,
            None => return None,
        }
    }
    (parts.len() <= 2).then_some(parts)
}

fn quoted_part(text: &str) -> Option<(String, &str)> {
    let mut part = String::new();
    let mut rest = text;
    loop {
        let (before, after) = rest.split_once('"')?;
        part.push_str(before);
        match after.strip_prefix('"') {
            Some(next) => {
                part.push('"');
                rest = next;
            }
            None => return Some((part, after)),
        }
    }
}

/// A name as it is shown to somebody: short, and on one line.
pub fn shown(name: &str) -> String {
    name.chars().take(64).map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::in_string;

    #[test]
    fn strings_are_read_as_the_server_reads_them() {
        for (text, expected) in [
            ("notes", Some(vec!["notes"])),
            (" Public . Notes ", Some(vec!["public", "notes"])),
            (r#""Notes""#, Some(vec!["Notes"])),
            (r#"app."a""b.c""#, Some(vec!["app", "a\"b.c"])),
            ("\u{a0}notes", Some(vec!["\u{a0}notes"])),
            ("\u{212a}ind", Some(vec!["\u{212a}ind"])),
            ("16384", None),
            ("a.b.c", None),
            ("a b", None),
            ("a.", None),
            ("", None),
            (r#""open"#, None),
        ] {
            let expected = expected.map(|parts| parts.into_iter().map(String::from).collect::<Vec<_>>());
            assert_eq!(in_string(text), expected, "{text}");
        }
    }
}
