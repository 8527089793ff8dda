//! Names that would be taken for another's.

use gateway_core::definitions::{Accepted, visible};
use serde_json::Value;
use unicode_normalization::UnicodeNormalization;
use unicode_security::MixedScript;

use super::fold::{at_a_glance, imitated};
use super::places::{Kind, Place};
use super::{Findings, LOOKALIKE_NAME};

/// The name beside those that are accepted.
pub fn look_at(server: &str, name: &str, accepted: &[Accepted<'_>], findings: &mut Findings<'_>) {
    let folded = at_a_glance(name);
    for known in accepted {
        let Some(other) = known.definition.get("name").and_then(Value::as_str) else { continue };
        if other != name {
            let glance = at_a_glance(other);
            // A server may spell its own tool in two ways, but its digits are no letters either.
            let mistaken = match known.server == server {
                true => glance == folded && !spelled_alike(name, other),
                false => glance == folded || nearly(&folded, &glance),
            };
            if mistaken {
                let what = format!("`{}` is easily taken for `{other}` of {}", visible(name), known.server);
                findings.say(LOOKALIKE_NAME, "/name", what);
            }
        }
        if known.server != server && at_a_glance(known.server) == at_a_glance(server) {
            let what = format!("its server `{}` is easily taken for `{}`", visible(server), known.server);
            findings.say(LOOKALIKE_NAME, "/name", what);
        }
    }
    // Aggregated names carry the server's: a tool that brings another server's along claims to be that one's.
    for known in accepted.iter().filter(|known| known.server != server) {
        let Some(other) = known.definition.get("name").and_then(Value::as_str) else { continue };
        if other.len() > 2 && known.server.len() > 2 && at_a_glance(&format!("{}{other}", known.server)) == folded {
            findings.say(
                LOOKALIKE_NAME,
                "/name",
                format!("`{}` claims to be `{other}` of {}", visible(name), known.server),
            );
        }
    }
}

/// The letters of a tool's or a parameter's name.
pub fn look_at_letters(place: &Place<'_>, findings: &mut Findings<'_>) {
    let name = place.text;
    if place.kind == Kind::Name && (name.is_empty() || name.trim() != name || name.contains(char::is_whitespace)) {
        findings.say(LOOKALIKE_NAME, &place.path, format!("`{}` is empty or has blanks in it", visible(name)));
    }
    if name.is_ascii() {
        return;
    }
    let disguised = |letter: char| {
        imitated(letter).is_some()
            || matches!(u32::from(letter), 0x250..=0x2AF)
            || matches!(letter, '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{FF3F}' | '\u{FF0D}' | '\u{2024}' | '\u{02D7}' | '\u{FE4D}'..='\u{FE4F}')
    };
    let what = if name.chars().any(disguised) {
        "has letters that look like others"
    } else if !name.is_single_script() {
        "mixes alphabets"
    } else if name.nfkc().ne(name.chars()) {
        "is written in a form that reads as another"
    } else if place.kind == Kind::Name && name.chars().any(|letter| !letter.is_alphanumeric() && !letter.is_ascii()) {
        "has signs in it that no name needs"
    } else {
        return;
    };
    findings.say(LOOKALIKE_NAME, &place.path, format!("`{}` {what}", visible(name)));
}

/// `add_item` and `addItem`: the same letters, whatever their case and what is between them.
fn spelled_alike(one: &str, other: &str) -> bool {
    let letters = |name: &str| -> String {
        name.chars()
            .filter(|letter| !matches!(letter, '_' | '-' | '.' | '/'))
            .map(|letter| letter.to_ascii_lowercase())
            .collect()
    };
    one.is_ascii() && letters(one) == letters(other)
}

/// One slip apart, or two in a long name.
fn nearly(one: &str, other: &str) -> bool {
    let shorter = one.chars().count().min(other.chars().count());
    let slips = match shorter {
        0..5 => return false,
        5..12 => 1,
        _ => 2,
    };
    distance(one, other, slips) <= slips
}

/// Letters to put in, take out, change or swap; more than `most` is only known to be more.
fn distance(one: &str, other: &str, most: usize) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    if one.len().abs_diff(other.len()) > most {
        return most + 1;
    }
    let mut older: Vec<usize> = Vec::new();
    let mut old: Vec<usize> = (0..=other.len()).collect();
    for (row, letter) in one.iter().enumerate() {
        let mut new = vec![row + 1];
        for (column, wanted) in other.iter().enumerate() {
            let at = |line: &[usize], place: usize| line.get(place).copied().unwrap_or(usize::MAX / 2);
            let mut least = (at(&old, column + 1) + 1)
                .min(at(&new, column) + 1)
                .min(at(&old, column) + usize::from(letter != wanted));
            if row > 0 && column > 0 && other.get(column - 1) == Some(letter) && one.get(row - 1) == Some(wanted) {
                least = least.min(at(&older, column - 1) + 1);
            }
            new.push(least);
        }
        older = std::mem::replace(&mut old, new);
    }
    old.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_counted() {
        for (one, other, slips) in
            [("read", "read", 0), ("raed", "read", 1), ("reed", "read", 1), ("reads", "read", 1), ("dare", "read", 4)]
        {
            assert_eq!(distance(one, other, 3), slips, "{one} {other}");
        }
    }
}
