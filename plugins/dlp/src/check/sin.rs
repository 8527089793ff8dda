//! Canadian social insurance numbers: nine digits and Luhn. Numbers that begin with 0 or 8 are given to nobody today
//! and stand in forms all the same.

use super::digits::Digits;
use super::luhn;

pub fn holds(text: &str) -> bool {
    let Some(digits) = Digits::of(text).filter(|digits| digits.count() == 9) else { return false };
    !digits.all_same() && luhn::sum(digits.all()).is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_digit_counts() {
        for (text, expected) in
            [("046 454 286", true), ("130-692-544", true), ("130692545", false), ("000000000", false)]
        {
            assert_eq!(holds(text), expected, "{text}");
        }
    }
}
