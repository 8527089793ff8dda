//! Letters and digits both, as generated keys have them; a word or a number alone is neither.

pub fn holds(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit()) && text.bytes().any(|byte| byte.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_are_needed() {
        for (text, expected) in [("a1", true), ("abc", false), ("123", false), ("", false)] {
            assert_eq!(holds(text), expected, "{text}");
        }
    }
}
