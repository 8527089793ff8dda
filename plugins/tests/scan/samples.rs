//! Every pattern of the shipped file finds what it says it finds, and leaves alone what it says it does.

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
