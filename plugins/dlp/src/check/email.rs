//! Whether what stands around an `@` can be an address that mail reaches.

use std::ops::Range;

/// Endings of files that are called `name@2x.png`; none of them is a top-level domain.
const FILES: [&str; 16] = [
    "png", "jpg", "jpeg", "gif", "svg", "webp", "js", "ts", "css", "json", "html", "lock", "tgz", "gz", "service",
    "yaml",
];

/// The address in a match that begins before it: scripts without blanks run into it, and dots may.
pub fn fitting(text: &str) -> Option<Range<usize>> {
    let at = text.rfind('@')?;
    let local = text.get(..at)?;
    let mut start = two_dots(local).map_or(0, |dots| dots + 2);
    if !local.is_ascii()
        && !local.starts_with('"')
        && local.bytes().next_back().is_some_and(|last| last.is_ascii_alphanumeric())
    {
        let unspaced = local.char_indices().rfind(|(_, letter)| is_unspaced(*letter));
        start = unspaced.map_or(start, |(place, letter)| start.max(place + letter.len_utf8()));
    }
    holds(text.get(start..)?).then_some(start..text.len())
}

/// The last of them.
fn two_dots(local: &str) -> Option<usize> {
    local.as_bytes().windows(2).rposition(|pair| pair == b"..")
}

/// Letters of scripts that write no blanks between words: Thai, kana, Han, Hangul.
fn is_unspaced(letter: char) -> bool {
    matches!(letter, '\u{e00}'..='\u{eff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}')
}

pub fn holds(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    let quoted = local.starts_with('"') && local.ends_with('"') && local.len() > 2;
    let plain = !local.is_empty()
        && !local.starts_with('.')
        && !local.ends_with('.')
        && two_dots(local).is_none()
        // The account of every code host: `git@host:path` is where code is, not who somebody is.
        && !local.eq_ignore_ascii_case("git");
    let unspaced = local.chars().all(is_unspaced);
    local.len() <= 128 && (quoted || plain) && is_domain(domain) && (!unspaced || is_common(domain))
}

/// `jane [at] example [dot] org`, `jane at example dot org`: the address that is meant is one. Where nothing but words or hyphens
/// stand for its signs, it must end as many addresses do and not be a part of a sentence.
pub fn spelled(text: &str) -> bool {
    const WORDS: [&str; 14] =
        ["the", "a", "an", "this", "that", "my", "our", "your", "his", "her", "its", "their", "some", "any"];
    const OTHERS: [&str; 60] = [
        "com", "org", "net", "edu", "gov", "info", "biz", "io", "co", "me", "ai", "app", "dev", "eu", "us", "uk", "ca",
        "au", "nz", "ie", "de", "at", "ch", "fr", "be", "nl", "es", "pt", "it", "pl", "cz", "sk", "hu", "ro", "gr",
        "se", "no", "dk", "fi", "ru", "ua", "tr", "il", "in", "cn", "jp", "kr", "tw", "hk", "sg", "th", "id", "vn",
        "br", "mx", "ar", "cl", "za", "example", "local",
    ];
    let lower = text.to_ascii_lowercase();
    let sign = |c: char| matches!(c, '[' | ']' | '(' | ')' | '{' | '}' | '<' | '>');
    let bracketed = lower.contains(sign);
    let spaced: String = lower.chars().map(|c| if sign(c) { ' ' } else { c }).collect();
    // Between hyphens or underscores, between blanks, or the sign itself.
    let mut parts = None;
    for at in ["@", " at ", "_at_", "-at-"] {
        parts = parts.or_else(|| spaced.rsplit_once(at));
    }
    let Some((local, domain)) = parts else { return false };
    let mut dotted = domain.to_owned();
    for dot in [" dot ", "_dot_", "-dot-", " punkt ", " point ", " . ", ". ", " ."] {
        dotted = dotted.replace(dot, ".");
    }
    let (local, domain) = (local.trim(), dotted.trim());
    let top = domain.rsplit('.').next().unwrap_or_default();
    let first = domain.split('.').next().unwrap_or_default();
    let hyphened = spaced.contains("_at_") || spaced.contains("-at-");
    let known = bracketed || OTHERS.contains(&top);
    // A name with hyphens may hold the word; it does not hold both.
    let said = !hyphened || bracketed || spaced.contains("dot");
    known && said && !WORDS.contains(&first) && !domain.contains([' ', '_']) && holds(&format!("{local}@{domain}"))
}

