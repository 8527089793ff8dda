//! Many statements at once: corpora, what was refused before, and texts without end.
#![allow(clippy::indexing_slicing)]

use super::{guard, told};
use crate::{Ask, Dialect};
use Dialect::{Generic, Mysql, Sqlite};

/// `tests/corpora/sql`: what SQLite itself did with each statement, and what MariaDB's manual says of them.
#[test]
fn no_statement_that_acts_passes_and_reads_do() {
    let guard = guard();
    for (text, dialect) in [
        (include_str!("../../../../../tests/corpora/sql/sqlite.jsonl"), Sqlite),
        (include_str!("../../../../../tests/corpora/sql/mysql.jsonl"), Mysql),
    ] {
        let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let (mut passed, mut refused) = (Vec::new(), Vec::new());
        for line in lines {
            let sql = line["sql"].as_str().unwrap();
            let read = guard.read(sql, &Ask::of(dialect));
            match (line["label"].as_str().unwrap(), read.allowed()) {
                ("acts", true) => passed.push(sql.to_owned()),
                ("read", false) => refused.push(format!("{sql}\n  {:?}", read.refused)),
                _ => {}
            }
        }
        assert!(passed.is_empty(), "{dialect} let through:\n{}", passed.join("\n"));
        assert!(refused.is_empty(), "{dialect} refused:\n{}", refused.join("\n"));
    }
}

/// What a reader of words refused before there were grammars stays refused.
#[test]
fn old_refusals_stand() {
    use Dialect::Postgres;
    let guard = guard();
    for (sql, dialect) in [
        ("select 1; insert into t values (1)", Postgres),
        ("with a as (insert into t values (1) returning *) select * from a", Postgres),
        ("select * into u from t", Postgres),
        ("select * from t for update", Postgres),
        ("create table t (a int)", Sqlite),
        ("replace into t values (1)", Sqlite),
        ("update t set a = 1", Generic),
        ("select 1; drop table t", Postgres),
        ("DELETE FROM t", Sqlite),
        ("alter table t add b int", Postgres),
        ("grant all on t to u", Postgres),
        ("do $$ begin end $$", Postgres),
        ("select pg_read_file('/etc/passwd')", Postgres),
        ("select nextval ('s')", Postgres),
        ("select U&\"\\006eextval\"('s')", Postgres),
        ("select 'a\\'; drop table t; --'", Generic),
        ("select 'a\\'; drop table t; --'", Postgres),
        ("select 1 /*! ; drop table t */", Mysql),
        ("select 'open", Postgres),
        ("pragma writable_schema = 1", Sqlite),
        ("set role postgres", Postgres),
        ("", Postgres),
        (" ; ", Postgres),
    ] {
        assert!(!guard.read(sql, &Ask::of(dialect)).allowed(), "{dialect}: {sql}");
    }
    // Its reads, too, but for one: it could not know that running a read changes nothing.
    for (sql, dialect) in [
        ("select * from t", Postgres),
        ("SELECT updated_at, 'DROP TABLE t' FROM \"delete\"", Postgres),
        ("with a as (select 1) select * from a;", Postgres),
        ("-- drop table t\nselect 1 /* delete /* nested */ */", Postgres),
        ("select $$drop table t$$, $1", Postgres),
        ("values (1)", Sqlite),
        ("explain select 1", Postgres),
        ("explain analyze select 1", Postgres),
        ("select replace(a, 'x', 'y') from [drop]", Sqlite),
        ("select E'a\\'; drop table t; --'", Postgres),
    ] {
        let read = guard.read(sql, &Ask::of(dialect));
        assert!(read.allowed(), "{dialect}: {sql} {read:?}");
    }
}

