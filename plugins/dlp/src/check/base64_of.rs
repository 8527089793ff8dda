//! A text that, decoded, says what it is.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// The decoded text contains `inside`. Both alphabets, with or without padding.
pub fn holds(text: &str, inside: &str) -> bool {
    let bare = text.trim_end_matches('=');
    let decoded = STANDARD_NO_PAD.decode(bare).or_else(|_| URL_SAFE_NO_PAD.decode(bare));
    decoded.is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(inside))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_inside() {
        assert!(holds("dXNlcjpodW50ZXIy", ":"));
        assert!(!holds("dXNlcg==", ":"));
        assert!(!holds("%%%", ":"));
    }
}
