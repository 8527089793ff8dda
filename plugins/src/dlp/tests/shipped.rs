//! The mutator with the detectors that are shipped, over places that are easy to overlook.

use std::path::Path;
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use gateway_core::chain::Step;
use gateway_core::dlp::DlpSet;
use serde::Deserialize;

use super::*;

const SSN: &str = "536-90-4399";
const CARD: &str = "4111 1111 1111 1111";

#[derive(Deserialize)]
struct File {
    detectors: Vec<WrittenDetector>,
}

static SHIPPED: LazyLock<Arc<dyn DlpSet>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../policies/dlp");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "yaml"));
    files.sort();
    let read = |path: &std::path::PathBuf| {
        serde_saphyr::from_str::<File>(&std::fs::read_to_string(path).unwrap()).unwrap().detectors
    };
    let detectors = Detectors::compile(files.iter().flat_map(read).collect());
    DlpRules::new(detectors.unwrap_or_else(|problems| panic!("{problems:?}")), DlpSettings::default()).into_set()
});

fn shipped() -> Dlp {
    let policies = Policies::new(BTreeMap::new(), Matrix::standard()).with_dlp(Arc::clone(&SHIPPED));
    Dlp::new(&policies, PluginMode::Enforce, Arc::new(|_| [7; 32]))
}

/// What a client gets of a message, what is told of it, and what the record of it says.
fn back(method: &str, message: &Value) -> (Value, Found, String) {
    let (plugin, asked) = (shipped(), exchange(method, json!({}), None));
    let (mut answer, mut found) = (reply(message), Found::default());
    assert_eq!(plugin.on_reply(&asked, &mut answer, &mut found), Verdict::Pass);
    let kept = if found.is_clean() {
        message.to_string()
    } else {
        let raw = message.to_string();
        let kept = plugin.recorder().unwrap().json(&asked.rules, raw.as_bytes());
        kept.map_or(raw, |kept| String::from_utf8(kept).unwrap())
    };
    (serde_json::from_slice(answer.raw()).unwrap(), found, kept)
}

#[expect(clippy::needless_pass_by_value, reason = "what is written where it is given")]
fn result(result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "result": result })
}

fn texts(blocks: &Value) -> String {
    blocks.as_array().unwrap().iter().filter_map(|block| block["text"].as_str()).collect()
}

#[test]
fn a_value_over_blocks_that_say_nothing_alone_is_masked_and_recorded_masked() {
    for (texts_of, expected) in [
        (&["4111 11", "11 1111 1111"][..], "[CARD]"),
        (&["4111 ", "1111 ", "1111 ", "1111"], "[CARD]"),
        (&["4111\n", "1111\n", "1111\n", "1111"], "[CARD]"),
        (&["41", "", "11 11", "11 11", "11 11", "11"], "[CARD]"),
        (&["536", "-90-", "4399"], "[SSN]"),
        (&["SIN 130", "692", "544"], "SIN [SIN]"),
        (&["GB82", "WEST", "1234", "5698", "7654", "32"], "[IBAN]"),
        (&["GB82 ", "WEST ", "1234 ", "5698 ", "7654 ", "32"], "[IBAN]"),
        (&["There were 12 of them.", "Nobody came."], "There were 12 of them.Nobody came."),
    ] {
        let blocks: Vec<_> = texts_of.iter().map(|text| json!({ "type": "text", "text": text })).collect();
        for message in [result(json!({ "content": blocks })), result(json!({ "result": { "content": blocks } }))] {
            let (now, _, kept) = back("tools/call", &message);
            let shown = now["result"].get("content").unwrap_or(&now["result"]["result"]["content"]);
            assert_eq!(texts(shown), expected, "{texts_of:?}");
            let kept: Value = serde_json::from_str(&kept).unwrap();
            let kept = kept["result"].get("content").unwrap_or(&kept["result"]["result"]["content"]);
            assert_eq!(texts(kept), expected, "the record of {texts_of:?}");
        }
    }
}

#[test]
fn a_value_over_blocks_is_found_in_a_stream_too() {
    let blocks: Vec<_> = ["4111 ", "1111 ", "1111 ", "1111"].iter().map(|text| json!({ "text": text })).collect();
    let mut follow = shipped().follow(&exchange("tools/call", json!({}), None)).unwrap();
    let message = reply(&result(json!({ "content": blocks })));
    let Step::Give(given) = follow.next(message, &mut Found::default()).unwrap() else { panic!("it waits for nobody") };
    let now: Value = serde_json::from_slice(given[0].as_ref().unwrap().reply.raw()).unwrap();
    assert_eq!(texts(&now["result"]["content"]), "[CARD]");
}

