//! Whether what stands around an `@` can be an address that mail reaches.

/// Endings of files that are called `name@2x.png`; none of them is a top-level domain.
const FILES: [&str; 16] = [
    "png", "jpg", "jpeg", "gif", "svg", "webp", "js", "ts", "css", "json", "html", "lock", "tgz", "gz", "service",
    "yaml",
];

pub fn holds(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    let quoted = local.starts_with('"') && local.ends_with('"') && local.len() > 2;
    let plain = !local.is_empty()
        && !local.starts_with('.')
        && !local.ends_with('.')
        && !local.contains("..")
        // The account of every code host: `git@host:path` is where code is, not who somebody is.
        && !local.eq_ignore_ascii_case("git");
    local.len() <= 128 && (quoted || plain) && is_domain(domain)
}

fn is_domain(domain: &str) -> bool {
    let literal = domain.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    if let Some(address) = literal {
        return address.trim_start_matches("IPv6:").parse::<std::net::IpAddr>().is_ok();
    }
    let Some((rest, last)) = domain.rsplit_once('.') else { return false };
    let label = |label: &str| {
        (1..=63 * 4).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.chars().all(|letter| letter.is_alphanumeric() || letter == '-' || letter == '_' || is_mark(letter))
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
}
