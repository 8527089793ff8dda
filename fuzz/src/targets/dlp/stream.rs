//! Streams: what is planted in a text does not come out, however the text is cut into events and the events into chunks, and
//! everything else comes out once and in order.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use bytes::{Bytes, BytesMut};
use gateway_core::chain::{Passed, Step};
use gateway_core::content::Found;
use gateway_core::matrix::Matrix;
use gateway_core::policies::Policies;
use gateway_core::{Ask, Exchange, Mutator, PluginMode, Principal, Route, Subject, TraceId};
use gateway_dlp::{Counts, Detectors};
use gateway_plugins::dlp::{Dlp, DlpRules, DlpSettings};
use gateway_protocol::sse::{Decoder, Event, Frame, encode, encode_comment};
use gateway_protocol::{Message, Reply};
use serde_json::{Value, json};

use super::super::{DEPTH, Outcome, cut, ensure, number, taken, two_parts};
use super::planted::{Planted, plant};
use super::{SHIPPED, Set, files};
use crate::random::Random;

/// Words that are nobody's, and say nothing of what stands behind them.
const WORDS: [&str; 16] = [
    "orchard", "slowly", "the", "green", "rivers", "carry", "stones", "and", "older", "bridges", "stand", "where",
    "lanterns", "hang", "over", "thyme",
];
const BETWEEN: [&str; 9] = [" ", ", ", ". ", "\n", "; ", " (", ") ", " - ", "! "];
const BEFORE: [&str; 6] = [" ", "\n", " (", ", ", " \"", " <"];
const AFTER: [&str; 7] = [" ", ". ", ",", "\n", ")", "; ", "\""];
/// Longer scripts say nothing more.
const LONGEST: usize = 400;

/// The plugin with the shipped detectors, as a server runs it.
static PLUGIN: LazyLock<Result<Dlp, String>> = LazyLock::new(|| {
    let detectors = Detectors::compile(files()?).map_err(|problems| format!("{problems:?}"))?;
    let rules = DlpRules::new(detectors, DlpSettings::default());
    let policies = Policies::new(BTreeMap::new(), Matrix::standard()).with_dlp(rules.into_set());
    Ok(Dlp::new(&policies, PluginMode::Enforce, Arc::new(|_| [7; 32])))
});

/// The first line is a number that decides the values and the cuts. Each letter behind it is a word, each capital a value.
pub fn stream(input: &[u8]) -> Outcome {
    let (first, script) = two_parts(input);
    let mut random = Random::new(number(first));
    let set = SHIPPED.as_ref()?;
    let text = Text::of(script, &mut random);
    let (expected, covered) = text.whole(set)?;
    let mut forced_any = false;
    for _ in 0..2 {
        let pieces = pieces(&text.text, &mut random);
        let hurried = random.one_in(4);
        let (shown, forced) = through(&pieces, hurried, &mut random)?;
        let out = shown.concat();
        forced_any |= forced;
        let told = || format!("cut as {pieces:?} it comes out as {shown:?}");
        for place in &covered {
            let value = text.text.get(place.clone()).unwrap_or_default();
            ensure(!out.contains(value), || format!("`{value}` comes out: {}", told()))?;
        }
        // A word may be taken out with a value that it seems to belong to, and behind what went on too soon more than that.
        let kept = !forced && is_within(&text.skeleton, &expected);
        ensure(!kept || is_within(&text.skeleton, &out), || format!("words are lost: {}", told()))?;
        ensure(is_within(&without_masks(set, &out), &text.text), || format!("something is added: {}", told()))?;
        // What had to go on before its rest came was not masked in time.
        // Nor is a value whose word went on before it.
        ensure(forced || text.leads || out == expected, || format!("`{expected}` is expected: {}", told()))?;
    }
    Ok(taken((text.planted.len().min(6), covered.len().min(6), forced_any, text.text.len() / 512)))
}

/// What was said, where values are planted in it, and what is left without them.
struct Text {
    text: String,
    /// Values that are known by themselves.
    planted: Vec<Range<usize>>,
    /// Others are believed for the word in front of them.
    leads: bool,
    skeleton: String,
}

impl Text {
    fn of(script: &[u8], random: &mut Random) -> Self {
        let mut made = Self { text: String::new(), planted: Vec::new(), leads: false, skeleton: String::new() };
        for byte in script.iter().take(LONGEST) {
            if byte.is_ascii_uppercase() {
                made.words(random.pick(&BEFORE).unwrap_or_default());
                let Planted { lead, value } = plant(byte - b'A', random);
                made.words(lead);
                match lead {
                    "" => made.planted.push(made.text.len()..made.text.len() + value.len()),
                    _ => made.leads = true,
                }
                made.text.push_str(&value);
                made.words(random.pick(&AFTER).unwrap_or_default());
            } else {
                made.words(WORDS.get(usize::from(*byte) % WORDS.len()).copied().unwrap_or_default());
                made.words(random.pick(&BETWEEN).unwrap_or_default());
            }
        }
        made
    }

    fn words(&mut self, words: &str) {
        self.text.push_str(words);
        self.skeleton.push_str(words);
    }

