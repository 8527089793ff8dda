//! What must hold of a match beyond its shape: checksums, ranges, entropy. One file each in `check/`.

mod base64_of;
mod card;
mod coin;
mod crc32_base62;
mod digits;
mod email;
mod entropy;
mod europe;
mod iban_country;
mod jwt;
mod luhn;
mod mix;
mod mod97;
mod network;
mod nir;
mod phone;
mod placeholder;
mod sin;
mod source;
mod ssn;
mod surroundings;
mod userinfo;
mod world;

use std::ops::Range;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    Luhn,
    CardBrand,
    Mod97,
    IbanCountry,
    /// US social security, and the taxpayers' number beside it.
    Ssn,
    Itin,
    /// Canada.
    Sin,
    /// France: people, and companies.
    Nir,
    Siren,
    /// United Kingdom's health service.
    Nhs,
    /// Germany's tax number for life.
    SteuerId,
    /// Spain, for citizens and foreigners.
    Dni,
    /// Italy.
    CodiceFiscale,
    /// The Netherlands.
    Bsn,
    /// Belgium.
    BelgianRegister,
    /// Poland.
    Pesel,
    /// Sweden.
    Personnummer,
    /// Switzerland.
    Ahv,
    /// India.
    Aadhaar,
    /// Brazil: people, and companies.
    Cpf,
    Cnpj,
    /// Australia: taxes, and health.
    Tfn,
    Medicare,
    /// US banks, and US health care.
    Aba,
    Npi,
    Base58Check,
    Bech32,
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
    /// The same with its signs in words.
    Spelled,
    NotSequence,
    NotPlaceholder,
    /// Not a day, nor the beginning of a time.
    NotDate,
    /// Letters and digits both.
    Mix,
    /// No version, object identifier or section: nothing before or behind four numbers with dots says so.
    NotVersion,
    /// No part of a longer row of groups with the same sign between them, and no amount of money.
    NotInRow,
    /// No part of a path, where slashes stand between its groups.
    NotPath,
    /// Not a name of a program's own: `config.password`, `getpass(`.
    NotCode,
    /// Not a sentence about a password.
    NotProse,
    /// The address in front of a password is no host with a port.
    Userinfo,
}

impl Check {
    /// `value` is the match as a reader would write it: escapes and encodings gone, full-width letters folded, separators kept.
    pub fn passes(&self, value: &str) -> bool {
        match self {
            Self::Luhn => luhn::holds(value),
            Self::CardBrand => card::holds(value),
            Self::Mod97 => mod97::holds(value),
            Self::IbanCountry => iban_country::holds(value),
            Self::Ssn => ssn::holds(value),
            Self::Itin => ssn::itin(value),
            Self::Sin => sin::holds(value),
            Self::Nir => nir::holds(value),
            Self::Siren => europe::siren(value),
            Self::Nhs => europe::nhs(value),
            Self::SteuerId => europe::steuer_id(value),
            Self::Dni => europe::dni(value),
            Self::CodiceFiscale => europe::codice_fiscale(value),
            Self::Bsn => europe::bsn(value),
            Self::BelgianRegister => europe::belgian(value),
            Self::Pesel => europe::pesel(value),
            Self::Personnummer => europe::personnummer(value),
            Self::Ahv => europe::ahv(value),
            Self::Aadhaar => world::aadhaar(value),
            Self::Cpf => world::cpf(value),
            Self::Cnpj => world::cnpj(value),
            Self::Tfn => world::tfn(value),
            Self::Medicare => world::medicare(value),
            Self::Aba => world::aba(value),
            Self::Npi => world::npi(value),
            Self::Base58Check => coin::base58check(value),
            Self::Bech32 => coin::bech32(value),
            Self::Ipv4 => network::ipv4(value),
            Self::Ipv6 => network::ipv6(value),
            Self::Mac => network::mac(value),
            Self::Jwt => jwt::holds(value),
            Self::Crc32Base62 => crc32_base62::holds(value),
            Self::Entropy(least) => entropy::at_least(value, *least),
            Self::Base64Of(inside) => base64_of::holds(value, inside),
            Self::PhonePlan => phone::holds(value),
            Self::Email => email::holds(value),
            Self::Spelled => email::spelled(value),
            Self::NotSequence => !placeholder::counting(value),
            Self::NotPlaceholder => !placeholder::is_one(value),
            Self::NotDate => !phone::is_day(value),
            Self::Mix => mix::holds(value),
            Self::NotCode => !source::is_state(value) && !source::is_code(value),
            Self::NotProse => !source::is_prose(value),
            Self::Userinfo => userinfo::holds(value),
            Self::NotVersion | Self::NotInRow | Self::NotPath => true,
        }
    }

    /// The part of `range` that passes, in the text it stands in; nothing where no part does.
    pub(crate) fn fitting(&self, text: &str, range: Range<usize>) -> Option<Range<usize>> {
        let value = text.get(range.clone())?;
        match self {
            Self::PhonePlan => {
                let kept = phone::fitting(value)?;
                Some(range.start + kept.start..range.start + kept.end)
            }
            Self::Email => {
                let start = range.start + surroundings::escaped(text, &range);
                let kept = email::fitting(text.get(start..range.end)?)?;
                Some(start + kept.start..start + kept.end)
            }
            Self::CardBrand if surroundings::in_digest(text, &range) || surroundings::in_account(text, &range) => None,
            Self::Mac | Self::Ipv6 if surroundings::goes_on(text, &range) => None,
            Self::NotVersion => (!surroundings::is_version(text, &range)).then_some(range),
            Self::NotInRow => (!surroundings::in_row(text, &range)).then_some(range),
            Self::NotPath => (!surroundings::in_path(text, &range)).then_some(range),
            Self::NotCode => (!surroundings::is_code(text, &range)).then_some(range),
            _ => self.passes(value).then_some(range),
        }
    }

    /// Whether it may leave out what stands around a value.
    pub(crate) fn narrows(&self) -> bool {
        matches!(self, Self::PhonePlan | Self::Email)
    }

    /// Whether so little passes by chance that no other reading is as likely.
    pub(crate) fn is_sure(&self) -> bool {
        matches!(self, Self::Mod97 | Self::Nir | Self::BelgianRegister)
    }
}
