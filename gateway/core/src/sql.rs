//! What SQL in an argument does, and whether it may: asked of a [`SqlReader`], whose grammars live elsewhere.

mod places;

use serde::{Deserialize, Serialize};

use crate::agents::{ALWAYS_DENIED, Security};
use crate::classification::scale;
use crate::manifest::RiskLevel;
use crate::policies::Dialect;

pub use places::SqlPlaces;

/// Reads statements. One text is read once per call; the answer is kept beside the call (`content.rs`).
pub trait SqlReader: Send + Sync {
    fn read(&self, text: &str, ask: &SqlAsk<'_>) -> SqlRead;
    /// Whether a text is a statement rather than prose, where nobody said which it is.
    fn looks_like_sql(&self, text: &str) -> bool;
    /// Names the lists it reads by.
    fn digest(&self) -> &str;
}

/// What is said of an argument beside its text.
#[derive(Debug, Clone, Copy, Default)]
pub struct SqlAsk<'a> {
    /// `None`: nobody said whose SQL it is, so that it must be harmless in all.
    pub dialect: Option<Dialect>,
    /// `None`: any table.
    pub tables: Option<&'a [String]>,
    /// Functions that an operator knows to be harmless, beside the shipped ones.
    pub functions: &'a [String],
    /// Whether one text may hold several statements.
    pub several: bool,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlRead {
    pub class: SqlClass,
    pub kind: SqlKind,
    /// Why a guard of reads lets it not pass.
    pub refused: Option<SqlRefusal>,
    /// Why it may not pass even where writing is the tool's business: how it is written, what it calls, which tables it names.
    pub beyond_writing: Option<SqlRefusal>,
    /// As `table` or `schema.table`, sorted, each once.
    pub tables: Vec<String>,
    /// Words of what it does besides reading, `DROP`; rather one too many than one too few. Empty for a read.
    pub operations: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlRefusal {
    /// `statement`, `several`, `function`, `table`, `catalogue`, `locking`, `too_deep`, `too_long`, `syntax`, `ambiguous`, `argument`.
    pub rule: &'static str,
    pub reason: String,
}

scale!(
    SqlClass, "read, write, side_effect, invalid",
    { Read = "read", Write = "write", SideEffect = "side_effect", Invalid = "invalid", }
);

scale!(
    /// What a tool may do with statements that are no reads: nothing, or as much as its call then counts as.
    Writes, "deny, classify",
    { Deny = "deny", Classify = "classify", }
);

impl Writes {
    /// What holds where nobody said: a tool that says it reads is held to it.
    pub fn of(level: RiskLevel) -> Self {
        if level.writes() { Self::Classify } else { Self::Deny }
    }
}

/// What a statement makes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SqlKind {
    Reads,
    Writes,
    /// Removes, or changes what exists or who may do what.
    Destroys,
    Unknown,
}

impl SqlKind {
    pub fn risk_level(self) -> RiskLevel {
        match self {
            Self::Reads => RiskLevel::ReadOnly,
            Self::Writes => RiskLevel::LowWrite,
            Self::Destroys | Self::Unknown => RiskLevel::HighWrite,
        }
    }

    pub fn told(self) -> &'static str {
        match self {
            Self::Reads => "the SQL reads",
            Self::Writes => "the SQL writes",
            Self::Destroys => "the SQL removes or alters what is there",
            Self::Unknown => "the SQL is not understood",
        }
    }
}

impl SqlRead {
    pub fn invalid(rule: &'static str, reason: impl Into<String>) -> Self {
        let refused = Some(SqlRefusal { rule, reason: reason.into() });
        let beyond_writing = refused.clone();
        let (tables, operations) = (Vec::new(), Vec::new());
        Self { class: SqlClass::Invalid, kind: SqlKind::Unknown, refused, beyond_writing, tables, operations }
    }

    /// The same where nothing is refused for how it is written: what a guard of writes would refuse counts as the worst instead.
    #[must_use]
    pub fn counted(mut self) -> Self {
        if self.beyond_writing.take().is_some() {
            self.kind = SqlKind::Unknown;
        }
        self
    }

    /// The same under a tool agent's own limits: what it may never do is refused even where writing is the tool's business.
    #[must_use]
    pub fn within(mut self, security: &Security) -> Self {
        let denied_here = security.denied_with(&ALWAYS_DENIED);
        let hit = self.operations.iter().find(|done| denied_here.iter().any(|no| no.eq_ignore_ascii_case(done)));
        if let Some(operation) = hit {
            let refusal = SqlRefusal { rule: "statement", reason: denied(operation, &denied_here) };
            self.beyond_writing = Some(refusal.clone());
            self.refused = Some(refusal);
        }
        self
    }
}

