//! A text in many messages, cut wherever it can be.

use gateway_core::chain::{Follow, Passing, Step};

use super::*;

const TEXT: &str = "to jane@example.org, card 4111 1111 1111 1111, key sk_0123456789abcdef.";
const MASKED: &str = "to [EMAIL], card [CARD], key [KEY].";

fn event(text: &str) -> Reply {
    let params = json!({ "level": "info", "data": text });
    reply(&json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": params }))
}

fn text_of(reply: &Reply) -> String {
    let value: Value = serde_json::from_slice(reply.raw()).unwrap();
    value["params"]["data"].as_str().unwrap_or_default().to_owned()
}

fn following() -> Box<dyn Follow> {
    following_with(None)
}

fn following_with(handling: Option<DlpHandling>) -> Box<dyn Follow> {
    plugin(PluginMode::Enforce).follow(&exchange("tools/call", json!({}), handling)).unwrap()
}

fn texts_of(given: impl IntoIterator<Item = Option<Passing>>) -> Vec<String> {
    given.into_iter().flatten().map(|passing| text_of(&passing.reply)).collect()
}

/// What comes of these messages and an answer after them.
fn through(texts: &[&str]) -> Vec<String> {
    let (mut follow, mut found, mut given) = (following(), Found::default(), Vec::new());
    for text in texts {
        match follow.next(event(text), &mut found).unwrap() {
            Step::Give(replies) => given.extend(replies),
            Step::Hold => assert!(follow.held() > 0 && follow.held() <= 4096),
        }
    }
    let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": { "content": [] } });
    let Step::Give(last) = follow.next(reply(&answer), &mut found).unwrap() else {
        panic!("an answer waits for nobody")
    };
    given.extend(last);
    assert_eq!(given.len(), texts.len() + 1, "none is lost: {texts:?}");
    assert_eq!(follow.held(), 0);
    texts_of(given.into_iter().take(texts.len()))
}

// acceptance 63: one event, two, three, cut at every byte.
#[test]
fn a_value_is_found_wherever_it_is_cut() {
    assert_eq!(through(&[TEXT]), [MASKED]);
    for first in 1..TEXT.len() {
        let (a, b) = TEXT.split_at(first);
        assert_eq!(through(&[a, b]).concat(), MASKED, "{a:?} {b:?}");
        for second in (first + 1..TEXT.len()).step_by(7) {
            let (b, c) = b.split_at(second - first);
            assert_eq!(through(&[a, b, c]).concat(), MASKED, "{a:?} {b:?} {c:?}");
        }
    }
}

#[test]
fn what_went_on_without_its_rest_is_not_followed_by_it() {
    let (mut follow, mut found) = (following(), Found::default());
    let held = follow.next(event("card 4111 1111 11"), &mut found).unwrap();
    assert!(matches!(held, Step::Hold));
    let given = texts_of(follow.end(&mut found));
    assert_eq!(given, ["card 4111 1111 11"], "nobody came in time");
    let rest = match follow.next(event("11 1111 and more"), &mut found).unwrap() {
        Step::Give(rest) => rest,
        Step::Hold => follow.end(&mut found),
    };
    assert_eq!(texts_of(rest), [" and more"]);
    assert_eq!(told(&found), [("card".to_owned(), "mask", 1)]);
}

#[test]
fn what_goes_on_in_many_parts_does_not_go_whole() {
    for size in 1..8 {
        let (mut follow, mut found, mut given) = (following(), Found::default(), Vec::new());
        let letters: Vec<char> = TEXT.chars().collect();
        for piece in letters.chunks(size) {
            let piece: String = piece.iter().collect();
            match follow.next(event(&piece), &mut found).unwrap() {
                Step::Give(replies) => given.extend(replies),
                // Each time nobody came in time.
                Step::Hold => given.extend(follow.end(&mut found)),
            }
        }
        let shown = texts_of(given).concat();
        for value in [EMAIL, "4111 1111 1111 1111", KEY] {
            assert!(!shown.contains(value), "{size}: {shown}");
        }
    }
}

#[test]
fn texts_of_different_places_are_not_one_text() {
    let (mut follow, mut found) = (following(), Found::default());
    let progress = |text: &str| {
        reply(
            &json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": { "progressToken": 1, "message": text } }),
        )
    };
    assert!(matches!(follow.next(event("card 4111 1111 1"), &mut found).unwrap(), Step::Hold));
    // It belongs to another text, so it changes nothing; and it waits its turn.
    assert!(matches!(follow.next(progress("done"), &mut found).unwrap(), Step::Hold));
    let given = follow.end(&mut found);
    assert_eq!(texts_of(given), ["card 4111 1111 1", ""]);
    assert!(found.is_empty(), "{found:?}");
}

// A key that clings to a number is seen once the number is gone, and by then it must not pass.
#[test]
fn what_is_laid_bare_and_blocked_is_left_out() {
    let blocked = DlpHandling { result: said(&[("key", Action::Block)]), ..DlpHandling::default() };
    let (mut follow, mut found) = (following_with(Some(blocked)), Found::default());
    assert!(matches!(follow.next(event("card 4111 1111"), &mut found).unwrap(), Step::Hold));
    let second = event(&format!(" 1111 1111{KEY}"));
    let given = match follow.next(second, &mut found).unwrap() {
        Step::Give(given) => given,
        Step::Hold => follow.end(&mut found),
    };
    assert_eq!(given.len(), 2, "each message has its answer");
    assert_eq!(texts_of(given), ["card [CARD]"]);
    assert_eq!(told(&found), [("card".to_owned(), "mask", 1), ("key".to_owned(), "block", 1)]);
}

/// As many lines as a key of 4096 bits has; no two are the same.
fn key_lines() -> Vec<String> {
    let line = |at: usize| {
        let letter = |place: usize| b"AbCd0EfGh1IjKl2MnOp3QrSt4UvWx5Yz+/"[(at * 7 + place * (at % 5 + 1)) % 34];
        (0..64).map(|place| char::from(letter(place))).collect::<String>() + "\n"
    };
    let begin = "see:\n-----BEGIN PRIVATE KEY-----\n".to_owned();
    [begin]
        .into_iter()
        .chain((1..=50).map(line))
        .chain(["-----END PRIVATE KEY-----\nthat was it.".to_owned()])
        .collect()
}

// acceptance 63: a key is longer than anything is held, and slower; it goes whole all the same.
#[test]
fn a_key_that_comes_line_by_line_goes_whole() {
    let lines = key_lines();
    for hurried in [false, true] {
        let (mut follow, mut found, mut given) = (following(), Found::default(), Vec::new());
        for line in &lines {
            if let Step::Give(replies) = follow.next(event(line), &mut found).unwrap() {
                given.extend(replies);
            }
            // What a stream does when too much is held, or too long.
            if follow.held() > 4096 || hurried {
                given.extend(follow.end(&mut found));
            }
        }
        given.extend(follow.end(&mut found));
        assert_eq!(given.len(), lines.len(), "no event is lost");
        let shown = texts_of(given).concat();
        let shown = shown.replace('\n', " ");
        assert_eq!(shown.trim(), "see: [PEM] that was it.", "hurried: {hurried}");
        assert_eq!(told(&found), [("pem".to_owned(), "mask", 1)]);
    }
}

#[test]
fn a_word_on_keys_does_not_silence_a_stream() {
    let (mut follow, mut found, mut given) = (following(), Found::default(), Vec::new());
    let texts =
        ["a key begins with -----BEGIN PRIVATE KEY-----", " as everybody knows who has seen one.", " Next topic!"];
    for text in texts {
        if let Step::Give(replies) = follow.next(event(text), &mut found).unwrap() {
            given.extend(replies);
        }
        given.extend(follow.end(&mut found));
    }
    let shown = texts_of(given);
    assert_eq!(shown[1..], texts[1..], "{shown:?}");
}

#[test]
fn every_message_tells_its_own_places() {
    let (mut follow, mut found) = (following(), Found::default());
    assert!(matches!(follow.next(event("to jane@example.org for jane"), &mut found).unwrap(), Step::Hold));
    let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": { "structuredContent": { "mail": EMAIL } } });
    let Step::Give(given) = follow.next(reply(&answer), &mut found).unwrap() else { panic!("an answer never waits") };
    let told: Vec<_> = given.iter().flatten().map(|passing| passing.edited.edited().to_vec()).collect();
    assert_eq!(told, [vec!["/params/data".to_owned()], vec!["/result/structuredContent/mail".to_owned()]]);
    assert_eq!(found.iter().map(|one| one.count).sum::<u32>(), 2);
    assert!(found.edited().is_empty(), "{found:?}");
}

/// What comes of messages of which some are too large to be held.
fn given_by(messages: &[Reply]) -> Vec<Reply> {
    let (mut follow, mut found, mut given) = (following(), Found::default(), Vec::new());
    for message in messages {
        if let Step::Give(replies) = follow.next(message.clone(), &mut found).unwrap() {
            given.extend(replies);
        }
        if follow.held() > follow.bounds().1 {
            given.extend(follow.end(&mut found));
        }
    }
    given.extend(follow.end(&mut found));
    assert_eq!(given.len(), messages.len(), "none is lost");
    given.into_iter().flatten().map(|passing| passing.reply).collect()
}

#[test]
fn a_large_message_is_a_piece_like_any_other() {
    for size in [15 << 10, 17 << 10, 300 << 10] {
        let words = "many words, ".repeat(size / 12);
        let given = given_by(&[
            event("pay with 4111 1111"),
            event(&format!(" 1111 1111 and {words} then 4111 11")),
            event("11 1111 1111 is over"),
        ]);
        let shown: Vec<_> = given.iter().map(text_of).collect();
        assert_eq!(shown[0], "pay with [CARD]", "{size}");
        assert!(shown[1].starts_with(" and many") && shown[1].ends_with("then 4111 11"), "{size}");
        assert_eq!(shown[2], " is over", "{size}: its rest does not follow it");
    }
}

#[test]
fn a_text_behind_many_others_is_joined_too() {
    let many = |text: &str| {
        let mut data = vec!["word;"; 200];
        data.push(text);
        let params = json!({ "level": "info", "data": data });
        reply(&json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": params }))
    };
    let given = given_by(&[many("card 4111 1111"), many(" 1111 1111 it was")]);
    let last = |reply: &Reply| {
        let value: Value = serde_json::from_slice(reply.raw()).unwrap();
        value["params"]["data"][200].clone()
    };
    assert_eq!(given.iter().map(last).collect::<Vec<_>>(), ["card [CARD]", " it was"]);
}
