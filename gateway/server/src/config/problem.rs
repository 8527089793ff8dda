//! What is wrong with a file, and where: `file: path.to.key: what is wrong`.
//!
//! Problems are collected, not thrown: whoever wrote the file gets all of them at once.

use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub file: String,
    /// Empty when it is the file as a whole.
    pub path: String,
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => write!(f, "{}: {}", self.file, self.what),
            path => write!(f, "{}: {path}: {}", self.file, self.what),
        }
    }
}

/// The problems of one file, in the order they were found.
#[derive(Debug)]
pub struct Problems {
    file: String,
    found: Vec<Problem>,
    /// How many of `found` are about the form of the text, not its meaning.
    structural: usize,
    /// What the environment gave, and the variable it came from.
    hidden: Vec<(String, String)>,
}

impl Problems {
    pub fn of(file: impl Into<String>) -> Self {
        Self { file: file.into(), found: Vec::new(), structural: 0, hidden: Vec::new() }
    }

    /// From here on the value is told as `${NAME}`: a secret in the wrong place must not end up in a log.
    pub fn hide(&mut self, name: &str, value: &str) {
        // Anything shorter is no secret, and would be found inside ordinary words.
        if value.len() >= 4 {
            self.hidden.push((value.to_owned(), format!("${{{name}}}")));
        }
    }

    /// A value that is there but cannot be read. Later checks of the same place are not worth telling.
    pub fn unreadable(&mut self, path: impl Into<String>, what: impl Into<String>) {
        let problem = self.problem(path.into(), what.into());
        self.found.insert(self.structural, problem);
        self.structural += 1;
    }

    /// Whether the value at a path, or a part of it, has been told of as unreadable.
    pub fn unreadable_at(&self, path: &str) -> bool {
        self.found.iter().take(self.structural).any(|problem| within(&problem.path, path))
    }

    /// A value that can be read and makes no sense. Not told when an unreadable value above or below it is the likely cause.
    pub fn say(&mut self, path: impl Into<String>, what: impl Into<String>) {
        let path = path.into();
        let consequence = |cause: &Problem| within(&cause.path, &path) || within(&path, &cause.path);
        if !self.found.iter().take(self.structural).any(consequence) {
            let problem = self.problem(path, what.into());
            self.found.push(problem);
        }
    }

    pub fn into_found(self) -> Vec<Problem> {
        self.found
    }

    /// The value, unless something was wrong.
    pub fn or<T>(self, value: T) -> Result<T, Vec<Problem>> {
        if self.found.is_empty() { Ok(value) } else { Err(self.found) }
    }

    fn problem(&self, path: String, what: String) -> Problem {
        let what = self.hidden.iter().fold(what, |what, (value, name)| what.replace(value, name));
        Problem { file: self.file.clone(), path, what }
    }
}

fn within(inner: &str, outer: &str) -> bool {
    inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// `listen` and `mcp` make `listen.mcp`; nothing and `listen` make `listen`.
pub fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_reads_as_file_place_and_fault() {
        for (path, shown) in [("listen.mcp", "a.yaml: listen.mcp: is wrong"), ("", "a.yaml: is wrong")] {
            let problem = Problem { file: "a.yaml".into(), path: path.into(), what: "is wrong".into() };
            assert_eq!(problem.to_string(), shown);
        }
    }

    #[test]
    fn consequences_of_an_unreadable_value_are_not_told() {
        let mut problems = Problems::of("a.yaml");
        problems.unreadable("upstreams.notes.url", "must be text");
        problems.say("upstreams.notes", "needs a url");
        problems.say("upstreams.notes.url", "is not a url");
        problems.say("upstreams.notes2", "needs a url");
        let paths: Vec<_> = problems.into_found().into_iter().map(|problem| problem.path).collect();
        assert_eq!(paths, ["upstreams.notes.url", "upstreams.notes2"]);
    }
}
