//! A JSON web token is one whose first part says how it is signed or encrypted.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// The header is read as text, not as JSON: a token cut short or with a bent header is a token all the same.
pub fn holds(text: &str) -> bool {
    let Some(header) = text.split('.').next() else { return false };
    let whole = header.len() / 4 * 4;
    let Some(Ok(decoded)) = header.get(..whole).map(|part| URL_SAFE_NO_PAD.decode(part)) else { return false };
    // Without a signature it ends in a dot, and says so; any other dot ends a sentence.
    let unsigned = String::from_utf8_lossy(&decoded).contains("none");
    decoded.starts_with(b"{\"") && (!text.ends_with('.') || unsigned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_an_object() {
        for (object, expected) in [(r#"{"alg":"HS256","typ":"JWT"}"#, true), (r#"{"kid":"1"}"#, true), ("[1]", false)] {
            let token = format!("{}.e30.c2ln", URL_SAFE_NO_PAD.encode(object));
            assert_eq!(holds(&token), expected, "{object}");
        }
        assert!(!holds("com.example.package"));
        let token = |header: &str| format!("{}.e30.", URL_SAFE_NO_PAD.encode(header));
        assert!(holds(&token(r#"{"alg":"none"}"#)) && !holds(&token(r#"{"u":"jane"}"#)));
    }
}
