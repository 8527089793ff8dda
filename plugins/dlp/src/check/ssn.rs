//! Which US social security numbers can exist: no area 000, 666 or 9xx, no group 00, no serial 0000, no famous one.

use super::digits::Digits;

/// Printed on sample cards and in advertisements; issued to nobody.
const VOID: [u64; 3] = [78_051_120, 219_099_999, 457_555_462];

pub fn holds(text: &str) -> bool {
    let Some(digits) = Digits::of(text).filter(|digits| digits.count() == 9) else { return false };
    let (area, group, serial) = (digits.leading(3), digits.part(3, 2), digits.part(5, 4));
    area != 0 && area != 666 && area < 900 && group != 0 && serial != 0 && !VOID.contains(&digits.leading(9))
}

/// Taxpayers without a social security number: area 9xx and a group of certain ranges.
pub fn itin(text: &str) -> bool {
    let Some(digits) = Digits::of(text).filter(|digits| digits.count() == 9) else { return false };
    let group = digits.part(3, 2);
    digits.leading(1) == 9 && matches!(group, 50..=65 | 70..=88 | 90..=92 | 94..=99)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_that_were_never_issued_do_not_count() {
        for (text, expected, taxpayer) in [
            ("123-45-6789", true, false),
            ("536 90 4399", true, false),
            ("000-12-3456", false, false),
            ("666-12-3456", false, false),
            ("900-70-3456", false, true),
            ("900-12-3456", false, false),
            ("123-00-4567", false, false),
            ("123-45-0000", false, false),
            ("078-05-1120", false, false),
            ("123-45-678", false, false),
        ] {
            assert_eq!((holds(text), itin(text)), (expected, taxpayer), "{text}");
        }
    }
}
