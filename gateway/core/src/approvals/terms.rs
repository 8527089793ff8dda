//! On which terms people are asked: how long they have, what they are shown, and where they are sent.

use std::time::Duration;

use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::content::Recorder;
use crate::exchange::Exchange;
use crate::ports::Seal;

/// What a person is shown of a call's arguments.
const LARGEST_SHOWN: usize = 16 * 1024;
/// Names of members whose values are nobody's to read.
const SECRETS: [&str; 9] =
    ["password", "passwd", "secret", "token", "apikey", "api_key", "authorization", "credential", "private_key"];
const LINK: &str = "approval:";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// How long a human has, where no policy says otherwise.
    pub deadline: Duration,
    /// How long a yes may be used.
    pub use_within: Duration,
    pub show_arguments: bool,
    /// Questions of one agent that may wait at once.
    pub most: i64,
    /// What people call the console, without a slash at its end; empty where there is none to send them to.
    pub console: String,
}

impl Default for Terms {
    fn default() -> Self {
        let minute = Duration::from_secs(60);
        Self { deadline: minute * 60, use_within: minute * 15, show_arguments: true, most: 100, console: String::new() }
    }
}

/// The page of one approval. The token shows that the link is ours: ids alone can be guessed at.
pub fn link(console: &str, seal: &dyn Seal, id: Uuid) -> String {
    let token = seal.seal(format!("{LINK}{id}").as_bytes());
    let token: String = token.bytes().map(encoded).collect();
    format!("{console}/approvals/{id}?k={token}")
}

/// Whether a token came with a link of ours to this approval.
pub fn is_link(token: &str, seal: &dyn Seal, id: Uuid) -> bool {
    seal.open(token).is_some_and(|plain| plain == format!("{LINK}{id}").as_bytes())
}

fn encoded(byte: u8) -> String {
    match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    }
}

/// The arguments as a person may see them: without what looks like a secret, and not without end.
pub fn shown(exchange: &Exchange, terms: &Terms, recorder: &dyn Recorder) -> Option<Value> {
    let arguments = exchange.arguments().filter(|_| terms.show_arguments)?;
    let hidden = recorder.value(&exchange.rules, arguments);
    let seen = readable(hidden.as_ref().unwrap_or(arguments));
    let bytes = seen.to_string().len();
    Some(if bytes > LARGEST_SHOWN { json!({ "left out": format!("{bytes} bytes of arguments") }) } else { seen })
}

fn readable(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let seen = members.iter().map(|(key, value)| {
                let value = if is_secret(key) { Value::from("(hidden)") } else { readable(value) };
                (without_nul(key), value)
            });
            Value::Object(seen.collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(readable).collect(),
        Value::String(text) => Value::from(without_nul(text)),
        other => other.clone(),
    }
}

/// Postgres has no place for it.
fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

fn is_secret(key: &str) -> bool {
    let key = key.to_lowercase();
    SECRETS.iter().any(|secret| key.contains(secret))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::PlainSeal;

    #[test]
    fn what_looks_like_a_secret_is_not_shown() {
        let seen =
            readable(&json!({ "to": "a", "Api_Key": "k", "in": [{ "userPassword": "p", "n": 1 }], "x": "a\0b" }));
        let expected = json!({ "to": "a", "Api_Key": "(hidden)", "in": [{ "userPassword": "(hidden)", "n": 1 }], "x": "a\u{fffd}b" });
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_link_opens_its_own_approval_alone() {
        let (one, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let made = link("https://gate.example", &PlainSeal, one);
        let token = made.split_once("?k=").map(|(_, token)| token).unwrap_or_default();
        assert!(made.starts_with("https://gate.example/approvals/00000000-0000-0000-0000-000000000001?k="), "{made}");
        assert!(is_link(token, &PlainSeal, one) && !is_link(token, &PlainSeal, other) && !is_link("", &PlainSeal, one));
    }
}
