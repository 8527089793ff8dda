//! What exactly is found where things touch: the right rule, from its first letter to its last. acceptance 63

use bytes::Bytes;
use gateway_dlp::{Action, Actions, Counts, Paths, Redaction};

use super::shipped::{ALL, masked, told};
use super::template::expanded;

const GITHUB: &str = "ghp_{alnum:36}";

/// Each text, and what is found in it.
fn all_found(cases: &[(&str, &[(&str, &str)])]) {
    let mut wrong = Vec::new();
    for (text, expected) in cases {
        let expected: Vec<_> = expected.iter().map(|(rule, value)| ((*rule).to_owned(), (*value).to_owned())).collect();
        let found = told(&ALL, text);
        if found != expected {
            wrong.push(format!("`{text}`: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_worse_is_not_swallowed_by_what_is_longer() {
    let token = expanded(GITHUB);
    for text in [
        format!("https://{token}@github.com/acme/repo.git"),
        format!("{token}@github.com"),
        format!("user+{token}@example.org"),
    ] {
        let found = told(&ALL, &text);
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        assert_eq!(found[0].0, "github_token", "{text}: {found:?}");
        assert!(!masked(&text).contains(&token), "{text}");
    }
    all_found(&[
        ("2026-01-01 536-22-8719", &[("us_ssn", "536-22-8719")]),
        ("2026-01-01 415-555-2671", &[("phone_north_america", "415-555-2671")]),
        ("+4915123456787", &[("phone", "+4915123456787")]),
        ("+61 412 345 678", &[("phone", "+61 412 345 678")]),
        ("GB82 WEST 1234 5698 7654 32", &[("iban", "GB82 WEST 1234 5698 7654 32")]),
    ]);
}

/// What may only go where it is critical is critical even if something milder begins before it.
#[test]
fn a_request_that_only_loses_what_is_critical_loses_it() {
    let token = expanded(GITHUB);
    let critical = |rule: &gateway_dlp::Rule| {
        if rule.severity == gateway_dlp::Severity::Critical { Action::Mask } else { Action::Observe }
    };
    let actions = Actions::new([ALL.rules().iter().map(critical).collect()], Action::Observe);
    let paths = Paths::default();
    let redaction = Redaction { sets: [&*ALL].into_iter().collect(), actions: &actions, key: &[0; 32], paths: &paths };
    let raw = Bytes::from(serde_json::json!({ "url": format!("https://{token}@github.com/a/b") }).to_string());
    let edited = redaction.json(&raw, &mut Counts::default()).unwrap().expect("it is changed");
    assert!(!String::from_utf8_lossy(&edited).contains(&token), "{edited:?}");
}

#[test]
fn values_end_where_they_end() {
    let url = "postgres://app:s3cr3tPw@h/db";
    for around in [
        "`{}`",
        "({})",
        "**{}**",
        "{}, and more",
        "{}; and",
        "a|{}|b",
        "{}.",
        "1,{},x",
        "\"{}\\n\"",
        "x={}&y=1",
        "「{}」",
    ] {
        let text = around.replace("{}", url);
        assert_eq!(told(&ALL, &text), [("database_url".to_owned(), url.to_owned())], "{text}");
    }
    all_found(&[
        ("(+14155552671)", &[("phone", "+14155552671")]),
        ("+33612345678 75011", &[("phone", "+33612345678")]),
        ("postgres://app:s3cr3tPw@[::1]:5432/db x", &[("database_url", "postgres://app:s3cr3tPw@[::1]:5432/db")]),
        ("请联系jane.doe@example.org", &[("email", "jane.doe@example.org")]),
        ("user%tag@example.org", &[("email", "user%tag@example.org")]),
        ("jane@example.org\u{200b} x", &[("email", "jane@example.org")]),
        ("::ffff:192.0.2.1", &[("ipv6_address", "::ffff:192.0.2.1")]),
        ("fe80::1%eth0 up", &[("ipv6_address", "fe80::1%eth0")]),
        ("redis://h:6379/0,jane@example.org", &[("email", "jane@example.org")]),
    ]);
    let token = expanded("{jwt}");
    assert_eq!(told(&ALL, &format!("it was {token}.")), [("jwt".to_owned(), token)]);
}

/// A password in quotes is all that stands in them.
#[test]
fn quoted_passwords_go_whole() {
    for (text, value) in [
        (r#"{"password":"correct horse battery"}"#, "horse"),
        (r#"{"password": "p4ss w0rd"}"#, "w0rd"),
        ("password = 'correct horse battery'", "battery"),
        ("psql --password Zx9kQ2vLpw", "Zx9kQ2vLpw"),
        ("curl -u admin:hunter2x https://x.example", "hunter2x"),
        ("docker login -u x -p Zx9kQ2vLpw", "Zx9kQ2vLpw"),
        ("<password>correct horse</password>", "horse"),
        ("machine h login x password Zx9kQ2vLpw", "Zx9kQ2vLpw"),
        ("db.example.com:5432:app:svc:Zx9kQ2vLpw", "Zx9kQ2vLpw"),
        ("root:s3cr3tPw@tcp(127.0.0.1:3306)/db", "s3cr3tPw"),
    ] {
        let shown = masked(text);
        assert!(!shown.contains(value), "{text}: {shown}");
    }
}

/// Numbers that count releases, rows, money or bytes are nobody's.
#[test]
fn what_only_looks_like_it_stays() {
    for text in [
        "Mozilla/5.0 (X11) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36",
        r#"{"name":"foo","version":"5.5.84.3"}"#,
        "pkg==12.30.1.77",
        "libfoo-2.31.4.5.tar.gz",
        "OID 2.5.29.37",
        "Release 21.9.50.3 of the software",
        "MD5:16:27:ac:a5:76:28:2d:36:63:1b:56:4d:eb:df:a6:48",
        "SHA1 Fingerprint=DE:9F:2C:7F:D2:5E:1B:3A:FA:D3:E8:5A:0B:D1:7D:9B:10:0D:B4:B3",
        "12:34:56:78:90:12",
        "job 722.850.8680",
        "€ 046 454 286",
        "446 046 454 286 233",
        "e.password=r.password,this.secret=o.secretKey",
        "password = getpass.getpass()",
        r#"{"password":"must be at least 8 characters"}"#,
    ] {
        assert_eq!(told(&ALL, text), [], "{text}");
    }
}
