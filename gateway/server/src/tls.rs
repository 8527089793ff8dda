//! TLS on the listeners, and client certificates where the operator names an authority for them.

use std::path::Path;
use std::sync::Arc;

use pingora_core::listeners::tls::TlsSettings;
use rustls::RootCertStore;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;

use crate::config::Tls;

#[derive(Debug, thiserror::Error)]
#[error("listen.tls.{key}: `{file}` cannot be used: {what}")]
pub struct TlsError {
    key: &'static str,
    file: String,
    what: String,
}

impl TlsError {
    fn new(key: &'static str, file: &Path, what: &dyn std::fmt::Display) -> Self {
        Self { key, file: file.display().to_string(), what: what.to_string() }
    }
}

/// Reads every file before pingora does, which panics over what it cannot use.
pub fn settings(tls: &Tls) -> Result<TlsSettings, TlsError> {
    certificates("cert", &tls.cert)?;
    PrivateKeyDer::from_pem_file(&tls.key).map_err(|error| TlsError::new("key", &tls.key, &error))?;
    let (cert, key) = (tls.cert.display().to_string(), tls.key.display().to_string());
    let wrong = |error: Box<pingora_core::Error>| TlsError::new("cert", &tls.cert, &error);
    let mut settings = TlsSettings::intermediate(&cert, &key).map_err(wrong)?;
    settings.enable_h2();
    if let Some(file) = &tls.client_ca {
        settings.set_client_cert_verifier(client_verifier(file)?);
    }
    Ok(settings)
}

/// Nobody connects without a certificate that this authority signed.
fn client_verifier(file: &Path) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
    let mut authorities = RootCertStore::empty();
    for certificate in certificates("client_ca", file)? {
        authorities.add(certificate).map_err(|error| TlsError::new("client_ca", file, &error))?;
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(authorities), Arc::new(default_provider()));
    verifier.build().map_err(|error| TlsError::new("client_ca", file, &error))
}

fn certificates(key: &'static str, file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read = CertificateDer::pem_file_iter(file).map_err(|error| TlsError::new(key, file, &error))?;
    let chain = read.collect::<Result<Vec<_>, _>>().map_err(|error| TlsError::new(key, file, &error))?;
    if chain.is_empty() {
        return Err(TlsError::new(key, file, &"there is no certificate in it"));
    }
    Ok(chain)
}
