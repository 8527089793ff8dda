//! Letters and digits both, as generated keys have them; a word or a number alone is neither.

pub fn holds(text: &str) -> bool {
    let digit = text.bytes().any(|byte| byte.is_ascii_digit());
    (digit && text.bytes().any(|byte| byte.is_ascii_alphabetic())) || (!digit && is_drawn(text))
}

/// One key in a hundred was drawn without a digit. Its capitals stand anywhere, where a name's begin words.
fn is_drawn(text: &str) -> bool {
    const SHORTEST: usize = 20;
    let pairs = || text.as_bytes().windows(2);
    let turns = |one: &u8, next: &u8| one.is_ascii_lowercase() != next.is_ascii_lowercase();
    let letters = |pair: &[u8]| pair.iter().all(u8::is_ascii_alphabetic);
    let changes = pairs().filter(|pair| matches!(pair, [one, next] if letters(pair) && turns(one, next)));
    let capitals = pairs().filter(|pair| pair.iter().all(u8::is_ascii_uppercase));
    text.len() >= SHORTEST && changes.count() * 3 >= text.len() && capitals.count() >= 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_are_needed() {
        for (text, expected) in [
            ("a1", true),
            ("abc", false),
            ("123", false),
            ("", false),
            ("RZVsDPShUZeTtBkBLoZWZSOX", true),
            ("getAccessTokenFromStorage", false),
            ("parseHTMLFromURLString", false),
            ("SCREAMING_SNAKE_CASE_NAME", false),
        ] {
            assert_eq!(holds(text), expected, "{text}");
        }
    }
}
