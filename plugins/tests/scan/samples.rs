//! Every pattern of the shipped file finds what it says it finds, and leaves alone what it says it does.

use gateway_plugins::scan::WrittenScan;

use super::{scanner, shipped};

#[test]
fn every_pattern_keeps_to_its_own_samples() {
    let (scanner, written) = (scanner(), shipped());
    let mut wrong = Vec::new();
    for phrase in written.phrases.iter().filter(|phrase| !phrase.names) {
        for sample in &phrase.must {
            if !scanner.heard(sample).contains(&phrase.pattern.as_str()) {
                wrong.push(format!("{} does not find {sample:?}", phrase.family));
            }
        }
        for sample in &phrase.must_not {
            if scanner.heard(sample).contains(&phrase.pattern.as_str()) {
                wrong.push(format!("{} finds {sample:?}", phrase.family));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

// A broken file is refused with the place of every fault.
#[test]
fn faults_are_named_with_their_place() {
    let text = "rules: { nothing: flag }\nphrases:\n  - { family: a, weight: 9, pattern: '(' }\n  - { family: a, weight: 1, pattern: '<nobody>' }\n";
    let written = serde_saphyr::from_str(text).unwrap();
    let problems = gateway_plugins::scan::DefinitionScanner::new(&written).err().unwrap();
    let places: Vec<_> = problems.iter().map(|problem| problem.path.as_str()).collect();
    assert_eq!(places, ["rules.nothing", "phrases[0].weight", "phrases[1].pattern", "phrases[0].pattern"]);
}

// What an operator copies from the shipped file is not counted twice; what they change is theirs.
#[test]
fn an_operators_file_says_nothing_twice() {
    let (shipped, count) =
        (shipped(), |written: &WrittenScan| (written.phrases.len(), written.signs.len(), written.harmless.len()));
    let doubled = shipped.clone().with(shipped.clone());
    assert_eq!(count(&doubled), count(&shipped));
    let mut own = WrittenScan { phrases: vec![shipped.phrases[0].clone()], ..WrittenScan::default() };
    own.phrases[0].weight = 1;
    let changed = shipped.clone().with(own);
    assert_eq!(changed.phrases.len(), shipped.phrases.len());
    let weights: Vec<_> =
        changed.phrases.iter().filter(|one| one.pattern == shipped.phrases[0].pattern).map(|one| one.weight).collect();
    assert_eq!(weights, [1]);
}

// The same words are one cue, however many patterns know them.
#[test]
fn words_that_two_cues_know_count_once() {
    let text = "phrases:\n  - { family: a, weight: 1, pattern: 'every later call' }\n  - { family: b, weight: 1, pattern: 'with every later' }\n";
    let scanner = gateway_plugins::scan::DefinitionScanner::new(&serde_saphyr::from_str(text).unwrap()).ok().unwrap();
    assert_eq!(scanner.score("The token is sent with every later call."), 1);
    assert_eq!(scanner.score("With every later one, and at every later call."), 2);
}
