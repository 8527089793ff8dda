//! What stands before and behind a match and makes it something else: versions, rows of numbers, fingerprints, calls.

use std::ops::Range;

use super::{iban_country, source};

/// How far before a match a word may stand that says what it is.
const BEFORE: usize = 40;

/// Words that are followed by four numbers which are no address. Not `server` or `host`, which are followed by addresses.
const VERSIONS: [&str; 29] = [
    "version",
    "versions",
    "ver",
    "release",
    "released",
    "rel",
    "build",
    "firmware",
    "revision",
    "rev",
    "oid",
    "section",
    "chapter",
    "clause",
    "paragraph",
    "figure",
    "table",
    "update",
    "upgrade",
    "upgraded",
    "patch",
    "hotfix",
    "driver",
    "agent",
    "snmp",
    "dll",
    "exe",
    "jar",
    "sys",
];

/// Endings of files and packages: `ojdbc8-21.9.0.0.jar`.
const PACKAGES: [&str; 14] =
    [".tar", ".tgz", ".zip", ".jar", ".whl", ".rpm", ".deb", ".exe", ".msi", ".dmg", ".pkg", ".gem", ".nupkg", ".dll"];

/// Four numbers that count releases, name a standard's object or a paragraph of a book.
pub fn is_version(text: &str, range: &Range<usize>) -> bool {
    let bytes = text.as_bytes();
    let (before, behind) = (bytes.get(..range.start).unwrap_or_default(), bytes.get(range.end..).unwrap_or_default());
    // More numbers in the same row: an object identifier.
    if matches!(behind, [b'.', digit, ..] if digit.is_ascii_digit())
        || matches!(before, [.., digit, b'.'] if digit.is_ascii_digit())
    {
        return true;
    }
    let ends = text.get(range.end..).unwrap_or_default();
    if PACKAGES.iter().any(|ending| ends.get(..ending.len()).is_some_and(|part| part.eq_ignore_ascii_case(ending))) {
        return true;
    }
    // `3.36.0.4 of sqlite`, `12.3.4.5 release notes`.
    if [" of ", " release", " version", " build"].iter().any(|word| ends.starts_with(word)) {
        return true;
    }
    // A build's name behind it, and not a range of addresses or of ports.
    if matches!(behind, [b'-' | b'+' | b'~', letter, ..] if letter.is_ascii_alphabetic()) {
        return true;
    }
    match before {
        // `Chrome/120.0.0.0`, but neither `http://12.3.4.5` nor a part of a path.
        [.., letter, b'/'] if letter.is_ascii_alphanumeric() && behind.first() != Some(&b'/') => return true,
        // `pkg==1.2.3.4`, `>=`, `~=`, `^1.2.3.4`, `pkg@1.2.3.4`, `lib-1.2.3.4`, `lib_1.2.3.4`.
        [.., b'=' | b'>' | b'<' | b'~' | b'!', b'='] | [.., b'^' | b'~'] => return true,
        [.., letter, b'@' | b'-' | b'_'] if letter.is_ascii_alphanumeric() && !is_machine(before) => return true,
        _ => {}
    }
    says_version(text, range) || (is_small(text, range) && is_product(before))
}

/// All parts are small, as those of versions are, and it lies in no network of one's own.
fn is_small(text: &str, range: &Range<usize>) -> bool {
    let mut parts = text.get(range.clone()).unwrap_or_default().split('.');
    let own = text.get(range.clone()).is_some_and(|address| address.starts_with("10."));
    !own && parts.all(|part| part.parse::<u8>().is_ok_and(|part| part < 30))
}

/// `nginx 1.25.3.1`: a word right before it that no address follows.
fn is_product(before: &[u8]) -> bool {
    const MACHINES: [&str; 40] = [
        "ip",
        "address",
        "addr",
        "host",
        "hosts",
        "from",
        "to",
        "at",
        "ping",
        "server",
        "dns",
        "nameserver",
        "resolver",
        "client",
        "peer",
        "src",
        "dst",
        "source",
        "destination",
        "via",
        "gateway",
        "on",
        "is",
        "connect",
        "connected",
        "curl",
        "ssh",
        "dig",
        "and",
        "or",
        "use",
        "using",
        "for",
        "by",
        "of",
        "with",
        "reach",
        "route",
        "the",
        "visit",
    ];
    let Some(name) = before.strip_suffix(b" ") else { return false };
    let start = name.iter().rposition(|byte| !byte.is_ascii_alphanumeric()).map_or(0, |at| at + 1);
    let word = name.get(start..).unwrap_or_default();
    word.first().is_some_and(u8::is_ascii_alphabetic)
        && !MACHINES.iter().any(|known| word.eq_ignore_ascii_case(known.as_bytes()))
}

