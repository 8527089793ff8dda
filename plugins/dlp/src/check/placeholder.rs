//! What people write where a secret will stand: `your-api-key`, `xxxx`, `${TOKEN}`, `<password>`, `changeme`.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

/// Parts that no generated secret has. Short ones would be found in random texts by chance, so none is below five letters.
const WORDS: [&str; 33] = [
    "your_",
    "your-",
    "yourapi",
    "yourkey",
    "yoursecret",
    "yourtoken",
    "yourpass",
    "example_",
    "example-",
    "_example",
    "-example",
    "placeholder",
    "changeme",
    "change_me",
    "change-me",
    "replace",
    "insert",
    "dummy",
    "sample",
    "redacted",
    "not_a_real",
    "notreal",
    "fake_",
    "fake-",
    "todo:",
    "_here",
    "-here",
    "mysecret",
    "my_secret",
    "my-secret",
    "undefined",
    "xxxxx",
    "*****",
];

/// Where programs read what they do not hold themselves; a quoted piece of code says it too.
const ELSEWHERE: [&str; 6] = ["process.env", "os.environ", "os.getenv", "import.meta.env", "system.getenv", "env["];

pub fn is_one(text: &str) -> bool {
    let lower = password_of(text).to_ascii_lowercase();
    let value = lower.trim_matches(|letter: char| matches!(letter, '"' | '\'' | '`' | ' '));
    // What opens is enough: the other end may be beyond what a pattern takes.
    ["<", "${", "{{", "$(", "%{", "#{"].iter().any(|open| value.starts_with(open))
        || ELSEWHERE.iter().any(|place| value.starts_with(place))
        || (value.starts_with('%') && value.ends_with('%'))
        || value.contains("...")
        || value.contains('…')
        || has_word(value)
        || one_letter(value)
        || (value.len() >= 3 && value.bytes().all(|byte| byte == b'*'))
        // How vendors write the keys of their documentation.
        || text.contains("EXAMPLE")
        || is_documented(text)
}

/// All of them at once: this is asked of every number that may be somebody's.
fn has_word(value: &str) -> bool {
    static ALL: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| AhoCorasick::new(WORDS).ok());
    // Each has a letter or a star.
    let any = value.bytes().any(|byte| byte.is_ascii_lowercase() || byte == b'*');
    any && ALL.as_ref().map_or_else(|| WORDS.iter().any(|word| value.contains(word)), |all| all.is_match(value))
}

/// `scheme://user:password@host`, word for word.
fn is_documented(text: &str) -> bool {
    let userinfo = text.split_once("://").and_then(|(_, rest)| rest.split_once('@')).map(|(userinfo, _)| userinfo);
    let words = userinfo.and_then(|userinfo| userinfo.split_once(':'));
    words.is_some_and(|(user, password)| {
        matches!(user, "user" | "username" | "USER" | "USERNAME")
            && matches!(password, "password" | "pass" | "PASSWORD" | "PASS")
    })
}

/// In `scheme://user:password@host` only the password may be missing; the host may well be an example.
fn password_of(text: &str) -> &str {
    let userinfo = text.split_once("://").and_then(|(_, rest)| rest.rsplit_once('@')).map(|(userinfo, _)| userinfo);
    userinfo.and_then(|userinfo| userinfo.split_once(':')).map_or(text, |(_, password)| password)
}

/// Behind the last separator nothing but one letter over and over: `sk_live_0000000000`.
fn one_letter(value: &str) -> bool {
    let body = value.rsplit(['_', '-', ':', '=']).next().unwrap_or(value);
    body.len() >= 6 && body.bytes().collect::<Vec<_>>().windows(2).all(|pair| pair.first() == pair.last())
}

/// `1234567890abcdef`, `abcdefghijkl`, `0123456789`: numbers of documentation.
pub fn counting(value: &str) -> bool {
    let bytes = value.as_bytes();
    let steps = bytes.windows(2).filter(|pair| match pair {
        [one, next] => next.wrapping_sub(*one) == 1 || (*one == b'9' && *next == b'0'),
        _ => false,
    });
    bytes.len() >= 8 && steps.count() * 4 >= (bytes.len() - 1) * 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_for_a_secret_is_none() {
        for (text, expected) in [
            ("<your-key>", true),
            ("${DB_PASSWORD}", true),
            ("{{ token }}", true),
            ("AKIAXXXXXXXXXXXXXXXX", true),
            ("sk_live_000000000000000000000000", true),
            ("sk-...", true),
            ("postgres://app:${PASSWORD}@db/x", true),
            ("postgres://app:s3cr3t@db.example-1.org/x", false),
            ("AKIAIOSFODNN7EXAMPLE", true),
            ("postgres://user:password@localhost/db", true),
            ("postgres://app:****@h/db", true),
            ("process.env.API_KEY", true),
            ("os.environ[\"TOKEN\"]", true),
            ("changeme", true),
            ("hunter2-Correct", false),
            ("q7Zr0Kp3VbT9xLw2mNcY", false),
        ] {
            assert_eq!(is_one(text), expected, "{text}");
        }
        assert!(counting("1234567890") && counting("abcdefgh01234567") && !counting("q7Zr0Kp3VbT9"));
    }
}
