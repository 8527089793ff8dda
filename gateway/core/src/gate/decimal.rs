//! Numbers of JSON compared exactly, whatever form they were written in: 10 is 10.0, and no digit of an integer is lost.

use std::cmp::Ordering;

use serde_json::Number;

/// `0.DIGITS * 10^point`, without zeros at either end; no digits at all for zero. Never computed out, so a huge exponent
/// costs nothing.
#[derive(Debug, PartialEq, Eq)]
struct Decimal {
    negative: bool,
    point: i64,
    digits: Vec<u8>,
}

pub fn compared(one: &Number, other: &Number) -> Ordering {
    if let (Some(one), Some(other)) = (one.as_i64(), other.as_i64()) {
        return one.cmp(&other);
    }
    let (one, other) = (Decimal::of(&one.to_string()), Decimal::of(&other.to_string()));
    match (one.sign(), other.sign()) {
        (-1, -1) => other.magnitude().cmp(&one.magnitude()),
        (1, 1) => one.magnitude().cmp(&other.magnitude()),
        (one, other) => one.cmp(&other),
    }
}

impl Decimal {
    fn of(text: &str) -> Self {
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        // Past what 64 bits can count there is no float to write.
        let exponent: i64 = exponent.parse().unwrap_or_default();
        let (negative, mantissa) = mantissa.strip_prefix('-').map_or((false, mantissa), |rest| (true, rest));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
        let leading = all.iter().take_while(|digit| **digit == b'0').count();
        let trailing = all.iter().skip(leading).rev().take_while(|digit| **digit == b'0').count();
        let digits: Vec<u8> = all.get(leading..all.len() - trailing).unwrap_or_default().to_vec();
        let point = if digits.is_empty() { 0 } else { whole.len() as i64 - leading as i64 + exponent };
        Self { negative, point, digits }
    }

    fn sign(&self) -> i8 {
        match (self.digits.is_empty(), self.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }

    /// Digits without trailing zeros compare like texts once the points agree.
    fn magnitude(&self) -> (i64, &[u8]) {
        (self.point, &self.digits)
    }
}
