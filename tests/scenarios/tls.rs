//! TLS on the listener, and nobody without a certificate where the operator asks for one.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use portreeve_tests::{Kind, World};
use serde_json::json;

fn openssl(directory: &Path, arguments: &str) {
    let output = Command::new("openssl").args(arguments.split_whitespace()).current_dir(directory).output().unwrap();
    assert!(output.status.success(), "openssl {arguments}: {}", String::from_utf8_lossy(&output.stderr));
}

/// An authority, a server's and a client's certificate.
pub fn certificates(directory: &Path) {
    std::fs::write(directory.join("names"), "subjectAltName=DNS:localhost,IP:127.0.0.1").unwrap();
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
    openssl(directory, &format!("req -x509 {key} -days 1 -subj /CN=authority -keyout ca.key -out ca.pem"));
    for name in ["server", "client"] {
        openssl(directory, &format!("req {key} -subj /CN={name} -keyout {name}.key -out {name}.csr"));
        openssl(
            directory,
            &format!(
                "x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 1 -extfile names -out {name}.pem"
            ),
        );
    }
}

/// What somebody without a certificate is told. `-quiet`: not to hang up when there is nothing more to type.
fn refusal(port: u16, directory: &Path) -> String {
    let output = Command::new("openssl")
        .args(["s_client", "-quiet", "-CAfile", "ca.pem", "-connect", &format!("127.0.0.1:{port}")])
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn only_a_signed_certificate_gets_in() {
    let outside = tempfile::tempdir().unwrap();
    certificates(outside.path());
    let at = |file: &str| outside.path().join(file).display().to_string();
    let world = World::on(Kind::Sqlite)
        .set("listen_tls", json!({ "cert": at("server.pem"), "key": at("server.key"), "client_ca": at("ca.pem") }))
        .start();
    let health = |port: u16| format!("https://localhost:{port}/health");
    let curl_at = |url: &str, more: &[&str]| {
        let output = Command::new("curl")
            .args(["-s", "-o", "/dev/null", "-w", "%{http_code} %{http_version}", "--cacert", &at("ca.pem")])
            .args(more)
            .arg(url)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let curl = |more: &[&str]| curl_at(&health(world.port), more);
    let (cert, key) = (at("client.pem"), at("client.key"));
    let known = ["--cert", &cert, "--key", &key];
    assert_eq!(curl(&known), "200 2", "HTTP/2 by negotiation");
    assert_eq!(curl(&[&known[..], &["--http1.1"]].concat()), "200 1.1");
    assert_eq!(curl(&[]), "000 0", "nobody without a certificate");
    for port in [world.port, world.console_port] {
        let told = refusal(port, outside.path());
        assert!(told.contains("alert certificate required"), "on {port}: {told}");
    }

    // A browser's way to the console: HTTP/2, which has no Host header.
    assert_eq!(curl_at(&format!("https://localhost:{}/ready", world.console_port), &known), "200 2");
    let front = format!("https://localhost:{}/", world.console_port);
    assert_eq!(curl_at(&front, &known), "200 2");
    assert_eq!(curl_at(&front, &[&known[..], &["-H", "origin: https://evil.example"]].concat()), "403 2");
    let elsewhere = format!("evil.example:{}:127.0.0.1", world.console_port);
    let foreign = format!("https://evil.example:{}/", world.console_port);
    assert_eq!(curl_at(&foreign, &[&known[..], &["-k", "--resolve", &elsewhere]].concat()), "403 2");
}

/// Past the handshake, and then not a word.
#[test]
fn a_silent_connection_is_closed_behind_tls_too() {
    let outside = tempfile::tempdir().unwrap();
    certificates(outside.path());
    let at = |file: &str| outside.path().join(file).display().to_string();
    let world = World::on(Kind::Sqlite)
        .set("listen_tls", json!({ "cert": at("server.pem"), "key": at("server.key") }))
        .set("limits", json!({ "header_seconds": 1 }))
        .start();
    for (port, protocol) in
        [world.port, world.console_port].into_iter().flat_map(|port| [(port, "h2"), (port, "http/1.1")])
    {
        let began = Instant::now();
        let mut silent = Command::new("openssl")
            .args(["s_client", "-quiet", "-alpn", protocol, "-connect", &format!("127.0.0.1:{port}")])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let _held = silent.stdin.take();
        while silent.try_wait().unwrap().is_none() {
            if began.elapsed() > Duration::from_secs(10) {
                let _ = silent.kill();
                panic!("{protocol} on {port} was held");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(began.elapsed() < Duration::from_secs(5), "{protocol} on {port}: {:?}", began.elapsed());
    }
}
