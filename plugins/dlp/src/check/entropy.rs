//! How surprising the characters of a text are, in bits per character (Shannon). Words lie below 3, random keys above.

pub fn of(text: &str) -> f32 {
    let mut counts = [0_u16; 256];
    for byte in text.bytes() {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count = count.saturating_add(1);
        }
    }
    let length = text.len().max(1) as f32;
    let part = |count: &u16| {
        let share = f32::from(*count) / length;
        -share * share.log2()
    };
    counts.iter().filter(|count| **count > 0).map(part).sum()
}

/// At least this many bits, or as many as a text so short can have at nine tenths.
pub fn at_least(text: &str, bits: f32) -> bool {
    let possible = (text.len().max(1) as f32).log2() * 0.9;
    of(text) >= bits.min(possible)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_below_keys() {
        for (text, expected) in [
            ("aaaaaaaaaaaaaaaaaaaa", false),
            ("passwordpassword", false),
            ("xxxxxxxxxxxxxxxx0000", false),
            ("q7Zr0Kp3VbT9xLw2mNcY", true),
            ("9f86d081884c7d659a2feaa0c55ad015", true),
        ] {
            assert_eq!(at_least(text, 3.2), expected, "{text}: {}", of(text));
        }
    }
}
