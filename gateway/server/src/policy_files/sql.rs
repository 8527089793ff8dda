//! `sql/<dialect>.yaml`: which functions statements may call, and what else of each dialect passes.

use std::collections::BTreeMap;
use std::sync::Arc;

use gateway_core::sql::SqlReader;
use gateway_plugins::sql_guard::SqlGrammars;
use gateway_sql::{Dialect, DialectList, Lists, WrittenList};

use super::embedded;
use crate::config::{Problems, parse, read};

/// The lists of all files read so far; a dialect without a file of its own keeps the shipped list.
#[derive(Default)]
pub struct SqlFiles {
    own: BTreeMap<&'static str, WrittenList>,
}

impl SqlFiles {
    /// A file takes the place of the shipped one: a list is only as tight as its shortest form.
    pub fn read_file(&mut self, dialect: &str, text: &str, problems: &mut Problems) {
        let Ok(dialect) = dialect.parse::<Dialect>() else {
            let known = Dialect::ALL.map(|dialect| format!("{dialect}.yaml")).join("`, `");
            problems.say("", format!("is named after no dialect; there are `{known}`"));
            return;
        };
        let Some(tree) = parse(text, problems) else { return };
        let Some(list) = read::<WrittenList>(tree, "", problems) else { return };
        for (path, name) in names(&list) {
            if name.is_empty() || name.chars().any(|letter| letter.is_uppercase() || letter.is_whitespace()) {
                problems.say(path, format!("`{name}` must be a name in lower case"));
            }
        }
        for (name, (least, most)) in &list.arity {
            if least > most {
                problems.say(format!("arity.{name}"), "the first number must not be above the second");
            }
        }
        self.own.insert(dialect.as_str(), list);
    }

    pub fn reader(mut self) -> Arc<dyn SqlReader> {
        let mut list = |dialect: Dialect| match self.own.remove(dialect.as_str()) {
            Some(own) => own.into(),
            None => shipped(dialect),
        };
        let postgres = list(Dialect::Postgres);
        let (sqlite, mysql, generic) = (list(Dialect::Sqlite), list(Dialect::Mysql), list(Dialect::Generic));
        Arc::new(SqlGrammars::new(Lists { postgres, sqlite, mysql, generic }))
    }
}

fn names(list: &WrittenList) -> impl Iterator<Item = (String, &String)> {
    let grouped = list.functions.iter();
    let functions =
        grouped.flat_map(|(group, names)| names.iter().map(move |name| (format!("functions.{group}"), name)));
    let tables = list.table_functions.iter().map(|name| ("table_functions".to_owned(), name));
    functions.chain(tables).chain(list.arity.keys().map(|name| ("arity".to_owned(), name)))
}

/// What is built in was read by a test, so that an empty list (nothing may be called) is never the answer.
fn shipped(dialect: Dialect) -> DialectList {
    let text = match dialect {
        Dialect::Postgres => embedded::SQL_POSTGRES,
        Dialect::Sqlite => embedded::SQL_SQLITE,
        Dialect::Mysql => embedded::SQL_MYSQL,
        Dialect::Generic => embedded::SQL_GENERIC,
    };
    let mut told = Problems::of("(shipped) policies/sql");
    let list = parse(text, &mut told).and_then(|tree| read::<WrittenList>(tree, "", &mut told));
    list.unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use gateway_core::policies;
    use gateway_core::sql::SqlAsk;

    use super::*;

    fn allowed(reader: &dyn SqlReader, text: &str, dialect: policies::Dialect) -> bool {
        reader.read(text, &SqlAsk { dialect: Some(dialect), ..SqlAsk::default() }).refused.is_none()
    }

    #[test]
    fn every_shipped_list_is_there_and_a_file_takes_its_place() {
        let shipped = SqlFiles::default().reader();
        for dialect in policies::Dialect::ALL {
            assert!(allowed(shipped.as_ref(), "select lower('A') from t", *dialect), "{dialect}");
        }
        let (mut files, mut told) = (SqlFiles::default(), Problems::of("sql/sqlite.yaml"));
        files.read_file("sqlite", "functions: { mine: [f] }\n", &mut told);
        assert_eq!(told.into_found().len(), 0);
        let own = files.reader();
        assert!(allowed(own.as_ref(), "select f()", policies::Dialect::Sqlite));
        assert!(!allowed(own.as_ref(), "select lower('A')", policies::Dialect::Sqlite));
        assert!(allowed(own.as_ref(), "select lower('A')", policies::Dialect::Generic));
        assert_ne!(own.digest(), shipped.digest());
    }

    #[test]
    fn a_list_says_what_is_wrong_with_it() {
        for (dialect, text, path) in [
            ("oracle", "", ""),
            ("sqlite", "functions: { a: [Lower] }", "functions.a"),
            ("sqlite", "function: {}", "function"),
            ("mysql", "arity: { f: [2, 1] }", "arity.f"),
            ("mysql", "show: maybe", "show"),
        ] {
            let (mut files, mut told) = (SqlFiles::default(), Problems::of("x"));
            files.read_file(dialect, text, &mut told);
            let found = told.into_found();
            assert_eq!(found.first().map(|problem| problem.path.as_str()), Some(path), "{text}");
        }
    }
}
