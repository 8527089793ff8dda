//! Whether digits can be somebody's telephone: by country code, or by the shapes that numbers have inside some countries.

use std::ops::Range;

use super::digits::Digits;

/// Country codes and how many digits follow them, least and most.
const PLANS: [(u16, u8, u8); 72] = [
    (1, 10, 10),
    (7, 10, 10),
    (20, 8, 10),
    (27, 9, 9),
    (30, 10, 10),
    (31, 9, 9),
    (32, 8, 9),
    (33, 9, 9),
    (34, 9, 9),
    (36, 8, 9),
    (39, 6, 11),
    (40, 9, 9),
    (41, 9, 9),
    (43, 4, 13),
    (44, 9, 10),
    (45, 8, 8),
    (46, 7, 10),
    (47, 8, 8),
    (48, 9, 9),
    (49, 5, 13),
    (51, 8, 9),
    (52, 10, 11),
    (53, 8, 8),
    (54, 10, 11),
    (55, 10, 11),
    (56, 8, 9),
    (57, 10, 10),
    (58, 10, 10),
    (60, 8, 10),
    (61, 9, 9),
    (62, 7, 12),
    (63, 8, 10),
    (64, 8, 10),
    (65, 8, 8),
    (66, 8, 9),
    (81, 9, 10),
    (82, 8, 11),
    (84, 9, 10),
    (86, 10, 11),
    (90, 10, 10),
    (91, 10, 10),
    (92, 9, 10),
    (93, 9, 9),
    (94, 9, 9),
    (95, 7, 10),
    (98, 10, 10),
    (212, 9, 9),
    (213, 8, 9),
    (216, 8, 8),
    (234, 8, 10),
    (254, 9, 9),
    (255, 9, 9),
    (351, 9, 9),
    (352, 4, 11),
    (353, 7, 9),
    (354, 7, 7),
    (358, 5, 12),
    (359, 8, 9),
    (370, 8, 8),
    (371, 8, 8),
    (372, 7, 8),
    (380, 9, 9),
    (381, 8, 9),
    (385, 8, 9),
    (386, 8, 8),
    (420, 9, 9),
    (421, 9, 9),
    (852, 8, 8),
    (886, 8, 9),
    (966, 8, 9),
    (971, 8, 9),
    (972, 8, 9),
];

/// With a `+` or `00` in front, or in a shape of its own. What context says is the detector's to ask.
pub fn holds(text: &str) -> bool {
    planned(text, 0) || planned(text, 1)
}

/// The part of a match that is a number: `+33612345678 75011` ends before the postal code, `+14155552671)` before the bracket.
pub fn fitting(text: &str) -> Option<Range<usize>> {
    let mut end = balanced(text);
    while end > 0 {
        let candidate = text.get(..end)?;
        if planned(candidate, 0) {
            return Some(0..end);
        }
        let cut = without_extension(candidate).rfind([' ', '.', '-', '/', ',', ';']).unwrap_or_default();
        let shorter = text.get(..cut)?.trim_end_matches([' ', '.', '-', '/', ',', ';', '(']).len();
        end = balanced(text.get(..shorter)?);
    }
    // A trunk zero left in, or an extension without its mark.
    let end = balanced(text);
    planned(text.get(..end)?, 1).then_some(0..end)
}

/// Without a bracket at the end that was opened before the number.
fn balanced(text: &str) -> usize {
    let count = |sign: u8| text.bytes().filter(|byte| *byte == sign).count();
    let surplus = count(b')').saturating_sub(count(b'('));
    let mut end = text.len();
    for _ in 0..surplus {
        end = text.get(..end).and_then(|part| part.strip_suffix(')')).map_or(end, |part| part.trim_end().len());
    }
    end
}

fn planned(text: &str, slack: usize) -> bool {
    let body = without_extension(text);
    let body = match body.find("(0)") {
        // `+44 (0)20 ..`: the zero is for those who call from inside.
        Some(at) => format!("{}{}", body.get(..at).unwrap_or_default(), body.get(at + 3..).unwrap_or_default()),
        None => body.to_owned(),
    };
    let Some(digits) = Digits::of(&body) else { return false };
    let international = body.trim_start_matches(['(', ' ']).starts_with('+') || body.starts_with("00");
    let all = digits.all();
    let skipped = if body.starts_with("00") { 2 } else { 0 };
    if digits.all_same() || counting(all) {
        return false;
    }
    if international {
        return after_code(&digits, skipped, slack);
    }
    national(&body, &digits)
}

