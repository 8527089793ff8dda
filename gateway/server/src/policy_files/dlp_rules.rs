//! `dlp.yaml` and `dlp/*.yaml`: what is done about personal data and secrets, and how they are found.
//!
//! The shipped detectors apply even where a directory does not repeat them; a file of the same name takes their place.

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

    pub fn read_detectors(&mut self, text: &str, problems: &mut Problems) {
        let Some(tree) = parse(text, problems) else { return };
        let Some(file) = read::<WrittenFile>(tree, "", problems) else { return };
        for (place, tree) in file.detectors.into_iter().enumerate() {
            self.detectors.extend(read::<WrittenDetector>(tree, &format!("detectors[{place}]"), problems));
        }
    }

    pub fn compile(self, problems: &mut Vec<Problem>) -> Option<Arc<dyn DlpSet>> {
        let detectors = match Detectors::compile(self.detectors) {
            Ok(detectors) => detectors,
            Err(found) => {
                problems.extend(found.into_iter().map(|problem| {
                    let (path, what) = (format!("{}.{}", problem.id, problem.field), problem.problem);
                    Problem { file: "dlp".into(), path, what }
                }));
                return None;
            }
        };
        let rules = DlpRules::new(detectors, self.settings.clone());
        for (path, what) in self.settings.problems(&|key| rules.knows(key)) {
            problems.push(Problem { file: self.shown.clone(), path, what });
        }
        Some(rules.into_set())
    }
}
