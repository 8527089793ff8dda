//! Texts that are points in time, and so have an order: RFC 3339 date-times and plain dates, each with its own kind only.

use std::cmp::Ordering;

use jiff::Timestamp;
use jiff::civil::Date;

pub fn compared(one: &str, other: &str) -> Option<Ordering> {
    if let (Some(one), Some(other)) = (date(one), date(other)) {
        return Some(one.cmp(&other));
    }
    Some(moment(one)?.cmp(&moment(other)?))
}

fn date(text: &str) -> Option<Date> {
    shaped(text, "0000-00-00").then(|| text.parse().ok()).flatten()
}

/// The shape first: the parser is kinder than the RFC, and kindness here would open a gate.
pub fn moment(text: &str) -> Option<Timestamp> {
    let (head, tail) = text.split_at_checked(19)?;
    let zone = match tail.strip_prefix('.') {
        None => tail,
        Some(fraction) => {
            let zone = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
            let digits = fraction.len() - zone.len();
            if digits == 0 || digits > 9 {
                return None;
            }
            zone
        }
    };
    let zoned = zone == "Z" || shaped(zone, "+00:00") || shaped(zone, "-00:00");
    // A leap second has no place on a line of seconds.
    let leap = head.ends_with(":60");
    (shaped(head, "0000-00-00T00:00:00") && zoned && !leap).then(|| text.parse().ok()).flatten()
}

/// A digit wherever the pattern has one, and the pattern's own letters elsewhere.
fn shaped(text: &str, pattern: &str) -> bool {
    let fits = |(byte, wanted): (u8, u8)| if wanted == b'0' { byte.is_ascii_digit() } else { byte == wanted };
    text.len() == pattern.len() && text.bytes().zip(pattern.bytes()).all(fits)
}
