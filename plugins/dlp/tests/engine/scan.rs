//! What is found in a plain text, and what is not.

use gateway_dlp::{Action, Detectors, WrittenDetector};

use super::{CARD, EMAIL, IBAN, TOKEN, detectors, found, text};

#[test]
fn finds_each_kind_where_it_stands() {
    let set = detectors();
    for (text, expected) in [
        ("write to jo.doe@example.org!", vec![("email", EMAIL)]),
        ("card 4111111111111111, thanks", vec![("payment_card", CARD)]),
        ("4111 1111 1111 1111", vec![("payment_card", "4111 1111 1111 1111")]),
        ("4111-1111-1111-1111 12/27", vec![("payment_card", "4111-1111-1111-1111")]),
        ("4111.1111.1111.1111", vec![("payment_card", "4111.1111.1111.1111")]),
        ("4-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1", vec![("payment_card", "4-1-1-1-1-1-1-1-1-1-1-1-1-1-1-1")]),
        ("on 2026-11-16 4111 1111 1111 1111 paid", vec![("payment_card", "4111 1111 1111 1111")]),
        ("4111 1111 1111 1112", vec![]),
        ("550e8400-e29b-41d4-a716-446655440000", vec![]),
        ("0.4111111111111111", vec![]),
        ("IBAN GB82 WEST 1234 5698 7654 32.", vec![("iban", "GB82 WEST 1234 5698 7654 32")]),
        ("GB82WEST12345698765432", vec![("iban", IBAN)]),
        ("GB83WEST12345698765432", vec![]),
        ("key=ghp_0123456789abcdefghijABCDEFGHIJ012345;", vec![("github_token", TOKEN)]),
        ("xghp_0123456789abcdefghijABCDEFGHIJ012345", vec![]),
        ("password = hunter22x", vec![("generic_password", "hunter22x")]),
        ("host 192.168.17.4 up", vec![("ip_address", "192.168.17.4")]),
        ("00:1a:2b:3c:4d:5e", vec![("mac_address", "00:1a:2b:3c:4d:5e")]),
        ("at 2026-11-16T13:20:59Z", vec![]),
        ("about project falcon and BLUE HERON", vec![("project", "project falcon"), ("project", "BLUE HERON")]),
        ("blue heronry", vec![]),
    ] {
        let expected: Vec<_> = expected.into_iter().map(|(rule, value)| (rule.to_owned(), value)).collect();
        assert_eq!(found(&set, text, None), expected, "{text}");
    }
}

#[test]
fn context_is_before_it_or_in_the_key_or_above_the_column() {
    let set = detectors();
    for (text, key, finds) in [
        ("passport: X1234567", None, true),
        ("my pass no is X1234567", None, true),
        ("X1234567", None, false),
        ("X1234567", Some("passportNumber"), true),
        ("X1234567", Some("order"), false),
        ("name,passport_no,city\nJo,X1234567,Bern\n", None, true),
        ("name;city;passport\nJo;Bern;X1234567", None, true),
        ("passport,code,city and a lot of other columns of no interest\nnone,X1234567,Bern", None, false),
        ("bypassporting X1234567", None, false),
    ] {
        assert_eq!(found(&set, text, key).len(), usize::from(finds), "{text} {key:?}");
    }
}

#[test]
fn the_action_decides_what_is_left() {
    for (action, before, after) in [
        (Action::Mask, "a jo.doe@example.org b", Some("a [EMAIL] b")),
        (Action::Partial, "a jo.doe@example.org b", Some("a j…@example.org b")),
        (Action::Partial, "4111 1111 1111 1111", Some("[CARD:…1111]")),
        (Action::Partial, "ghp_0123456789abcdefghijABCDEFGHIJ012345", Some("[GITHUB_TOKEN:ghp_…]")),
        (Action::Observe, "a jo.doe@example.org b", None),
        (Action::Mask, "nothing here", None),
    ] {
        assert_eq!(text(action, before).unwrap().as_deref(), after, "{action} {before}");
    }
    let blocked = text(Action::Block, "a jo.doe@example.org b").unwrap_err();
    assert_eq!((&*blocked.rule, &*blocked.path), ("email", ""));
}

#[test]
fn a_hash_is_of_the_value_however_it_is_written() {
    let hash = |written: &str| text(Action::Hash, written).unwrap().unwrap();
    let plain = hash(CARD);
    assert!(plain.starts_with("[CARD:") && plain.len() == "[CARD:]".len() + 12, "{plain}");
    assert_eq!(hash("4111 1111 1111 1111"), plain);
    assert_eq!(hash("４１１１ １１１１ １１１１ １１１１"), plain);
    assert_ne!(hash("5500 0000 0000 0004"), plain);
    assert_eq!(text(Action::Hash, &plain).unwrap(), None, "a mask must not be found again");
}

#[test]
fn problems_are_told_all_at_once_and_by_name() {
    let bad = |id: &str, pattern: &str, anchor: &str| WrittenDetector {
        id: id.into(),
        pattern: Some(pattern.into()),
        anchors: vec![anchor.into()],
        ..WrittenDetector::default()
    };
    let written = vec![
        bad("a", "(", "abc"),
        bad("Bad Id", "abc", "abc"),
        bad("c", "abc", "<what:3>"),
        bad("d", "x{900}{900}", "abc"),
    ];
    let Err(problems) = Detectors::compile(written) else {
        panic!("compiled");
    };
    let told: Vec<_> = problems.iter().map(|problem| (problem.id.as_str(), problem.field)).collect();
    assert_eq!(told, [("a", "pattern"), ("Bad Id", "id"), ("c", "anchors"), ("d", "pattern")]);
}

#[test]
fn a_pattern_without_an_anchor_is_tried_everywhere() {
    let row =
        WrittenDetector { id: "row".into(), pattern: Some(r"\bACME-\d{6}\b".into()), ..WrittenDetector::default() };
    let set = Detectors::compile(vec![row]).unwrap();
    assert_eq!(found(&set, "see ACME-123456.", None), [("row".to_owned(), "ACME-123456")]);
    assert!(set.suspects(b"\"anything\""));
}
