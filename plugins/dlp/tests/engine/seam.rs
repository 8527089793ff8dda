//! Values that arrive in pieces.

use gateway_dlp::{Action, Counts, Paths, Redaction};

use super::{CARD, EMAIL, IBAN, TOKEN, with};

/// What a stream does: pieces wait while the last of them may go on.
fn streamed(redaction: &Redaction<'_>, pieces: &[&str]) -> String {
    let seam = redaction.seam();
    let mut counts = Counts::default();
    let mut out = String::new();
    let mut held: Vec<&str> = Vec::new();
    for (index, piece) in pieces.iter().enumerate() {
        held.push(piece);
        if index + 1 < pieces.len() && seam.tail(&held.concat()).is_some() {
            continue;
        }
        match seam.join(&held, &mut counts).unwrap() {
            Some(edited) => {
                assert_eq!(edited.len(), held.len());
                out.push_str(&edited.concat());
            }
            None => out.push_str(&held.concat()),
        }
        held.clear();
    }
    out
}

#[test]
fn a_value_cut_anywhere_is_masked() {
    with(Action::Mask, &Paths::none(), |redaction, _| {
        let grouped = "4111 1111 1111 1111";
        for (value, mask) in
            [(CARD, "[CARD]"), (grouped, "[CARD]"), (EMAIL, "[EMAIL]"), (TOKEN, "[GITHUB_TOKEN]"), (IBAN, "[IBAN]")]
        {
            let whole = format!("it is {value}, I think. Well.");
            let expected = format!("it is {mask}, I think. Well.");
            for first in 1..whole.len() {
                let (a, rest) = whole.split_at(first);
                assert_eq!(streamed(redaction, &[a, rest]), expected, "{a:?} | {rest:?}");
                for second in (1..rest.len()).step_by(3) {
                    let (b, c) = rest.split_at(second);
                    assert_eq!(streamed(redaction, &[a, b, c]), expected, "{a:?} | {b:?} | {c:?}");
                }
            }
        }
    });
}

#[test]
fn the_mask_stands_where_the_value_begins() {
    with(Action::Mask, &Paths::none(), |redaction, counts| {
        let joined = redaction.seam().join(&["card 4111 11", "11 1111 1111 and ", "jo@example.org"], counts).unwrap();
        assert_eq!(joined.unwrap(), ["card [CARD]", " and ", "[EMAIL]"]);
        assert_eq!(redaction.seam().join(&["nothing ", "here"], counts), Ok(None));
    });
}

#[test]
fn what_waits_begins_beside_a_value_and_not_inside_of_it() {
    with(Action::Mask, &Paths::none(), |redaction, _| {
        let key = "-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKCAQEA1234MIIEowIBAAKCAQEA1234\n-----END PRIVATE KEY-----";
        for value in ["4111 1111 1111 1111", key] {
            // However far it is from the word that somebody's number may follow.
            for words in 0..60 {
                let text = format!("it is {value}{} passport: ", ".".repeat(words));
                let tail = redaction.seam().tail(&text).unwrap();
                let value = 6..6 + value.len();
                assert!(tail <= value.start || value.end <= tail, "{tail} of {text:?}");
            }
        }
        let text = format!("it is {key}");
        assert!(redaction.seam().tail(&text).is_none_or(|tail| tail <= 6), "its last word is no word by itself");
    });
}

#[test]
fn only_what_may_go_on_waits() {
    with(Action::Mask, &Paths::none(), |redaction, _| {
        let seam = redaction.seam();
        for (text, tail) in [
            ("all said and done. ", None),
            ("all said and done!", None),
            ("jo.", Some(0)),
            ("", None),
            ("call 4111 11", Some(5)),
            ("to GB82 WEST ", Some(3)),
            ("to jo@exam", Some(3)),
            ("key gh", Some(4)),
            ("-----BEGIN PRIVATE KEY-----\nMIIE\n", Some(0)),
            ("my passport: ", Some(0)),
        ] {
            assert_eq!(seam.tail(text), tail, "{text}");
        }
        // Wider than any gap inside a number, and not looked across: a page of blanks would cost its square.
        assert_eq!(seam.tail(&format!("call 4111{}", " ".repeat(64))), None);
        let long = "1".repeat(20_000);
        assert_eq!(seam.tail(&long), Some(20_000 - 4096), "never more than 4 KiB waits");
    });
}
