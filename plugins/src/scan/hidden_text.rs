//! Texts that a reader does not get to see: comments, text far off the page, text in code.

use gateway_core::definitions::visible;

use super::encoded::is_packed;
use super::places::{Kind, Place};
use super::{Findings, HIDDEN_TEXT};

const LONGEST_SHOWN: usize = 80;
const MARKS: [(&str, &str); 12] = [
    ("<!--", "a comment that is not shown"),
    ("[//]: #", "a comment that is not shown"),
    ("[comment]:", "a comment that is not shown"),
    ("display:none", "text that is not shown"),
    ("display: none", "text that is not shown"),
    ("visibility:hidden", "text that is not shown"),
    ("font-size:0", "text that is not shown"),
    ("color:transparent", "text that is not shown"),
    ("\\u200b", "hidden characters in code"),
    ("&#8203;", "hidden characters in code"),
    ("&zwnj;", "hidden characters in code"),
    ("&#x200b", "hidden characters in code"),
];

/// A text, and what stands in it in code.
pub fn look_at(place: &Place<'_>, decoded: &[String], findings: &mut Findings<'_>) {
    if place.kind != Kind::Prose {
        return;
    }
    let lower = place.text.to_ascii_lowercase();
    if let Some((_, what)) = MARKS.iter().find(|(mark, _)| lower.contains(mark)) {
        findings.say(HIDDEN_TEXT, &place.path, format!("has {what}"));
    }
    if text_far_off(place.text) {
        findings.say(HIDDEN_TEXT, &place.path, "continues far below or beside what is shown at first");
    }
    if let Some(words) = decoded.first() {
        findings.say(HIDDEN_TEXT, &place.path, format!("has words in code: \"{}\"", shown(words)));
    }
    if is_packed(place.text) {
        findings.say(HIDDEN_TEXT, &place.path, "has packed data, which nobody reads who sees it");
    }
}

/// Lines that stand empty, and blanks of one kind or another, before what follows is out of sight.
const FAR_BELOW: usize = 20;
const FAR_BESIDE: usize = 120;
/// Within a line nobody needs so many; what a line begins with may be code that is set in.
const BLANKS_WITHIN: usize = 40;
const TABS_WITHIN: usize = 20;

fn text_far_off(text: &str) -> bool {
    let (mut lines, mut blanks) = (0, 0);
    // Blanks and tabs since the last letter of this line, while it has one.
    let mut within: Option<(usize, usize)> = None;
    for character in text.trim().chars() {
        match character {
            '\n' => (lines, blanks, within) = (lines + 1, blanks + 1, None),
            space if space.is_whitespace() => {
                blanks += 1;
                within = within.map(|(all, tabs)| (all + 1, tabs + usize::from(space == '\t')));
            }
            _ if lines >= FAR_BELOW || blanks >= FAR_BESIDE => return true,
            _ if within.is_some_and(|(all, tabs)| all >= BLANKS_WITHIN || tabs >= TABS_WITHIN) => return true,
            _ => (lines, blanks, within) = (0, 0, Some((0, 0))),
        }
    }
    false
}

/// Short, and with nothing hidden in it.
fn shown(text: &str) -> String {
    let text = visible(text);
    match text.char_indices().nth(LONGEST_SHOWN) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text,
    }
}
