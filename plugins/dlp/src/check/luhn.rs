//! The checksum of payment cards and of some national numbers.

/// Over the digits of the value, whatever stands between them.
pub fn passes(value: &str) -> bool {
    let digits = value.bytes().rev().filter(u8::is_ascii_digit).map(|digit| u32::from(digit - b'0'));
    let mut sum = 0;
    let mut count = 0;
    for (place, digit) in digits.enumerate() {
        count += 1;
        sum += match (place % 2, digit) {
            (0, digit) => digit,
            (_, digit) if digit > 4 => digit * 2 - 9,
            (_, digit) => digit * 2,
        };
    }
    count > 1 && sum % 10 == 0
}