/// `ip-10.0.0.1`, `root@10.0.0.1`, `host_10.0.0.1`: a machine's name before its address.
fn is_machine(before: &[u8]) -> bool {
    let name = before.strip_suffix(b"@");
    if name.is_some() {
        return true;
    }
    let name = before.get(..before.len().saturating_sub(1)).unwrap_or_default();
    let start = name.iter().rposition(|byte| !byte.is_ascii_alphanumeric()).map_or(0, |at| at + 1);
    let word = name.get(start..).unwrap_or_default();
    ["ip", "host", "addr", "node", "server", "peer", "src", "dst", "from", "to"]
        .iter()
        .any(|known| word.eq_ignore_ascii_case(known.as_bytes()))
}

/// One of the words that versions follow, at most two other short words away: `Release 2.1.0.7`, `from 1.2.3.4 to`.
fn says_version(text: &str, range: &Range<usize>) -> bool {
    /// The words that say it outright; the others are spoken of addresses too.
    const OUTRIGHT: usize = 10;
    let at = range.start;
    let groups = text.get(range.clone()).unwrap_or_default().split('.');
    let wide = groups.filter(|group| group.len() > 2).count() > 1;
    let words_of = VERSIONS.get(..if wide { OUTRIGHT } else { VERSIONS.len() }).unwrap_or(&VERSIONS);
    let mut start = at.saturating_sub(BEFORE);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    let near = text.get(start..at).unwrap_or_default();
    // Behind the end of a sentence, a line or an entry somebody else is spoken of.
    let near = near.rsplit(['\n', ';', '!', '?']).next().unwrap_or(near);
    let near = near.rsplit(". ").next().unwrap_or(near);
    let near = near.rsplit(", ").next().unwrap_or(near);
    let named = |word: &&str| word.bytes().any(|byte| !byte.is_ascii_digit());
    let mut words = near.split(|c: char| !c.is_ascii_alphanumeric()).filter(named).rev();
    let said = |word: &str| {
        let known = words_of.iter().any(|known| word.eq_ignore_ascii_case(known));
        // `AssemblyVersion`, `FileVersion`, `appVersion`, `product_version`.
        known || word.get(word.len().saturating_sub(7)..).is_some_and(|end| end.eq_ignore_ascii_case("version"))
    };
    words.by_ref().take(4).any(said)
}

/// A further group of digits beside it, with the sign that stands between its own groups; or an amount.
pub fn in_row(text: &str, range: &Range<usize>) -> bool {
    let bytes = text.as_bytes();
    let own = bytes.get(range.clone()).unwrap_or_default();
    let Some(sign) = own.iter().find(|byte| !byte.is_ascii_alphanumeric()) else { return false };
    let before = bytes.get(..range.start).unwrap_or_default();
    let behind = bytes.get(range.end..).unwrap_or_default();
    let digits = |byte: &&u8| byte.is_ascii_digit();
    // A group as wide as the one it stands beside: a postal code behind a number is none of a row.
    let first = own.iter().take_while(digits).count();
    let last = own.iter().rev().take_while(digits).count();
    // Pairs beside letters are bytes of a dump.
    let group = |byte: &&u8| byte.is_ascii_digit() || (first == 2 && last == 2 && byte.is_ascii_hexdigit());
    let left = before.strip_suffix(&[*sign]).map_or(0, |before| before.iter().rev().take_while(group).count());
    let right = behind.strip_prefix(&[*sign]).map_or(0, |behind| behind.iter().take_while(group).count());
    let dialled = left > 0 && before.iter().rev().nth(left + 1) == Some(&b'+');
    let row = (left > 0 && left == first) || (right > 0 && right == last);
    row || dialled || is_amount(text, range)
}

/// `/items/536/22/8719`, `536/22/8719/x`: slashes inside, and one beside it.
pub fn in_path(text: &str, range: &Range<usize>) -> bool {
    let bytes = text.as_bytes();
    let beside = |at: Option<usize>| at.and_then(|at| bytes.get(at)) == Some(&b'/');
    let slashes = bytes.get(range.clone()).unwrap_or_default().contains(&b'/');
    slashes && (beside(range.start.checked_sub(1)) || beside(Some(range.end)))
}

