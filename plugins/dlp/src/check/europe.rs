//! National numbers of Europe that carry a check digit: one function each, all over digits or letters without grouping.

use super::digits::Digits;
use super::luhn;

fn of_length(text: &str, count: usize) -> Option<Digits> {
    Digits::of(text).filter(|digits| digits.count() == count && !digits.all_same())
}

/// UK National Health Service: weights 10 to 2, complement of 11.
pub fn nhs(text: &str) -> bool {
    let Some(digits) = of_length(text, 10) else { return false };
    let check = 11 - digits.weighted(&[10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11;
    check % 11 == u32::from(digits.last()) && check != 10
}

/// German tax number for life: eleven digits, ISO 7064 mod 11, 10; one digit of the first ten stands there twice or thrice.
pub fn steuer_id(text: &str) -> bool {
    let Some(digits) = of_length(text, 11) else { return false };
    let (body, mut product) = (digits.all().iter().take(10), 10_u32);
    let mut counts = [0_u8; 10];
    for digit in body {
        if let Some(count) = counts.get_mut(usize::from(*digit)) {
            *count += 1;
        }
        let sum = match (u32::from(*digit) + product) % 10 {
            0 => 10,
            sum => sum,
        };
        product = sum * 2 % 11;
    }
    let doubled = counts.iter().filter(|count| **count > 1).count() == 1 && counts.iter().all(|count| *count < 4);
    doubled && digits.all().first() != Some(&0) && (11 - product) % 10 == u32::from(digits.last())
}

/// Spanish DNI and NIE: the number modulo 23 says the letter.
pub fn dni(text: &str) -> bool {
    let clean: String = text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_uppercase();
    let Some((number, letter)) = clean.len().checked_sub(1).and_then(|at| clean.split_at_checked(at)) else {
        return false;
    };
    let number = match number.split_at_checked(1) {
        Some(("X", rest)) => format!("0{rest}"),
        Some(("Y", rest)) => format!("1{rest}"),
        Some(("Z", rest)) => format!("2{rest}"),
        _ => number.to_owned(),
    };
    let letters = b"TRWAGMYFPDXBNJZSQVHLCKE";
    let expected = number.parse::<usize>().ok().and_then(|number| letters.get(number % 23)).copied();
    number.len() == 8 && letter.bytes().next() == expected
}

/// Italian codice fiscale: sixteen characters, the last from two tables by position.
pub fn codice_fiscale(text: &str) -> bool {
    const ODD: [u32; 26] =
        [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23];
    let clean: Vec<u8> = text.bytes().filter(u8::is_ascii_alphanumeric).map(|byte| byte.to_ascii_uppercase()).collect();
    let value = |byte: &u8| if byte.is_ascii_digit() { byte - b'0' } else { byte - b'A' };
    let sum: u32 = clean
        .iter()
        .take(15)
        .enumerate()
        .map(|(place, byte)| match place % 2 {
            0 => ODD.get(usize::from(value(byte))).copied().unwrap_or_default(),
            _ => u32::from(value(byte)),
        })
        .sum();
    clean.len() == 16
        && clean.last().is_some_and(|last| last.is_ascii_uppercase() && u32::from(last - b'A') == sum % 26)
}

/// Dutch BSN: the eleven-test, last weight negative.
pub fn bsn(text: &str) -> bool {
    let Some(digits) = of_length(text, 9) else { return false };
    (digits.weighted(&[9, 8, 7, 6, 5, 4, 3, 2]) + 11 - u32::from(digits.last())).is_multiple_of(11)
}

/// Belgian national register: 97 less the remainder, with a 2 in front for those born from 2000.
pub fn belgian(text: &str) -> bool {
    let Some(digits) = of_length(text, 11) else { return false };
    let (body, key) = (digits.leading(9), digits.part(9, 2));
    let month = digits.part(2, 2) % 20;
    month <= 12 && (97 - body % 97 == key || 97 - (2_000_000_000 + body) % 97 == key)
}

/// Polish PESEL.
pub fn pesel(text: &str) -> bool {
    let Some(digits) = of_length(text, 11) else { return false };
    let sum = digits.weighted(&[1, 3, 7, 9, 1, 3, 7, 9, 1, 3]);
    let (month, day) = (digits.part(2, 2) % 20, digits.part(4, 2));
    (1..=12).contains(&month) && (1..=31).contains(&day) && (10 - sum % 10) % 10 == u32::from(digits.last())
}

/// Swedish personnummer: Luhn over the last ten digits, a month and a day in front.
pub fn personnummer(text: &str) -> bool {
    let Some(digits) = Digits::of(text) else { return false };
    let Some(skipped) = digits.count().checked_sub(10) else { return false };
    let (month, day) = (digits.part(skipped + 2, 2), digits.part(skipped + 4, 2) % 60);
    let ten = digits.all().get(skipped..).unwrap_or_default();
    matches!(skipped, 0 | 2)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && luhn::sum(ten).is_multiple_of(10)
}

/// Swiss AHV: 756 and the check digit of an EAN.
pub fn ahv(text: &str) -> bool {
    ean13(text) && Digits::of(text).is_some_and(|digits| digits.leading(3) == 756)
}

/// Articles and books: what thirteen digits often are instead of a card.
pub fn ean13(text: &str) -> bool {
    let Some(digits) = Digits::of(text).filter(|digits| digits.count() == 13) else { return false };
    digits.weighted(&[1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1]).is_multiple_of(10)
}

/// French companies: nine or fourteen digits, Luhn.
pub fn siren(text: &str) -> bool {
    let Some(digits) = Digits::of(text) else { return false };
    matches!(digits.count(), 9 | 14) && !digits.all_same() && luhn::sum(digits.all()).is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A check, a number that passes, and one that is one digit off.
    type Case = (fn(&str) -> bool, &'static str, &'static str);

    #[test]
    fn a_check_digit_that_does_not_fit_is_no_number() {
        let table: [Case; 11] = [
            (nhs, "943 476 5919", "943 476 5918"),
            (steuer_id, "86095742719", "86095742718"),
            (dni, "12345678Z", "12345678A"),
            (dni, "X1234567L", "X1234567A"),
            (codice_fiscale, "RSSMRA85T10A562S", "RSSMRA85T10A562T"),
            (bsn, "111222333", "111222334"),
            (belgian, "85.07.30-033.28", "85.07.30-033.29"),
            (pesel, "44051401359", "44051401358"),
            (personnummer, "811228-9874", "811228-9873"),
            (ahv, "756.9217.0769.85", "756.9217.0769.86"),
            (siren, "732 829 320", "732 829 321"),
        ];
        for (check, right, wrong) in table {
            assert!(check(right), "{right}");
            assert!(!check(wrong), "{wrong}");
        }
        assert!(ean13("4006381333931"));
    }
}
