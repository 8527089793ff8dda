//! TLS on the listener, and nobody without a certificate where the operator asks for one.

use std::path::Path;
use std::process::Command;

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

#[test]
fn only_a_signed_certificate_gets_in() {
    let outside = tempfile::tempdir().unwrap();
    certificates(outside.path());
    let at = |file: &str| outside.path().join(file).display().to_string();
    let world = World::on(Kind::Sqlite)
        .set("listen_tls", json!({ "cert": at("server.pem"), "key": at("server.key"), "client_ca": at("ca.pem") }))
        .start();
    let url = format!("https://localhost:{}/health", world.port);
    let curl = |more: &[&str]| {
        let output = Command::new("curl")
            .args(["-s", "-o", "/dev/null", "-w", "%{http_code} %{http_version}", "--cacert", &at("ca.pem")])
            .args(more)
            .arg(&url)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(curl(&["--cert", &at("client.pem"), "--key", &at("client.key")]), "200 2", "HTTP/2 by negotiation");
    assert_eq!(curl(&["--http1.1", "--cert", &at("client.pem"), "--key", &at("client.key")]), "200 1.1");
    assert_eq!(curl(&[]), "000 0", "nobody without a certificate");
}
