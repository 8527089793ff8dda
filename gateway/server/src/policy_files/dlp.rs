//! The detectors alone, for those who look at texts and not at calls.

use std::path::Path;

use gateway_dlp::Detectors;

use super::dlp_rules::DlpFiles;
use super::{embedded, files_of, read_file};
use crate::config::{Problem, Problems};

/// Of a directory (`None`: the shipped ones), or of one file in place of all of them.
pub fn load_detectors(dir: Option<&Path>, instead: Option<&Path>) -> Result<Detectors, Vec<Problem>> {
    let mut problems = Vec::new();
    let files = match (instead, dir) {
        (Some(file), _) => read_file(file, "dlp/own.yaml".into(), &mut problems).into_iter().collect(),
        (None, Some(dir)) => files_of(dir, &mut problems),
        (None, None) => embedded::all(),
    };
    let mut read = DlpFiles::default();
    for file in files.iter().filter(|file| file.within("dlp", ".yaml").is_some()) {
        let mut told = Problems::of(file.shown.as_str());
        read.read_detectors(&file.text, &file.shown, &mut told);
        problems.extend(told.into_found());
    }
    let detectors = read.detectors(&mut problems);
    detectors.filter(|_| problems.is_empty()).ok_or(problems)
}