/// A word of a script without blanks before a name: `请看@app.route` is no address, though `用户@example.com` is.
fn is_common(domain: &str) -> bool {
    const COMMON: [&str; 18] = [
        "com", "org", "net", "cn", "jp", "kr", "tw", "hk", "sg", "th", "edu", "gov", "io", "info", "co", "me", "biz",
        "example",
    ];
    let last = domain.rsplit('.').next().unwrap_or_default();
    !last.is_ascii() || COMMON.iter().any(|known| last.eq_ignore_ascii_case(known))
}

fn is_domain(domain: &str) -> bool {
    let literal = domain.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    if let Some(address) = literal {
        return address.trim_start_matches("IPv6:").parse::<std::net::IpAddr>().is_ok();
    }
    let Some((rest, last)) = domain.rsplit_once('.') else { return false };
    let label = |label: &str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let known = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_') || is_mark(letter);
        (1..=63 * 4).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && (label.bytes().all(plain) || label.chars().all(known))
    };
    let top = last.chars().count() >= 2
        && (last.chars().all(|letter| letter.is_alphabetic() || is_mark(letter))
            || last.to_ascii_lowercase().starts_with("xn--"));
    domain.len() <= 1000
        && rest.split('.').all(label)
        && top
        && !FILES.iter().any(|file| last.eq_ignore_ascii_case(file))
}

/// Vowel signs of Indic scripts belong to the letters before them, and are no letters.
fn is_mark(letter: char) -> bool {
    matches!(letter, '\u{300}'..='\u{36f}' | '\u{900}'..='\u{d7f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_what_only_looks_like_one() {
        for (text, expected) in [
            ("jane.doe+news@example.org", true),
            ("o'neil@mail.example.co.uk", true),
            ("\"john smith\"@example.com", true),
            ("ivan@почта.рф", true),
            ("kontakt@bücher.example", true),
            ("x@xn--80a.xn--p1ai", true),
            ("root@[192.168.1.9]", true),
            ("logo@2x.png", false),
            ("left-pad@1.3.0", false),
            ("git@github.com", false),
            ("a..b@example.org", false),
            (".a@example.org", false),
            ("a@localhost", false),
            ("a@-x.org", false),
            ("@example.org", false),
        ] {
            assert_eq!(holds(text), expected, "{text}");
        }
    }

    #[test]
    fn signs_in_words_are_signs_only_where_an_address_comes_of_it() {
        for (text, expected) in [
            ("jane [at] mail [dot] example [dot] org", true),
            ("jane(at)example.org", true),
            ("jane at example dot co dot uk", true),
            ("jane_at_example_dot_com", true),
            ("jane-at-example-dot-com", true),
            ("jane@example[dot]com", true),
            ("jane @ example . com", true),
            ("look at the dot com", false),
            ("look [at] this", false),
            ("state-of-at-home.org", false),
            ("one_at_a_time.py", false),
        ] {
            assert_eq!(spelled(text), expected, "{text}");
        }
    }

    #[test]
    fn an_address_begins_behind_words_that_run_into_it() {
        for (text, expected) in [
            ("\u{8bf7}\u{8054}\u{7cfb}jane.doe@example.org", Some("jane.doe@example.org")),
            ("\u{7528}\u{6237}@example.org", Some("\u{7528}\u{6237}@example.org")),
            ("m\u{fc}ller@example.de", Some("m\u{fc}ller@example.de")),
            ("a..jane@example.org", Some("jane@example.org")),
            ("logo@2x.png", None),
            ("\u{8bf7}\u{770b}@app.route", None),
        ] {
            assert_eq!(fitting(text).and_then(|range| text.get(range)), expected, "{text}");
        }
    }
}
