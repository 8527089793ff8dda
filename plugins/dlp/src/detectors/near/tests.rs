//! Whoever is left out matches nothing, and most are left out.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use serde::Deserialize;

use super::*;
use crate::{Detectors, Hit, WrittenDetector};

#[derive(Deserialize)]
struct File {
    detectors: Vec<WrittenDetector>,
}

/// Every shipped detector, sorted out beforehand or not.
pub fn shipped(sorted_out: bool) -> Detectors {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies/dlp");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let texts = files.filter(|file| file.extension().is_some_and(|end| end == "yaml"));
    let mut written: Vec<WrittenDetector> = texts
        .flat_map(|file| serde_saphyr::from_str::<File>(&fs::read_to_string(file).unwrap()).unwrap().detectors)
        .collect();
    written.sort_by(|one, other| one.id.cmp(&other.id));
    let mut set = Detectors::compile(written).unwrap();
    if !sorted_out {
        set.near.unknown.iter_mut().for_each(|bits| *bits = u64::MAX);
    }
    set
}

fn hits(set: &Detectors, text: &str) -> Vec<Hit> {
    let mut out = Vec::new();
    set.scan(text, None, &mut out);
    out
}

/// Digits, separators, words of a few letters, and beginnings of what is looked for.
pub fn texts() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        "[0-9]{1,12}",
        "[ ./:+()_-]{1,2}",
        "[0-9a-f]{2,40}",
        "[A-Za-z0-9]{1,34}",
        proptest::sample::select(vec![
            "536-22-8719",
            "+41 44 668 18 00",
            "SK",
            "AC",
            "1000.",
            "t1.",
            "SG.",
            "ssn",
            "phone: ",
            "10.1.2.3",
            "fe80::1",
            "x",
            "\u{e9}",
            "RSSMRA85T10A562S",
            "00:1b:44:11:3a:b7",
            "https://a.example/b?page=",
            "=20",
            "=2D",
            "jo=40a.example",
            "https://jo:secret7x@a.example/",
            "AKIA",
            "api_key = ",
            "' | $",
        ])
        .prop_map(str::to_owned),
    ];
    proptest::collection::vec(part, 1..12).prop_map(|parts| parts.concat())
}

#[test]
fn sorting_out_loses_nothing() {
    let (with, without) = (shipped(true), shipped(false));
    let config = ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(text in texts())| {
        prop_assert_eq!(hits(&with, &text), hits(&without, &text), "{}", text);
    });
}

#[test]
fn most_numbers_and_words_lead_to_nobody() {
    let set = shipped(true);
    let none = SmallVec::from_elem(0, set.compiled.len().div_ceil(64));
    let named = |text: &str| {
        let mut sorted = set.near.sorted(text, &none);
        let named = [Lead::LongWord, Lead::Number].map(|lead| {
            set.near.sort_out(text, 0..text.len(), lead, &mut sorted);
            sorted.here.iter().map(|bits| bits.count_ones()).sum::<u32>()
        });
        named.iter().sum::<u32>()
    };
    for text in
        ["3f2504e0-4f89-41d3-9a0c-0305e82c3301", "2026-11-16T13:05:07.123Z", "order 1234", "release-notes-for-may"]
    {
        assert_eq!(named(text), 0, "{text}");
    }
    assert!(named("536-22-8719") > 0 && named("SK0123456789abcdef0123456789abcdef") > 0);
    // Behind a letter only those that ask for no digit beside them.
    assert!(named("x536-22-8719") > 0 && named("xSK0123456789abcdef0123456789abcdef") == 0);
}

#[test]
fn a_text_that_would_take_too_long_is_not_sorted_out() {
    let one = |id: &str, pattern: &str| WrittenDetector {
        id: id.into(),
        pattern: Some(pattern.into()),
        anchors: vec!["<run:16>".into()],
        ..WrittenDetector::default()
    };
    let set = Detectors::compile(vec![one("endless", "[a-z-]{5,}!"), one("other", "ZZ[0-9]{14}")]).unwrap();
    let led_to = |text: &str| {
        let mut sorted = set.near.sorted(text, &SmallVec::from_elem(0, 1));
        set.near.sort_out(text, 0..text.len(), Lead::LongWord, &mut sorted);
        (sorted.has(0), sorted.has(1))
    };
    assert_eq!(led_to("ab-cd-ef-gh-ij-kl"), (false, false));
    assert_eq!(led_to("ab-cd-ef-gh-ij-kl!"), (true, false));
    assert_eq!(led_to(&"aa-".repeat(4_000)), (true, true), "every word reads to the end: everybody is tried");
}
