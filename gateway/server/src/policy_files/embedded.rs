//! The shipped policies: the files of `policies/`, built into the program.

use super::PolicyFile;

macro_rules! shipped {
    ($inside:literal) => {
        ($inside, include_str!(concat!("../../../../policies/", $inside)))
    };
}

/// Tools of the gateway itself. They are there in every gateway, so their manifests are too.
const BUILT_IN_TOOLS: [(&str, &str); 1] = [shipped!("manifests/adp.yaml")];

const OTHERS: [(&str, &str); 7] = [
    shipped!("chain.yaml"),
    shipped!("manifests/crm.yaml"),
    shipped!("manifests/database.yaml"),
    shipped!("manifests/mail.yaml"),
    shipped!("matrix.yaml"),
    shipped!("promotion.yaml"),
    shipped!("rules/starters.yaml"),
];

pub fn built_in_tools() -> Vec<PolicyFile> {
    BUILT_IN_TOOLS.iter().map(file).collect()
}

pub fn all() -> Vec<PolicyFile> {
    BUILT_IN_TOOLS.iter().chain(&OTHERS).map(file).collect()
}

fn file((inside, text): &(&'static str, &'static str)) -> PolicyFile {
    PolicyFile { shown: format!("(shipped) policies/{inside}"), inside: (*inside).into(), text: (*text).into() }
}
