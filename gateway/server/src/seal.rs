//! Sealed texts: what the gateway hands out and only its own nodes can read or make.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::Aead;
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use gateway_core::ports::Seal;
use hmac::{Hmac, Mac};
use rand::RngCore;
use sha2::Sha256;

const NONCE_BYTES: usize = 24;
/// Longer than anything sealed here ever is; what is meant for a header is bounded more tightly where it is opened.
const LONGEST: usize = 256 * 1024;

/// XChaCha20-Poly1305: its nonce is long enough to be drawn at random on every node.
pub struct AeadSeal {
    cipher: XChaCha20Poly1305,
    key: [u8; 32],
}

impl AeadSeal {
    /// The key is shared by all nodes on one store.
    pub fn new(key: &[u8; 32]) -> Self {
        Self { cipher: XChaCha20Poly1305::new(key.into()), key: *key }
    }
}

impl Seal for AeadSeal {
    fn seal(&self, plain: &[u8]) -> String {
        let mut nonce = [0; NONCE_BYTES];
        rand::rng().fill_bytes(&mut nonce);
        // Encryption fails only beyond 256 GiB; an empty text opens to nothing.
        let sealed = self.cipher.encrypt(XNonce::from_slice(&nonce), plain).unwrap_or_default();
        URL_SAFE_NO_PAD.encode([nonce.as_slice(), &sealed].concat())
    }

    fn open(&self, sealed: &str) -> Option<Vec<u8>> {
        if sealed.len() > LONGEST {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(sealed).ok()?;
        let (nonce, text) = bytes.split_at_checked(NONCE_BYTES)?;
        self.cipher.decrypt(XNonce::from_slice(nonce), text).ok()
    }

    fn derive(&self, label: &str) -> [u8; 32] {
        // A key shorter than the hash's block is filled up with zeros.
        let mut block = [0; 64];
        block.iter_mut().zip(self.key).for_each(|(place, byte)| *place = byte);
        let mut mac = <Hmac<Sha256> as hmac::KeyInit>::new(&block.into());
        mac.update(label.as_bytes());
        mac.finalize().into_bytes().into()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn each_purpose_has_its_own_key_on_every_node() {
        let (one, same, other) = (AeadSeal::new(&[1; 32]), AeadSeal::new(&[1; 32]), AeadSeal::new(&[2; 32]));
        assert_eq!(one.derive("masks"), same.derive("masks"));
        assert_ne!(one.derive("masks"), one.derive("marks"));
        assert_ne!(one.derive("masks"), other.derive("masks"));
    }

    #[test]
    fn only_the_same_key_opens_and_nothing_altered_does() {
        let (ours, theirs) = (AeadSeal::new(&[1; 32]), AeadSeal::new(&[2; 32]));
        let sealed = ours.seal(b"session");
        assert_eq!(ours.open(&sealed).unwrap(), b"session");
        assert_eq!(theirs.open(&sealed), None);
        assert_ne!(ours.seal(b"session"), sealed, "each sealing draws its own nonce");
        for place in 0..sealed.len() {
            let mut altered = sealed.clone().into_bytes();
            let byte = altered.get_mut(place).unwrap();
            *byte = if *byte == b'A' { b'B' } else { b'A' };
            assert_eq!(ours.open(&String::from_utf8(altered).unwrap()), None, "byte {place}");
        }
        assert_eq!(ours.open("short"), None);
        assert_eq!(ours.open(&ours.seal(&vec![7; 150 * 1024])).map(|opened| opened.len()), Some(150 * 1024));
        assert_eq!(ours.open(&ours.seal(&vec![7; LONGEST])), None, "not worth decoding");
    }
}
