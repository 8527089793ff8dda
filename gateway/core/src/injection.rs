//! Answers that read like instructions to whoever reads them: what is to be done about one.
//!
//! How they are recognised is in the plugin of that name; here is only what policies say of it.

use std::fmt;
use std::sync::Arc;

use crate::classification::scale;

scale!(
    /// What happens to such an answer.
    InjectionAction, "off, annotate, block",
    { Off = "off", Annotate = "annotate", Block = "block", }
);

/// What looked like instructions in an answer. Names kinds of phrases, and none of the answer's own words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Suspicion {
    pub score: u32,
    pub families: Vec<String>,
}

/// Reads answers as somebody who does not trust them. Implemented where the phrases are.
pub trait AnswerReader: Send + Sync {
    /// Does at once what the first answer would have to wait for otherwise.
    fn prepare(&self) {}
    /// Whether any text in this JSON could come to anything; asked of every answer, so it only skims.
    fn suspects(&self, json: &[u8]) -> bool;
    /// The worst that is found in any of the texts.
    fn read(&self, texts: &mut dyn Iterator<Item = &str>) -> Suspicion;
    fn digest(&self) -> &str;
}

/// Finds nothing.
pub struct NoReader;

impl AnswerReader for NoReader {
    fn suspects(&self, _: &[u8]) -> bool {
        false
    }

    fn read(&self, _: &mut dyn Iterator<Item = &str>) -> Suspicion {
        Suspicion::default()
    }

    fn digest(&self) -> &str {
        ""
    }
}

#[derive(Clone)]
pub struct InjectionRules {
    pub action: InjectionAction,
    /// From here on an answer counts as such.
    pub score: u32,
    pub reader: Arc<dyn AnswerReader>,
}

impl Default for InjectionRules {
    fn default() -> Self {
        Self { action: InjectionAction::Annotate, score: 3, reader: Arc::new(NoReader) }
    }
}

impl fmt::Debug for InjectionRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InjectionRules({}, {})", self.action, self.score)
    }
}
