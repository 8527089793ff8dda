//! Texts made to hurt the reader: deep, long, many.

use std::thread;

use gateway_sql::{Ask, Dialect, Read};

use super::{guard, rule};

/// On a stack like that of the threads that serve requests.
fn read_on_a_small_stack(sql: String) -> Read {
    let read = move || guard().read(&sql, &Ask::of(Dialect::Postgres));
    thread::Builder::new().stack_size(2 * 1024 * 1024).spawn(read).unwrap().join().unwrap()
}

#[test]
fn what_is_nested_too_deeply_is_refused_and_not_overflowed() {
    let nested = |before: &str, inside: &str, after: &str, times: usize| {
        format!("select {}{inside}{}", before.repeat(times), after.repeat(times))
    };
    for (name, sql) in [
        ("parentheses", nested("(", "1", ")", 20_000)),
        ("unclosed", nested("(", "", "", 20_000)),
        ("parentheses that the first look lets pass", nested("(", "1", ")", 900)),
        ("brackets", nested("array[", "1", "]", 20_000)),
        ("brackets that the first look lets pass", nested("array[", "1", "]", 900)),
        ("calls", nested("abs(", "1", ")", 900)),
        ("subqueries", nested("(select ", "1", ")", 900)),
        ("from", format!("select * from {}t{}", "(select * from ".repeat(900), ") x".repeat(900))),
        ("cases", nested("case when true then ", "1", " end", 20_000)),
        ("signs", nested("- ", "1", "", 20_000)),
        ("not", nested("not ", "true", "", 20_000)),
        ("a chain", format!("select 1{}", "+1".repeat(100_000))),
        ("a chain of texts", format!("select a{}", "||a".repeat(10_000))),
        ("casts", format!("select 1{}", "::int".repeat(40_000))),
        ("subscripts", format!("select a{}", "[1]".repeat(50_000))),
        ("unions", format!("select 1{}", " union select 1".repeat(10_000))),
        ("joins", format!("select * from t{}", " natural join t".repeat(10_000))),
        ("with", format!("{}select 1{}", "with a as (".repeat(900), ") select 1".repeat(900))),
        ("comments", format!("{}select 1", "/*".repeat(50_000))),
        ("operators", format!("select {}1", "+".repeat(50_000))),
        ("fields", format!("select a{}", ".a".repeat(50_000))),
    ] {
        let read = read_on_a_small_stack(sql);
        // What the grammar does not nest is only long: parentheses around nothing else, fields, subscripts.
        let expected = match name {
            "comments" | "operators" => "too_long",
            "parentheses that the first look lets pass" | "fields" | "subscripts" => "-",
            _ => "too_deep",
        };
        assert_eq!(rule(&read), expected, "{name}: {:?}", read.refused);
    }
}

#[test]
fn what_people_write_is_not_too_deep() {
    for sql in [
        format!("select * from t where {}", vec!["a = 1"; 2_000].join(" or ")),
        format!("select * from t where a in ({})", vec!["1"; 20_000].join(", ")),
        format!("select {}", vec!["a"; 30].join(" || ")),
        vec!["select 1"; 60].join(" union all "),
        format!("select {}1{}", "coalesce(".repeat(20), ", 0)".repeat(20)),
        format!("select * from {}t{}", "(select * from ".repeat(15), ") x".repeat(15)),
        format!("select {}", vec!["((a + 1) * 2)"; 1_000].join(", ")),
    ] {
        let read = read_on_a_small_stack(sql.clone());
        assert!(read.allowed(), "{}: {read:?}", sql.get(..80).unwrap_or(&sql));
    }
}

#[test]
fn what_is_too_long_is_not_read() {
    let read = read_on_a_small_stack(format!("select '{}'", "a".repeat(1024 * 1024)));
    assert_eq!(rule(&read), "too_long");
}

/// The grammar's library has a way of catching what PostgreSQL prints, which would take our own log with it.
#[test]
fn standard_error_stays_where_it_is() {
    let before = std::fs::read_link("/proc/self/fd/2");
    let threads: Vec<_> = (0..8)
        .map(|_| {
            thread::spawn(move || {
                for _ in 0..200 {
                    let _ = guard_once("select '\\d' from t where");
                    let now = std::fs::read_link("/proc/self/fd/2");
                    assert!(now.is_ok());
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(std::fs::read_link("/proc/self/fd/2").ok(), before.ok());
}

fn guard_once(sql: &str) -> Read {
    thread_local! { static GUARD: gateway_sql::Guard = guard(); }
    GUARD.with(|guard| guard.read(sql, &Ask::of(Dialect::Postgres)))
}
