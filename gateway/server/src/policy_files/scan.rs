//! `scan.yaml`: what is looked for in definitions, and what follows from it.

use std::sync::Arc;

use gateway_core::definitions::ScanRules;
use gateway_plugins::scan::{DefinitionScanner, ScanProblem, WrittenScan};

use super::embedded;
use crate::config::{Problems, parse, read};

/// What the files say of scanning. Patterns are compiled when somebody scans: few commands do, and it takes a moment.
#[derive(Debug, Clone)]
pub struct Scanning {
    written: Arc<WrittenScan>,
}

impl Default for Scanning {
    fn default() -> Self {
        let mut told = Problems::of("(shipped) policies/scan.yaml");
        Self { written: Arc::new(written(embedded::SCAN, &mut told).unwrap_or_default()) }
    }
}

impl Scanning {
    /// An operator's file says what it says on top of the shipped one.
    pub fn read_file(text: &str, problems: &mut Problems) -> Self {
        let mut whole = Self::default();
        // A copy of the shipped file says nothing new, and compiling its patterns takes a moment and much memory.
        if text == embedded::SCAN {
            return whole;
        }
        let Some(own) = written(text, problems) else { return whole };
        let merged = WrittenScan::clone(&whole.written).with(own.clone());
        // Its own patterns alone, so that places are those of its own file.
        let alone = WrittenScan { terms: merged.terms.clone(), concepts: merged.concepts.clone(), ..own };
        for ScanProblem { path, what } in DefinitionScanner::new(&alone).err().into_iter().flatten() {
            problems.say(path, what);
        }
        whole.written = Arc::new(merged);
        whole
    }

    pub fn rules(&self) -> ScanRules {
        ScanRules { rules: self.written.rules.clone() }
    }

    /// What was read was found to be sound, so that problems here are ours.
    pub fn scanner(&self) -> Result<DefinitionScanner, Vec<ScanProblem>> {
        DefinitionScanner::new(&self.written)
    }
}

fn written(text: &str, problems: &mut Problems) -> Option<WrittenScan> {
    read(parse(text, problems)?, "", problems)
}
