//! Why a verb did not do what it was asked, in lines for standard error.

use std::error::Error;

use gateway_core::ports::{LedgerError, StoreError};

use super::output::{Colour, painted_for_errors};
use crate::config::Problem;

#[derive(Debug, PartialEq, Eq)]
pub struct Failure {
    lines: Vec<String>,
    /// Problems carry their place and need no heading.
    plain: bool,
    hint: Option<String>,
}

impl Failure {
    pub fn new(line: impl Into<String>) -> Self {
        Self { lines: vec![line.into()], plain: false, hint: None }
    }

    /// The error and what caused it, down to the last cause: here somebody can do something about it.
    pub fn of(error: &dyn Error) -> Self {
        Self::new(with_causes(error))
    }

    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub fn print(&self) {
        for line in &self.lines {
            if self.plain {
                eprintln!("{line}");
            } else {
                eprintln!("{} {line}", painted_for_errors(Colour::Red, "error:"));
            }
        }
        if let Some(hint) = &self.hint {
            eprintln!("{hint}");
        }
    }
}

/// One line of an error and what caused it.
pub fn with_causes(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !line.contains(&text) {
            line = format!("{line}: {text}");
        }
        cause = error.source();
    }
    line
}

impl From<Vec<Problem>> for Failure {
    fn from(problems: Vec<Problem>) -> Self {
        Self { lines: problems.iter().map(ToString::to_string).collect(), plain: true, hint: None }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::of(&error)
    }
}

impl From<LedgerError> for Failure {
    fn from(error: LedgerError) -> Self {
        Self::of(&error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::of(&error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_its_causes() {
        let cause = std::io::Error::other("no route to host");
        let failure = Failure::from(StoreError::Unavailable(Box::new(cause)));
        assert_eq!(failure, Failure::new("the store is unavailable: no route to host"));
    }

    #[test]
    fn problems_stand_as_they_are() {
        let problem = Problem { file: "f".into(), path: "a.b".into(), what: "is wrong".into() };
        assert_eq!(Failure::from(vec![problem]).lines, ["f: a.b: is wrong"]);
    }
}
