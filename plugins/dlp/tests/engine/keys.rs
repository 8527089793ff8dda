//! Private keys go whole, however their lines are given.

use gateway_dlp::{Action, Care, Counts, Paths, Rest};
use serde_json::{Value, json};

use super::{json as redacted, json_with, text, with};

/// As long as a key of 4096 bits, and nobody's: no two lines are the same.
pub fn lines(count: usize) -> Vec<String> {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut letter = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(LETTERS[usize::try_from(state % 64).unwrap()])
    };
    let mut all = vec!["-----BEGIN RSA PRIVATE KEY-----".to_owned()];
    all.extend((0..count).map(|_| (0..64).map(|_| letter()).collect()));
    all.push((0..22).map(|_| letter()).chain("==".chars()).collect());
    all.push("-----END RSA PRIVATE KEY-----".to_owned());
    all
}

fn assert_gone(lines: &[String], shown: &str, what: &str) {
    for line in &lines[1..lines.len() - 1] {
        assert!(!shown.contains(line.as_str()), "{what}: {line} in {shown}");
    }
}

#[test]
fn whatever_stands_around_its_lines() {
    let lines = lines(26);
    let each = |around: &dyn Fn(usize, &str) -> String, between: &str| {
        lines.iter().enumerate().map(|(at, line)| around(at, line)).collect::<Vec<_>>().join(between)
    };
    for (what, written) in [
        ("plain", each(&|_, line| line.into(), "\n")),
        ("numbered", each(&|at, line| format!("{at:6}\t{line}"), "\n")),
        ("grep", each(&|at, line| format!("id_rsa:{at}:{line}"), "\n")),
        ("added", each(&|_, line| format!("+{line}"), "\n")),
        ("quoted", each(&|_, line| format!("> {line}"), "\n")),
        ("comment", each(&|_, line| format!("# {line}"), "\n")),
        ("source", each(&|_, line| format!("\"{line}\\n\""), " +\n")),
        ("rows", each(&|at, line| format!("{at},\"{line}\""), "\n")),
        ("breaks", each(&|_, line| line.into(), "<br>")),
        ("separators", each(&|_, line| line.into(), "\u{2028}")),
        ("entities", each(&|_, line| line.into(), "&#10;")),
        ("log", each(&|at, line| format!("2026-11-16T12:00:{at:02}Z INFO {line}"), "\n")),
    ] {
        let whole = format!("before {written} after");
        let shown = text(Action::Mask, &whole).unwrap().unwrap();
        assert_gone(&lines, &shown, what);
        assert!(shown.starts_with("before ") && shown.ends_with(" after"), "{what}: {shown}");
        assert_eq!(shown.matches("[PRIVATE_KEY]").count(), 1, "{what}: {shown}");
        let inside: Value = serde_json::from_str(&redacted(&json!({ "file": whole }).to_string())).unwrap();
        assert_eq!(inside["file"], shown, "{what}");
    }
}

#[test]
fn a_document_of_lines_is_a_text() {
    let lines = lines(26);
    let blocks: Vec<Value> = lines.iter().map(|line| json!({ "type": "text", "text": line })).collect();
    let numbered: Vec<Value> = lines.iter().enumerate().map(|(n, line)| json!({ "n": n, "line": line })).collect();
    let rows: Vec<Value> = lines.iter().enumerate().map(|(n, line)| json!([n, line])).collect();
    for document in [
        json!({ "lines": lines, "name": "id_rsa" }),
        json!({ "lines": numbered, "name": "id_rsa" }),
        json!({ "content": blocks, "name": "id_rsa" }),
        json!({ "rows": rows, "name": "id_rsa" }),
    ] {
        let shown = redacted(&document.to_string());
        assert_gone(&lines, &shown, "document");
        let tree: Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(tree["name"], "id_rsa", "what stands behind the key stays");
        assert_eq!(shown.matches("[PRIVATE_KEY]").count(), 1, "{shown}");
        if let Some(content) = tree["content"].as_array() {
            assert!(content.iter().all(|block| block["type"] == "text"), "{shown}");
        }
        // The same document in a text is redacted alike, whatever the action.
        for action in [Action::Mask, Action::Hash] {
            let twins = json!({ "structured": document, "text": document.to_string() }).to_string();
            let both: Value = serde_json::from_str(&json_with(action, &Paths::none(), &twins)).unwrap();
            let twin: Value = serde_json::from_str(both["text"].as_str().unwrap()).unwrap();
            assert_eq!(twin, both["structured"], "{action}");
        }
    }
    let paths = Paths::new([("/content/*/text", Care::Pieces)]);
    let shown = json_with(Action::Mask, &paths, &json!({ "content": blocks }).to_string());
    assert_gone(&lines, &shown, "pieces");
}

#[test]
fn a_key_that_is_cut_takes_its_lines_and_nothing_else() {
    let lines = lines(20);
    let cut = &lines[..15];
    let shown = text(Action::Mask, &format!("{}\nand that is all there is.", cut.join("\n"))).unwrap().unwrap();
    assert_eq!(shown, "[PRIVATE_KEY]\nand that is all there is.");
    let shown = redacted(&json!({ "lines": cut, "note": "nothing here", "id": "a-17" }).to_string());
    assert_gone(cut, &format!("{shown}{}", ""), "cut");
    assert!(shown.contains("nothing here") && shown.contains("a-17"), "{shown}");
    // A word on keys is no key.
    for clean in [
        r#"{"a":"it begins with -----BEGIN PRIVATE KEY-----","b":"and this is another story"}"#,
        r#"["`-----BEGIN PRIVATE KEY-----`","...","`-----END PUBLIC KEY-----`"]"#,
    ] {
        assert_eq!(redacted(clean), clean);
    }
}

// Longer than what is looked at behind an anchor.
#[test]
fn a_long_key_goes_to_its_end() {
    let lines = lines(700);
    let shown = text(Action::Mask, &format!("a {} b", lines.join("\n"))).unwrap().unwrap();
    assert_eq!(shown, "a [PRIVATE_KEY] b");
    assert_gone(&lines, &redacted(&json!(lines).to_string()), "list");
}

#[test]
fn an_open_key_goes_on_until_it_ends() {
    with(Action::Mask, &Paths::none(), |redaction, counts: &mut Counts| {
        let (lines, seam) = (lines(50), redaction.seam());
        let (start, mask, mut key) = seam.open_key(&format!("see {}\n", lines[0]), counts).unwrap();
        assert_eq!((start, mask.as_str()), (4, "[PRIVATE_KEY]"));
        for line in &lines[1..lines.len() - 1] {
            let line = format!("{line}\n");
            assert_eq!(seam.go_on(&mut key, &line), Rest { taken: line.len(), over: false });
        }
        // Its last line is cut, too.
        assert_eq!(seam.go_on(&mut key, "-----END RSA PRIV"), Rest { taken: 17, over: false });
        assert_eq!(seam.go_on(&mut key, "ATE KEY----- and more"), Rest { taken: 12, over: true });
        // Letter by letter, as models speak.
        let (_, _, mut key) = seam.open_key(&lines[0], counts).unwrap();
        for (at, _) in lines[1].char_indices().step_by(4) {
            assert_eq!(seam.go_on(&mut key, &lines[1][at..at + 4]), Rest { taken: 4, over: false });
        }
        let prose = "and that was the whole of it, so far";
        assert_eq!(seam.go_on(&mut key, &format!("\n{prose}")), Rest { taken: 0, over: true });
        assert!(seam.open_key(&lines.join("\n"), counts).is_none(), "it has ended");
    });
}
