//! Redaction: nothing that is found survives it, documents stay documents, and the prefilter misses nothing.
//!
//! The same promises are asked of two sets: the detectors that are shipped, and a handful with one of each kind, which is quick
//! enough for many more cases.

mod document;
mod kinds;
mod planted;
mod stream;
mod text;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use gateway_dlp::{Action, Actions, Care, Detectors, Paths, Redaction, WrittenDetector};
use smallvec::smallvec;

use super::{Outcome, ensure, taken};
use crate::random::Random;

pub use stream::stream;

static KINDS: LazyLock<Result<Set, String>> = LazyLock::new(|| Set::of(kinds::written()));
static SHIPPED: LazyLock<Result<Set, String>> = LazyLock::new(|| Set::of(files()?));

/// So long may one input take, and a long row of it: a thousand times what it does. Only what grows faster than its input gets there,
/// however busy the machine is.
const LONGEST_CASE: Duration = Duration::from_secs(20);
/// As long as such a row is; one input in so many is read as one.
const ROW: usize = 1 << 18;
const ROWS: u64 = 64;

pub fn kinds(input: &[u8]) -> Outcome {
    redact(KINDS.as_ref()?, input)
}

pub fn shipped(input: &[u8]) -> Outcome {
    redact(SHIPPED.as_ref()?, &planted::filled(input))
}

/// Detectors and the places that are read in a way of their own.
struct Set {
    detectors: Detectors,
    paths: Paths,
    nowhere: Paths,
    mask: Actions,
    hash: Actions,
}

impl Set {
    fn of(written: Vec<WrittenDetector>) -> Result<Self, String> {
        let detectors = Detectors::compile(written).map_err(|problems| format!("{problems:?}"))?;
        let paths = Paths::new([
            ("/id", Care::Opaque),
            ("/result/uri", Care::Critical),
            ("/result/inputSchema/**", Care::Schema),
            ("/result/content/*/text", Care::Pieces),
            ("/result/blob", Care::Binary),
        ]);
        let (mask, hash) = (Actions::all(Action::Mask), Actions::all(Action::Hash));
        Ok(Self { detectors, paths, nowhere: Paths::none(), mask, hash })
    }

    fn with<'a>(&'a self, actions: &'a Actions, paths: &'a Paths) -> Redaction<'a> {
        Redaction { sets: smallvec![&self.detectors], actions, key: &[1; 32], paths }
    }

    /// What stands in the place of every text that a rule takes out.
    fn is_mask(&self, text: &str) -> bool {
        let label = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
        label.is_some_and(|label| self.detectors.rules().iter().any(|rule| *rule.label == *label))
    }
}

/// The files of `policies/dlp`, in the order of their names, as the gateway reads them.
fn files() -> Result<Vec<WrittenDetector>, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../policies/dlp");
    let told = |error: &dyn std::fmt::Display| format!("{}: {error}", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(&folder).map_err(|error| told(&error))? {
        files.push(entry.map_err(|error| told(&error))?.path());
    }
    files.retain(|file| file.extension().is_some_and(|ending| ending == "yaml"));
    files.sort();
    let mut written = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).map_err(|error| told(&error))?;
        let lists: BTreeMap<String, Vec<WrittenDetector>> =
            serde_saphyr::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))?;
        written.extend(lists.into_values().flatten());
    }
    Ok(written)
}

fn redact(set: &Set, input: &[u8]) -> Outcome {
    let started = Instant::now();
    let text = String::from_utf8_lossy(input);
    let in_text = text::holds(set, &text)?;
    let in_document = document::holds(set, input)?;
    if !text.is_empty() && Random::of(input).number().is_multiple_of(ROWS) {
        set.with(&set.mask, &set.nowhere)
            .text(&text.repeat(ROW / text.len() + 1), &mut gateway_dlp::Counts::default())
            .map_err(|blocked| format!("nothing blocks, but {blocked}"))?;
    }
    ensure(started.elapsed() < LONGEST_CASE, || format!("took {:?}", started.elapsed()))?;
    Ok(taken((in_text, in_document)))
}
