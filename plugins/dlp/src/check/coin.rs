//! Addresses of digital money: base58 with four bytes of double SHA-256 behind, and bech32 with its own polynomial.

use sha2::{Digest, Sha256};

const BASE58: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const BECH32: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";

/// Twenty-five bytes, the last four of which are the checksum of the others.
pub fn base58check(text: &str) -> bool {
    let mut bytes = [0_u8; 25];
    for letter in text.bytes() {
        let Some(value) = BASE58.iter().position(|known| *known == letter) else { return false };
        let mut carry = value as u32;
        for byte in bytes.iter_mut().rev() {
            carry += u32::from(*byte) * 58;
            *byte = (carry & 0xff) as u8;
            carry >>= 8;
        }
        if carry > 0 {
            return false;
        }
    }
    let Some((payload, check)) = bytes.split_at_checked(21) else { return false };
    Sha256::digest(Sha256::digest(payload)).starts_with(check)
}

/// `bc1..`, old (1) and new (0x2bc830a3) constant alike.
pub fn bech32(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let Some((person, data)) = lower.rsplit_once('1') else { return false };
    let mut sum = 1_u32;
    let high = person.bytes().map(|byte| byte >> 5);
    let low = person.bytes().map(|byte| byte & 31);
    for value in high.chain([0]).chain(low) {
        sum = step(sum, value);
    }
    for letter in data.bytes() {
        let Some(value) = BECH32.iter().position(|known| *known == letter) else { return false };
        sum = step(sum, value as u8);
    }
    data.len() >= 6 && matches!(sum, 1 | 0x2bc8_30a3)
}

fn step(sum: u32, value: u8) -> u32 {
    const FOLD: [u32; 5] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
    let top = sum >> 25;
    let next = (sum & 0x01ff_ffff) << 5 ^ u32::from(value);
    FOLD.iter().enumerate().fold(next, |next, (bit, fold)| if top >> bit & 1 == 1 { next ^ fold } else { next })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_address_is_seen() {
        for (text, expected) in
            [("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", true), ("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb", false), ("0x", false)]
        {
            assert_eq!(base58check(text), expected, "{text}");
        }
        for (text, expected) in [
            ("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", true),
            ("BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4", true),
            ("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5", false),
        ] {
            assert_eq!(bech32(text), expected, "{text}");
        }
    }
}
