//! A text in sentences, and names as they are spoken of in them.

use serde_json::Value;

use crate::scan::fold::readable;

/// Words that say of the name beside them that it is a parameter's.
const FIELD_WORDS: [&str; 22] = [
    "field",
    "parameter",
    "argument",
    "property",
    "input",
    "array",
    "header",
    "param",
    "feld",
    "campo",
    "champ",
    "parametr",
    "parametro",
    "argomento",
    "argumento",
    "eigenschaft",
    "参数",
    "字段",
    "ハラメータ",
    "欄",
    "поле",
    "параметр",
];
/// Schemas in schemas, deeper than anybody describes parameters.
const DEEPEST: usize = 12;

/// Sentences end at their signs where a blank follows, at lines' ends, and at the full stops that need no blank. What
/// follows a semicolon still belongs to what stands before it.
pub fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            if rest.is_empty() {
                return None;
            }
            let end = end_of_first(rest);
            let (sentence, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
            rest = after;
            if !sentence.trim().is_empty() {
                return Some(sentence);
            }
        }
    })
}

fn end_of_first(text: &str) -> usize {
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        let ends = match letter {
            '\n' | '。' | '！' | '？' => true,
            '.' | '!' | '?' => letters.peek().is_none_or(|(_, next)| next.is_whitespace()),
            _ => false,
        };
        if ends {
            return at + letter.len_utf8();
        }
    }
    text.len()
}

/// `fullChatHistory` and `full_chat_history` are `full chat history`.
pub fn spoken(name: &str) -> String {
    let mut apart = String::with_capacity(name.len() + 8);
    let mut small = false;
    for letter in name.chars() {
        if letter.is_uppercase() && small {
            apart.push(' ');
        }
        apart.push(if matches!(letter, '_' | '-' | '.' | '/') { ' ' } else { letter });
        small = letter.is_lowercase();
    }
    readable(&apart)
}

/// The names of all parameters, those of nested objects included.
pub fn parameters<'a>(schema: &'a Value, most: usize, found: &mut Vec<&'a str>) {
    walk(schema, DEEPEST, most, found);
}

fn walk<'a>(schema: &'a Value, depth: usize, most: usize, found: &mut Vec<&'a str>) {
    if depth == 0 || found.len() >= most {
        return;
    }
    match schema {
        Value::Object(members) => {
            for (key, value) in members {
                if let ("properties", Value::Object(properties)) = (key.as_str(), value) {
                    found.extend(properties.keys().take(most - found.len().min(most)).map(String::as_str));
                    for below in properties.values() {
                        walk(below, depth - 1, most, found);
                    }
                } else {
                    walk(value, depth - 1, most, found);
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                walk(item, depth - 1, most, found);
            }
        }
        _ => {}
    }
}

/// Whether a name is there as a word of its own.
pub fn stands_alone(text: &str, name: &str) -> bool {
    places_of(text, name).next().is_some()
}

/// Whether a name is spoken of as a parameter: in quotes, or beside a word for one. Among words of another alphabet it is
/// nothing else.
pub fn stands_as_field(text: &str, name: &str) -> bool {
    places_of(text, name).any(|(before, after)| {
        if is_foreign(text) {
            return true;
        }
        let quote =
            |letter: Option<char>| letter.is_some_and(|letter| matches!(letter, '`' | '"' | '\'' | '「' | '」'));
        if quote(before.chars().next_back()) && quote(after.chars().next()) {
            return true;
        }
        let bare = |letter: char| !letter.is_alphanumeric();
        let next = after.trim_start_matches(bare);
        let last = before.trim_end_matches(bare).rsplit(bare).next().unwrap_or_default();
        // A comma or a full stop between them is a border.
        let apart = |between: &str| between.contains(['.', ',', ';', ':']);
        let gap_after = after.get(..after.len() - next.len()).unwrap_or_default();
        let gap_before = before.get(before.trim_end_matches(bare).len()..).unwrap_or_default();
        FIELD_WORDS
            .iter()
            .any(|word| (next.starts_with(word) && !apart(gap_after)) || (last.starts_with(word) && !apart(gap_before)))
    })
}

fn is_foreign(text: &str) -> bool {
    let (mut plain, mut other) = (0_usize, 0_usize);
    for letter in text.chars().filter(|letter| letter.is_alphabetic()) {
        if letter.is_ascii() { plain += 1 } else { other += 1 }
    }
    other > plain
}

fn places_of<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let part = |letter: Option<char>| {
        letter.is_some_and(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-'))
    };
    let found = if name.is_empty() { None } else { Some(text.match_indices(name)) };
    found.into_iter().flatten().filter_map(move |(at, _)| {
        let (before, rest) = text.split_at_checked(at)?;
        let after = rest.get(name.len()..)?;
        (!part(before.chars().next_back()) && !part(after.chars().next())).then_some((before, after))
    })
}
