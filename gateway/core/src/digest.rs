//! SHA-256 as text: keys, arguments, policies and traces are all known by one.

use sha2::{Digest, Sha256};

/// 64 hex digits.
pub fn hex(bytes: &[u8]) -> String {
    after("", bytes)
}

/// `sha256:` and 64 hex digits.
pub fn named(bytes: &[u8]) -> String {
    after("sha256:", bytes)
}

/// Every call has several of these written, so the digits go straight to their place.
fn after(name: &str, bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(name.len() + 64);
    text.push_str(name);
    for byte in Sha256::digest(bytes) {
        for half in [byte >> 4, byte & 15] {
            text.push(DIGITS.get(usize::from(half)).map_or('0', |digit| char::from(*digit)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_lower_case_hex() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!((hex(b""), named(b"")), (empty.to_owned(), format!("sha256:{empty}")));
    }
}
