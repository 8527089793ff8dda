//! Whether a text that nobody has declared is SQL or prose, and how it is read when nobody said whose SQL it is.

use crate::{Ask, Class, Dialect, Guard, Read, other, postgres};

/// Longer than any prose that anybody would search with: read as SQL where it begins like it.
const LONGEST_PROSE: usize = 64 * 1024;

/// A word of statements comes first, and either some grammar here understands the whole, or it has a shape that no prose has.
pub fn looks_like_sql(text: &str) -> bool {
    let words = words(text);
    let word = |place: usize| words.get(place).map_or("", |word| word.as_str());
    let (first, second) = (word(0), word(1));
    let has = |wanted: &str| words.iter().any(|word| word == wanted);
    let symbols = |some: &[char]| text.contains(some);
    let whole = || text.len() > LONGEST_PROSE || other::parses(text) || postgres::parses(text);
    follows(text)
        || match first {
            "SELECT" => {
                whole()
                    || second == "INTO"
                    || ((has("FROM") || has("INTO")) && symbols(&['*', '=', ';', '(', '"', '`']))
            }
            "WITH" => whole() || (has("AS") && has("SELECT") && symbols(&['('])),
            "VALUES" => whole() && symbols(&['(']),
            "TABLE" => words.len() == 2 && symbols(&[';']),
            "EXPLAIN" | "DESCRIBE" | "DESC" => {
                let acts = [
                    "SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "MERGE", "REPLACE", "ANALYZE", "ANALYSE", "VERBOSE",
                ];
                acts.contains(&second) && words.len() > 2
            }
            "INSERT" if has("INTO") || (second == "OVERWRITE") => true,
            "REPLACE" | "MERGE" | "UPSERT" if second == "INTO" => true,
            "DELETE" if second == "FROM" || (has("FROM") && whole()) => true,
            "UPDATE" if has("SET") && symbols(&['=']) => true,
            "CREATE" | "DROP" | "ALTER" if is_thing(&words) => true,
            "TRUNCATE" if second == "TABLE" || words.len() == 2 => true,
            "GRANT" if has("TO") && (has("ON") || words.len() <= 4) => true,
            "REVOKE" if has("FROM") && (has("ON") || words.len() <= 4) => true,
            "COPY" if has("FROM") || has("TO") => true,
            "LOAD" if second == "DATA" || second == "XML" || second == "EXTENSION" => true,
            "CALL" | "EXECUTE" | "EXEC" if symbols(&['(']) || second == "IMMEDIATE" => true,
            "EXEC" if symbols(&['\'', '@']) => true,
            "DO" if symbols(&['$', '\'', '(']) => true,
            "SET" if symbols(&['=']) || second == "ROLE" || ["SESSION", "LOCAL", "GLOBAL"].contains(&second) => true,
            "RESET" if second == "ALL" || second == "ROLE" => true,
            "PREPARE" if has("AS") || has("FROM") => true,
            "ATTACH" if second == "DATABASE" || (has("AS") && symbols(&['\'', '"'])) => true,
            "DETACH" if second == "DATABASE" || words.len() == 2 => true,
            "PRAGMA" => words.len() > 1,
            "LOCK" | "UNLOCK" if second == "TABLE" || second == "TABLES" => true,
            "REFRESH" if second == "MATERIALIZED" => true,
            "REINDEX" | "VACUUM" | "CHECKPOINT" | "ANALYZE" | "CLUSTER" if words.len() <= 2 => true,
            "HANDLER" if has("OPEN") || has("READ") => true,
            "RENAME" if second == "TABLE" => true,
            "KILL" if second.parse::<u64>().is_ok() || second == "QUERY" || second == "CONNECTION" => true,
            "FLUSH" if FLUSHED.contains(&second) => true,
            "OPTIMIZE" | "REPAIR" | "CHECK" | "CHECKSUM" if second == "TABLE" || second == "TABLES" => true,
            // Two plain words are prose more often than not, and little is done by these.
            "LISTEN" | "NOTIFY" | "FETCH" | "CLOSE" | "MOVE" | "OPEN" | "RESET" | "EXECUTE" | "DEALLOCATE"
            | "DISCARD" | "USE" | "HELP" | "RELEASE" | "SAVEPOINT" | "LOAD" | "START" | "CHANGE" | "STOP"
                if words.len() <= 2 && !symbols(&SIGNS) =>
            {
                false
            }
            acts if words.len() > 1 && other::acts(acts) => {
                text.len() > LONGEST_PROSE || postgres::parses(text) || (symbols(&SIGNS) && other::parses(text))
            }
            _ => false,
        }
}