/// `x123`, `ext. 12`, `#4`: what follows is asked for by nobody's plan.
fn without_extension(text: &str) -> &str {
    let at = text.find(['x', 'X', 'e', 'E', '#', ';', 'p', 'P', 'd', 'D']).unwrap_or(text.len());
    text.get(..at).unwrap_or(text).trim_end()
}

fn after_code(digits: &Digits, skipped: usize, slack: usize) -> bool {
    let rest = digits.count().saturating_sub(skipped);
    let by_plan = [1_usize, 2, 3].iter().find_map(|places| {
        let code = digits.part(skipped, *places);
        let (_, least, most) = PLANS.iter().find(|(known, ..)| u64::from(*known) == code)?;
        let follow = rest.checked_sub(*places)?;
        Some((usize::from(*least)..=usize::from(*most) + slack).contains(&follow))
    });
    // The rest of the world: three digits of code, and E.164's bounds.
    by_plan.unwrap_or_else(|| (8..=15).contains(&rest) && digits.part(skipped, 1) != 0)
}

fn national(body: &str, digits: &Digits) -> bool {
    let all = digits.all();
    let first = all.first().copied().unwrap_or_default();
    match (digits.count(), first) {
        // North America: neither area nor exchange begins with 0 or 1.
        (10, 2..=9) => all.get(3).is_some_and(|exchange| *exchange > 1),
        (11, 1) => all.get(1).is_some_and(|area| *area > 1) && all.get(4).is_some_and(|exchange| *exchange > 1),
        (9..=12, 0) => all.get(1).is_some_and(|next| *next != 0) && !is_date(body),
        (8 | 9, 2..=9) => true,
        _ => false,
    }
}

/// `2010-10-16 15`, and the days that national numbers look like.
pub fn is_day(body: &str) -> bool {
    // The sign of a line that a difference adds.
    let body = body.strip_prefix('+').unwrap_or(body);
    let mut parts = body.split(['-', '/', '.', ' ']);
    let number = |part: Option<&str>, most: u8| {
        part.filter(|part| part.len() == 2)
            .and_then(|part| part.parse::<u8>().ok())
            .is_some_and(|it| (1..=most).contains(&it))
    };
    let year = parts.next().is_some_and(|year| year.len() == 4 && (year.starts_with("19") || year.starts_with("20")));
    (year && number(parts.next(), 12) && number(parts.next(), 31)) || is_date(body)
}

/// `01.02.2026 10`, `01-02-2026`: day, month and year begin like many a number.
fn is_date(body: &str) -> bool {
    let parts: Vec<_> = body.split(['.', '-', '/', ' ']).collect();
    match parts.as_slice() {
        [day, month, year, ..] => {
            let below = |text: &str, most: u8| {
                text.len() == 2 && text.parse::<u8>().is_ok_and(|value| (1..=most).contains(&value))
            };
            let year = year.len() == 4 && (year.starts_with("19") || year.starts_with("20"));
            year && (below(day, 31) && below(month, 12) || below(day, 12) && below(month, 31))
        }
        _ => false,
    }
}

fn counting(digits: &[u8]) -> bool {
    digits.windows(2).all(|pair| matches!(pair, [one, next] if (one + 1) % 10 == *next))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_many_plans() {
        for (text, expected) in [
            ("+1 202-555-0143", true),
            ("+44 (0)20 7946 0958", true),
            ("+33 6 12 34 56 78", true),
            ("+4930123456", true),
            ("0033612345678", true),
            ("+91 98765 43210", true),
            ("+81-3-1234-5678", true),
            ("(202) 555-0143", true),
            ("202.555.0143x123", true),
            ("1-800-555-0199", true),
            ("06 12 34 56 78", true),
            ("020 7946 0958", true),
            ("0171/1234567", true),
            ("+33 6 12", false),
            ("+1 202-555", false),
            ("102-555-0143", false),
            ("202-155-0143", false),
            ("01.02.2026 10", false),
            ("0000000000", false),
            ("1234567890", false),
        ] {
            assert_eq!(holds(text), expected, "{text}");
        }
    }

    #[test]
    fn what_follows_a_number_is_left_out() {
        for (text, expected) in [
            ("+33612345678 75011", Some("+33612345678")),
            ("+14155552671 2026-11-16", Some("+14155552671")),
            ("+14155552671)", Some("+14155552671")),
            ("+1 (202) 555-0143", Some("+1 (202) 555-0143")),
            ("+44 020 7946 0958", Some("+44 020 7946 0958")),
            ("+33 6 12", None),
        ] {
            assert_eq!(fitting(text).and_then(|range| text.get(range)), expected, "{text}");
        }
    }
}