/// Money or a count on either side: `€ 488 496 381`, `488 496 381 EUR`, `488 496 381,50`.
fn is_amount(text: &str, range: &Range<usize>) -> bool {
    const SIGNS: [char; 7] = ['€', '$', '£', '¥', '₹', '₽', '%'];
    const UNITS: [&str; 14] =
        ["eur", "usd", "gbp", "chf", "jpy", "cad", "inr", "bytes", "rows", "kb", "mb", "gb", "ms", "habitants"];
    let before = text.get(..range.start).unwrap_or_default().trim_end_matches(' ');
    let behind = text.get(range.end..).unwrap_or_default();
    if matches!(behind.as_bytes(), [b',' | b'.', one, two, rest @ ..] if one.is_ascii_digit() && two.is_ascii_digit() && !rest.first().is_some_and(u8::is_ascii_digit))
    {
        return true;
    }
    let behind = behind.trim_start_matches(' ');
    let word = |word: &str| UNITS.iter().any(|unit| word.eq_ignore_ascii_case(unit));
    let first = behind.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    let last = before.rsplit(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    before.ends_with(SIGNS) || behind.starts_with(SIGNS) || word(first) || word(last)
}

/// How much of a value belongs to the escape before it: two digits of `%2Fjane@example.org`.
pub fn escaped(text: &str, range: &Range<usize>) -> usize {
    let before = range.start.checked_sub(1).and_then(|at| text.as_bytes().get(at));
    match text.as_bytes().get(range.clone()) {
        Some([b'2'..=b'7', low, ..]) if before == Some(&b'%') && low.is_ascii_hexdigit() => 2,
        _ => 0,
    }
}

/// Digits of an account whose checksum is wrong: it has its country before it, and its length.
pub fn in_account(text: &str, range: &Range<usize>) -> bool {
    const LONGEST: usize = 34;
    let bytes = text.as_bytes();
    let letter = |byte: &&u8| byte.is_ascii_alphanumeric();
    let before = bytes.get(..range.start).unwrap_or_default().iter().rev().take(LONGEST).take_while(letter).count();
    if before < 2 {
        return false;
    }
    let behind = bytes.get(range.end..).unwrap_or_default().iter().take(LONGEST).take_while(letter).count();
    let run = text.get(range.start - before..range.end + behind).unwrap_or_default();
    iban_country::expected(run) == Some(run.len())
}

/// Digits in the middle of a digest or of another long identifier.
pub fn in_digest(text: &str, range: &Range<usize>) -> bool {
    /// What may be written onto a number: `pan`, `card`, `exp1227`.
    const MOST: usize = 12;
    let bytes = text.as_bytes();
    // Nobody writes a digest in groups.
    if !bytes.get(range.clone()).unwrap_or_default().iter().all(u8::is_ascii_digit) {
        return false;
    }
    let letter = |byte: &&u8| byte.is_ascii_alphanumeric();
    let before = bytes.get(..range.start).unwrap_or_default().iter().rev().take(64).take_while(letter).count();
    let behind = bytes.get(range.end..).unwrap_or_default().iter().take(64).take_while(letter).count();
    let run = bytes.get(range.start - before..range.end + behind).unwrap_or_default();
    before + behind > MOST || (matches!(run.len(), 32 | 40 | 64) && run.iter().all(u8::is_ascii_hexdigit))
}

/// Pairs of a fingerprint or of a dump: one more of them beside it.
pub fn goes_on(text: &str, range: &Range<usize>) -> bool {
    let bytes = text.as_bytes();
    let own = bytes.get(range.clone()).unwrap_or_default();
    let Some(sign) = own.iter().find(|byte| !byte.is_ascii_hexdigit()) else { return false };
    let hex = |byte: &u8| byte.is_ascii_hexdigit();
    let before = bytes.get(..range.start).unwrap_or_default();
    let behind = bytes.get(range.end..).unwrap_or_default();
    let pair_before = match before {
        [.., before, one, two, last] => last == sign && hex(one) && hex(two) && !before.is_ascii_alphanumeric(),
        [one, two, last] => last == sign && hex(one) && hex(two),
        _ => false,
    };
    pair_before || matches!(behind, [first, one, two, ..] if first == sign && hex(one) && hex(two))
}

/// A name of a program's own, or of a function: an argument list opens behind it. What stands in quotes is a value.
pub fn is_code(text: &str, range: &Range<usize>) -> bool {
    let bytes = text.as_bytes();
    let value = text.get(range.clone()).unwrap_or_default();
    let quoted =
        range.start.checked_sub(1).and_then(|at| bytes.get(at)).is_some_and(|byte| matches!(byte, b'"' | b'\'' | b'`'));
    let called = matches!(bytes.get(range.end), Some(b'(' | b'['));
    source::is_state(value) || (!quoted && (called || source::is_code(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str, value: &str) -> Range<usize> {
        let at = text.find(value).unwrap_or_default();
        at..at + value.len()
    }

    #[test]
    fn versions_are_told_by_what_stands_around_them() {
        for (text, value, expected) in [
            ("Chrome/120.0.0.0 Safari", "120.0.0.0", true),
            ("\"version\": \"5.5.84.3\"", "5.5.84.3", true),
            ("pip install foo==1.2.3.4", "1.2.3.4", true),
            ("libfoo-2.3.4.5.tar.gz", "2.3.4.5", true),
            ("ojdbc8 21.9.0.0.jar", "21.9.0.0", true),
            ("OID 2.5.4.3", "2.5.4.3", true),
            ("1.3.6.1.4.1", "3.6.1.4", true),
            ("AssemblyVersion(\"1.0.0.0\")", "1.0.0.0", true),
            ("Upgraded openssl from 1.2.3.4 to 1.2.3.5", "1.2.3.5", true),
            ("Upgraded openssl from 1.2.3.4 to", "1.2.3.4", true),
            ("see section 3.2.1.4", "3.2.1.4", true),
            ("http://12.3.4.5/", "12.3.4.5", false),
            ("ssh root@12.3.4.5", "12.3.4.5", false),
            ("{\"ip\":\"9.9.9.9\"}", "9.9.9.9", false),
            ("new version is out. Host 8.8.8.8 answers", "8.8.8.8", false),
            ("10.0.0.0/8", "10.0.0.0", false),
            ("nginx 1.25.3.1", "1.25.3.1", true),
            ("ping 8.8.8.8", "8.8.8.8", false),
            ("could you update 140.97.174.20", "140.97.174.20", false),
            ("firmware 140.97.174.20", "140.97.174.20", true),
            ("nginx 203.0.113.7", "203.0.113.7", false),
        ] {
            assert_eq!(is_version(text, &place(text, value)), expected, "{text}");
        }
    }

    #[test]
    fn a_group_of_a_row_and_an_amount_are_no_number_of_anybody() {
        for (text, value, expected) in [
            ("SIN 130 692 544", "130 692 544", false),
            ("446 130 692 544", "130 692 544", true),
            ("130-692-544 12", "130-692-544", false),
            ("06 12 34 56 78 75011", "06 12 34 56 78", false),
            ("22 28 03 98 30 74 35", "03 98 30 74 35", true),
            ("8e f8 04 74 42 58 79 6b 3a", "04 74 42 58 79", true),
            ("+61 412 345 678", "412 345 678", true),
            ("\u{20ac} 488 496 381", "488 496 381", true),
            ("488 496 381 EUR", "488 496 381", true),
            ("488 496 381,50", "488 496 381", true),
            ("488 496 381, and", "488 496 381", false),
        ] {
            assert_eq!(in_row(text, &place(text, value)), expected, "{text}");
        }
    }

    #[test]
    fn digits_of_a_digest_are_no_number_and_what_is_written_onto_one_is_no_digest() {
        for (text, value, expected) in [
            ("48d374888109435095d238e5e7ab42b1", "374888109435095", true),
            ("FR563934950871B7SJOIJPLVO64", "563934950871", true),
            ("pan4111111111111111exp1227", "4111111111111111", false),
            ("4111111111111111", "4111111111111111", false),
            ("4111 1111 1111 1111AKIAQYLPMN5HHHFPZAM2", "4111 1111 1111 1111", false),
        ] {
            assert_eq!(in_digest(text, &place(text, value)), expected, "{text}");
        }
    }

    #[test]
    fn digits_of_an_account_are_no_card() {
        for (text, value, expected) in [
            ("LT563094599592617414", "563094599592617414", true),
            ("x IE59TUVL30167344959524 y", "30167344959524", true),
            ("LT5630945995926174", "5630945995926174", false),
            ("pan4111111111111111", "4111111111111111", false),
            ("4111111111111111", "4111111111111111", false),
        ] {
            assert_eq!(in_account(text, &place(text, value)), expected, "{text}");
        }
    }

    #[test]
    fn two_digits_of_an_escape_belong_to_it() {
        for (text, value, expected) in [
            ("%2Fjane@x.org", "2Fjane@x.org", 2),
            ("a 2Fjane@x.org", "2Fjane@x.org", 0),
            ("%jane@x.org", "jane@x.org", 0),
        ] {
            assert_eq!(escaped(text, &place(text, value)), expected, "{text}");
        }
    }

    #[test]
    fn pairs_beside_pairs_are_a_fingerprint() {
        for (text, value, expected) in [
            ("MD5:00:1b:44:11:3a:b7:aa:bb", "00:1b:44:11:3a:b7", true),
            ("aa:00:1b:44:11:3a:b7", "00:1b:44:11:3a:b7", true),
            ("value:00:1b:44:11:3a:b7", "00:1b:44:11:3a:b7", false),
            ("00:1b:44:11:3a:b7", "00:1b:44:11:3a:b7", false),
        ] {
            assert_eq!(goes_on(text, &place(text, value)), expected, "{text}");
        }
    }
}
