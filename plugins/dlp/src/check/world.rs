//! National and financial numbers outside Europe that carry a check digit: one function each.

use super::digits::Digits;

fn of_length(text: &str, count: usize) -> Option<Digits> {
    Digits::of(text).filter(|digits| digits.count() == count && !digits.all_same())
}

/// Indian Aadhaar: twelve digits and Verhoeff's scheme, which sees every swapped pair. Never begins with 0 or 1.
pub fn aadhaar(text: &str) -> bool {
    const SHIFTED: [[u8; 10]; 8] = [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
        [1, 5, 7, 6, 2, 8, 3, 0, 9, 4],
        [5, 8, 0, 3, 7, 9, 6, 1, 4, 2],
        [8, 9, 1, 6, 0, 4, 3, 5, 2, 7],
        [9, 4, 5, 3, 1, 2, 6, 8, 7, 0],
        [4, 2, 8, 6, 5, 7, 3, 9, 0, 1],
        [2, 7, 9, 3, 8, 0, 6, 4, 1, 5],
        [7, 0, 4, 6, 9, 1, 3, 2, 5, 8],
    ];
    let Some(digits) = of_length(text, 12) else { return false };
    let mut sum = 0_u8;
    for (place, digit) in digits.all().iter().rev().enumerate() {
        let row = SHIFTED.get(place % 8);
        let shifted = row.and_then(|row| row.get(usize::from(*digit))).copied().unwrap_or_default();
        sum = dihedral(sum, shifted);
    }
    sum == 0 && digits.leading(1) > 1
}

/// The product of two symmetries of a pentagon, turns as 0 to 4 and mirrors as 5 to 9.
fn dihedral(one: u8, other: u8) -> u8 {
    match (one < 5, other < 5) {
        (true, true) => (one + other) % 5,
        (true, false) => (one + other - 5) % 5 + 5,
        (false, true) => (one + 5 - other) % 5 + 5,
        (false, false) => (one + 5 - other) % 5,
    }
}

/// Brazilian CPF: two check digits modulo 11.
pub fn cpf(text: &str) -> bool {
    let Some(digits) = of_length(text, 11) else { return false };
    let first = eleven(digits.weighted(&[10, 9, 8, 7, 6, 5, 4, 3, 2]));
    let second = eleven(digits.weighted(&[11, 10, 9, 8, 7, 6, 5, 4, 3, 2]));
    digits.part(9, 2) == u64::from(first * 10 + second)
}

/// Brazilian companies' CNPJ.
pub fn cnpj(text: &str) -> bool {
    let Some(digits) = of_length(text, 14) else { return false };
    let first = eleven(digits.weighted(&[5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2]));
    let second = eleven(digits.weighted(&[6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2]));
    digits.part(12, 2) == u64::from(first * 10 + second)
}

fn eleven(sum: u32) -> u32 {
    match sum % 11 {
        0 | 1 => 0,
        rest => 11 - rest,
    }
}

/// Australian tax file number.
pub fn tfn(text: &str) -> bool {
    let Some(digits) = of_length(text, 9) else { return false };
    digits.weighted(&[1, 4, 3, 7, 5, 8, 6, 9, 10]).is_multiple_of(11)
}

/// Australian Medicare: ten digits (an eleventh says which person), the ninth checks the first eight.
pub fn medicare(text: &str) -> bool {
    let Some(digits) = Digits::of(text).filter(|digits| matches!(digits.count(), 10 | 11)) else { return false };
    let check = digits.weighted(&[1, 3, 7, 9, 1, 3, 7, 9]) % 10;
    (2..=6).contains(&digits.leading(1)) && u64::from(check) == digits.part(8, 1)
}

/// US bank routing numbers: weights 3, 7, 1, and a first pair that the Federal Reserve gives out.
pub fn aba(text: &str) -> bool {
    let Some(digits) = of_length(text, 9) else { return false };
    let district = matches!(digits.leading(2), 1..=12 | 21..=32 | 61..=72 | 80);
    district && digits.weighted(&[3, 7, 1, 3, 7, 1, 3, 7, 1]).is_multiple_of(10)
}

/// US national provider: Luhn with the prefix that the card industry gave to health care.
pub fn npi(text: &str) -> bool {
    let Some(digits) = of_length(text, 10) else { return false };
    // 80840 in front adds 24 to the sum.
    matches!(digits.leading(1), 1 | 2) && (super::luhn::sum(digits.all()) + 24).is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A check, a number that passes, and one that is one digit off.
    type Case = (fn(&str) -> bool, &'static str, &'static str);

    #[test]
    fn a_check_digit_that_does_not_fit_is_no_number() {
        let table: [Case; 7] = [
            (aadhaar, "2341 2341 2346", "2341 2341 2364"),
            (cpf, "111.444.777-35", "111.444.777-36"),
            (cnpj, "11.222.333/0001-81", "11.222.333/0001-82"),
            (tfn, "123 456 782", "123 456 783"),
            (medicare, "2123 45670 1", "2123 45671 1"),
            (aba, "021000021", "021000022"),
            (npi, "1234567893", "1234567894"),
        ];
        for (check, right, wrong) in table {
            assert!(check(right), "{right}");
            assert!(!check(wrong), "{wrong}");
        }
    }
}
