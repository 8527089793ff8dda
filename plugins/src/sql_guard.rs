//! Does the SQL in a call do no more than its tool may?
//!
//! The statements were read when the call was classified (`core/src/classify.rs`), by [`SqlGrammars`] here; the judge only looks
//! at what was found. What is judged is the text that is sent: nobody changes it in between.

use gateway_core::policies::Dialect;
use gateway_core::sql::{SqlAsk, SqlClass, SqlKind, SqlRead, SqlReader, SqlRefusal, SqlSeen};
use gateway_core::verdict::{Objection, Remedy};
use gateway_core::{Exchange, Judge, Opinion, Verdict};
use gateway_sql::{Ask, Class, Guard, Kind, Read, Refusal};

pub use gateway_sql::Lists;

pub const NAME: &str = "sql_guard";

pub struct SqlGuard;

impl Judge for SqlGuard {
    fn name(&self) -> &'static str {
        NAME
    }

    fn on_request(&self, exchange: &Exchange) -> Verdict {
        exchange.content.sql.iter().find_map(objection).map_or(Verdict::Pass, Verdict::Deny)
    }

    fn hear(&self, exchange: &Exchange, say: &mut dyn FnMut(Opinion)) {
        let mut objections = exchange.content.sql.iter().filter_map(objection).peekable();
        if objections.peek().is_none() {
            say(Opinion::enforced(Verdict::Pass));
        }
        objections.for_each(|objection| say(Opinion::enforced(Verdict::Deny(objection))));
    }

    fn judges_lists(&self) -> bool {
        false
    }
}

fn objection(seen: &SqlSeen) -> Option<Objection> {
    let SqlRefusal { rule, reason } = seen.objection()?;
    let remedy = format!("`{}` is one statement that reads, with listed functions and tables", seen.argument);
    Some(Objection::new(*rule, reason.clone()).cured_by(Remedy::Arguments(remedy)))
}

/// The grammars that read what calls carry, by the lists of `policies/sql/*.yaml`.
pub struct SqlGrammars(Guard);

impl SqlGrammars {
    pub fn new(lists: Lists) -> Self {
        Self(Guard::new(lists))
    }
}

impl SqlReader for SqlGrammars {
    fn read(&self, text: &str, ask: &SqlAsk<'_>) -> SqlRead {
        let SqlAsk { dialect, tables, functions, several } = *ask;
        let asked = |dialect| Ask { dialect, tables, functions, several };
        let read = match dialect {
            Some(dialect) => self.0.read(text, &asked(grammar(dialect))),
            None => self.0.read_undeclared(text, &asked(gateway_sql::Dialect::Generic)),
        };
        found(read)
    }

    fn looks_like_sql(&self, text: &str) -> bool {
        gateway_sql::looks_like_sql(text)
    }

    fn digest(&self) -> &str {
        self.0.digest()
    }
}

fn grammar(dialect: Dialect) -> gateway_sql::Dialect {
    match dialect {
        Dialect::Postgres => gateway_sql::Dialect::Postgres,
        Dialect::Sqlite => gateway_sql::Dialect::Sqlite,
        Dialect::Mysql => gateway_sql::Dialect::Mysql,
        Dialect::Generic => gateway_sql::Dialect::Generic,
    }
}

fn found(read: Read) -> SqlRead {
    let class = match read.class {
        Class::Read => SqlClass::Read,
        Class::Write => SqlClass::Write,
        Class::SideEffect => SqlClass::SideEffect,
        Class::Invalid => SqlClass::Invalid,
    };
    let kind = match read.kind {
        Kind::Reads => SqlKind::Reads,
        Kind::Writes => SqlKind::Writes,
        Kind::Destroys => SqlKind::Destroys,
        Kind::Unknown => SqlKind::Unknown,
    };
    let told = |refused: Refusal| SqlRefusal { rule: refused.rule.as_str(), reason: refused.reason };
    let (refused, beyond_writing) = (read.refused.map(told), read.beyond_writing.map(told));
    SqlRead { class, kind, refused, beyond_writing, tables: read.tables, operations: read.operations }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use gateway_core::exchange::ToolSubject;
    use gateway_core::sql::Writes;
    use gateway_core::{Ask as Asked, Principal, Route, Subject, TraceId};

    use super::*;

    fn grammars() -> SqlGrammars {
        let list = |text: &str| serde_saphyr::from_str::<gateway_sql::WrittenList>(text).unwrap().into();
        SqlGrammars::new(Lists {
            postgres: list(include_str!("../../policies/sql/postgres.yaml")),
            sqlite: list(include_str!("../../policies/sql/sqlite.yaml")),
            mysql: list(include_str!("../../policies/sql/mysql.yaml")),
            generic: list(include_str!("../../policies/sql/generic.yaml")),
        })
    }

    #[test]
    fn reads_pass_and_writes_pass_where_they_are_only_counted() {
        let grammars = grammars();
        for (sql, writes, rule) in [
            ("select 1", Writes::Deny, None),
            ("delete from t", Writes::Deny, Some("statement")),
            ("delete from t", Writes::Classify, None),
            ("delete from t; select 1", Writes::Classify, Some("several")),
            ("select load_extension('x')", Writes::Classify, Some("function")),
            ("insert into t values (load_extension('x'))", Writes::Classify, Some("function")),
            ("gibberish", Writes::Classify, Some("syntax")),
            ("vacuum into 'x'", Writes::Classify, Some("syntax")),
        ] {
            let ask = SqlAsk { dialect: Some(Dialect::Sqlite), ..SqlAsk::default() };
            let tool = ToolSubject::new("db/query".parse().unwrap(), None, false);
            let (trace, principal) = (TraceId::from_stored("trc_1"), Arc::new(Principal::anonymous()));
            let mut exchange = Exchange::new(trace, principal, Route::All, Asked::EndSession, Subject::Tool(tool));
            exchange.content.sql = vec![SqlSeen { argument: "q".into(), writes, read: grammars.read(sql, &ask) }];
            let said = match SqlGuard.on_request(&exchange) {
                Verdict::Deny(objection) => Some(objection.rule.into_owned()),
                _ => None,
            };
            assert_eq!(said.as_deref(), rule, "{sql} {writes}");
        }
    }

    #[test]
    fn a_write_keeps_to_the_listed_tables() {
        let grammars = grammars();
        let tables = ["notes".to_owned()];
        for (sql, rule) in [
            ("insert into notes values (1)", None),
            ("insert into main.notes values (1)", None),
            ("insert into secrets values (1)", Some("table")),
            ("drop table notes", Some("table")),
        ] {
            let ask = SqlAsk { dialect: Some(Dialect::Sqlite), tables: Some(&tables), ..SqlAsk::default() };
            assert_eq!(grammars.read(sql, &ask).beyond_writing.map(|refused| refused.rule), rule, "{sql}");
        }
    }

    #[test]
    fn what_nobody_declared_must_be_harmless_everywhere() {
        let grammars = grammars();
        for (sql, allowed) in [
            ("select a from t where b = 'x'", true),
            ("select a from t where b = 'x\\'", false),
            ("select a /*! , sleep(1) */ from t", false),
            ("delete from t", false),
        ] {
            assert_eq!(grammars.read(sql, &SqlAsk::default()).refused.is_none(), allowed, "{sql}");
        }
    }
}
