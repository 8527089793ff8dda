//! Where in a text to look: only where two words of the trade stand close together.

use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};

/// Two cues further apart than this have nothing to do with each other.
const CLOSE: usize = 160;
/// What is read around them.
const BEFORE: usize = 120;
const AFTER: usize = 240;
const LONGEST: usize = 1_200;
/// Passages of one text that are read; a text with more of them is about the subject.
const MOST: usize = 64;
/// Characters that hide words from whoever searches for them: tags, zero widths, letters in other clothes.
const DISGUISES: [char; 14] = [
    '\u{E0020}',
    '\u{E0061}',
    '\u{E0065}',
    '\u{200B}',
    '\u{200C}',
    '\u{2060}',
    '\u{FEFF}',
    '\u{AD}',
    '\u{FF49}',
    '\u{FF29}',
    '\u{1D422}',
    '\u{1D456}',
    '\u{2065}',
    '\u{202E}',
];
/// What only somebody writes who speaks to a model in its own form.
const MARKERS: [&str; 6] = ["<|im_", "[inst]", "<<sys>>", "<|system", "<|start_header", "<|endoftext"];
/// What no honest writer of JSON escapes: plain letters.
const ESCAPED_LETTERS: [&str; 4] = ["\\u004", "\\u005", "\\u006", "\\u007"];

pub(super) struct Cues {
    words: AhoCorasick,
    /// How many of the patterns are words; those after them are disguises.
    count: usize,
}

impl Cues {
    pub(super) fn compile(cues: &[String]) -> Result<Self, String> {
        // As servers write them that keep to ASCII; in a decoded text nothing looks like that.
        let escaped = cues.iter().filter(|cue| !cue.is_ascii()).map(|cue| escaped(cue));
        // Capitals of other alphabets are letters of their own to a search that folds only ASCII.
        let capital = |cue: &String| (!cue.is_ascii()).then(|| capitalised(cue));
        let capitals = cues.iter().filter_map(capital);
        let words: Vec<_> = cues.iter().cloned().chain(escaped).chain(capitals).collect();
        let disguises = DISGUISES.iter().flat_map(|hidden| [hidden.to_string(), escaped_character(*hidden)]);
        let disguises = disguises.chain(ESCAPED_LETTERS.iter().chain(&MARKERS).map(ToString::to_string));
        let count = words.len();
        let words = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .build(words.into_iter().chain(disguises))
            .map_err(|error| error.to_string())?;
        Ok(Self { words, count })
    }

    /// Whether anything in these bytes, which may be JSON, is worth a closer look.
    pub(super) fn any(&self, bytes: &[u8]) -> bool {
        let mut before: Option<(usize, usize)> = None;
        for found in self.words.find_iter(bytes) {
            let (which, at) = (found.pattern().as_usize(), found.start());
            if which >= self.count {
                return true;
            }
            if before.is_some_and(|(other, end)| other != which && at.saturating_sub(end) <= CLOSE) {
                return true;
            }
            before = Some((which, found.end()));
        }
        false
    }

    /// The passages of a text in which different cues stand close to one another.
    pub(super) fn passages<'t>(&self, text: &'t str) -> Vec<&'t str> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        let mut before: Option<(usize, Range<usize>)> = None;
        for found in self.words.find_iter(text) {
            let (which, here) = (found.pattern().as_usize(), found.range());
            let close = before.as_ref().filter(|(other, last)| {
                (*other != which || which >= self.count) && here.start.saturating_sub(last.end) <= CLOSE
            });
            // A disguise hides the words around it, so that it counts alone.
            let from = match close {
                Some((_, last)) => Some(last.start),
                None => (which >= self.count).then_some(here.start),
            };
            if let Some(from) = from {
                let range = from.saturating_sub(BEFORE)..here.end + AFTER;
                let full = ranges.len() >= MOST;
                match ranges.last_mut() {
                    // A passage that goes on and on is read in parts, or nothing in it would be close to anything.
                    Some(last) if last.end >= range.start && range.end - last.start <= LONGEST => last.end = range.end,
                    _ if full => break,
                    _ => ranges.push(range),
                }
            }
            before = Some((which, here));
        }
        ranges.into_iter().map(|range| within(text, range)).collect()
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

fn escaped(text: &str) -> String {
    text.chars().map(|letter| if letter.is_ascii() { letter.into() } else { escaped_character(letter) }).collect()
}

fn escaped_character(letter: char) -> String {
    letter.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect()
}

/// The part of a text, widened to whole characters.
fn within(text: &str, range: Range<usize>) -> &str {
    let (mut start, mut end) = (range.start, range.end.min(text.len()));
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    while !text.is_char_boundary(end) {
        end += 1;
    }
    text.get(start..end).unwrap_or_default()
}

/// What a quotation begins with.
pub(super) const QUOTES: [char; 5] = ['`', '"', '\'', '\u{201C}', '\u{AB}'];

/// The text without what it quotes: code in fences or backticks, and short sayings in quotation marks.
pub(super) fn unquoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(QUOTES) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        // Between letters it is an apostrophe.
        if from.starts_with('\'') && out.ends_with(char::is_alphanumeric) {
            out.push('\'');
            rest = from.get(1..).unwrap_or_default();
            continue;
        }
        let (open, close) = match from.chars().next() {
            _ if from.starts_with("```") => ("```", "```"),
            Some('`') => ("`", "`"),
            Some('\'') => ("'", "'"),
            Some('\u{201C}') => ("\u{201C}", "\u{201D}"),
            Some('\u{AB}') => ("\u{AB}", "\u{BB}"),
            _ => ("\"", "\""),
        };
        let inner = from.get(open.len()..).unwrap_or_default();
        match inner.find(close) {
            Some(end) => {
                out.push(' ');
                rest = inner.get(end + close.len()..).unwrap_or_default();
            }
            // Opened and never closed, as where a passage begins inside a quotation.
            None => {
                out.push(' ');
                rest = inner;
            }
        }
    }
    out.push_str(rest);
    out
}
