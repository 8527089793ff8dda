//! The checksum at the end of GitHub's and npm's tokens: CRC-32 of the random part, in base 62, six characters.

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The part after the last `_`: thirty characters and their six.
pub fn holds(text: &str) -> bool {
    let body = text.rsplit('_').next().unwrap_or(text);
    let Some((random, written)) = body.len().checked_sub(6).and_then(|at| body.split_at_checked(at)) else {
        return false;
    };
    !random.is_empty() && written == checksum(random)
}

pub fn checksum(random: &str) -> String {
    let mut rest = crc32(random.as_bytes());
    let mut letters = Vec::with_capacity(6);
    for _ in 0..6 {
        letters.push(ALPHABET.get((rest % 62) as usize).copied().map_or('0', char::from));
        rest /= 62;
    }
    letters.iter().rev().collect()
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 { (sum >> 1) ^ 0xEDB8_8320 } else { sum >> 1 };
        }
    }
    !sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_six_characters_follow_from_the_rest() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
        let random = "abcdefghijklmnopqrstuvwxyz0123";
        let token = format!("ghp_{random}{}", checksum(random));
        assert!(holds(&token));
        assert!(!holds(&token.replace("abc", "abd")));
        assert!(!holds("ghp_"));
    }
}
