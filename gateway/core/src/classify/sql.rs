//! What statements do, read word by word: a query only where nothing else is possible.
//!
//! This is no parser. It knows comments, quotes and the ends of statements, and calls everything it does not understand
//! the worst there is.

use crate::manifest::RiskLevel;
use crate::policies::Dialect;

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

    pub(super) fn told(self) -> &'static str {
        match self {
            Self::Reads => "the SQL reads",
            Self::Writes => "the SQL writes",
            Self::Destroys => "the SQL removes or alters what is there",
            Self::Unknown => "the SQL is not understood",
        }
    }
}

const WRITES: [&str; 11] =
    ["INSERT", "UPDATE", "MERGE", "CREATE", "COPY", "CALL", "INTO", "UPSERT", "SHARE", "REFRESH", "COMMENT"];
const DESTROYS: [&str; 15] = [
    "DELETE", "DROP", "TRUNCATE", "ALTER", "GRANT", "REVOKE", "ATTACH", "DETACH", "VACUUM", "REINDEX", "EXECUTE",
    "PREPARE", "REASSIGN", "OUTFILE", "DUMPFILE",
];
/// Functions that do more than compute, by how their names begin.
const ACTS: [&str; 22] = [
    "PG_READ",
    "PG_LS_",
    "PG_WRITE",
    "PG_SLEEP",
    "PG_TERMINATE",
    "PG_CANCEL",
    "PG_RELOAD",
    "PG_ROTATE",
    "PG_ADVISORY",
    "LO_",
    "DBLINK",
    "NEXTVAL",
    "SETVAL",
    "SET_CONFIG",
    "QUERY_TO_XML",
    "LOAD_EXTENSION",
    "LOAD_FILE",
    "WRITEFILE",
    "EDIT",
    "XP_",
    "SYS_E",
    "BENCHMARK",
];
/// Read where they stand first; nothing else may.
const READS: [&str; 7] = ["SELECT", "WITH", "VALUES", "TABLE", "SHOW", "EXPLAIN", "DESCRIBE"];

/// The worst of all statements in the text.
pub fn kind(text: &str, dialect: Dialect) -> SqlKind {
    let Some(statements) = Reader { rest: text, dialect }.statements() else { return SqlKind::Unknown };
    statements.iter().map(|words| of_statement(words, dialect)).max().unwrap_or(SqlKind::Unknown)
}

fn of_statement(words: &[Word], dialect: Dialect) -> SqlKind {
    let Some(first) = words.first() else { return SqlKind::Unknown };
    let mut worst = match first.text.as_str() {
        word if WRITES.contains(&word) => SqlKind::Writes,
        word if DESTROYS.contains(&word) => SqlKind::Destroys,
        "REPLACE" if matches!(dialect, Dialect::Sqlite | Dialect::Mysql) => SqlKind::Writes,
        word if READS.contains(&word) => SqlKind::Reads,
        _ => SqlKind::Unknown,
    };
    for word in words.iter().skip(1) {
        let text = word.text.as_str();
        // `ANALYZE` makes an explained statement run.
        let kind = match text {
            "ANALYZE" | "ANALYSE" if first.text == "EXPLAIN" => SqlKind::Unknown,
            _ if DESTROYS.contains(&text) => SqlKind::Destroys,
            _ if WRITES.contains(&text) => SqlKind::Writes,
            _ if word.called && ACTS.iter().any(|act| text.starts_with(act)) => SqlKind::Unknown,
            _ => SqlKind::Reads,
        };
        worst = worst.max(kind);
    }
    worst
}

/// A word outside quotes, in capitals.
struct Word {
    text: String,
    /// A parenthesis follows.
    called: bool,
}

struct Reader<'a> {
    rest: &'a str,
    dialect: Dialect,
}

