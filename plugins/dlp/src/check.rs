//! What must hold of a match beyond its shape: checksums, ranges, entropy. One file each in `check/`.

mod entropy;
mod luhn;
mod mod97;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    Luhn,
    CardBrand,
    Mod97,
    IbanCountry,
    Ssn,
    Sin,
    Nir,
    Ipv4,
    Ipv6,
    Mac,
    Jwt,
    /// The last six letters are the others' CRC-32, as GitHub and npm write them.
    Crc32Base62,
    /// At least so many bits per character.
    Entropy(f32),
    /// Base64 of something that holds this text.
    Base64Of(String),
    PhonePlan,
    Email,
    NotSequence,
    NotPlaceholder,
    /// Letters and digits both.
    Mix,
}

impl Check {
    /// `value` is the match as a reader would write it: escapes and encodings gone, full-width letters folded, separators kept.
    pub fn passes(&self, value: &str) -> bool {
        match self {
            Self::Luhn => luhn::passes(value),
            Self::Mod97 => mod97::passes(value),
            Self::Entropy(least) => entropy::bits(value) >= *least,
            Self::Mix => value.bytes().any(|b| b.is_ascii_digit()) && value.bytes().any(|b| b.is_ascii_alphabetic()),
            Self::Base64Of(_)
            | Self::CardBrand
            | Self::IbanCountry
            | Self::Ssn
            | Self::Sin
            | Self::Nir
            | Self::Ipv4
            | Self::Ipv6
            | Self::Mac
            | Self::Jwt
            | Self::Crc32Base62
            | Self::PhonePlan
            | Self::Email
            | Self::NotSequence
            | Self::NotPlaceholder => true,
        }
    }
}
