//! Our own statements in large numbers.

use gateway_sql::{Ask, Dialect};

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
