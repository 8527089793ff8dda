//! Names that callers choose: of scenarios, stages, gates, runs, triggers.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A name somebody chose. Shared, because every record of a step repeats some of them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Id(Arc<str>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    #[error("must not be blank")]
    Blank,
    #[error("must have at most {0} characters")]
    Long(usize),
    #[error("must not contain control characters")]
    Control,
}

impl Id {
    pub const MOST: usize = 256;

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Id {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, IdError> {
        text.as_str().try_into()
    }
}

impl TryFrom<&str> for Id {
    type Error = IdError;

    fn try_from(text: &str) -> Result<Self, IdError> {
        if text.trim().is_empty() {
            return Err(IdError::Blank);
        }
        plain(text, Self::MOST)?;
        Ok(Self(text.into()))
    }
}

impl From<Id> for String {
    fn from(id: Id) -> Self {
        id.0.as_ref().into()
    }
}

impl fmt::Display for Id {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// What the caller uses to find its calls again. It may say anything, but not much.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Correlation(Arc<str>);

impl Correlation {
    pub const MOST: usize = 128;

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Correlation {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, IdError> {
        text.as_str().try_into()
    }
}

impl TryFrom<&str> for Correlation {
    type Error = IdError;

    fn try_from(text: &str) -> Result<Self, IdError> {
        plain(text, Self::MOST)?;
        Ok(Self(text.into()))
    }
}

impl From<Correlation> for String {
    fn from(correlation: Correlation) -> Self {
        correlation.0.as_ref().into()
    }
}

/// A tenant as a caller wrote it. A number is another implementation's counting and names nobody here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TenantText {
    Number(u64),
    Text(Id),
}

fn plain(text: &str, most: usize) -> Result<(), IdError> {
    if text.chars().count() > most {
        return Err(IdError::Long(most));
    }
    if text.chars().any(char::is_control) { Err(IdError::Control) } else { Ok(()) }
}
