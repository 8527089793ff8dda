//! Many patterns as one automaton, small enough to be kept for as long as the program runs.
//!
//! `[^.!?;]{0,45}` over all of Unicode is forty-five little automata of their own, and a hundred patterns have hundreds of
//! such gaps. A pattern of plain ASCII is therefore read by bytes: what it names is ASCII, and in between it only counts.

use std::borrow::Cow;

use regex::bytes::{RegexSet, RegexSetBuilder};

/// What one set, or one pattern, may take.
pub const LARGEST_SET: usize = 64 << 20;

pub fn together(patterns: impl IntoIterator<Item = impl AsRef<str>>) -> Result<RegexSet, regex::Error> {
    let patterns: Vec<String> = patterns.into_iter().map(|pattern| by_bytes(pattern.as_ref()).into_owned()).collect();
    RegexSetBuilder::new(patterns).size_limit(LARGEST_SET).dfa_size_limit(LARGEST_SET).build()
}

/// Of alternatives each is to be asked for itself: one word in another alphabet would make letters of all of them.
pub fn by_bytes(pattern: &str) -> Cow<'_, str> {
    // Escapes may name what ASCII has not.
    let beyond = ["\\u", "\\U", "\\p", "\\P", "\\x{"];
    match pattern.is_ascii() && !beyond.iter().any(|escape| pattern.contains(escape)) {
        true => Cow::Owned(format!("(?-u:{pattern})")),
        false => Cow::Borrowed(pattern),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn bytes_and_letters_say_the_same() {
        let patterns = [r"\bsend\b[^.]{0,9}\bkeys\b", r"\bключ\w*", r"caf[eé]", r"\p{Lu}x", r"\w+ \u{e9}t"];
        let set = together(patterns).unwrap();
        let letters = regex::RegexSet::new(patterns).unwrap();
        for text in ["send my keys", "send – keys", "resend my keys", "мой ключик", "café", "Éx", "Ex", "un ét", "x"]
        {
            let bytes: Vec<_> = set.matches(text.as_bytes()).iter().collect();
            assert_eq!(bytes, letters.matches(text).iter().collect::<Vec<_>>(), "{text}");
        }
    }
}
