//! `dlp.yaml` and `dlp/*.yaml`: what is done about personal data and secrets, and how they are found.
//!
//! The shipped detectors apply even where a directory does not repeat them; a file of the same name takes their place.

use std::collections::BTreeMap;
use std::sync::Arc;

use gateway_core::dlp::DlpSet;
use gateway_dlp::{Detectors, WrittenDetector};
use gateway_plugins::dlp::{DlpRules, DlpSettings};
use serde::Deserialize;
use serde_json::Value;

use crate::config::{Problem, Problems, parse, read};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenFile {
    /// Read one by one, so that a fault in one does not hide the faults of the others.
    detectors: Vec<Value>,
}

/// What the files read so far say.
#[derive(Default)]
pub struct DlpFiles {
    detectors: Vec<WrittenDetector>,
    /// File and path of each, by its id: what is wrong with a pattern is seen when all of them are compiled.
    places: BTreeMap<String, (String, String)>,
    settings: DlpSettings,
    /// Where the settings stand, for what is found wrong with them later.
    shown: String,
}

impl DlpFiles {
    pub fn read_settings(&mut self, text: &str, shown: &str, problems: &mut Problems) {
        self.shown = shown.into();
        if let Some(settings) = parse(text, problems).and_then(|tree| read(tree, "", problems)) {
            self.settings = settings;
        }
    }

    pub fn read_detectors(&mut self, text: &str, shown: &str, problems: &mut Problems) {
        let Some(tree) = parse(text, problems) else { return };
        let Some(file) = read::<WrittenFile>(tree, "", problems) else { return };
        for (place, tree) in file.detectors.into_iter().enumerate() {
            let path = format!("detectors[{place}]");
            let Some(written) = read::<WrittenDetector>(tree, &path, problems) else { continue };
            self.places.insert(written.id.clone(), (shown.to_owned(), path));
            self.detectors.push(written);
        }
    }

    /// The detectors alone.
    pub fn detectors(self, problems: &mut Vec<Problem>) -> Option<Detectors> {
        compiled(self.detectors, &self.places, problems)
    }

    pub fn compile(self, problems: &mut Vec<Problem>) -> Option<Arc<dyn DlpSet>> {
        let detectors = compiled(self.detectors, &self.places, problems)?;
        let rules = DlpRules::new(detectors, self.settings.clone());
        for (path, what) in self.settings.problems(&|key| rules.knows(key)) {
            problems.push(Problem { file: self.shown.clone(), path, what });
        }
        Some(rules.into_set())
    }
}

fn compiled(
    written: Vec<WrittenDetector>,
    places: &BTreeMap<String, (String, String)>,
    problems: &mut Vec<Problem>,
) -> Option<Detectors> {
    let told = |found: gateway_dlp::Problem| {
        let (file, path) = places.get(&found.id).cloned().unwrap_or_else(|| ("dlp".into(), found.id.clone()));
        Problem { file, path: format!("{path}.{}", found.field), what: found.problem }
    };
    Detectors::compile(written).map_err(|found| problems.extend(found.into_iter().map(told))).ok()
}