/// Signs that hardly any prose is without words of SQL around.
const SIGNS: [char; 9] = ['(', ')', '=', ';', '\'', '"', '`', '@', '*'];
const FLUSHED: [&str; 6] = ["TABLES", "PRIVILEGES", "LOGS", "HOSTS", "STATUS", "BINARY"];

/// Things that are created, dropped and altered, within the words that may stand before them.
fn is_thing(words: &[String]) -> bool {
    const THINGS: [&str; 33] = [
        "TABLE",
        "VIEW",
        "INDEX",
        "DATABASE",
        "SCHEMA",
        "SEQUENCE",
        "FUNCTION",
        "PROCEDURE",
        "TRIGGER",
        "ROLE",
        "USER",
        "EXTENSION",
        "TYPE",
        "DOMAIN",
        "POLICY",
        "RULE",
        "AGGREGATE",
        "OPERATOR",
        "CAST",
        "COLLATION",
        "SERVER",
        "SUBSCRIPTION",
        "PUBLICATION",
        "TABLESPACE",
        "LANGUAGE",
        "EVENT",
        "SYSTEM",
        "TEMPORARY",
        "TEMP",
        "UNIQUE",
        "MATERIALIZED",
        "VIRTUAL",
        "OWNED",
    ];
    let replaces = words.get(1).is_some_and(|word| word == "OR");
    let thing = words.get(if replaces { 3 } else { 1 });
    // "create table of contents" is prose; a name and nothing else, or something in parentheses or after AS, is not.
    let prose =
        words.get(2).is_some_and(|word| ["OF", "FOR", "A", "AN", "THE", "WITH", "IN", "FROM"].contains(&word.as_str()));
    !prose && words.len() > 2 && thing.is_some_and(|thing| THINGS.contains(&thing.as_str()))
}

/// A second statement after a semicolon, where there is one.
fn follows(text: &str) -> bool {
    text.split(';').skip(1).any(|after| {
        let words = words(after);
        let first = words.first().map_or("", |word| word.as_str());
        words.len() > 1
            && (other::acts(first) || ["SELECT", "WITH", "VALUES", "EXPLAIN"].contains(&first))
            && looks_like_sql(after)
    })
}

/// The words of a text in capitals, without leading comments and parentheses; enough of them to know.
fn words(text: &str) -> Vec<String> {
    let mut rest = text;
    loop {
        rest =
            rest.trim_start_matches(|letter: char| letter.is_whitespace() || matches!(letter, '(' | ';' | '\u{feff}'));
        if let Some(comment) = rest.strip_prefix("/*") {
            // What a server may obey is part of the statement.
            rest = match comment.strip_prefix('!') {
                Some(obeyed) => obeyed.trim_start_matches(|digit: char| digit.is_ascii_digit()),
                None => comment.split_once("*/").map_or("", |(_, after)| after),
            };
        } else if rest.starts_with("--") || rest.starts_with('#') {
            rest = rest.split_once('\n').map_or("", |(_, after)| after);
        } else {
            break;
        }
    }
    let words = rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').filter(|word| !word.is_empty());
    words.take(4096).map(str::to_ascii_uppercase).collect()
}

