//! What is told to those who watch, checked.

use std::collections::BTreeMap;

use super::Secret;
use super::problem::Problems;
use super::sound::base_url;
use super::sound_built_in::{PLAIN_TEXT, is_safe};
use super::sound_upstreams::headers;
use super::written::{WrittenOtlp, WrittenTelemetry};

const SECTION: &str = "telemetry.otlp";
const TRACES: &str = "/v1/traces";

/// A collector that the operator named.
#[derive(Debug, Clone, PartialEq)]
pub struct Otlp {
    /// Where batches are POSTed, path included.
    pub endpoint: String,
    pub headers: BTreeMap<String, Secret>,
    pub service_name: String,
    /// 0 to 1.
    pub sample: f64,
}

pub fn otlp(written: WrittenTelemetry, problems: &mut Problems) -> Option<Otlp> {
    let WrittenOtlp { endpoint, headers, service_name, sample } = written.otlp?;
    let path = format!("{SECTION}.endpoint");
    // The text itself is not repeated: it may hold a token.
    if !is_safe(&endpoint) {
        problems.say(path.as_str(), PLAIN_TEXT);
    }
    let base = is_safe(&endpoint).then_some(endpoint).and_then(|endpoint| base_url(Some(endpoint), &path, problems));
    let headers = self::headers(headers, SECTION, problems);
    let service_name = service_name.unwrap_or_else(|| "portreeve".into());
    if service_name.trim().is_empty() {
        problems.say(format!("{SECTION}.service_name"), "must not be empty");
    }
    let sample = sample.map_or(1.0, |share| share.0);
    if !(0.0..=1.0).contains(&sample) {
        problems.say(format!("{SECTION}.sample"), format!("is {sample}, must be between 0 and 1"));
    }
    let base = base?;
    let endpoint = if base.ends_with(TRACES) { base } else { base + TRACES };
    Some(Otlp { endpoint, headers, service_name, sample })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::Config;
    use super::*;

    fn read(text: &str) -> Result<Option<Otlp>, String> {
        let lookup = |name: &str| (name == "TOKEN").then(|| "s3cret".to_owned());
        let config = Config::parse(text, None, &lookup).map_err(|problems| {
            problems.iter().map(|problem| format!("{}: {}", problem.path, problem.what)).collect::<Vec<_>>().join("\n")
        })?;
        assert!(!format!("{config:?}").contains("s3cret"), "{config:?}");
        Ok(config.otlp)
    }

    fn endpoint(text: &str) -> Result<String, String> {
        read(&format!("telemetry: {{ otlp: {{ endpoint: '{text}' }} }}")).map(|otlp| otlp.unwrap().endpoint)
    }

    #[test]
    fn nothing_is_sent_unless_somebody_says_where() {
        assert_eq!(read("{}"), Ok(None));
        assert_eq!(read("telemetry: {}"), Ok(None));
        let expected = "telemetry.otlp.endpoint: is missing";
        assert_eq!(read("telemetry: { otlp: { sample: 1 } }"), Err(expected.into()));
    }

    #[test]
    fn an_endpoint_is_a_base_or_the_whole() {
        let plain = format!("telemetry.otlp.endpoint: {PLAIN_TEXT}");
        let base = "telemetry.otlp.endpoint: is not a plain URL: expected `https://host` or `https://host:port/path`";
        for (text, expected) in [
            ("http://127.0.0.1:4318", Ok("http://127.0.0.1:4318/v1/traces")),
            ("http://localhost:4318/", Ok("http://localhost:4318/v1/traces")),
            ("https://c.example.com/otlp", Ok("https://c.example.com/otlp/v1/traces")),
            ("https://c.example.com/v1/traces", Ok("https://c.example.com/v1/traces")),
            ("http://c.example.com:4318", Err(plain.as_str())),
            ("https://me:s3cret@c.example.com", Err(&plain)),
            ("nonsense s3cret", Err(&plain)),
            ("https://c.example.com/?key=s3cret", Err(base)),
            ("ftp://127.0.0.1/", Err(base)),
        ] {
            assert_eq!(endpoint(text), expected.map(String::from).map_err(String::from), "{text}");
        }
    }

    #[test]
    fn headers_are_secrets_and_everything_wrong_is_told_at_once() {
        let text = "telemetry:
  otlp:
    endpoint: https://c.example.com
    headers: { Authorization: 'Bearer ${TOKEN}' }
    service_name: gate-1
    sample: '0.25'";
        let otlp = read(text).unwrap().unwrap();
        assert_eq!(otlp.headers.get("authorization").map(Secret::reveal), Some("Bearer s3cret"));
        assert_eq!((otlp.service_name.as_str(), otlp.sample), ("gate-1", 0.25));
        let said = read(
            "telemetry:
  otlp:
    endpoint: 'http://c.example.com/${TOKEN}'
    headers: { content-type: x, 'a b': y, z: \"${TOKEN}\\n\" }
    service_name: ' '
    sample: 1.5",
        )
        .unwrap_err();
        for path in ["endpoint:", "headers.content-type:", "headers.a b:", "headers.z:", "service_name:", "sample:"] {
            assert!(said.contains(&format!("telemetry.otlp.{path}")), "{path} in {said}");
        }
        assert!(!said.contains("s3cret"), "{said}");
        assert!(read("telemetry: { otlp: { endpoint: https://c, sample: lots } }").unwrap_err().contains("sample"));
    }
}
