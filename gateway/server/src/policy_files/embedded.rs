//! The shipped policies: the files of `policies/`, built into the program.

use super::PolicyFile;

macro_rules! shipped {
    ($inside:literal) => {
        ($inside, include_str!(concat!("../../../../policies/", $inside)))
    };
}

/// What is looked for in definitions; an operator's file adds to it.
pub const SCAN: &str = include_str!("../../../../policies/scan.yaml");

/// What statements may call, by dialect; an operator's file takes the place of the shipped one.
pub const SQL_POSTGRES: &str = include_str!("../../../../policies/sql/postgres.yaml");
pub const SQL_SQLITE: &str = include_str!("../../../../policies/sql/sqlite.yaml");
pub const SQL_MYSQL: &str = include_str!("../../../../policies/sql/mysql.yaml");
pub const SQL_GENERIC: &str = include_str!("../../../../policies/sql/generic.yaml");

/// What is looked for in answers; an operator's file adds to it.
pub const INJECTION: &str = include_str!("../../../../policies/injection.yaml");

/// What is there in every gateway: the manifests of its own tools, and what is looked for in content.
const BUILT_IN: [(&str, &str); 13] = [
    shipped!("dlp/cloud.yaml"),
    shipped!("dlp/commands.yaml"),
    shipped!("dlp/financial.yaml"),
    shipped!("dlp/gateway.yaml"),
    shipped!("dlp/keys.yaml"),
    shipped!("dlp/languages.yaml"),
    shipped!("dlp/national.yaml"),
    shipped!("dlp/network.yaml"),
    shipped!("dlp/personal.yaml"),
    shipped!("dlp/vendors-a-m.yaml"),
    shipped!("dlp/vendors-n-z.yaml"),
    shipped!("manifests/adp.yaml"),
    shipped!("manifests/gate.yaml"),
];

const OTHERS: [(&str, &str); 17] = [
    shipped!("chain.yaml"),
    shipped!("dlp.yaml"),
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

pub fn built_in() -> Vec<PolicyFile> {
    BUILT_IN.iter().map(file).collect()
}

pub fn all() -> Vec<PolicyFile> {
    BUILT_IN.iter().chain(&OTHERS).map(file).collect()
}

fn file((inside, text): &(&'static str, &'static str)) -> PolicyFile {
    PolicyFile { shown: format!("(shipped) policies/{inside}"), inside: (*inside).into(), text: (*text).into() }
}
