//! A text in many messages, cut wherever it can be.

use gateway_core::chain::{Follow, Step};

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
    plugin(PluginMode::Enforce).follow(&exchange("tools/call", json!({}), None)).unwrap()
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
    given.iter().take(texts.len()).map(text_of).collect()
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
    let given: Vec<_> = follow.end(&mut found).iter().map(text_of).collect();
    assert_eq!(given, ["card 4111 1111 11"], "nobody came in time");
    let rest = match follow.next(event("11 1111 and more"), &mut found).unwrap() {
        Step::Give(rest) => rest,
        Step::Hold => follow.end(&mut found),
    };
    assert_eq!(rest.iter().map(text_of).collect::<Vec<_>>(), [" and more"]);
    assert_eq!(told(&found), [("card".to_owned(), "mask", 1)]);
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
    assert_eq!(given.iter().map(text_of).collect::<Vec<_>>(), ["card 4111 1111 1", ""]);
    assert!(found.is_empty(), "{found:?}");
}
