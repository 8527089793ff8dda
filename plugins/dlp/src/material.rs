//! What private keys are written in: long runs of base64 that are no words.

use std::ops::Range;

/// Runs of letters of base64, at least so long, with capitals and small letters, and with digits unless they are long.
///
/// The letter of an escape before a run is none of it: `\nMII` in a text that is source begins with `M`.
pub(crate) fn runs(text: &str, least: usize) -> impl Iterator<Item = Range<usize>> + '_ {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            at += bytes.get(at..)?.iter().position(|byte| is_letter(*byte))?;
            let escaped = at.checked_sub(1).and_then(|before| bytes.get(before)) == Some(&b'\\');
            let length = bytes.get(at..)?.iter().take_while(|byte| is_letter(**byte)).count();
            let skipped = match bytes.get(at) {
                Some(b'u') if escaped => 5,
                Some(_) if escaped => 1,
                _ => 0,
            };
            let run = (at + skipped).min(at + length)..at + length;
            at = run.end;
            if run.len() >= least && is_mixed(bytes.get(run.clone())?) {
                return Some(run);
            }
        }
    })
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

fn is_mixed(run: &[u8]) -> bool {
    const LONG: usize = 40;
    run.iter().any(u8::is_ascii_uppercase)
        && run.iter().any(u8::is_ascii_lowercase)
        && (run.len() >= LONG || run.iter().any(u8::is_ascii_digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_escapes_are_none() {
        for (text, expected) in [
            ("MIIEowIBAAKCAQEA1234", vec!["MIIEowIBAAKCAQEA1234"]),
            (r"\nMIIEowIBAAKCAQEA1234\n", vec!["MIIEowIBAAKCAQEA1234"]),
            (r"\u000aMIIEowIBAAKCAQEA1234", vec!["MIIEowIBAAKCAQEA1234"]),
            ("internationalisation of Things", vec![]),
            ("9f2c41d0a7b3e5f60718293a4b5c6d7e8f901234", vec![]),
            ("id_rsa:3:MIIEowIBAAKCAQEA1234", vec!["MIIEowIBAAKCAQEA1234"]),
        ] {
            let found: Vec<_> = runs(text, 16).filter_map(|run| text.get(run)).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
