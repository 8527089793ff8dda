//! Values that somebody would miss: numbers whose checksums hold, keys of the right length. Drawn from a seed; nobody's.

use crate::random::Random;

const DIGITS: &str = "0123456789";
const HEX: &str = "0123456789abcdef";
const BASE32: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz";
const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// One value, and the word in front of it that some take to be believed.
pub struct Planted {
    pub lead: &'static str,
    pub value: String,
}

/// A kind for each capital letter.
pub fn plant(kind: u8, random: &mut Random) -> Planted {
    let bare = |value: String| Planted { lead: "", value };
    let mut of = |letters: &str, count: usize| drawn(random, letters, count);
    match kind % 26 {
        0 | 1 => bare(card(random)),
        2 | 3 => bare(iban(random)),
        4 | 5 => bare(format!("{}.{}@{}-{}.org", of(LETTERS, 5), of(LETTERS, 7), of(LETTERS, 6), of(LETTERS, 3))),
        6 => bare(ssn(random)),
        7 => bare(format!("ghp_{}", of(ALNUM, 36))),
        8 => bare(format!("AKIA{}", of(BASE32, 16))),
        9 => bare(format!("sk_live_{}", of(ALNUM, 24))),
        10 => bare(format!("glpat-{}", of(ALNUM, 20))),
        11 => bare(format!("xoxb-{}-{}-{}", of(DIGITS, 12), of(DIGITS, 12), of(ALNUM, 24))),
        12 => bare(format!("sk-ant-api03-{}AA", of(ALNUM, 93))),
        13 => bare(format!("npm_{}", of(ALNUM, 36))),
        14 => bare(format!("dop_v1_{}", of(HEX, 64))),
        15 | 16 => bare(format!(
            "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3OCJ9.{}",
            of(&format!("{ALNUM}-_"), 43)
        )),
        17 | 18 => bare(private_key(random)),
        19 => bare(format!("postgres://reader:{}@db{}.example.org:5432/x", of(ALNUM, 14), of(DIGITS, 1))),
        20 => Planted { lead: "passport: ", value: format!("C{}", of("123456789", 8)) },
        21 => Planted { lead: "SIN ", value: sin(random) },
        22 => bare(format!("+44 20 7{} {}", of(DIGITS, 3), of(DIGITS, 4))),
        23 => Planted { lead: "password: ", value: of(ALNUM, 14) },
        24 => bare(format!("https://hooks.slack.com/services/T{}/B{}/{}", of(BASE32, 8), of(BASE32, 8), of(ALNUM, 24))),
        _ => bare(format!("SG.{}.{}", of(ALNUM, 22), of(ALNUM, 43))),
    }
}

/// The input with a value in the place of each `§` and capital letter, so that seeds hold none and mutations keep them whole.
pub fn filled(input: &[u8]) -> Vec<u8> {
    const SIGN: &[u8] = "§".as_bytes();
    let mut random = Random::new(input.len() as u64);
    let mut out = Vec::with_capacity(input.len());
    let mut rest = input;
    while let Some(first) = rest.first() {
        match rest.strip_prefix(SIGN) {
            Some([kind @ b'A'..=b'Z', after @ ..]) => {
                let Planted { lead, value } = plant(kind - b'A', &mut random);
                // As it stands between quotes.
                out.extend_from_slice(format!("{lead}{value}").replace('\n', "\\n").as_bytes());
                rest = after;
            }
            _ => {
                out.push(*first);
                rest = rest.get(1..).unwrap_or_default();
            }
        }
    }
    out
}

fn drawn(random: &mut Random, letters: &str, count: usize) -> String {
    let letters = letters.as_bytes();
    (0..count).filter_map(|_| letters.get(random.below(letters.len()))).map(|byte| char::from(*byte)).collect()
}

fn card(random: &mut Random) -> String {
    let (prefix, length) = [("4", 16), ("51", 16), ("2221", 16), ("37", 15), ("6011", 16), ("3528", 16)]
        .get(random.below(6))
        .copied()
        .unwrap_or(("4", 16));
    let mut number = format!("{prefix}{}", drawn(random, DIGITS, length - prefix.len() - 1));
    number.push(luhn(&number));
    let sign = random.pick(&["", " ", "-", " "]).unwrap_or_default();
    match length {
        15 => grouped(&number, &[4, 6, 5], sign),
        _ => grouped(&number, &[4, 4, 4, 4], sign),
    }
}

