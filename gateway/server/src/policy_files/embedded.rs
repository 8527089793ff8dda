//! The shipped policies: the files of `policies/`, built into the program.

use super::PolicyFile;

macro_rules! shipped {
    ($inside:literal) => {
        ($inside, include_str!(concat!("../../../../policies/", $inside)))
    };
}

/// What is looked for in definitions; an operator's file adds to it.
pub const SCAN: &str = include_str!("../../../../policies/scan.yaml");

/// What is looked for in answers; an operator's file adds to it.
pub const INJECTION: &str = include_str!("../../../../policies/injection.yaml");

/// Tools of the gateway itself. They are there in every gateway, so their manifests are too.
const BUILT_IN_TOOLS: [(&str, &str); 1] = [shipped!("manifests/adp.yaml")];

const OTHERS: [(&str, &str); 16] = [
    shipped!("chain.yaml"),
    shipped!("manifests/crm.yaml"),
    shipped!("manifests/database.yaml"),
    shipped!("manifests/everything.yaml"),
    shipped!("manifests/filesystem.yaml"),
    shipped!("manifests/git.yaml"),
    shipped!("manifests/github.yaml"),
    shipped!("manifests/mail.yaml"),
    shipped!("manifests/notion.yaml"),
    shipped!("manifests/postgres.yaml"),
    shipped!("manifests/slack.yaml"),
    shipped!("manifests/sqlite.yaml"),
    shipped!("manifests/supabase.yaml"),
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
