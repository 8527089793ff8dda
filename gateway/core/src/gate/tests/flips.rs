//! A pack of which one byte is another is no longer that pack.

use proptest::prelude::*;

use super::{Story, example, golden};
use crate::gate::shelf::MemoryShelf;
use crate::gate::verify::{ReportStatus, verify};

const ARTIFACTS: [&str; 8] =
    ["scenario_spec", "triggers", "gate_evals", "decisions", "packets", "submissions", "tool_calls", "verifier_report"];

pub fn golden_pack() -> MemoryShelf {
    let artifact = |name: &str| {
        let path = format!("artifacts/{name}.json");
        (path.clone(), golden::file(&path))
    };
    let manifest = ("manifest.json".to_owned(), golden::file("manifest.json"));
    MemoryShelf(ARTIFACTS.into_iter().map(artifact).chain([manifest]).collect())
}

fn own_pack() -> MemoryShelf {
    let mut story = Story::seed(true);
    story.submit(&example("submit")["request"]).unwrap();
    story.next(&example("next")["request"]).unwrap();
    story.pack(true).shelf("manifest.json")
}

fn passes(pack: &MemoryShelf) -> bool {
    verify(pack, "manifest.json").status == ReportStatus::Pass
}

/// Where `generated_at.value` stands: the one thing that nothing else repeats.
fn generated_at(manifest: &[u8]) -> std::ops::Range<usize> {
    let text = std::str::from_utf8(manifest).unwrap();
    let start = text.find(r#""generated_at":{"kind":"#).unwrap();
    let value = start + text[start..].find(r#""value":"#).unwrap() + 8;
    value..value + text[value..].find('}').unwrap()
}

/// Every position of every file, each with these masks. What is not caught is told by file and position.
fn missed(pack: &MemoryShelf, masks: &[u8]) -> Vec<(String, usize)> {
    let mut missed = Vec::new();
    let mut altered = pack.clone();
    for (name, bytes) in &pack.0 {
        for (at, byte) in bytes.iter().enumerate() {
            for mask in masks {
                altered.0.get_mut(name).unwrap()[at] = byte ^ mask;
                if passes(&altered) {
                    missed.push((name.clone(), at));
                }
            }
            altered.0.get_mut(name).unwrap()[at] = *byte;
        }
    }
    missed
}

// acceptance 120 e, 120 f: the pack of the public implementation passes, and with any byte flipped it does not.
#[test]
fn every_flipped_byte_of_the_golden_pack_is_caught() {
    let pack = golden_pack();
    assert!(passes(&pack));
    let except = generated_at(&pack.0["manifest.json"]);
    let missed = missed(&pack, &[0x01, 0x20, 0x80]);
    let others: Vec<_> = missed.iter().filter(|(name, at)| name != "manifest.json" || !except.contains(at)).collect();
    assert!(others.is_empty(), "{others:?}");
    assert!(missed.len() <= 2, "only a digit for a digit: {missed:?}");
}

#[test]
fn every_flipped_byte_of_our_own_pack_is_caught() {
    let pack = own_pack();
    assert!(passes(&pack));
    let except = generated_at(&pack.0["manifest.json"]);
    let missed = missed(&pack, &[0x01]);
    assert!(missed.iter().all(|(name, at)| name == "manifest.json" && except.contains(at)), "{missed:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Anything done to one file, beside the digits of `generated_at`.
    #[test]
    fn any_change_is_caught(file in 0_usize..9, at in any::<prop::sample::Index>(), mask in 1_u8.., what in 0..5) {
        let pack = golden_pack();
        let name = pack.0.keys().nth(file).unwrap().clone();
        let mut altered = pack.clone();
        let bytes = altered.0.get_mut(&name).unwrap();
        let at = at.index(bytes.len());
        match what {
            0 => bytes[at] ^= mask,
            1 => bytes.truncate(at),
            2 => bytes.insert(at, mask),
            3 => { bytes.remove(at); }
            _ => bytes.push(mask),
        }
        let in_time = name == "manifest.json" && generated_at(&pack.0[&name]).contains(&at);
        prop_assume!(!in_time && altered != pack);
        prop_assert!(!passes(&altered), "{} at {} ({})", name, at, what);
    }

    /// Two files that change places are two wrong files.
    #[test]
    fn swapped_files_are_caught(one in 0_usize..9, other in 0_usize..9) {
        let mut pack = golden_pack();
        let names: Vec<_> = pack.0.keys().cloned().collect();
        let (first, second) = (pack.0[&names[one]].clone(), pack.0[&names[other]].clone());
        prop_assume!(first != second);
        pack.0.insert(names[one].clone(), second);
        pack.0.insert(names[other].clone(), first);
        prop_assert!(!passes(&pack));
    }
}