/// On a thread as small as the servers' own: what is too deep is refused, what is long takes a moment.
#[test]
fn depth_and_length_are_bounded() {
    let chain = |operator: &str, count: usize| format!("select {}1", format!("1{operator}").repeat(count));
    // What each is to all three. Of one the parsers differ: there it counts that it comes to an end.
    let texts = vec![
        ("too_deep", format!("select {}1", "(".repeat(20_000))),
        ("too_deep", format!("select {}1{}", "(".repeat(20_000), ")".repeat(20_000))),
        ("allow", format!("select {}1{}", "(".repeat(31), ")".repeat(31))),
        ("syntax", format!("select {}1{}", "(select ".repeat(31), ")".repeat(31))),
        ("", format!("select * from {}t{}", "(".repeat(31), ")".repeat(31))),
        ("syntax", format!("select * from {}t{}", "(select * from ".repeat(31), ")".repeat(31))),
        ("syntax", format!("select * from {}", "(t join ".repeat(31))),
        ("syntax", format!("select {}", "f(".repeat(31))),
        ("syntax", format!("select {}a", "a in (select ".repeat(31))),
        ("too_deep", format!("select {}1", "not ".repeat(20_000))),
        ("too_deep", format!("select {}1", "- ".repeat(20_000))),
        ("too_deep", format!("select {}1 end", "case when 1 then ".repeat(10_000))),
        ("too_deep", chain("+", 100_000)),
        ("allow", chain(" and ", 900)),
        ("allow", chain(" || ", 900)),
        ("allow", chain(" union select ", 100)),
        ("too_deep", chain(" union select ", 10_000)),
        ("too_deep", format!("select {}", "a.".repeat(50_000))),
        ("allow", format!("select * from t{}", " join t".repeat(60))),
        ("too_deep", format!("select * from t{}", " join t".repeat(10_000))),
        ("allow", format!("select {}1", "1, ".repeat(60_000))),
        ("allow", format!("select * from t where a in ({}1)", "'abcdefgh', ".repeat(18_000))),
        ("allow", format!("with {} select 1", vec!["a as (select 1)"; 500].join(", "))),
        ("too_deep", format!("select {}1", "interval ".repeat(5_000))),
        ("too_deep", format!("select cast(1 as {}", "array<".repeat(5_000))),
        ("too_deep", "select ".repeat(20_000)),
        ("too_deep", "with a as (".repeat(20_000)),
        ("too_deep", "explain ".repeat(20_000)),
    ];
    let work = move || {
        let guard = guard();
        for (expected, text) in &texts {
            for dialect in [Sqlite, Mysql, Generic] {
                let read = told(&guard.read_anew(text, &Ask::of(dialect)));
                let beginning: String = text.chars().take(60).collect();
                assert!(read.ends_with(expected), "{dialect}: {beginning}: {read}");
            }
        }
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(work).unwrap().join().unwrap();
}

/// Every name is looked up once: with a walk through all of them for each, this takes minutes.
#[test]
fn many_names_are_looked_up_and_not_walked_through() {
    let names = |name: &str| (0..20_000).map(|number| format!("{name}{number}")).collect::<Vec<_>>();
    let defined: Vec<_> = names("a").into_iter().map(|name| format!("{name} as (select 1)")).collect();
    let many = format!("with {} select 1 from {}", defined.join(", "), names("A").join(", "));
    let functions: Vec<_> = names("f").into_iter().map(|name| format!("lower('x') {name}")).collect();
    let columns: Vec<_> = names("f").into_iter().map(|name| format!("{name}.{name}")).collect();
    let ranges = format!("select {} from {}", columns.join(", "), functions.join(", "));
    let guard = guard();
    let listed = ["notes".to_owned()];
    for (text, dialect) in [(&many, Sqlite), (&many.to_ascii_lowercase(), Mysql), (&ranges, Dialect::Postgres)] {
        let read = guard.read_anew(text, &Ask { tables: Some(&listed), ..Ask::of(dialect) });
        assert!(read.allowed(), "{dialect}: {:?}", read.refused);
    }
}
