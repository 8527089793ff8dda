//! What is asked of the guard, and what it answers.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    Postgres,
    Sqlite,
    Mysql,
    Generic,
}

impl Dialect {
    pub const ALL: [Self; 4] = [Self::Postgres, Self::Sqlite, Self::Mysql, Self::Generic];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Sqlite => "sqlite",
            Self::Mysql => "mysql",
            Self::Generic => "generic",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Dialect {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|dialect| dialect.as_str() == text);
        known.ok_or_else(|| format!("dialect `{text}` is not one of postgres, sqlite, mysql, generic"))
    }
}

/// How a text is to be read.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    pub dialect: Dialect,
    /// The tables that may be read; `None` is all of them, an empty list none.
    pub tables: Option<&'a [String]>,
    /// Functions that may be called besides the shipped ones: `name`, or `schema.name`.
    pub functions: &'a [String],
    /// Whether one text may hold several statements, each of which must pass alone.
    pub several: bool,
}

impl Ask<'_> {
    pub fn of(dialect: Dialect) -> Self {
        Self { dialect, tables: None, functions: &[], several: false }
    }
}

/// What a text is, from harmless to unreadable: of several statements the worst counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    Read,
    Write,
    /// Not a write by its form, but it does or may do something: locks, settings, functions nobody has vouched for.
    SideEffect,
    Invalid,
}

impl Class {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::SideEffect => "side_effect",
            Self::Invalid => "invalid",
        }
    }
}

/// How much a text changes: what the risk of a call is raised by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    Reads,
    Writes,
    /// Removes, or changes what exists or who may do what.
    Destroys,
    Unknown,
}

/// Why a text is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rule {
    Statement,
    Several,
    Function,
    Table,
    Catalogue,
    Locking,
    TooDeep,
    TooLong,
    Syntax,
    Ambiguous,
}

impl Rule {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Statement => "statement",
            Self::Several => "several",
            Self::Function => "function",
            Self::Table => "table",
            Self::Catalogue => "catalogue",
            Self::Locking => "locking",
            Self::TooDeep => "too_deep",
            Self::TooLong => "too_long",
            Self::Syntax => "syntax",
            Self::Ambiguous => "ambiguous",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub rule: Rule,
    /// For the caller: names what is refused, never quotes a literal of the text.
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    pub class: Class,
    pub kind: Kind,
    /// `None`: it may be run. A write is always refused, with `Rule::Statement`.
    pub refused: Option<Refusal>,
    /// What is refused even where a tool may write: its functions, its tables, a second statement. Whoever lets a write pass
    /// looks here, and at the class, which must be `Write`.
    pub beyond_writing: Option<Refusal>,
    /// The tables that are read or written, as `schema.table` or `table`, sorted, each once.
    pub tables: Vec<String>,
    /// What it does besides reading, by its words (`DROP`): rather one too many than one too few. Empty for a read.
    pub operations: Vec<String>,
}

impl Read {
    pub fn allowed(&self) -> bool {
        self.refused.is_none()
    }

    pub fn invalid(rule: Rule, reason: impl Into<String>) -> Self {
        Self::refused(Class::Invalid, Kind::Unknown, rule, reason)
    }

    pub fn refused(class: Class, kind: Kind, rule: Rule, reason: impl Into<String>) -> Self {
        let refusal = Refusal { rule, reason: reason.into() };
        let beyond_writing = (class != Class::Write).then(|| refusal.clone());
        Self { class, kind, refused: Some(refusal), beyond_writing, tables: Vec::new(), operations: Vec::new() }
    }
}

/// What the origin of the tool protocol says of its five operations, word by word.
pub(crate) fn denied_operation(operation: &str) -> String {
    format!(
        "Security violation: Operation '{operation}' is not allowed in read-only mode. \
         Denied operations: DROP, TRUNCATE, ALTER, DELETE, UPDATE"
    )
}
