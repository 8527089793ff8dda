//! What stands in the place of a value: a function of key, rule and value, and of nothing else.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::{Action, Keep, Rule};

/// Hexadecimal digits of a hash that are shown.
const SHOWN: usize = 12;
/// Integers up to here are exact in every reader of JSON.
const EXACT: u64 = (1 << 53) - 1;

/// For texts and keys.
pub(crate) fn text(rule: &Rule, action: Action, value: &str, key: &[u8; 32]) -> String {
    let label = &rule.label;
    match action {
        Action::Hash => {
            let digest = hex::encode(digest(rule, value, key));
            format!("[{label}:{}]", digest.get(..SHOWN).unwrap_or(&digest))
        }
        Action::Partial => partial(label, rule.keep, value).unwrap_or_else(|| bracketed(label)),
        Action::Observe | Action::Mask | Action::Block => bracketed(label),
    }
}

/// There is one for everything that is found, and it is always the same two signs.
fn bracketed(label: &str) -> String {
    ["[", label, "]"].concat()
}

/// For numbers: a number of the same kind.
pub(crate) fn number(rule: &Rule, action: Action, written: &str, key: &[u8; 32]) -> String {
    let whole = match action {
        Action::Hash => {
            let [a, b, c, d, e, f, g, h, ..] = digest(rule, written, key);
            u64::from_be_bytes([a, b, c, d, e, f, g, h]) & EXACT
        }
        _ => 0,
    };
    if written.contains(['.', 'e', 'E']) { format!("{whole}.0") } else { whole.to_string() }
}

fn digest(rule: &Rule, value: &str, key: &[u8; 32]) -> [u8; 32] {
    // HMAC takes keys of any length; the error is for other MACs.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else {
        return [0; 32];
    };
    mac.update(rule.id.as_bytes());
    mac.update(&[0]);
    mac.update(normal(value).as_bytes());
    mac.finalize().into_bytes().into()
}

/// A number is its digits, a text its letters in small: `4111-1111..` and `4111 1111..` are one card.
fn normal(value: &str) -> String {
    let separator = |c: char| c.is_ascii_whitespace() || matches!(c, '-' | '.' | '/' | '(' | ')' | '_');
    if value.chars().all(|c| c.is_ascii_digit() || c == '+' || separator(c)) {
        value.chars().filter(char::is_ascii_digit).collect()
    } else {
        value.chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase).collect()
    }
}

fn partial(label: &str, keep: Keep, value: &str) -> Option<String> {
    if keep.domain {
        let (local, domain) = value.rsplit_once('@')?;
        return Some(format!("{}…@{domain}", local.chars().next()?));
    }
    let (first, last) = (usize::from(keep.first), usize::from(keep.last));
    let letters: Vec<char> = value.chars().filter(|c| !matches!(c, ' ' | '-' | '.')).collect();
    // What is left must not be most of it.
    if first + last == 0 || (first + last) * 2 > letters.len() {
        return None;
    }
    let start: String = letters.iter().take(first).collect();
    let end: String = letters.iter().skip(letters.len() - last).collect();
    Some(format!("[{label}:{start}…{end}]"))
}
