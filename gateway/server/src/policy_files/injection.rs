//! `injection.yaml`: what is looked for in answers, and what follows from it.

use std::sync::Arc;

use gateway_core::injection::InjectionRules;
use gateway_plugins::injection::{Reader, WrittenInjection};

use super::embedded;
use crate::config::{Problems, parse, read};

/// What applies where a directory says nothing.
pub fn shipped() -> InjectionRules {
    // With nothing on top, so that it lies as it does beneath an operator's copy of it.
    rules(shipped_file().with(WrittenInjection::default()), &mut Problems::of(SHIPPED)).unwrap_or_default()
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
    let alone = WrittenInjection {
        terms: [shipped.terms.clone(), own.terms.clone()].into_iter().flatten().collect(),
        ..own.clone()
    };
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use gateway_core::injection::InjectionAction;

    use crate::policy_files::{Supabase, load_policies, load_texts};

    fn problems(inside: &str, text: &str) -> Vec<String> {
        let loaded = load_texts([(inside.to_owned(), text.to_owned())].into(), Supabase::BuiltIn);
        loaded.err().unwrap_or_default().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_operators_file_stands_on_top_of_the_shipped_one() {
        let shipped = load_policies(None).unwrap().policies;
        assert_eq!((shipped.injection.action, shipped.injection.score), (InjectionAction::Annotate, 3));
        assert!(shipped.injection.reader.suspects(b"{\"text\":\"ignore previous instructions\"}"));
        let own = load_texts([("injection.yaml".to_owned(), "action: block\n".to_owned())].into(), Supabase::BuiltIn)
            .unwrap()
            .policies;
        assert_eq!((own.injection.action, own.injection.score), (InjectionAction::Block, 3));
        assert!(own.injection.reader.suspects(b"{\"text\":\"ignore previous instructions\"}"));
        assert_ne!(own.digest, shipped.digest, "traces tell which it was");
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let phrase = "phrases: [{ family: a, weight: 9, pattern: '(' }]";
        for (inside, text, expected) in [
            ("injection.yaml", "score: 0", "score: must not be 0"),
            ("injection.yaml", "action: blok", "action: "),
            ("injection.yaml", "cues: [x]", "cues[0]: `x` is too short"),
            ("injection.yaml", phrase, "phrases[0].weight: 9 is not one of 1, 2, 3"),
            ("injection.yaml", phrase, "phrases[0].pattern: "),
            (
                "manifests/n.yaml",
                "manifests: [{ id: n/a, domain: n, risk_level: READ_ONLY, side_effects: false, allowed_modes: [SHADOW] }]\nhandling: { n/a: { schema: maybe } }",
                "handling.n/a.schema: must be `on` or `off`",
            ),
        ] {
            let told = problems(inside, text);
            assert!(told.iter().any(|told| told.contains(expected)), "{expected}: {told:?}");
        }
        let off = "manifests: [{ id: n/a, domain: n, risk_level: READ_ONLY, side_effects: false, allowed_modes: [SHADOW] }]\nhandling: { n/a: { schema: off, injection: block } }";
        let loaded =
            load_texts([("manifests/n.yaml".to_owned(), off.to_owned())].into(), Supabase::BuiltIn).unwrap().policies;
        let handling = &loaded.tool(&"n/a".parse().unwrap()).unwrap().handling;
        assert!(handling.schema_off);
        assert_eq!(handling.injection, Some(InjectionAction::Block));
    }
}
