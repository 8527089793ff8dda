//! Samples hold `{alnum:36}` where a secret would stand: what is in the tree looks like no live key, and every run sees the same one.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const DIGITS: &str = "0123456789";

/// Known names in braces are replaced; other braces are the sample's own.
pub fn expanded(sample: &str) -> String {
    let mut source = Source::of(sample);
    let mut out = String::new();
    let mut rest = sample;
    while let Some(open) = rest.find('{') {
        out.push_str(&rest[..open]);
        let after = &rest[open + 1..];
        let value = after.find('}').and_then(|close| Some((source.value(&after[..close])?, close)));
        match value {
            Some((value, close)) => {
                out.push_str(&value);
                rest = &after[close + 1..];
            }
            None => {
                out.push('{');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

struct Source {
    seed: String,
    block: u64,
}

impl Source {
    fn of(seed: &str) -> Self {
        Self { seed: seed.to_owned(), block: 0 }
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut out = Vec::new();
        while out.len() < count {
            self.block += 1;
            out.extend(Sha256::digest(format!("{}/{}", self.block, self.seed)));
        }
        out.truncate(count);
        out
    }

    fn of_letters(&mut self, letters: &str, count: usize) -> String {
        let letters = letters.as_bytes();
        let random = self.bytes(count);
        random.iter().map(|byte| char::from(letters[usize::from(*byte) % letters.len()])).collect()
    }

    fn value(&mut self, name: &str) -> Option<String> {
        if name == "uuid" {
            let hex = self.of_letters("0123456789abcdef", 32);
            return Some(format!("{}-{}-4{}-a{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..]));
        }
        if name == "jwt" {
            let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
            let signature = self.of_letters(&format!("{UPPER}{LOWER}{DIGITS}_-"), 43);
            return Some(format!(
                "{}.{}.{signature}",
                part(r#"{"alg":"HS256","typ":"JWT"}"#),
                part(r#"{"sub":"1234"}"#)
            ));
        }
        let (kind, count) = name.split_once(':')?;
        let letters = match kind {
            "alnum" => format!("{UPPER}{LOWER}{DIGITS}"),
            "letters" => format!("{UPPER}{LOWER}"),
            "lower" => LOWER.to_owned(),
            "lowernum" => format!("{LOWER}{DIGITS}"),
            "lower32" => format!("{LOWER}234567"),
            "base32" => format!("{UPPER}234567"),
            "base64" => format!("{UPPER}{LOWER}{DIGITS}+/"),
            "hex" => "0123456789abcdef".to_owned(),
            "digits" => "123456789".to_owned(),
            _ => return None,
        };
        Some(self.of_letters(&letters, count.parse().ok()?))
    }
}

#[test]
fn the_same_sample_is_expanded_in_the_same_way() {
    let one = expanded("key ghp_{alnum:36} {\"a\":1}");
    assert_eq!(one, expanded("key ghp_{alnum:36} {\"a\":1}"));
    assert_eq!(one.len(), "key ghp_ {\"a\":1}".len() + 36);
}
