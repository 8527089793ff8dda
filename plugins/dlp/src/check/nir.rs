//! French social security numbers (NIR): sex, year, month, department (2A and 2B are Corsica), place, order, key of 97.

pub fn holds(text: &str) -> bool {
    let clean: String = text.chars().filter(char::is_ascii_alphanumeric).collect();
    let Some((number, key)) = clean.split_at_checked(13) else { return false };
    let (Some(value), Ok(key)) = (value(number), key.parse::<u64>()) else { return false };
    let month = number.get(3..5).and_then(|month| month.parse::<u8>().ok()).unwrap_or_default();
    // 20 to 42 and 50 upwards stand for people whose month of birth is not known.
    let born = matches!(month, 1..=12 | 20..=42 | 50..=99);
    let sex = matches!(number.as_bytes().first(), Some(b'1'..=b'4' | b'7' | b'8'));
    clean.len() == 15 && born && sex && 97 - value % 97 == key
}

/// Corsica's letters are counted as digits: 2A is 19, 2B is 18.
fn value(number: &str) -> Option<u64> {
    let upper = number.to_ascii_uppercase();
    let plain = match upper.get(5..7)? {
        "2A" => upper.replacen("2A", "19", 1),
        "2B" => upper.replacen("2B", "18", 1),
        _ => upper,
    };
    plain.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_what_97_leaves() {
        for (text, expected) in [
            ("2 55 08 14 168 025 38", true),
            ("255081416802538", true),
            ("1 85 05 78 006 084 91", true),
            ("1 85 05 78 006 084 90", false),
            ("1 85 13 78 006 084 36", false),
            ("18505780060849", false),
            ("", false),
        ] {
            assert_eq!(holds(text), expected, "{text}");
        }
        assert_eq!(value("1850519006084"), value("185052A006084"), "Corsica counts as 19");
    }
}