impl Guard {
    /// Reads what nobody said the dialect of: it must be harmless in PostgreSQL's grammar or in the plain one, and where quotes
    /// and comments end may not depend on who reads it.
    pub fn read_undeclared(&self, text: &str, ask: &Ask<'_>) -> Read {
        let as_postgres = self.read(text, &Ask { dialect: Dialect::Postgres, ..*ask });
        let found = match as_postgres.class {
            Class::Invalid => self.read(text, &Ask { dialect: Dialect::Generic, ..*ask }),
            _ => as_postgres,
        };
        match other::doubt(text) {
            Some(doubt) if found.allowed() => doubt,
            _ => found,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_known() {
        for text in [
            "select 1",
            "SELECT * FROM users WHERE id = 7",
            "  (select a from b) union select c from d",
            "/* hint */ select name from t",
            "-- first\nselect name from t",
            "select * into u from t",
            "with a as (select 1) select * from a",
            "values (1, 2)",
            "insert into t values (1)",
            "INSERT IGNORE INTO t SELECT * FROM u",
            "replace into t values (1)",
            "update t set a = 1",
            "UPDATE public.t AS x SET a=1 WHERE b",
            "delete from t",
            "Delete From t Where a = 1",
            "drop table t",
            "DROP TABLE IF EXISTS t CASCADE",
            "drop owned by bob",
            "alter table t add b int",
            "create table t (a int)",
            "CREATE OR REPLACE FUNCTION f() RETURNS int AS 'x' LANGUAGE sql",
            "create unique index i on t (a)",
            "truncate t",
            "TRUNCATE TABLE t",
            "grant all on t to u",
            "grant admin to bob",
            "revoke all on t from u",
            "copy t from '/etc/passwd'",
            "call p(1)",
            "do $$ begin end $$",
            "set role postgres",
            "set search_path = evil",
            "explain analyze delete from t",
            "pragma writable_schema = 1",
            "attach database 'x' as y",
            "vacuum",
            "lock table t",
            "prepare p as delete from t",
            "load data infile 'x' into table t",
            "refresh materialized view v",
            "please; drop table t",
            "/*!50000 drop table t */",
            "merge into t using u on a = b when matched then delete",
            // Only some grammar knows these.
            "truncate t cascade",
            "truncate a, b",
            "reindex table t",
            "vacuum full t",
            "vacuum (full, analyze) t",
            "cluster t using i",
            "lock t",
            "lock table only t in access exclusive mode",
            "comment on table t is 'x'",
            "reassign owned by a to b",
            "alter default privileges in schema s grant select on tables to u",
            "create unlogged table t (a int)",
            "drop foreign table t",
            "insert t values (1)",
            "replace t values (1)",
            "delete t where a = 1",
            "exec xp_cmdshell 'dir'",
            "begin; call p()",
            "begin; truncate t, u",
            "select 1; vacuum full t",
            "select pg_read_file($$/etc/passwd$$)",
            "select lo_unlink(E'5')",
            "select (array[pg_reload_conf()])[1]",
            "notify c, 'x'",
            "kill 7",
            "flush privileges",
            "optimize table t",
            "import foreign schema s from server x into y",
            "security label on table t is 'x'",
        ] {
            assert!(looks_like_sql(text), "{text}");
        }
    }

    #[test]
    fn prose_is_left_alone() {
        for text in [
            "",
            "hello",
            "Select the best restaurants in Lyon",
            "select all photos of cats from last year",
            "update on the project",
            "updates about drop shipping",
            "update me on the status of the migration",
            "show me notes about drop shipping",
            "show tables and chairs that are on sale",
            "drop shipping suppliers",
            "drop me a line",
            "drop the ball",
            "delete my account",
            "delete old mails please",
            "insert coin",
            "create a summary of the report",
            "create an invoice",
            "create table of contents",
            "alter ego",
            "alteration of clothes",
            "truncate long lines in vim",
            "grant proposals for 2026",
            "grant me access",
            "revoke certificate",
            "copy that",
            "call mom",
            "call the plumber at noon",
            "do the laundry",
            "set the table",
            "set up a meeting",
            "explain quantum computing",
            "explain how to bake bread",
            "describe the product",
            "with love from Paris",
            "with regards to your letter",
            "values of our company",
            "table for two",
            "lock the door",
            "load balancing",
            "execute order 66",
            "prepare dinner",
            "attach the file",
            "merge request 17",
            "replace the battery",
            "vacuum cleaners without a bag",
            "analyze the results of the quarter",
            "cluster analysis of customers",
            "handler for events",
            "rename my files",
            "refresh the page",
            "begin",
            "commit message of yesterday",
            "author:me is:open label:bug",
            "{ user(id: 7) { name } }",
            "SELECTED works of Borges",
            "cats; dogs; birds",
            "first do this; then select something nice",
            "error: column updated_at does not exist",
            "how do I delete rows?",
            "what is an insert statement",
            "pragma",
            "reset password",
            "fetch results",
            "move forward",
            "open source",
            "close door",
            "start here",
            "use cases",
            "change log",
            "check engine light",
            "comment on the article",
            "move the meeting to Friday",
            "start a new project",
            "backup of my phone",
            "restore the old version, please",
            "import taxes in Germany",
            "delete my account, please",
            "replace the battery (AA)",
            "end of the year report",
            "get me a coffee",
            "open the file 'notes'",
            "go home",
            "if it rains tomorrow",
            "while you were sleeping",
        ] {
            assert!(!looks_like_sql(text), "{text}");
        }
    }
}