impl Reader<'_> {
    /// `None` where it cannot be told what is inside quotes and what is not.
    fn statements(mut self) -> Option<Vec<Vec<Word>>> {
        let mut all = Vec::new();
        let mut words: Vec<Word> = Vec::new();
        let mut something = false;
        while let Some(next) = self.rest.chars().next() {
            match next {
                ';' => {
                    self.skip(1);
                    if something {
                        all.push(std::mem::take(&mut words));
                    }
                    something = false;
                    continue;
                }
                blank if blank.is_whitespace() => self.skip(blank.len_utf8()),
                '-' if self.rest.starts_with("--") => self.skip_line(),
                '#' if self.dialect == Dialect::Mysql => self.skip_line(),
                '/' if self.rest.starts_with("/*") => self.comment()?,
                '\'' | '"' | '`' => {
                    self.quoted(next, false)?;
                    something = true;
                }
                '[' if self.dialect == Dialect::Sqlite => {
                    self.quoted(']', false)?;
                    something = true;
                }
                '$' if self.dialect == Dialect::Postgres && !self.is_parameter() => {
                    self.dollars()?;
                    something = true;
                }
                letter if letter.is_alphabetic() || letter == '_' => {
                    let word = self.word()?;
                    words.push(word);
                    something = true;
                }
                digit if digit.is_ascii_digit() => {
                    let end = self.rest.find(|other: char| !other.is_ascii_alphanumeric() && other != '.');
                    self.skip(end.unwrap_or(self.rest.len()));
                    something = true;
                }
                other => {
                    self.skip(other.len_utf8());
                    something = true;
                }
            }
        }
        if something {
            all.push(words);
        }
        Some(all)
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    fn skip_line(&mut self) {
        self.skip(self.rest.find('\n').unwrap_or(self.rest.len()));
    }

    /// Comments may be nested in Postgres, and hold what MySQL runs.
    fn comment(&mut self) -> Option<()> {
        if self.rest.starts_with("/*!") || self.rest.starts_with("/*+") {
            return None;
        }
        let mut depth = 0_usize;
        loop {
            if self.rest.starts_with("/*") {
                // Only Postgres counts them: elsewhere the first end ends it.
                depth = if self.dialect == Dialect::Postgres { depth + 1 } else { 1 };
                self.skip(2);
            } else if self.rest.starts_with("*/") {
                depth -= 1;
                self.skip(2);
                if depth == 0 {
                    return Some(());
                }
            } else {
                let next = self.rest.chars().next()?;
                self.skip(next.len_utf8());
            }
        }
    }

    /// From the opening mark to the closing one; doubled, it stands for itself.
    fn quoted(&mut self, end: char, escapes: bool) -> Option<()> {
        self.skip(1);
        let backslash = escapes || (end != ']' && matches!(self.dialect, Dialect::Mysql));
        loop {
            let next = self.rest.chars().next()?;
            self.skip(next.len_utf8());
            if next == '\\' && backslash {
                let escaped = self.rest.chars().next()?;
                self.skip(escaped.len_utf8());
            } else if next == '\\' && self.dialect == Dialect::Generic {
                // Whether it escapes depends on who reads it.
                return None;
            } else if next == end {
                if !self.rest.starts_with(end) || end == ']' {
                    return Some(());
                }
                self.skip(1);
            }
        }
    }

    fn is_parameter(&self) -> bool {
        self.rest.chars().nth(1).is_some_and(|digit| digit.is_ascii_digit())
    }

    /// `$tag$ ... $tag$`
    fn dollars(&mut self) -> Option<()> {
        let inside = self.rest.get(1..)?;
        let tag = inside.get(..inside.find('$')?)?;
        if !tag.chars().all(|letter| letter.is_alphanumeric() || letter == '_') {
            return None;
        }
        let mark = format!("${tag}$");
        let body = self.rest.get(mark.len()..)?;
        let end = body.find(&mark)?;
        self.skip(mark.len() + end + mark.len());
        Some(())
    }

    fn word(&mut self) -> Option<Word> {
        let end = self.rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_' && letter != '$');
        let end = end.unwrap_or(self.rest.len());
        let text = self.rest.get(..end)?.to_uppercase();
        self.skip(end);
        match (text.as_str(), self.rest.chars().next()) {
            // Names written in numbers could be any name.
            ("U", Some('&')) => return None,
            ("E", Some('\'')) => self.quoted('\'', true)?,
            ("B" | "X" | "N", Some('\'')) => self.quoted('\'', false)?,
            _ => {}
        }
        Some(Word { text, called: self.rest.trim_start().starts_with('(') })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_what_they_do() {
        use Dialect::{Generic, Mysql, Postgres, Sqlite};
        use SqlKind::{Destroys, Reads, Unknown, Writes};
        for (sql, dialect, expected) in [
            ("select * from t", Postgres, Reads),
            ("SELECT updated_at, 'DROP TABLE t' FROM \"delete\"", Postgres, Reads),
            ("with a as (select 1) select * from a;", Postgres, Reads),
            ("-- drop table t\nselect 1 /* delete /* nested */ */", Postgres, Reads),
            ("select $$drop table t$$, $1", Postgres, Reads),
            ("values (1)", Sqlite, Reads),
            ("explain select 1", Postgres, Reads),
            ("select replace(a, 'x', 'y') from [drop]", Sqlite, Reads),
            ("select 1; insert into t values (1)", Postgres, Writes),
            ("with a as (insert into t values (1) returning *) select * from a", Postgres, Writes),
            ("select * into u from t", Postgres, Writes),
            ("select * from t for update", Postgres, Writes),
            ("create table t (a int)", Sqlite, Writes),
            ("replace into t values (1)", Sqlite, Writes),
            ("update t set a = 1", Generic, Writes),
            ("select 1; drop table t", Postgres, Destroys),
            ("DELETE FROM t", Sqlite, Destroys),
            ("alter table t add b int", Postgres, Destroys),
            ("grant all on t to u", Postgres, Destroys),
            ("do $$ begin end $$", Postgres, Unknown),
            ("explain analyze select 1", Postgres, Unknown),
            ("select pg_read_file('/etc/passwd')", Postgres, Unknown),
            ("select nextval ('s')", Postgres, Unknown),
            ("select U&\"\\006eextval\"('s')", Postgres, Unknown),
            ("select 'a\\'; drop table t; --'", Generic, Unknown),
            ("select 'a\\'; drop table t; --'", Mysql, Reads),
            ("select 'a\\'; drop table t; --'", Postgres, Destroys),
            ("select E'a\\'; drop table t; --'", Postgres, Reads),
            ("select 1 /*! ; drop table t */", Mysql, Unknown),
            ("select 'open", Postgres, Unknown),
            ("pragma writable_schema = 1", Sqlite, Unknown),
            ("set role postgres", Postgres, Unknown),
            ("", Postgres, Unknown),
            (" ; ", Postgres, Unknown),
        ] {
            assert_eq!(kind(sql, dialect), expected, "{sql} {dialect}");
        }
    }
}
