//! Texts made to hide something, or to cost much. Sizes are such that reading anything twice for each of its parts would never end.

use super::shipped::{ALL, told};

#[test]
fn what_stands_behind_many_near_misses_is_found() {
    let mail = "jane.doe@example.org";
    for before in ["icon@2x.png ", "foo@bar.zzz1 ", "999.1.1.1 ", "password: ${X} ", "@", "-eyJ", "postgres://a:", "1 "]
    {
        let text = format!("{} {mail} x", before.repeat(200));
        let found = told(&ALL, &text);
        assert!(found.iter().any(|(_, value)| value.contains(mail)), "behind `{before}`: {found:?}");
    }
    let text = format!("{}203.0.113.9", "999.1.1.1 ".repeat(12));
    assert_eq!(told(&ALL, &text), [("ip_address".to_owned(), "203.0.113.9".to_owned())]);
}

#[test]
fn no_text_is_read_again_for_each_of_its_parts() {
    for (name, part) in [
        ("tokens that never end", "-eyJ"),
        ("numbers beside a word", "X12345678 "),
        ("addresses without a host", "postgres://a:"),
        ("first lines of keys", "PuTTY-User-Key-File-3: "),
    ] {
        let text = format!("passport {}{}", "a".repeat(300), part.repeat(1_000_000 / part.len()));
        assert!(told(&ALL, &text).len() < 10, "{name}");
    }
}
