//! `injection.yaml`: what is looked for in answers, and what follows from it.

use std::sync::Arc;

use gateway_core::injection::InjectionRules;
use gateway_plugins::injection::{Reader, WrittenInjection};

use super::embedded;
use crate::config::{Problems, parse, read};

/// What applies where a directory says nothing.
pub fn shipped() -> InjectionRules {
    rules(shipped_file(), &mut Problems::of(SHIPPED)).unwrap_or_default()
}

const SHIPPED: &str = "(shipped) policies/injection.yaml";

/// An operator's file says what it says on top of the shipped one.
pub fn read_injection(text: &str, problems: &mut Problems) -> Option<InjectionRules> {
    let own: WrittenInjection = read(parse(text, problems)?, "", problems)?;
    if own.score == Some(0) {
        problems.say("score", "must not be 0: every answer would count");
    }
    let shipped = shipped_file();
    // Its own patterns alone, so that places are those of its own file.
    let alone = WrittenInjection { terms: [shipped.terms.clone(), own.terms.clone()].into_iter().flatten().collect(), ..own.clone() };
    for problem in Reader::new(alone).and_then(|reader| reader.check()).err().into_iter().flatten() {
        problems.say(problem.path, problem.what);
    }
    rules(shipped.with(own), problems)
}

fn shipped_file() -> WrittenInjection {
    let mut told = Problems::of(SHIPPED);
    let tree = parse(embedded::INJECTION, &mut told);
    tree.and_then(|tree| read(tree, "", &mut told)).unwrap_or_default()
}

fn rules(written: WrittenInjection, problems: &mut Problems) -> Option<InjectionRules> {
    let usual = InjectionRules::default();
    let (action, score) = (written.action.unwrap_or(usual.action), written.score.unwrap_or(usual.score));
    match Reader::new(written) {
        Ok(reader) => Some(InjectionRules { action, score, reader: Arc::new(reader) }),
        Err(found) => {
            found.into_iter().for_each(|problem| problems.say(problem.path, problem.what));
            None
        }
    }
}
