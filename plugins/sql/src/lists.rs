//! What may be called in each dialect: written by people in `policies/sql/*.yaml`, looked up by the readers.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::Dialect;

/// A dialect's list as it is written. Names are in lower case; groups are for the reader's eye only.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenList {
    /// Group to names: functions that may be called, in expressions and in FROM.
    #[serde(default)]
    pub functions: BTreeMap<String, BTreeSet<String>>,
    /// Functions that may be called with some numbers of arguments only: `name: [least, most]`.
    #[serde(default)]
    pub arity: BTreeMap<String, (u8, u8)>,
    /// Functions that may stand in FROM, where the dialect tells them from the others.
    #[serde(default)]
    pub table_functions: BTreeSet<String>,
    /// Functions that read a table named by one of their arguments, which is counted from 0.
    #[serde(default)]
    pub table_readers: BTreeMap<String, usize>,
    /// Functions that tell of the database itself: like its tables they are refused where there is a list of tables.
    #[serde(default)]
    pub catalogue_functions: BTreeSet<String>,
    /// Functions that act and can be called as if they were a column, as in `('s'::regclass).nextval`: whole names, or the
    /// beginning of one followed by `*`.
    #[serde(default)]
    pub never_columns: BTreeSet<String>,
    #[serde(default)]
    pub operators: BTreeSet<String>,
    /// Schemas and tables of the database itself: `schema.*`, or the beginning of a name followed by `*`.
    #[serde(default)]
    pub catalogues: BTreeSet<String>,
    #[serde(default)]
    pub show: Show,
    #[serde(default)]
    pub explain: Explain,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Show {
    Allow,
    #[default]
    Deny,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Explain {
    /// Plans of anything, and runs (`ANALYZE`) of reads.
    Allow,
    /// Plans only.
    Plan,
    #[default]
    Deny,
}

/// A dialect's list, ready for looking up.
#[derive(Debug, Clone, Default)]
pub struct DialectList {
    functions: HashSet<Box<str>>,
    arity: HashMap<Box<str>, RangeInclusive<usize>>,
    table_functions: HashSet<Box<str>>,
    table_readers: HashMap<Box<str>, usize>,
    catalogue_functions: HashSet<Box<str>>,
    never_columns: HashSet<Box<str>>,
    /// Beginnings of such names.
    never_beginnings: Vec<Box<str>>,
    operators: HashSet<Box<str>>,
    catalogues: Vec<Box<str>>,
    pub show: Show,
    pub explain: Explain,
    digest: String,
}

impl From<WrittenList> for DialectList {
    fn from(written: WrittenList) -> Self {
        // The written form is sorted, so the same list has the same text.
        let digest = hex::encode(Sha256::digest(format!("{written:?}")));
        Self {
            functions: written.functions.into_values().flatten().map(String::into_boxed_str).collect(),
            arity: written
                .arity
                .into_iter()
                .map(|(name, (least, most))| (name.into_boxed_str(), usize::from(least)..=usize::from(most)))
                .collect(),
            table_functions: written.table_functions.into_iter().map(String::into_boxed_str).collect(),
            table_readers: written.table_readers.into_iter().map(|(name, at)| (name.into_boxed_str(), at)).collect(),
            catalogue_functions: written.catalogue_functions.into_iter().map(String::into_boxed_str).collect(),
            never_beginnings: written
                .never_columns
                .iter()
                .filter_map(|name| name.strip_suffix('*'))
                .map(Into::into)
                .collect(),
            never_columns: written.never_columns.into_iter().map(String::into_boxed_str).collect(),
            operators: written.operators.into_iter().map(String::into_boxed_str).collect(),
            catalogues: written.catalogues.into_iter().map(String::into_boxed_str).collect(),
            show: written.show,
            explain: written.explain,
            digest,
        }
    }
}

impl DialectList {
    pub fn has_function(&self, name: &str, arguments: usize) -> bool {
        match self.arity.get(name) {
            Some(range) => range.contains(&arguments),
            None => {
                self.functions.contains(name)
                    || self.catalogue_functions.contains(name)
                    || self.table_readers.contains_key(name)
            }
        }
    }

    pub fn has_table_function(&self, name: &str) -> bool {
        self.table_functions.contains(name)
    }

    /// The same, where there may be a limit to the number of its arguments.
    pub fn has_table_function_of(&self, name: &str, arguments: usize) -> bool {
        self.has_table_function(name) && self.arity.get(name).is_none_or(|range| range.contains(&arguments))
    }

    pub fn has_operator(&self, name: &str) -> bool {
        self.operators.contains(name)
    }

    pub fn is_catalogue_function(&self, name: &str) -> bool {
        self.catalogue_functions.contains(name)
    }

    pub fn is_never_a_column(&self, name: &str) -> bool {
        self.never_columns.contains(name) || self.never_beginnings.iter().any(|start| name.starts_with(&**start))
    }

    /// Which argument of a function names a table.
    pub fn table_argument(&self, name: &str) -> Option<usize> {
        self.table_readers.get(name).copied()
    }

    /// Whether a table is one of the database's own.
    pub fn is_catalogue(&self, schema: Option<&str>, table: &str) -> bool {
        self.catalogues.iter().any(|pattern| match (pattern.split_once('.'), schema) {
            (Some((of, "*")), Some(schema)) => covers(of, schema),
            (None, None) => covers(pattern, table),
            _ => false,
        })
    }
}

fn covers(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.get(..start.len()).is_some_and(|found| found.eq_ignore_ascii_case(start)),
        None => pattern.eq_ignore_ascii_case(name),
    }
}

#[derive(Debug, Clone, Default)]
pub struct Lists {
    pub postgres: DialectList,
    pub sqlite: DialectList,
    pub mysql: DialectList,
    pub generic: DialectList,
}

impl Lists {
    pub fn of(&self, dialect: Dialect) -> &DialectList {
        match dialect {
            Dialect::Postgres => &self.postgres,
            Dialect::Sqlite => &self.sqlite,
            Dialect::Mysql => &self.mysql,
            Dialect::Generic => &self.generic,
        }
    }

    pub(crate) fn digest(&self) -> String {
        let mut all = Sha256::new();
        for dialect in Dialect::ALL {
            all.update(&self.of(dialect).digest);
        }
        hex::encode(all.finalize())
    }
}
