//! Statements in large numbers: our own, and those that a real server has labelled, where somebody has made them
//! (`tests/corpora/sql/label.py`, whose output `PORTREEVE_SQL_CORPUS` names).

use std::collections::BTreeMap;
use std::{env, fs};

use gateway_sql::{Ask, Dialect};
use serde_json::Value;

use super::{guard, rule};

const READS: &str = include_str!("../../../../tests/corpora/sql/reads.sql");
const WRITES: &str = include_str!("../../../../tests/corpora/sql/writes.sql");
const LEAKS: &str = include_str!("../../../../tests/corpora/sql/leaks.sql");

/// One statement a line; lines that begin with `--` are headings.
fn statements(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("--"))
}

#[test]
fn every_read_that_people_write_passes() {
    let guard = guard();
    let mut count = 0;
    for sql in statements(READS) {
        let read = guard.read(sql, &Ask::of(Dialect::Postgres));
        assert!(read.allowed(), "{sql}: {:?}", read.refused);
        count += 1;
    }
    assert!(count >= 300, "{count}");
}

// acceptance 100
#[test]
fn no_write_passes_however_it_is_dressed() {
    let guard = guard();
    let (mut count, mut unread) = (0, 0);
    for sql in statements(WRITES) {
        // `\n` and `\t` stand for themselves in a line.
        let sql = sql.replace("\\n", "\n").replace("\\t", "\t");
        let read = guard.read(&sql, &Ask::of(Dialect::Postgres));
        assert!(!read.allowed(), "{sql}");
        // A refusal of what does not parse proves nothing.
        unread += u32::from(rule(&read) == "syntax");
        count += 1;
    }
    assert!(count >= 300, "{count}");
    assert!(unread * 50 < count, "{unread} of {count} do not parse");
}

// acceptance 101
#[test]
fn no_table_leaks_out_of_a_list() {
    let guard = guard();
    let tables = ["notes".to_owned(), "app.people".to_owned()];
    let ask = Ask { tables: Some(&tables), ..Ask::of(Dialect::Postgres) };
    let mut count = 0;
    for sql in statements(LEAKS) {
        let read = guard.read(sql, &ask);
        assert!(!read.allowed(), "{sql}");
        assert_ne!(rule(&read), "syntax", "{sql}: {read:?}");
        count += 1;
    }
    assert!(count >= 478, "{count}");
}

#[test]
fn what_a_server_has_labelled_is_read_alike() {
    let Ok(path) = env::var("PORTREEVE_SQL_CORPUS") else {
        return;
    };
    let guard = guard();
    let (mut reads, mut writes, mut refused, mut passed) = (0_u32, 0_u32, 0_u32, Vec::new());
    let mut why: BTreeMap<String, u32> = BTreeMap::new();
    for line in fs::read_to_string(path).unwrap().lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let sql = case["sql"].as_str().unwrap();
        let read = guard.read(sql, &Ask::of(Dialect::Postgres));
        if case["label"] == "write" {
            writes += 1;
            if read.allowed() {
                passed.push(format!("{}: {sql}", case["from"]));
            }
            continue;
        }
        if case["label"] != "read" {
            continue;
        }
        reads += 1;
        if let Some(refusal) = &read.refused {
            refused += 1;
            if !matches!(rule(&read), "function") {
                println!("{}: {sql}", rule(&read));
            }
            *why.entry(format!("{}: {}", rule(&read), refusal.reason)).or_default() += 1;
        }
    }
    let mut why: Vec<_> = why.into_iter().collect();
    why.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    for (reason, count) in &why {
        println!("{count:5} {reason}");
    }
    println!("{reads} reads, {refused} refused; {writes} writes, {} let through", passed.len());
    assert!(passed.is_empty(), "{}", passed.join("\n"));
    assert!(f64::from(refused) <= f64::from(reads) * 0.03, "{refused} of {reads} reads are refused");
}
