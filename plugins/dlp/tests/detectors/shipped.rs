//! The files of `policies/dlp`, read as the gateway reads them.

use std::path::Path;
use std::sync::LazyLock;

use bytes::Bytes;
use gateway_dlp::{Action, Actions, Counts, Detectors, Hit, Paths, Redaction, Severity, WrittenDetector};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    detectors: Vec<WrittenDetector>,
}

pub static WRITTEN: LazyLock<Vec<WrittenDetector>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies/dlp");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "yaml"));
    files.sort();
    let read = |path: &std::path::PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        let file: File = serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        file.detectors
    };
    files.iter().flat_map(read).collect()
});

pub static ALL: LazyLock<Detectors> = LazyLock::new(|| compiled(WRITTEN.clone()));

pub fn compiled(written: Vec<WrittenDetector>) -> Detectors {
    Detectors::compile(written).unwrap_or_else(|problems| panic!("{problems:#?}"))
}

pub fn hits(set: &Detectors, text: &str) -> Vec<Hit> {
    let mut found = Vec::new();
    set.scan(text, None, &mut found);
    found
}

pub fn rule(set: &Detectors, hit: &Hit) -> String {
    set.rules()[usize::from(hit.rule)].id.to_string()
}

/// Rule and text of everything found, for messages.
pub fn told(set: &Detectors, text: &str) -> Vec<(String, String)> {
    hits(set, text).iter().map(|hit| (rule(set, hit), text[hit.start as usize..hit.end as usize].to_owned())).collect()
}

pub fn severity(set: &Detectors, hit: &Hit) -> Severity {
    set.rules()[usize::from(hit.rule)].severity
}

static MASKED: LazyLock<(Actions, Paths)> = LazyLock::new(|| (Actions::all(Action::Mask), Paths::default()));

fn redaction() -> Redaction<'static> {
    Redaction { sets: [&*ALL].into_iter().collect(), actions: &MASKED.0, key: &[0; 32], paths: &MASKED.1 }
}

/// The text without what was found in it.
pub fn masked(text: &str) -> String {
    redaction().text(text, &mut Counts::default()).unwrap().unwrap_or_else(|| text.to_owned())
}

/// The same for the text as a string of a document, as a reader of the document sees it.
pub fn masked_json(text: &str) -> String {
    let raw = Bytes::from(serde_json::json!({ "content": [{ "type": "text", "text": text }] }).to_string());
    let edited = redaction().json(&raw, &mut Counts::default()).unwrap().unwrap_or(raw);
    let value: serde_json::Value = serde_json::from_slice(&edited).unwrap();
    value["content"][0]["text"].as_str().unwrap().to_owned()
}