    /// The text as it is redacted at once, and the values that are gone then.
    fn whole(&self, set: &Set) -> Result<(String, Vec<Range<usize>>), String> {
        let redaction = set.with(&set.mask, &set.nowhere);
        let told = redaction.told(&self.text, &mut Counts::default());
        let (edited, out) = told.map_err(|blocked| format!("nothing blocks, but {blocked}"))?;
        let gone =
            |place: &&Range<usize>| out.iter().any(|one| one.range.start <= place.start && place.end <= one.range.end);
        Ok((edited.unwrap_or_else(|| self.text.clone()), self.planted.iter().filter(gone).cloned().collect()))
    }
}

/// The text in pieces: letter by letter, in words, or in long stretches.
fn pieces<'t>(text: &'t str, random: &mut Random) -> Vec<&'t str> {
    let longest = [1, 4, 16, 64, 600].get(random.below(5)).copied().unwrap_or(1);
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let mut length = (1 + random.below(longest)).min(rest.len());
        while !rest.is_char_boundary(length) {
            length += 1;
        }
        let (piece, after) = rest.split_at(length);
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// What a client reads of these pieces, each in an event of its own, and whether anything went on before its rest had come.
fn through(pieces: &[&str], hurried: bool, random: &mut Random) -> Result<(Vec<String>, bool), String> {
    let plugin = PLUGIN.as_ref()?;
    let mut follow = plugin.follow(&exchange()?).ok_or("nobody follows the stream")?;
    let (mut found, mut given, mut forced) = (Found::default(), Passed::new(), false);
    for reply in arriving(pieces, random)? {
        let answers = reply.is_final();
        match follow
            .next(reply, &mut found)
            .map_err(|objection| format!("nothing blocks, but {}", objection.message))?
        {
            Step::Give(replies) => given.extend(replies),
            Step::Hold => ensure(follow.held() > 0 && !answers, || "something is held, and it is nothing".into())?,
        }
        // What whoever holds it does when it is too much, or has taken too long.
        let (_, most) = follow.bounds();
        if follow.held() > most || (hurried && follow.held() > 0 && random.one_in(4)) {
            forced = true;
            given.extend(follow.end(&mut found));
        }
        ensure(follow.held() <= most.min(4096), || format!("{} bytes are held", follow.held()))?;
    }
    ensure(follow.held() == 0, || "something is held behind the answer".into())?;
    ensure(given.len() == pieces.len() + 1, || format!("{} messages of {}", given.len(), pieces.len() + 1))?;
    given.truncate(pieces.len());
    let shown = given.into_iter().map(|passing| text_of(&passing.ok_or("a message is left out")?.reply));
    Ok((shown.collect::<Result<_, String>>()?, forced))
}

/// The messages as they are read from the wire, and an answer behind them.
fn arriving(pieces: &[&str], random: &mut Random) -> Result<Vec<Reply>, String> {
    let mut wire = BytesMut::new();
    for piece in pieces {
        let params = json!({ "level": "info", "data": piece });
        let message = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": params });
        encode(&Event::message(message.to_string()), &mut wire);
        if random.one_in(8) {
            encode_comment(b"alive", &mut wire);
        }
    }
    let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": { "content": [] } });
    encode(&Event::message(answer.to_string()), &mut wire);
    let mut decoder = Decoder::new(1 << 20);
    let mut replies = Vec::new();
    for chunk in cut(&wire, random) {
        decoder.push(Bytes::copy_from_slice(chunk));
        for frame in decoder.frames() {
            if let Frame::Event(event) = frame.map_err(|error| error.to_string())? {
                replies.push(Reply::scan(event.data, DEPTH).map_err(|refusal| refusal.to_string())?);
            }
        }
    }
    Ok(replies)
}

fn text_of(reply: &Reply) -> Result<String, String> {
    let value: Value = serde_json::from_slice(reply.raw()).map_err(|error| error.to_string())?;
    let rest = (value.pointer("/method"), value.pointer("/params/level"));
    ensure(rest == (Some(&json!("notifications/message")), Some(&json!("info"))), || format!("now it is {value}"))?;
    let text = value.pointer("/params/data").and_then(Value::as_str);
    text.map(str::to_owned).ok_or_else(|| format!("no text in {value}"))
}

fn exchange() -> Result<Exchange, String> {
    let route = Route::One("crm".parse().map_err(|error| format!("{error}"))?);
    let ask = Ask::Message(Message::request(1, "tools/call", None));
    let principal = Arc::new(Principal::anonymous());
    Ok(Exchange::new(TraceId::from_stored("trc_1"), principal, route, ask, Subject::Read))
}

/// Whether all letters of one text stand in the other, in their order.
fn is_within(part: &str, whole: &str) -> bool {
    let mut rest = whole.chars();
    part.chars().all(|c| rest.any(|other| other == c))
}

fn without_masks(set: &Set, text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(open) = rest.find('[') {
        out.push_str(rest.get(..open).unwrap_or_default());
        rest = rest.get(open..).unwrap_or_default();
        let end = rest.find(']').map_or(1, |end| end + 1);
        let (mask, after) = rest.split_at(end);
        if set.is_mask(mask) {
            rest = after;
        } else {
            out.push('[');
            rest = rest.get(1..).unwrap_or_default();
        }
    }
    out.push_str(rest);
    out
}