fn sin(random: &mut Random) -> String {
    let mut number = format!("{}{}", 1 + random.below(7), drawn(random, DIGITS, 7));
    number.push(luhn(&number));
    grouped(&number, &[3, 3, 3], random.pick(&[" ", "-"]).unwrap_or_default())
}

fn ssn(random: &mut Random) -> String {
    let area = 1 + random.below(665);
    format!("{area:03}-{:02}-{:04}", 1 + random.below(99), 1 + random.below(9999))
}

fn iban(random: &mut Random) -> String {
    let (country, letters, digits) =
        [("DE", 0, 18), ("GB", 4, 14), ("NL", 4, 10), ("ES", 0, 20), ("PL", 0, 24), ("AT", 0, 16)]
            .get(random.below(6))
            .copied()
            .unwrap_or(("DE", 0, 18));
    let own = format!("{}{}", drawn(random, "ABCDEFGHIJKLMNOPQRSTUVWXYZ", letters), drawn(random, DIGITS, digits));
    // ISO 13616: the country behind the rest, letters as numbers from 10, and what is left of 98.
    let rest = format!("{own}{country}00").chars().filter_map(|c| c.to_digit(36)).fold(0_u64, |rest, digit| {
        let (width, digit) = if digit < 10 { (10, digit) } else { (100, digit) };
        (rest * width + u64::from(digit)) % 97
    });
    let number = format!("{country}{:02}{own}", 98 - rest);
    let fours = vec![4; number.len().div_ceil(4)];
    grouped(&number, &fours, random.pick(&["", " "]).unwrap_or_default())
}

fn private_key(random: &mut Random) -> String {
    let kind = random.pick(&["RSA ", "EC ", "OPENSSH ", ""]).unwrap_or_default();
    let lines: Vec<String> = (0..2 + random.below(12)).map(|_| drawn(random, &format!("{ALNUM}+/"), 64)).collect();
    format!("-----BEGIN {kind}PRIVATE KEY-----\n{}\n-----END {kind}PRIVATE KEY-----", lines.join("\n"))
}

fn luhn(body: &str) -> char {
    let sum: u32 = body
        .chars()
        .rev()
        .filter_map(|c| c.to_digit(10))
        .enumerate()
        .map(|(place, digit)| if place % 2 == 0 { digit * 2 / 10 + digit * 2 % 10 } else { digit })
        .sum();
    char::from_digit((10 - sum % 10) % 10, 10).unwrap_or('0')
}

fn grouped(number: &str, groups: &[usize], sign: &str) -> String {
    let mut rest = number;
    let mut parts = Vec::new();
    for group in groups {
        let (part, after) = rest.split_at_checked(*group).unwrap_or((rest, ""));
        parts.push(part);
        rest = after;
    }
    parts.join(sign)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets::dlp::{SHIPPED, Set};
    use gateway_dlp::Counts;

    /// What the target plants is what the shipped detectors look for, or it would ask nothing.
    #[test]
    fn what_is_planted_is_found() {
        assert_eq!((luhn("411111111111111"), luhn("37828224631000")), ('1', '5'));
        assert!(filled("see §G".as_bytes()).starts_with(b"see ") && filled(b"see G") == b"see G");
        let set: &Set = SHIPPED.as_ref().unwrap_or_else(|problem| unreachable!("{problem}"));
        let redaction = set.with(&set.mask, &set.nowhere);
        for kind in 0..26 {
            let mut random = Random::new(u64::from(kind));
            let found = (0..40).filter(|_| {
                let Planted { lead, value } = plant(kind, &mut random);
                let text = format!("the {lead}{value}, and");
                let edited = redaction.text(&text, &mut Counts::default()).ok().flatten();
                edited.is_some_and(|edited| !edited.contains(&value))
            });
            let found = found.count();
            assert!(found >= 38, "{kind}: {found} of 40");
        }
    }
}
