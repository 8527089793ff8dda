//! The check digit of cards, SIN, personnummer and SIREN: every second digit from the right counts double.

use super::digits::Digits;

pub fn holds(text: &str) -> bool {
    Digits::of(text).is_some_and(|digits| digits.count() > 1 && sum(digits.all()).is_multiple_of(10))
}

pub fn sum(digits: &[u8]) -> u32 {
    let each = digits.iter().rev().enumerate().map(|(place, digit)| match (place % 2, u32::from(*digit)) {
        (0, digit) => digit,
        (_, digit) if digit > 4 => digit * 2 - 9,
        (_, digit) => digit * 2,
    });
    each.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wrong_digit_is_seen() {
        for (text, expected) in [
            ("4111 1111 1111 1111", true),
            ("4111 1111 1111 1112", false),
            ("5500-0055-5555-5559", true),
            ("378282246310005", true),
            ("046 454 286", true),
            ("046 454 287", false),
            ("0", false),
        ] {
            assert_eq!(holds(text), expected, "{text}");
        }
    }
}