#[test]
fn words_beside_the_content_are_read_whole_and_addresses_are_counted() {
    let words = format!("ask {EMAIL}, {SSN}");
    let masked = "ask [EMAIL], [SSN]";
    let schema = |said: &str| json!({ "type": "object", "properties": { "to": { "type": "string", "description": said, "default": said, "pattern": "^x" } } });
    let uri = format!("crm://customers/{EMAIL}");
    for (method, before, after, passes) in [
        (
            "tools/call",
            json!({ "_meta": { "org.example/note": words } }),
            json!({ "_meta": { "org.example/note": masked } }),
            0,
        ),
        (
            "tools/call",
            json!({ "inputRequests": { "a": { "params": { "requestedSchema": schema(&words) } } } }),
            json!({ "inputRequests": { "a": { "params": { "requestedSchema": schema(masked) } } } }),
            0,
        ),
        (
            "tools/list",
            json!({ "tools": [{ "name": "a", "annotations": { "title": words }, "inputSchema": schema(&words), "outputSchema": schema(&words), "_meta": { "n": words } }] }),
            json!({ "tools": [{ "name": "a", "annotations": { "title": masked }, "inputSchema": schema(masked), "outputSchema": schema(masked), "_meta": { "n": masked } }] }),
            0,
        ),
        // What the protocol writes there itself is as it was, and what passes is counted.
        (
            "tools/call",
            json!({ "_meta": { "io.modelcontextprotocol/related-task": { "taskId": EMAIL } } }),
            json!({ "_meta": { "io.modelcontextprotocol/related-task": { "taskId": EMAIL } } }),
            1,
        ),
        (
            "tools/call",
            json!({ "content": [{ "type": "resource_link", "uri": uri }] }),
            json!({ "content": [{ "type": "resource_link", "uri": uri }] }),
            1,
        ),
        (
            "tools/call",
            json!({ "content": [{ "resource": { "uri": uri } }] }),
            json!({ "content": [{ "resource": { "uri": uri } }] }),
            1,
        ),
        (
            "resources/read",
            json!({ "contents": [{ "uri": uri, "text": "a" }] }),
            json!({ "contents": [{ "uri": uri, "text": "a" }] }),
            1,
        ),
        ("resources/list", json!({ "resources": [{ "uri": uri }] }), json!({ "resources": [{ "uri": uri }] }), 1),
    ] {
        let (now, found, _) = back(method, &result(before.clone()));
        assert_eq!(now, result(after), "{method} {before}");
        let observed: u32 = found.iter().filter(|one| one.action == Action::Observe).map(|one| one.count).sum();
        assert_eq!(observed, passes, "{method} {before}: {found:?}");
    }
    let notification = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "data": "x", "_meta": { "a": words } } });
    assert_eq!(back("tools/call", &notification).0["params"]["_meta"]["a"], masked);
}

#[test]
fn what_is_in_base64_is_read_unless_it_says_that_it_is_a_picture() {
    let words = format!("{CARD} of {EMAIL}\n{SSN}, and so it goes on for a while\n");
    let (blob, masked) =
        (STANDARD.encode(&words), STANDARD.encode("[CARD] of [EMAIL]\n[SSN], and so it goes on for a while\n"));
    for mime in [
        None,
        Some("application/octet-stream"),
        Some("application/x-ndjson"),
        Some("application/sql"),
        Some("text/x-yaml"),
    ] {
        let of = |blob: &str| {
            let mut resource = json!({ "uri": "a://b", "blob": blob });
            if let Some(mime) = mime {
                resource["mimeType"] = json!(mime);
            }
            (
                result(json!({ "content": [{ "type": "resource", "resource": resource }] })),
                result(json!({ "contents": [resource] })),
            )
        };
        let ((block, contents), (block_now, contents_now)) = (of(&blob), of(&masked));
        assert_eq!(back("tools/call", &block).0, block_now, "{mime:?}");
        assert_eq!(back("resources/read", &contents).0, contents_now, "{mime:?}");
    }
    let plain = result(json!({ "content": [{ "type": "text", "text": "see", "data": words }] }));
    let (now, _, _) = back("tools/call", &plain);
    assert_eq!(now["result"]["content"][0]["data"], "[CARD] of [EMAIL]\n[SSN], and so it goes on for a while\n");
    let bytes: Vec<u8> = (0..4000_u32).map(|at| (at * 7919 % 251) as u8).collect();
    for (mime, data) in [
        ("image/png", STANDARD.encode([&[0x89, 0x50][..], &bytes].concat())),
        ("application/pdf", STANDARD.encode(&bytes)),
    ] {
        let picture = result(json!({ "content": [{ "type": "image", "data": data, "mimeType": mime }] }));
        assert_eq!(back("tools/call", &picture).0, picture, "{mime}");
    }
}

/// What a client reads of texts that come one after the other. Whoever holds them lets go of what is too much.
fn through<'t>(pieces: impl IntoIterator<Item = &'t str>) -> String {
    let plugin = shipped();
    let mut follow = plugin.follow(&exchange("tools/call", json!({}), None)).unwrap();
    let (mut found, mut given) = (Found::default(), Vec::new());
    for text in pieces {
        let params = json!({ "level": "info", "data": text });
        let event = reply(&json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": params }));
        if let Step::Give(replies) = follow.next(event, &mut found).unwrap() {
            given.extend(replies);
        }
        if follow.held() > follow.bounds().1 {
            given.extend(follow.end(&mut found));
        }
    }
    given.extend(follow.end(&mut found));
    let events = given.into_iter().flatten();
    let events = events.map(|passing| serde_json::from_slice::<Value>(passing.reply.raw()).unwrap());
    events.map(|event| event["params"]["data"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_word_waits_for_the_value_that_it_announces() {
    for (pieces, expected) in [
        (&["the password: ", "hun", "ter2secret9 ", "is all"][..], "the password: [PASSWORD] is all"),
        (&["the passw", "ord: ", "hun", "ter2", "secret9", " is all"], "the password: [PASSWORD] is all"),
        (&["his SSN ", "is 536", "904", "399 ", "and"], "his SSN is [SSN] and"),
    ] {
        assert_eq!(through(pieces.iter().copied()), expected, "{pieces:?}");
    }
}

#[test]
fn a_long_value_in_single_letters_does_not_come_out_whole() {
    const HOOK: &str = "https://hooks.slack.com/services/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";
    for text in [format!("at {HOOK}; so"), format!("at {HOOK}"), format!("password: yAzTJyllr9OMM0. \n{HOOK};")] {
        let shown = through(text.split("").filter(|letter| !letter.is_empty()));
        assert!(!shown.contains("NvIiNvptnx2GaeINR45K8v9h"), "{shown}");
    }
}
