#![allow(clippy::unwrap_used)]

use gateway_core::gate::Comparator;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::evidence::testing::{asked, code, contracted, value};

/// Says the same to every request, and closes.
async fn page(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(answer.as_bytes()).await;
            let _ = stream.shutdown().await;
        }
    });
    address.to_string()
}

fn web(host: &str) -> Web {
    let allowed_hosts = BTreeSet::from([host.to_owned()]);
    Web::new(WebSettings { allowed_hosts, allow_http: true, max_response_bytes: 16, ..WebSettings::default() }).unwrap()
}

async fn said(answer: &'static str, check: &str) -> EvidenceResult {
    let host = page(answer).await;
    asked(&web(&host), check, Some(json!({ "url": format!("http://{host}/health") }))).await
}

// acceptance 119 e: status and hash of a body, with the page's own address.
#[tokio::test]
async fn a_page_is_asked() {
    let host = page("HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n[]").await;
    let url = format!("http://{host}/health?deep=1");
    let web = web(&host);
    let status = asked(&web, "status", Some(json!({ "url": url }))).await;
    let anchor = status.evidence_anchor.clone().unwrap();
    assert_eq!(
        (value(&status), anchor.anchor_type.as_str(), anchor.anchor_value),
        (Some(json!(200)), "url", url.clone())
    );
    assert_eq!(status.evidence_ref.unwrap().uri, url);
    let hash = asked(&web, "body_hash", Some(json!({ "url": url }))).await;
    let expected = "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945";
    assert_eq!(value(&hash), Some(json!({ "algorithm": "sha256", "value": expected })));
}

// acceptance 119 e: a redirection is a status, and nobody goes there.
#[tokio::test]
async fn a_redirection_is_not_followed() {
    let answer =
        "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    assert_eq!(value(&said(answer, "status").await), Some(json!(302)));
}

// acceptance 119 e
#[tokio::test]
async fn an_answer_that_is_too_long_or_breaks_off_is_an_error() {
    let long = "HTTP/1.1 200 OK\r\ncontent-length: 17\r\nconnection: close\r\n\r\n12345678901234567";
    assert_eq!(code(&said(long, "body_hash").await), "size_limit_exceeded");
    let short = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\nconnection: close\r\n\r\n1234";
    assert_eq!(code(&said(short, "body_hash").await), "request_failed");
    assert_eq!(code(&said("", "status").await), "request_failed");
}

// acceptance 119 e: what is not listed is not asked; an exact name is not a beginning of one.
#[tokio::test]
async fn only_listed_hosts_are_asked() {
    let closed = Web::new(WebSettings::default()).unwrap();
    let listed = WebSettings { allowed_hosts: BTreeSet::from(["API.example.com".into()]), ..WebSettings::default() };
    let listed = Web::new(listed).unwrap();
    for (web, url, expected) in [
        (&closed, "https://api.example.com/", "host_not_allowed"),
        (&listed, "http://api.example.com/", "scheme_not_allowed"),
        (&listed, "https://api.example.com.evil.test/", "host_not_allowed"),
        (&listed, "https://api.example.com:8443/", "host_not_allowed"),
        (&listed, "https://169.254.169.254/", "host_not_allowed"),
        (&listed, "https://api.example.com@evil.test/", "params_invalid"),
    ] {
        assert_eq!(code(&asked(web, "status", Some(json!({ "url": url }))).await), expected, "{url}");
    }
    for url in ["https://api.example.com/", "https://API.EXAMPLE.com:443/a"] {
        assert_eq!(listed.allowed(&url.parse().unwrap()), Ok(()), "{url}");
    }
}

// acceptance 114
#[test]
fn params_are_held_against_the_contract() {
    let web = Web::new(WebSettings::default()).unwrap();
    for (url, fits) in [
        ("https://a.test/x?y=1", true),
        ("http://a.test", true),
        ("ftp://a.test/", false),
        ("/x", false),
        ("a.test", false),
        ("https://a.test/#x", false),
        ("https://user:pass@a.test/", false),
    ] {
        assert_eq!(contracted(&web, "status", &json!({ "url": url })).is_ok(), fits, "{url}");
    }
    let hash = web.checks.iter().find(|contract| contract.check == "body_hash").unwrap();
    assert_eq!(hash.comparators, [Comparator::Exists, Comparator::NotExists]);
}
