//! The public keys that a provider may sign with: 32 bytes as they are, as base64, or as a PEM file.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gateway_core::gate::policies::Keyring;
use ring::signature::{ED25519, UnparsedPublicKey};

/// What stands before the key itself where it is written as RFC 8410 says.
const SPKI: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

#[derive(Debug, Clone)]
pub struct Ed25519Keys(BTreeMap<String, [u8; 32]>);

impl Ed25519Keys {
    /// From the contents of key files, by the keys' ids.
    pub fn read(files: &BTreeMap<String, Vec<u8>>) -> Result<Self, String> {
        if files.is_empty() {
            return Err("signatures are required, but there is no key to check them with".into());
        }
        let mut keys = BTreeMap::new();
        for (id, file) in files {
            let key = public_key(file).ok_or_else(|| {
                format!("key `{id}` is no ed25519 public key: wanted are 32 bytes, as they are, in base64 or as PEM")
            })?;
            keys.insert(id.clone(), key);
        }
        Ok(Self(keys))
    }
}

impl Keyring for Ed25519Keys {
    fn verifies(&self, key_id: &str, message: &[u8], signature: &[u8]) -> Option<bool> {
        let key = self.0.get(key_id)?;
        Some(UnparsedPublicKey::new(&ED25519, key).verify(message, signature).is_ok())
    }
}

fn public_key(file: &[u8]) -> Option<[u8; 32]> {
    if let Ok(raw) = file.try_into() {
        return Some(raw);
    }
    let text = std::str::from_utf8(file).ok()?.trim();
    let Some(pem) = text.strip_prefix("-----BEGIN PUBLIC KEY-----") else {
        return STANDARD.decode(text).ok()?.try_into().ok();
    };
    let body: String = pem.strip_suffix("-----END PUBLIC KEY-----")?.split_whitespace().collect();
    STANDARD.decode(body).ok()?.strip_prefix(SPKI.as_slice())?.try_into().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;

    // Made with another implementation, from the seed 00 01 .. 1f.
    const KEY: &str = "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8";
    const SIGNATURE: &str = "241350bb5c22aaaa1161932bcf0f5becbc6aa17bebcbb1e951fd183be77570d3381bf44b68176cff40d8f1033b13ef9487adc942da5a434a20e29bb6ec12380a";
    const MESSAGE: &[u8] =
        br#"{"algorithm":"sha256","value":"80be2eb0944c0453a6ad339a56e1c8f39f8cc57a4e627758246ccfd274176fd8"}"#;

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
    }

    fn keys(file: Vec<u8>) -> Result<Ed25519Keys, String> {
        Ed25519Keys::read(&BTreeMap::from([("ci-1".to_owned(), file)]))
    }

    // acceptance 119 f
    #[test]
    fn a_signature_of_the_key_verifies_and_no_other() {
        let keys = keys(bytes(KEY)).unwrap();
        let signature = bytes(SIGNATURE);
        assert_eq!(keys.verifies("ci-1", MESSAGE, &signature), Some(true));
        assert_eq!(keys.verifies("ci-2", MESSAGE, &signature), None, "not this provider's key");
        assert_eq!(keys.verifies("ci-1", b"{}", &signature), Some(false));
        for at in [0, 31, 32, 63] {
            let mut altered = signature.clone();
            altered[at] ^= 1;
            assert_eq!(keys.verifies("ci-1", MESSAGE, &altered), Some(false), "byte {at}");
        }
        for wrong in [signature[..63].to_vec(), Vec::new(), [signature.as_slice(), &[0]].concat()] {
            assert_eq!(keys.verifies("ci-1", MESSAGE, &wrong), Some(false));
        }
    }

    #[test]
    fn a_key_is_read_however_it_is_written() {
        let spki = [SPKI.as_slice(), &bytes(KEY)].concat();
        let pem = format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", STANDARD.encode(&spki));
        for file in [bytes(KEY), format!("{}\n", STANDARD.encode(bytes(KEY))).into_bytes(), pem.clone().into_bytes()] {
            assert_eq!(keys(file).unwrap().verifies("ci-1", MESSAGE, &bytes(SIGNATURE)), Some(true));
        }
        let private = pem.replace("PUBLIC", "PRIVATE");
        for file in [
            private.into_bytes(),
            bytes(KEY)[..31].to_vec(),
            b"ci.pub".to_vec(),
            Vec::new(),
            STANDARD.encode(&spki).into_bytes(),
        ] {
            assert!(keys(file).unwrap_err().contains("`ci-1`"));
        }
        assert!(Ed25519Keys::read(&BTreeMap::new()).is_err());
    }
}