/// The words that those who send SQL to tool agents know.
pub fn denied(operation: &str, list: &[String]) -> String {
    format!(
        "Security violation: Operation '{operation}' is not allowed in read-only mode. Denied operations: {}",
        list.join(", ")
    )
}

/// One argument of a call that is SQL, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlSeen {
    pub argument: String,
    pub writes: Writes,
    pub read: SqlRead,
}

impl SqlSeen {
    /// Why the call may not go. Where writes are classified, what a statement does is a matter of the call's level.
    pub fn objection(&self) -> Option<&SqlRefusal> {
        match self.writes {
            Writes::Deny => self.read.refused.as_ref(),
            Writes::Classify => self.read.beyond_writing.as_ref(),
        }
    }
}

/// Nobody here reads SQL, so none is understood.
pub struct NoSql;

impl SqlReader for NoSql {
    fn read(&self, _: &str, _: &SqlAsk<'_>) -> SqlRead {
        SqlRead::invalid("syntax", "nobody here reads SQL")
    }

    fn looks_like_sql(&self, _: &str) -> bool {
        false
    }

    fn digest(&self) -> &str {
        ""
    }
}

/// What an operator says of the SQL in a tool's calls.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SqlHandling {
    /// Nothing: arguments that look like SQL are found by their names, as they are beside those that are named.
    #[default]
    Unsaid,
    /// There is none, whatever its arguments are called.
    Off,
    Argument(SqlArgument),
}

impl SqlHandling {
    pub fn argument(&self) -> Option<&SqlArgument> {
        match self {
            Self::Argument(argument) => Some(argument),
            Self::Unsaid | Self::Off => None,
        }
    }

    /// What holds where two have spoken and the second may only tighten.
    #[must_use]
    pub fn tightened(&self, by: &Self) -> Self {
        match (self, by) {
            (Self::Argument(first), Self::Argument(second)) if first.argument == second.argument => {
                Self::Argument(first.tightened(second))
            }
            (Self::Argument(_), _) | (Self::Unsaid, Self::Off) => self.clone(),
            (_, second) => second.clone(),
        }
    }
}

/// Which arguments are SQL, and whose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SqlArgument {
    pub argument: SqlPlaces,
    pub dialect: Dialect,
    /// Absent: any table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_tables: Option<Vec<String>>,
    /// Absent: as the manifest's level says, see [`Writes::of`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes: Option<Writes>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub several: bool,
}

impl SqlArgument {
    pub fn new(argument: &str, dialect: Dialect) -> Self {
        let argument = SqlPlaces::one(argument);
        Self { argument, dialect, allowed_tables: None, writes: None, functions: Vec::new(), several: false }
    }

    fn tightened(&self, by: &Self) -> Self {
        let both =
            |first: &[String], second: &[String]| first.iter().filter(|one| second.contains(one)).cloned().collect();
        let allowed_tables = match (&self.allowed_tables, &by.allowed_tables) {
            (Some(first), Some(second)) => Some(both(first, second)),
            (first, second) => first.clone().or_else(|| second.clone()),
        };
        let writes = match (self.writes, by.writes) {
            (Some(Writes::Deny), _) | (_, Some(Writes::Deny)) => Some(Writes::Deny),
            // Who says nothing leaves it to the level, which may be the stricter.
            (first, _) => first,
        };
        let functions = both(&self.functions, &by.functions);
        Self { allowed_tables, writes, functions, several: self.several && by.several, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_speaks_second_can_only_tighten() {
        let tables = |tables: &[&str]| Some(tables.iter().map(|&table| table.to_owned()).collect::<Vec<_>>());
        let first = SqlArgument {
            allowed_tables: tables(&["a", "b"]),
            writes: Some(Writes::Classify),
            functions: vec!["f".into()],
            several: true,
            ..SqlArgument::new("q", Dialect::Sqlite)
        };
        let second = SqlArgument {
            allowed_tables: tables(&["b", "c"]),
            writes: Some(Writes::Deny),
            functions: vec!["g".into()],
            several: true,
            ..SqlArgument::new("q", Dialect::Mysql)
        };
        let (one, two) = (SqlHandling::Argument(first.clone()), SqlHandling::Argument(second));
        let expected = SqlArgument {
            allowed_tables: tables(&["b"]),
            writes: Some(Writes::Deny),
            functions: Vec::new(),
            ..first.clone()
        };
        assert_eq!(one.tightened(&two), SqlHandling::Argument(expected));
        assert_eq!(one.tightened(&SqlHandling::Off), one);
        assert_eq!(SqlHandling::Unsaid.tightened(&SqlHandling::Off), SqlHandling::Unsaid);
        assert_eq!(SqlHandling::Off.tightened(&one), one);
        let other = SqlHandling::Argument(SqlArgument::new("other", Dialect::Sqlite));
        assert_eq!(one.tightened(&other), one, "what the operator named stays named");
    }
}
