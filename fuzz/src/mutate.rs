//! Makes an input that is nearly right out of one that is: first as bytes, then as JSON.
//!
//! JSON is changed as text and not as a tree, because what parsers disagree about (the same key twice, half a surrogate, a number
//! without end) has no tree.

mod json;
mod spans;

use crate::random::Random;

/// Inputs do not grow beyond this: size is a limit of its own, tested where it is kept.
const LONGEST: usize = 1 << 16;

/// Pieces that some reader treats in a way of its own.
const PIECES: [&str; 36] = [
    "\n",
    "\r",
    "\r\n",
    "\n\n",
    "\0",
    "\u{feff}",
    " ",
    "\t",
    "data: ",
    "id: ",
    "event: ",
    "retry: 9",
    ":",
    "=?base64?",
    "?=",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\",
    ",",
    "null",
    "true",
    "-0",
    "1e999",
    "\\ud83d",
    "\\ude00",
    "\\u0000",
    "\u{17f}",
    "\u{212a}",
    "é",
    "[[[[",
    "{\"a\":",
    "2026-07-28",
    "2025-06-18",
];

/// One to a few changes of `input`; `others` lends its pieces.
pub fn mutate(random: &mut Random, input: &[u8], others: &[Vec<u8>]) -> Vec<u8> {
    let mut changed = input.to_vec();
    for _ in 0..=random.below(4) {
        let other = others.get(random.below(others.len())).map_or(&[][..], Vec::as_slice);
        changed = if random.one_in(2) { json::change(random, &changed, other) } else { change(random, changed, other) };
        changed.truncate(LONGEST);
    }
    changed
}

fn change(random: &mut Random, mut bytes: Vec<u8>, other: &[u8]) -> Vec<u8> {
    let stretch = random.stretch(bytes.len());
    match random.below(8) {
        0 => {
            let bit = 1 << random.below(8);
            if let Some(byte) = bytes.get_mut(stretch.start) {
                *byte ^= bit;
            }
        }
        1 => {
            let value = random.byte();
            if let Some(byte) = bytes.get_mut(stretch.start) {
                *byte = value;
            }
        }
        2 => drop(bytes.drain(stretch)),
        3 => {
            let twice = bytes.get(stretch.clone()).unwrap_or_default().to_vec();
            put(&mut bytes, stretch.start, &twice);
        }
        4 => {
            let lent = random.stretch(other.len());
            put(&mut bytes, stretch.start, other.get(lent).unwrap_or_default());
        }
        // The head of one and the tail of another.
        5 => {
            bytes.truncate(stretch.start);
            bytes.extend_from_slice(other.get(random.below(other.len() + 1)..).unwrap_or_default());
        }
        6 => bytes.truncate(stretch.start),
        _ => {
            let piece = random.pick(&PIECES).unwrap_or_default();
            put(&mut bytes, stretch.start, piece.as_bytes());
        }
    }
    bytes
}

fn put(bytes: &mut Vec<u8>, at: usize, piece: &[u8]) {
    bytes.splice(at..at, piece.iter().copied());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_changes() {
        let seeds = [br#"{"a":[1,"x"],"b":{"c":null}}"#.to_vec(), b"".to_vec(), b"data: a\n\n".to_vec()];
        let run = || {
            let mut random = Random::new(7);
            let mut input = seeds.first().cloned().unwrap_or_default();
            let mut seen = std::collections::BTreeSet::new();
            for _ in 0..2000 {
                input = mutate(&mut random, &input, &seeds);
                assert!(input.len() <= LONGEST);
                seen.insert(input.clone());
            }
            seen
        };
        let seen = run();
        assert!(seen.len() > 1500, "most changes change something: {}", seen.len());
        assert_eq!(seen, run());
    }
}
